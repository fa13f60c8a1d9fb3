"""A judge that we did not write agrees with ours: pyCANON on k, distinct l, entropy l and t, and on the worst class.

pyCANON pins its own numpy and pandas, so it has a Python of its own, made once, and judges all releases in one run.
It takes the equal distance for text and the ordered one for numbers, and cuts the entropy's l down to a whole number.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.harness import peers

from covey.evaluation.questions import evaluate
from covey.judge import Verdict, verify
from covey.study import Study

RELEASES = 25
K = 10


@dataclass(frozen=True)
class Release:
    """A released file, its study, and the kind of each sensitive column."""

    path: Path
    study: Study
    sensitive: dict[str, str]


def ask(releases: list[Release]) -> list[list[dict[str, float]]]:
    questions = [
        {
            "path": str(each.path),
            "quasi": [column.name for column in each.study.quasi],
            "sensitive": each.sensitive,
        }
        for each in releases
    ]
    found = peers.ask("pycanon", Path(__file__).with_name("ask_pycanon.py"), questions)
    assert isinstance(found, list)
    return found


def generate(seed: int, folder: Path) -> Release:
    """A release of 20 to 400 rows: one to four quasi columns, one or two sensitive ones, more or less skewed."""
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(20, 400))
    quasi = {f"q{i}": rng.integers(0, rng.integers(2, 5), rows).astype(str) for i in range(rng.integers(1, 5))}
    kinds = {f"s{i}": str(rng.choice(["text", "number"])) for i in range(rng.integers(1, 3))}
    sensitive = {}
    for name in kinds:
        values = int(rng.integers(2, 15))
        weight = 1.0 / np.arange(1, values + 1) ** rng.uniform(0, 2.5)
        drawn = rng.choice(values, rows, p=weight / weight.sum())
        drawn[:2] = (0, 1)  # one value alone has no distance
        sensitive[name] = (drawn * 7 - 20).astype(str)
    path = folder / f"release-{seed}.csv"
    pd.DataFrame({**quasi, **sensitive}).to_csv(path, index=False)
    text = f'[study]\nname = "r{seed}"\n[privacy]\nk = 2\n'
    text += "".join(f'[columns.{name}]\nrole = "quasi"\nhierarchy = "flat"\n' for name in quasi)
    text += "".join(f'[columns.{name}]\nrole = "sensitive"\ntype = "{kind}"\n' for name, kind in kinds.items())
    return Release(path, Study.parse(text), kinds)


def agree(verdict: Verdict, release: Release, theirs: list[dict[str, float]]) -> None:
    for found, kind, other in zip(verdict.diversity, release.sensitive.values(), theirs, strict=True):
        assert verdict.k == other["k"]
        assert found.distinct == other["distinct"]
        assert other["entropy"] in {math.floor(found.entropy - 1e-9), math.floor(found.entropy + 1e-9)}
        assert (found.t_ordered if kind == "number" else found.t_equal) == pytest.approx(other["t"], abs=1e-12)


@pytest.mark.thorough
def test_pycanon_agrees_on_generated_releases(tmp_path: Path) -> None:
    releases = [generate(seed, tmp_path) for seed in range(RELEASES)]
    answers = ask(releases)
    assert len({(answer[0]["k"], answer[0]["distinct"]) for answer in answers}) > RELEASES / 5  # they do vary
    for release, theirs in zip(releases, answers, strict=True):
        agree(verify(release.path, release.study), release, theirs)
        evaluated = evaluate(release.path, release.study).risk.disclosure
        for found, other in zip(evaluated, theirs, strict=True):
            assert found.worst_class == pytest.approx(other["alpha"], abs=1e-4)  # pyCANON's has four digits


@pytest.mark.thorough
def test_pycanon_agrees_on_adult(adult: Path) -> None:
    study = Study.load(adult / "study.toml")
    published = generalize(pd.read_csv(adult / "adult.csv", sep=";", dtype=str), study)
    path = adult / "release.csv"
    published.to_csv(path, index=False)
    release = Release(path, study, {"salary-class": "text"})
    verdict = verify(path, study, adult / "adult.csv")
    assert verdict.answer
    assert verdict.k >= K
    agree(verdict, release, ask([release])[0])


def generalize(table: pd.DataFrame, study: Study) -> pd.DataFrame:
    """Every column one level below its root, then rows of classes below k suppressed in full."""
    quasi = [column.name for column in study.quasi]
    for name in quasi:
        tree = study.column(name).tree()
        level = tree.up[max(tree.height - 1, 1)]
        table[name] = [tree.labels[level[leaf]] for leaf in tree.encode(table[name].tolist())]
    small = table.groupby(quasi)[quasi[0]].transform("size") < K
    table.loc[small, quasi] = "*"
    return table
