"""Findings as one page that loads nothing, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from covey.bench.findings import Cell, Chapter, Claim, Grid
from covey.bench.plotting import draw
from covey.files import write_atomically
from covey.report.markup import Markup, join, listed, tag
from covey.report.page import document

PAGE, FIGURES = "bench.html", "bench.json"
_SENTENCES = {"yes": "holds", "in part": "holds in part", "no": "does not hold", "not tried": "not tried"}
_STYLE = """
svg.plot{max-width:none;height:20rem}
figure{margin:1rem 0;break-inside:avoid}figcaption{margin:.3rem 0}
.entries{font-size:.9rem;line-height:1.7}.entry{white-space:nowrap;margin-right:1rem}
.scroll{overflow-x:auto}
table.cells{font-size:.88rem;font-variant-numeric:tabular-nums;margin:.4rem 0}
table.cells th,table.cells td{padding:.12rem .9rem .12rem 0;text-align:left;vertical-align:top;overflow-wrap:normal}
table.cells thead th{font-weight:400;font-size:.8rem;color:#444;border-bottom:1px solid #bbb;vertical-align:bottom}
table.cells .number{text-align:right}
.claim{border-left:4px solid #999;padding:.1rem 0 .1rem .8rem;margin:.6rem 0;break-inside:avoid}
.claim.no{border-left:8px double #1a1a1a}.claim.yes{border-left-color:#1f4e79}
"""


def save(folder: Path, title: str, chapters: Sequence[Chapter]) -> None:
    """Writes bench.html and bench.json into the folder."""
    write_atomically(folder / PAGE, render(title, chapters).encode())
    write_atomically(folder / FIGURES, (as_json(chapters) + "\n").encode())


def as_json(chapters: Sequence[Chapter]) -> str:
    """All findings for programs; a figure that is not finite is null."""
    content = json.loads(msgspec.json.encode({chapter.name: msgspec.to_builtins(chapter) for chapter in chapters}))
    return json.dumps(content, indent=2, ensure_ascii=False)


def render(title: str, chapters: Sequence[Chapter]) -> str:
    """The page: the claims first where a source was put to the test, then pictures, then tables."""
    parts = [tag("h1", title)]
    if len(chapters) > 1:
        parts.append(_overview(chapters))
    for chapter in chapters:
        parts += _chapter(chapter)
    return document(title, join(tag("section", part) for part in parts), _STYLE)


def _overview(chapters: Sequence[Chapter]) -> Markup:
    """How many claims of each source hold."""
    rows = []
    for chapter in chapters:
        held = [claim.holds for claim in chapter.findings.claims]
        counted = ", ".join(f"{held.count(word)} {_SENTENCES[word]}" for word in _SENTENCES if word in held)
        rows.append((chapter.name, chapter.source, counted or "no claim to judge", round(chapter.seconds, 1)))
    return _table(Grid("Which claims hold", ("experiment", "source", "claims", "seconds"), tuple(rows)))


def _chapter(chapter: Chapter) -> Iterator[Markup]:
    head = [tag("h2", chapter.name), tag("p", chapter.about, class_="lead")]
    if chapter.source:
        head.append(tag("p", "Source: ", chapter.source, class_="note"))
    yield join(head)
    for claim in chapter.findings.claims:
        yield _claim(claim)
    for plot in chapter.findings.plots:
        yield draw(plot)
    for grid in chapter.findings.tables:
        yield _table(grid)
    if chapter.findings.notes:
        yield join([tag("h3", "On what, and what was left out"), listed(chapter.findings.notes)])


def _claim(claim: Claim) -> Markup:
    return tag(
        "div",
        tag("p", tag("b", claim.where), " says: ", claim.says),
        tag("p", tag("b", _SENTENCES[claim.holds]), ": ", claim.found),
        class_=f"claim {claim.holds.split()[0]}",
    )


def _table(grid: Grid) -> Markup:
    numeric = [any(isinstance(row[place], int | float) for row in grid.rows) for place in range(len(grid.head))]
    head = tag("thead", tag("tr", *(_cell("th", name, right) for name, right in zip(grid.head, numeric, strict=True))))
    rows = (
        tag("tr", *(_cell("td", spell(cell), right) for cell, right in zip(row, numeric, strict=True)))
        for row in grid.rows
    )
    body = tag("tbody", *rows)
    parts = [tag("h3", grid.title), tag("div", tag("table", head, body, class_="cells"), class_="scroll")]
    return join([*parts, tag("p", grid.note, class_="note")] if grid.note else parts)


def _cell(name: str, said: str, right: bool) -> Markup:
    return tag(name, said, class_="number" if right else None)


def spell(cell: Cell) -> str:
    """A cell for people: four digits that count, thousands apart, a dash where nothing was measured."""
    if cell is None:
        return "–"
    if isinstance(cell, bool | str):
        return str(cell)
    if isinstance(cell, int):
        return f"{cell:,}"
    if cell == 0 or 1e-3 <= abs(cell) < 1e6:
        return f"{cell:,.1f}" if abs(cell) >= 100 else f"{cell:.4g}"
    return f"{cell:.3g}"
