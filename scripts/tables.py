"""Tables and single figures from rows of results, as the pages print them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

Row = Mapping[str, object]
Results = Mapping[str, Sequence[Row]]
Maker = Callable[[Results], str]
Cell = Callable[[Row], str]


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


def chosen(rows: Sequence[Row], /, **wanted: object) -> list[Row]:
    """The rows that have the wanted values; of several values, given as a tuple, one will do."""
    return [
        row
        for row in rows
        if all(
            row.get(key) in value if isinstance(value, tuple) else row.get(key) == value
            for key, value in wanted.items()
        )
    ]


# -- how a cell is written


def text(key: str, said: Mapping[str, str] | None = None) -> Cell:
    """The cell as it stands in the row, or as it is said; empty where it is missing."""
    return lambda row: (said or {}).get(str(row.get(key)), "" if row.get(key) is None else str(row[key]))


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


# -- how figures are put together


def listed(part: str, columns: Mapping[str, Cell], order: Sequence[str] = (), **wanted: object) -> Maker:
    """A table with a line for each row that has the wanted values, sorted by some of them."""

    def make(found: Results) -> str:
        rows = sorted(chosen(found[part], **wanted), key=lambda row: [number(row, key) for key in order])
        return table(list(columns), [[cell(row) for cell in columns.values()] for row in rows])

    return make


def side_by_side(
    part: str, lines: Mapping[str, Cell], columns: Mapping[str, Cell], over: str = "k", order: Sequence[str] = (),
    **wanted: object,
) -> Maker:  # fmt: skip
    """A table with a line for all rows that differ in one number alone; its cells have them one after the other."""

    def make(found: Results) -> str:
        rows = sorted(chosen(found[part], **wanted), key=lambda row: [number(row, key) for key in (*order, over)])
        groups: dict[tuple[str, ...], list[Row]] = {}
        for row in rows:
            groups.setdefault(tuple(cell(row) for cell in lines.values()), []).append(row)
        every = {over: text(over), **columns}
        cells = [[*line, *(" / ".join(map(cell, own)) for cell in every.values())] for line, own in groups.items()]
        return table([*lines, *every], cells)

    return make


def figure(part: str, cell: Cell, **wanted: object) -> Maker:
    """One figure in a sentence: of the row that has the wanted values."""

    def make(found: Results) -> str:
        (row,) = chosen(found[part], **wanted)
        return cell(row)

    return make
