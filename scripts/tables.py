"""Tables and single figures from rows of results, as the pages print them.

A table's columns are one text: `k|people=rows:whole|LM=lm:loss` is a column `k` as the row has it, a column `people`
with the row's `rows` as a whole number, and a column `LM` with the row's `lm` as a loss. `FORMS` has all ways to write.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

Row = Mapping[str, object]
Results = Mapping[str, Sequence[Row]]
Maker = Callable[[Results], str]
Cell = Callable[[Row], str]
Rows = str | Callable[[Results], Sequence[Row]]
"""A part of the results, or how rows are found in them."""


def number(row: Row, key: str) -> float:
    """A measured number."""
    return float(str(row[key]))


def short(loss: float) -> str:
    """A loss as the pages print it: .0735, and 1 where all is lost."""
    return "1" if loss >= 0.99995 else f"{loss:.4f}".lstrip("0")


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown, with empty lines around it."""
    lines = [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows)]
    return "\n" + "\n".join(lines) + "\n"


def seconds(value: float) -> str:
    """Seconds with as many digits as mean something."""
    return f"{value:.2f}" if value < 0.095 else f"{value:.1f}" if value < 9.5 else f"{value:,.0f}"


def chosen(rows: Sequence[Row], /, **conditions: object) -> list[Row]:
    """The rows that have the wanted values; of several values, given as a tuple, one will do."""
    return [
        row
        for row in rows
        if all(
            row.get(key) in value if isinstance(value, tuple) else row.get(key) == value
            for key, value in conditions.items()
        )
    ]


# -- how a cell is written


def text(key: str, labels: Mapping[str, str] | None = None) -> Cell:
    """The cell as it stands in the row, or as it is said; empty where it is missing."""
    return lambda row: (labels or {}).get(str(row.get(key)), "" if row.get(key) is None else str(row[key]))


def loss(key: str = "lm") -> Cell:
    """A loss; empty where it is missing."""
    return lambda row: "" if row.get(key) is None else short(number(row, key))


def whole(key: str, scale: float = 1) -> Cell:
    """A whole number, or one digit more where it is below ten and a scale was given; empty where it is missing."""

    def cell(row: Row) -> str:
        if row.get(key) is None:
            return ""
        value = number(row, key) / scale
        return f"{value:,.1f}" if scale > 1 and value < 9.95 else f"{value:,.0f}"

    return cell


def clock(key: str) -> Cell:
    """Seconds."""
    return lambda row: "" if row.get(key) is None else seconds(number(row, key))


def percent(key: str) -> Cell:
    """A part as a percentage."""
    return lambda row: f"{100 * number(row, key):.{0 if number(row, key) >= 0.095 else 1}f}%"


def form(write: Callable[[float], str]) -> Callable[[str], Cell]:
    """A way to write a number; empty where it is missing."""
    return lambda key: lambda row: "" if row.get(key) is None else write(number(row, key))


FORMS: dict[str, Callable[[str], Cell]] = {
    "": text,
    "loss": loss,
    "whole": whole,
    "mega": lambda key: whole(key, 1e6),
    "kilo": lambda key: whole(key, 1e3),
    "clock": clock,
    "percent": percent,
    "code": lambda key: lambda row: f"`{row[key]}`",
    "ms": form(lambda value: f"{1000 * value:.0f} ms"),
    "part": form(lambda value: f"{value:g}".lstrip("0")),
    "ratio": form(lambda value: f"{value:.3f}"),
    "chance": form(lambda value: f"{value:.4f}".lstrip("0")),
}


# -- how figures are put together


def columns(described: str, special: Mapping[str, Cell] | None = None) -> dict[str, Cell]:
    """The columns that a text describes, by their headings; `more` are cells of their own, named like forms."""
    cells = {}
    for part in described.split("|"):
        heading, equals, source = part.strip().partition("=")
        key, _, form_name = (source if equals else heading).partition(":")
        cell = (special or {}).get(form_name)
        cells[heading if equals else key] = FORMS[form_name](key) if cell is None else cell
    return cells


def rows_of(results: Results, rows: Rows, order: str = "", /, **conditions: object) -> list[Row]:
    """The rows that have the wanted values, sorted by some of them."""
    keys = order.split("|") if order else []
    entries = results[rows] if isinstance(rows, str) else rows(results)
    return sorted(chosen(entries, **conditions), key=lambda row: [number(row, key) for key in keys])


def listed(
    rows: Rows, described: str, order: str = "", special: Mapping[str, Cell] | None = None, **conditions: object
) -> Maker:
    """A table with a line for each row that has the wanted values, sorted by some of them."""
    cells = columns(described, special)
    return lambda results: table(
        list(cells), [[cell(row) for cell in cells.values()] for row in rows_of(results, rows, order, **conditions)]
    )


def side_by_side(
    rows: Rows,
    lines: str,
    described: str,
    order: str = "k",
    special: Mapping[str, Cell] | None = None,
    **conditions: object,
) -> Maker:
    """A table with a line for all rows that differ in k alone; its cells have them one after the other."""
    heads, every = columns(lines, special), columns(f"k|{described}")

    def make(results: Results) -> str:
        groups: dict[tuple[str, ...], list[Row]] = {}
        for row in rows_of(results, rows, order, **conditions):
            groups.setdefault(tuple(cell(row) for cell in heads.values()), []).append(row)
        cells = [[*line, *(" / ".join(map(cell, group)) for cell in every.values())] for line, group in groups.items()]
        return table([*heads, *every], cells)

    return make


def across(rows: Rows, head: str, heading: Cell, described: str, order: str = "") -> Maker:
    """A table with a column for each row, and a line for each thing that is described of it."""
    lines = columns(described)

    def make(results: Results) -> str:
        entries = rows_of(results, rows, order)
        return table((head, *map(heading, entries)), [(label, *map(cell, entries)) for label, cell in lines.items()])

    return make


def figure(rows: Rows, cell: Cell, /, **conditions: object) -> Maker:
    """One figure in a sentence: of the row that has the wanted values."""

    def make(results: Results) -> str:
        (row,) = rows_of(results, rows, **conditions)
        return cell(row)

    return make
