"""Findings as one HTML page that loads nothing from elsewhere, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from covey.bench.findings import Cell, Chapter, Claim, Remark, ResultTable
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
table.cells .number{text-align:right;white-space:nowrap}table.cells td:not(.number){min-width:7rem}
.claim{border-left:4px solid #999;padding:.1rem 0 .1rem .8rem;margin:.6rem 0;break-inside:avoid}
.claim.no{border-left:8px double #1a1a1a}.claim.yes{border-left-color:#1f4e79}
"""


def save(folder: Path, title: str, chapters: Sequence[Chapter]) -> None:
    """Writes bench.html and bench.json into the folder."""
    write_atomically(folder / PAGE, render(title, chapters).encode())
    write_atomically(folder / FIGURES, (as_json(chapters) + "\n").encode())


def as_json(chapters: Sequence[Chapter]) -> str:
    """Returns all findings for programs; a figure that is not finite is null."""
    content = json.loads(msgspec.json.encode({chapter.name: msgspec.to_builtins(chapter) for chapter in chapters}))
    return json.dumps(content, indent=2, ensure_ascii=False)


def render(title: str, chapters: Sequence[Chapter]) -> str:
    """Renders the page: of each chapter the claims first, then the plots, then the tables."""
    parts = [tag("h1", title)]
    if len(chapters) > 1:
        parts.append(_overview(chapters))
    for chapter in chapters:
        parts += _chapter(chapter)
    return document(title, join(tag("section", part) for part in parts), _STYLE)


def _overview(chapters: Sequence[Chapter]) -> Markup:
    """A table with the number of claims of each source that hold."""
    rows = []
    for chapter in chapters:
        verdicts = [claim.holds for claim in chapter.findings.claims]
        counted = ", ".join(f"{verdicts.count(word)} {_SENTENCES[word]}" for word in _SENTENCES if word in verdicts)
        rows.append((chapter.name, chapter.source, counted or "no claim to judge", round(chapter.seconds, 1)))
    return _table(ResultTable("Which claims hold", ("experiment", "source", "claims", "seconds"), tuple(rows)))


def _chapter(chapter: Chapter) -> Iterator[Markup]:
    head = [tag("h2", chapter.name), tag("p", chapter.about, class_="lead")]
    if chapter.source:
        head.append(tag("p", "Source: ", chapter.source, class_="note"))
    yield join(head)
    for claim in chapter.findings.claims:
        yield _claim(claim)
    for remark in chapter.findings.remarks:
        yield _remark(remark)
    for plot in chapter.findings.plots:
        yield draw(plot)
    for table in chapter.findings.tables:
        yield _table(table)
    if chapter.findings.notes:
        yield join([tag("h3", "On what, and what was left out"), listed(chapter.findings.notes)])


def _claim(claim: Claim) -> Markup:
    return tag(
        "div",
        tag("p", tag("b", claim.where), " says: ", claim.says),
        tag("p", tag("b", _SENTENCES[claim.holds]), ": ", claim.found),
        class_=f"claim {claim.holds.split()[0]}",
    )


def _remark(remark: Remark) -> Markup:
    statement = tag("p", tag("b", remark.where), " says: ", remark.says)
    return tag("div", statement, tag("p", tag("b", "not judged"), ": ", remark.remark), class_="claim")


def _table(table: ResultTable) -> Markup:
    numeric = [heading in table.numbers for heading in table.head]
    head = tag("thead", tag("tr", *(_cell("th", name, right) for name, right in zip(table.head, numeric, strict=True))))
    rows = (
        tag("tr", *(_cell("td", spell(cell), right) for cell, right in zip(row, numeric, strict=True)))
        for row in table.rows
    )
    body = tag("tbody", *rows)
    parts = [tag("h3", table.title), tag("div", tag("table", head, body, class_="cells"), class_="scroll")]
    return join([*parts, tag("p", table.note, class_="note")] if table.note else parts)


def _cell(name: str, content: str, right: bool) -> Markup:
    return tag(name, content, class_="number" if right else None)


def spell(cell: Cell) -> str:
    """Formats a cell for people: four significant digits, thousands separated, a dash for nothing measured."""
    if cell is None:
        return "–"
    if isinstance(cell, bool | str):
        return str(cell)
    if isinstance(cell, int):
        return f"{cell:,}"
    if cell == 0 or 1e-3 <= abs(cell) < 1e6:
        return f"{cell:,.1f}" if abs(cell) >= 100 else f"{cell:.4g}"
    return f"{cell:.3g}"
