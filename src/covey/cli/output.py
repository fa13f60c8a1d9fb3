"""Output that several commands share: JSON for programs, and tables."""

from __future__ import annotations

import json
import shutil
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text


def print_json(content: object) -> None:
    """Prints a result for programs."""
    typer.echo(json.dumps(content, indent=2, ensure_ascii=False))


def width() -> int:
    """The columns of the terminal, for texts that are wrapped."""
    return shutil.get_terminal_size().columns


def console() -> Console:
    """The console for a result: it colours nothing by itself."""
    from rich.console import Console

    return Console(highlight=False)


def table(
    headings: Sequence[str], rows: Iterable[Sequence[str | Text]], *, right: Collection[str] = (), title: str = ""
) -> Table:
    """Builds a table without lines; texts are shown as they are. `right` names the columns of numbers."""
    from rich.table import Table
    from rich.text import Text

    made = Table(
        title=Text(title) if title else None, title_justify="left", box=None, pad_edge=False, header_style="bold"
    )
    lines = list(rows)
    longest = [max((len(row[place]) for row in lines), default=0) for place in range(len(headings))]
    crowded = sum(map(max, longest, map(len, headings))) + 2 * (len(headings) - 1) > width()
    for heading, least in zip(headings, longest, strict=True):
        number = heading in right  # a number is never broken, a heading may be, and words are where it is too wide
        fixed = max(least, *map(len, heading.split()), 0) if number and crowded else None
        made.add_column(Text(heading), justify="right" if number else "left", width=fixed)
    for row in lines:
        made.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in row))
    return made


def fitted(
    headings: Sequence[str], rows: Sequence[Sequence[str]], numbers: Collection[str], width: int
) -> tuple[list[str], list[list[str]], list[str]]:
    """Takes columns of words, the last first, out of a table that is too wide for that many characters.

    Returns the headings and rows that stay, and for each column that was taken out lines that say whose each word is.
    """
    kept, aside = list(range(len(headings))), list[str]()

    def wide(place: int) -> int:
        longest = max(map(len, headings[place].split()), default=0)  # a heading may be broken between words
        return max(longest, *(len(row[place]) for row in rows), 0) + 2

    for place in reversed(kept[1:]):
        if sum(map(wide, kept)) - 2 > width and headings[place] not in numbers:
            kept.remove(place)
            owners: dict[str, list[str]] = {}
            for row in rows:
                if row[place]:
                    owners.setdefault(row[place], []).append(row[0])
            aside = [*(f"{headings[place]}: {said} ({'; '.join(of)})" for said, of in owners.items()), *aside]
    return [headings[place] for place in kept], [[row[place] for place in kept] for row in rows], aside


def verdict(fit: bool, yes: str = "ok", no: str = "no") -> Text:
    """A word in green or in red."""
    from rich.text import Text

    return Text(yes, "green") if fit else Text(no, "red")
