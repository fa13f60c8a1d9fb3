"""The page of findings: pictures that need no colour, and names that cannot become markup."""

from __future__ import annotations

import io
import json
import math
import re

import pytest
from rich.console import Console

from covey.bench.findings import Chapter, Claim, Curve, Findings, Plot, ResultTable
from covey.bench.page import as_json, render, spell
from covey.bench.plotting import draw
from covey.cli.output import fitted, table

HOSTILE = '<script>alert("x")</script>'


def chapter(**parts: object) -> Chapter:
    return Chapter("trial", "About it.", "A paper", Findings(**parts), 1.5)  # type: ignore[arg-type]


def test_every_curve_has_a_dash_or_mark_of_its_own() -> None:
    curves = tuple(Curve(f"c{number}", ((1.0, number), (2.0, number + 1))) for number in range(12))
    picture = draw(Plot("many", "x", "y", curves))
    entries = re.findall(r'<span class="entry">(.*?)</span>', picture)
    looks = {re.sub(r"<bdi>.*", "", entry) for entry in entries}
    grey = {re.sub(r"#[0-9a-f]{6}", "", look) for look in looks}
    assert len(grey) == 12


def test_points_lie_where_their_values_say() -> None:
    picture = draw(Plot("one", "x", "y", (Curve("c", ((1.0, 0.0), (10.0, 1.0), (100.0, 1.0))),), log_x=True))
    places = re.findall(r'<svg x="([\d.]+)%" y="([\d.]+)%" overflow', picture)
    across, up = [float(x) for x, _ in places], [float(y) for _, y in places]
    assert math.isclose(across[1] - across[0], across[2] - across[1], abs_tol=0.02)  # tenfold each
    assert up[0] > up[1] == up[2]


def test_points_at_one_place_stand_in_the_middle_and_its_figure_once() -> None:
    """At the edge they would stand on the figures of the other axis."""
    picture = draw(Plot("one", "k", "y", (Curve("c", ((5.0, 1.0),)), Curve("d", ((5.0, 2.0),)))))
    middle = f"{(12 + 96) / 2:.2f}%"
    assert picture.count(f'<svg x="{middle}"') == 2
    assert picture.count(">5</text>") == 1


def test_a_plot_without_points_is_not_drawn() -> None:
    assert draw(Plot("none", "x", "y", ())) == ""
    assert draw(Plot("none", "x", "y", (Curve("c", ((1.0, math.nan),)),))) == ""


def test_names_from_elsewhere_stay_words() -> None:
    page = render(HOSTILE, [
        chapter(
            tables=(ResultTable(HOSTILE, (HOSTILE,), ((HOSTILE,),)),),
            plots=(Plot(HOSTILE, HOSTILE, HOSTILE, (Curve(HOSTILE, ((1.0, 1.0),)),)),),
            claims=(Claim(HOSTILE, HOSTILE, HOSTILE, "no"),), notes=(HOSTILE,),
        ),
        chapter(),
    ])  # fmt: skip
    assert "<script" not in page
    assert page.count("&lt;script&gt;") >= 9


def test_the_overview_counts_which_claims_hold() -> None:
    claims = tuple(Claim("Figure 1", "so", "so", holds) for holds in ("yes", "yes", "no"))
    page = render("papers", [chapter(claims=claims), chapter()])
    assert "2 holds, 1 does not hold" in page
    assert "no claim to judge" in page


def test_figures_that_are_not_finite_are_null_for_programs() -> None:
    found = json.loads(as_json([chapter(tables=(ResultTable("t", ("a",), ((math.inf,),)),))]))
    assert found["trial"]["findings"]["tables"][0]["rows"] == [[None]]


def test_cells_are_spelled_for_people() -> None:
    assert [spell(cell) for cell in (None, 1234567, 0.00001234, 0.08375, 187.94, "x", 2.5e9)] == [
        "–", "1,234,567", "1.23e-05", "0.08375", "187.9", "x", "2.5e+09",
    ]  # fmt: skip


def test_a_table_that_is_too_wide_gives_its_columns_of_words_up_and_no_number() -> None:
    head = ("contender", "trusted", "seconds", "remark")
    rows = [["peel", "nobody", "12.5", "its ideal, not run"], ["cluster", "nobody", "3", ""]]
    assert fitted(head, rows, ("seconds",), 80) == (list(head), rows, [])
    kept, cells, aside = fitted(head, rows, ("seconds",), 32)
    assert (kept, cells) == (["contender", "trusted", "seconds"], [row[:3] for row in rows])
    assert aside == ["remark: its ideal, not run (peel)"]
    kept, _, aside = fitted(head, rows, ("seconds",), 10)
    assert kept == ["contender", "seconds"]
    assert aside[0] == "trusted: nobody (peel; cluster)"


@pytest.mark.parametrize("width", [80, 120])
def test_no_number_is_cut_off_in_a_terminal(width: int) -> None:
    head = ("contender", "trusted", "risk: highest", "average", "withheld", "seconds", "rounds", "MB", "remark")
    row = ["cluster, columns split", "nobody", "0.000719", "0.000667", "0", "136.4", "17,652", "324.2", "its ideal"]
    numbers = head[2:-1]
    console = Console(width=width, file=io.StringIO(), highlight=False)
    kept, rows, _ = fitted(head, [row], numbers, width)
    console.print(table(kept, rows, right=numbers))
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert "…" not in shown and all(number in shown for number in row[2:-1])
    assert max(map(len, shown.splitlines())) <= width
