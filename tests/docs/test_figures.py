"""Measured figures on the pages are those of the results files, and losses in one can be measured again."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from benchmarks._releases import jointly, one_owner
from benchmarks.algorithms import hospitals, measured
from scripts import figures
from scripts.tables import chosen, number

RESULTS = figures.results("algorithms")


def text_of(page: str) -> str:
    return (figures.DOCS / page).read_text(encoding="utf-8")


@pytest.mark.parametrize("page", figures.PAGES)
def test_every_figure_of_the_page_is_the_results_own(page: str) -> None:
    assert figures.filled(text_of(page), page) == text_of(page), "python -m scripts.figures writes the results' own"


@pytest.mark.parametrize("page", figures.PAGES)
def test_every_figure_that_is_made_stands_on_the_page(page: str) -> None:
    assert all(text_of(page).count(f"<!-- {name} -->") == 1 for name in figures.PAGES[page])


MEASURED = re.compile(r"\b(LM|MB|seconds|CPU|rounds|microseconds|peak memory|milliseconds)\b")
BY_HAND = {
    "protocols/README.md": "compares protocols in words",
}
"""Pages whose tables have such words in their heads and no measured figure."""


@pytest.mark.parametrize("page", sorted(path.name for path in (figures.DOCS / "protocols").glob("*.md")))
def test_no_table_of_measured_figures_on_a_protocols_page_is_written_by_hand(page: str) -> None:
    text = re.sub(r"<!-- [a-z0-9-]+ -->.*?<!-- end -->", "", text_of(f"protocols/{page}"), flags=re.DOTALL)
    heads = [head for head, rule in pairwise(text.splitlines()) if rule.startswith("| ---")]
    found = [head for head in heads if MEASURED.search(head)]
    assert not found or f"protocols/{page}" in BY_HAND, "have scripts/protocol_figures.py make it from results"


def altered(value: object) -> object:
    """Results in which every number is another one."""
    if isinstance(value, dict):
        return {key: each if key == "latency" else altered(each) for key, each in value.items()}  # rows are found by it
    if isinstance(value, list):
        return [altered(each) for each in value]
    return value * 1.5 if isinstance(value, float) else value


@pytest.mark.parametrize("page", [page for page in figures.PAGES if page != "algorithms.md"])
def test_altered_results_are_noticed(page: str) -> None:
    known = {source: altered(figures.results(source)) for source, _ in figures.PAGES[page].values()}
    assert figures.filled(text_of(page), page, known.__getitem__) != text_of(page)  # type: ignore[arg-type]


def test_an_altered_figure_is_noticed() -> None:
    changed = {**RESULTS, "one_class": [{"k": 40}]}
    assert figures.filled(text_of("algorithms.md"), "algorithms.md", {"algorithms": changed}.__getitem__) != text_of(
        "algorithms.md"
    )


@pytest.mark.thorough
@pytest.mark.parametrize("start", ["paper", "fitted"])
def test_a_loss_of_the_file_comes_out_again(start: str) -> None:
    row = next(row for row in RESULTS["starts"] if (row["table"], row["k"], row["start"]) == ("hospitals", 20, start))
    assert measured(hospitals(20), "sequential", {"start": start})[0] == row["lm"]


LOSSES = figures.results("loss")


@pytest.mark.parametrize("table", ["adult", "fars", "cmc"])
@pytest.mark.parametrize("k", [5, 10, 50, 100])
def test_one_owner_lost_no_more_than_arx_wherever_both_were_measured(table: str, k: int) -> None:
    (row,) = chosen(LOSSES["one"], table=table, k=k, effort="normal")
    assert number(row, "lm") <= number(row, "arx")


def test_one_owner_lost_three_percent_less_than_arx_on_average() -> None:
    ratios = [number(row, "ratio") for row in chosen(LOSSES["one"], effort="normal") if row["arx"] is not None]
    assert len(ratios) == 12
    assert sum(ratios) / len(ratios) <= 0.97


@pytest.mark.parametrize("table", ["adult", "fars", "cmc"])
@pytest.mark.parametrize("k", [5, 10, 50, 100])
def test_parties_lost_no_more_than_arx_with_thorough_effort_wherever_both_were_measured(table: str, k: int) -> None:
    (row,) = chosen(LOSSES["efforts"], table=table, k=k, effort="thorough")
    assert round(number(row, "lm"), 4) <= number(row, "arx")


@pytest.mark.thorough
def test_losses_of_one_owner_and_of_parties_come_out_again() -> None:
    point: dict[str, object] = {"table": "few", "k": 10}
    (alone,), (joint,) = chosen(LOSSES["one"], **point, effort="normal"), chosen(LOSSES["joint"], **point)
    assert one_owner("few", 10, "normal")["lm"] == alone["lm"]
    assert jointly("few", 10, 0, "normal")["lm"] == joint["lm"]
