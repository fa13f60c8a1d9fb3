"""What a release of Adult is good for and how exposed people are: peel, mondrian, and three parties on their own.

The third is what people do without Covey: each party anonymizes its own rows, and their releases are
concatenated. All keep k; the figures are those of `covey evaluate`.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa

import covey
from benchmarks._adult import SALARY, is_here, people, quasi_columns, save_study
from covey.evaluation import Evaluation

PARTIES = 3
SEED = 2026


def run(arguments: list[str]) -> None:
    """Print a table by k; arguments are values of k."""
    if not is_here():
        return
    table = people()
    heading = ("k", "release", "lm", "queries", "of 4 columns", "worst pair", "AUC", "original", "linked")
    print("| " + " | ".join(heading) + " |\n| " + "--- | " * len(heading))
    for k in map(int, arguments or ("5", "10", "50")):
        with tempfile.TemporaryDirectory(prefix="covey-bench-") as folder:
            text = f'[study]\nname = "adult"\n[privacy]\nk = {k}\n' + quasi_columns() + SALARY
            study = save_study(text, Path(folder) / "study")
            for name, release in _releases(table, study).items():
                found = covey.evaluate(release, study, table, target="salary-class", population=0.1, seed=SEED)
                print(f"| {k} | {name} | {covey.verify(release, study).loss.lm:.4f} | {_row(found)} |", flush=True)


def _releases(table: pa.Table, study: covey.Study) -> dict[str, pa.Table]:
    owner = np.random.default_rng(SEED).integers(PARTIES, size=table.num_rows)
    own = [covey.anonymize(table.filter(pa.array(owner == party)), study).table for party in range(PARTIES)]
    return {
        "peel": covey.anonymize(table, study).table,
        "mondrian": covey.anonymize(table, study, algorithm="mondrian").table,
        "three on their own": pa.concat_tables(own),
    }


def _row(found: Evaluation) -> str:
    assert found.use is not None
    assert found.use.prediction is not None
    assert found.risk.linkage is not None
    few = np.median([each.median for each in found.use.queries if each.columns <= 2])
    many = np.median([each.median for each in found.use.queries if each.columns == 4])
    pair, score = found.use.pairs[0], found.use.prediction.scores[0]
    return (
        f"{few:.1%} | {many:.1%} | {pair.total_variation:.1%} ({' and '.join(pair.columns)}) | "
        f"{score.auc_release:.3f} | {score.auc_original:.3f} | {found.risk.linkage.reidentified:.1%}"
    )
