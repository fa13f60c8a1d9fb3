"""Measured figures on docs/algorithms.md are those of the results file, and losses in it can be measured again."""

from __future__ import annotations

import json

import pytest
from benchmarks.algorithms_figures import hospitals, measured
from scripts import figures

RESULTS = json.loads(figures.RESULTS.read_text(encoding="utf-8"))
PAGE = figures.PAGE.read_text(encoding="utf-8")


def test_every_figure_of_the_page_is_the_results_own() -> None:
    assert figures.filled(PAGE, RESULTS) == PAGE


def test_every_figure_that_is_made_stands_on_the_page() -> None:
    assert all(f"<!-- {name} -->" in PAGE for name in figures.FIGURES)


def test_an_altered_figure_is_noticed() -> None:
    changed = {**RESULTS, "one_class": [{"k": 40}]}
    assert figures.filled(PAGE, changed) != PAGE


@pytest.mark.thorough
@pytest.mark.parametrize("start", ["paper", "fitted"])
def test_a_loss_of_the_file_comes_out_again(start: str) -> None:
    row = next(row for row in RESULTS["starts"] if (row["table"], row["k"], row["start"]) == ("hospitals", 20, start))
    assert measured(hospitals(20), "sequential", {"start": start})[0] == row["lm"]
