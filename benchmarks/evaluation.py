"""What a release of Adult is good for and how exposed people are: peel, mondrian, and three parties on their own.

The third is what people do without Covey: each party anonymizes its own rows, and their releases are
concatenated. All keep k; the figures are those of `covey evaluate`. The rows go to results/evaluation.json, and the
picture of docs/evaluate.md is made of them.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import altair as alt
import numpy as np
import pyarrow as pa

import covey
from benchmarks._adult import SALARY, is_here, people, quasi_columns, save_study
from benchmarks._measuring import ROOT, Row, keep
from covey.evaluation import Evaluation

PARTIES = 3
SEED = 2026


def run(arguments: list[str]) -> None:
    """Print a table by k; arguments are values of k."""
    if not is_here():
        return
    table = people()
    heading = ("k", "release", "LM", "queries", "of 4 columns", "worst pair", "AUC", "original", "linked")
    print("| " + " | ".join(heading) + " |\n| " + "--- | " * len(heading))
    measurements: list[Row] = []
    for k in map(int, arguments or ("5", "10", "50")):
        with tempfile.TemporaryDirectory(prefix="covey-bench-") as folder:
            text = f'[study]\nname = "adult"\n[privacy]\nk = {k}\n' + quasi_columns() + SALARY
            study = save_study(text, Path(folder) / "study")
            for name, release in _releases(table, study).items():
                evaluated = covey.evaluate(release, study, table, target="salary-class", population=0.1, seed=SEED)
                row = {"k": k, "release": name, "LM": round(covey.verify(release, study).loss.lm, 4), **_row(evaluated)}
                print("| " + " | ".join(str(cell) for cell in row.values()) + " |", flush=True)
                keep("evaluation", "evaluation", row, ("k", "release"))
                measurements.append(row)
    plot(measurements)


def plot(measurements: list[Row]) -> None:
    """Draws four figures by k, a line for each kind of release."""
    base = alt.Chart(alt.InlineData(values=measurements)).encode(
        x=alt.X("k:Q", scale=alt.Scale(type="log"), axis=alt.Axis(values=[5, 10, 50])),
        color=alt.Color("release:N", legend=alt.Legend(orient="bottom", title=None)),
        shape=alt.Shape("release:N", legend=None),
    )
    charts = [
        base.mark_line(point=True)
        .encode(y=alt.Y(f"{name}:Q", title=title, scale=alt.Scale(zero=name != "AUC")))
        .properties(width=150, height=150)
        for name, title in (
            ("queries", "error of counts, %"),
            ("worst pair", "worst pair's distance, %"),
            ("AUC", "AUC"),
            ("linked", "people linked, %"),
        )
    ]
    alt.hconcat(*charts).save(ROOT / "docs" / "images" / "evaluation.svg")


def _releases(table: pa.Table, study: covey.Study) -> dict[str, pa.Table]:
    owner = np.random.default_rng(SEED).integers(PARTIES, size=table.num_rows)
    releases = [covey.anonymize(table.filter(pa.array(owner == party)), study).table for party in range(PARTIES)]
    return {
        "peel": covey.anonymize(table, study).table,
        "mondrian": covey.anonymize(table, study, algorithm="mondrian").table,
        "three on their own": pa.concat_tables(releases),
    }


def _row(evaluation: Evaluation) -> Row:
    assert evaluation.use is not None
    assert evaluation.use.prediction is not None
    assert evaluation.risk.linkage is not None
    narrow = np.median([query.median for query in evaluation.use.queries if query.columns <= 2])
    wide = np.median([query.median for query in evaluation.use.queries if query.columns == 4])
    pair, score = evaluation.use.pairs[0], evaluation.use.prediction.scores[0]
    return {
        "queries": round(100 * float(narrow), 1),
        "of 4 columns": round(100 * float(wide), 1),
        "worst pair": round(100 * pair.total_variation, 1),
        "AUC": round(score.auc_release, 3),
        "original": round(score.auc_original, 3),
        "linked": round(100 * evaluation.risk.linkage.reidentified, 1),
    }
