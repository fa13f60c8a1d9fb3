"""Output that several commands share: JSON for programs, tables, and the end of a run in a few lines."""

from __future__ import annotations

import json
import shutil
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from covey.errors import Unmet
from covey.plain import plural
from covey.sizes import spell
from covey.summary import Summary

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

    grid = Table(
        title=Text(title) if title else None, title_justify="left", box=None, pad_edge=False, header_style="bold"
    )
    lines = list(rows)
    longest = [max((len(row[index]) for row in lines), default=0) for index in range(len(headings))]
    crowded = sum(map(max, longest, map(len, headings))) + 2 * (len(headings) - 1) > width()
    for heading, length in zip(headings, longest, strict=True):
        number = heading in right  # a number is never broken, a heading may be, and words are where it is too wide
        fixed = max(length, *map(len, heading.split()), 0) if number and crowded else None
        grid.add_column(Text(heading), justify="right" if number else "left", width=fixed)
    for row in lines:
        grid.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in row))
    return grid


def fitted(
    headings: Sequence[str], rows: Sequence[Sequence[str]], numbers: Collection[str], width: int
) -> tuple[list[str], list[list[str]], list[str]]:
    """Takes columns of words out of a table that is too wide.

    Returns the headings and rows that stay, and for each column that was taken out lines that say whose each word is.
    """
    columns, aside = list(range(len(headings))), list[str]()

    def wide(index: int) -> int:
        longest = max(map(len, headings[index].split()), default=0)  # a heading may be broken between words
        return max(longest, *(len(row[index]) for row in rows), 0) + 2

    for index in reversed(columns[1:]):
        if sum(map(wide, columns)) - 2 > width and headings[index] not in numbers:
            columns.remove(index)
            owners: dict[str, list[str]] = {}
            for row in rows:
                if row[index]:
                    owners.setdefault(row[index], []).append(row[0])
            aside = [*(f"{headings[index]}: {word} ({'; '.join(names)})" for word, names in owners.items()), *aside]
    return [headings[index] for index in columns], [[row[index] for index in columns] for row in rows], aside


def verdict(fit: bool, positive: str = "ok", no: str = "no") -> Text:
    """A word in green or in red."""
    from rich.text import Text

    return Text(positive, "green") if fit else Text(no, "red")


def render(summary: Summary, folder: Path, *, as_json: bool = False, with_ledger: bool = True) -> None:
    """Prints what was released, what it cost, what was learned, and where everything is."""
    from covey.party.record.reporting import facts_of
    from covey.secure.declare import rounded, tell

    if as_json:
        typer.echo(summary.spell().decode().rstrip())
        return
    for line in summary.counted():
        typer.echo(line)
    if summary.release_sha256 is not None:
        typer.echo(_released(summary))
    else:
        typer.echo("The run is finished; the release went to others.")
    cost = f"{summary.seconds or 0:.1f} s, {plural(summary.rounds or 0, 'round')} and {spell(summary.bytes or 0)}"
    typer.echo(f"It took {cost} among all parties.")
    if with_ledger:
        typer.echo("")
        for line in tell(facts_of(folder, summary), len(summary.parties), width(), "What {} learned:", rounded):
            typer.echo(line)
        typer.echo("")
    typer.echo(f"Everything is in {folder}: begin with report.html")


def require_publishable(summary: Summary, folder: Path) -> None:
    """Raises Unmet for a release that may not be published."""
    if summary.refused is not None:
        raise Unmet(f"{folder}: no, do not publish this: {summary.refused}")


def _released(summary: Summary) -> str:
    classes = plural(summary.classes or 0, "class", "classes")
    left_out = f", {summary.withheld:,} withheld" if summary.withheld else ""
    diversity = f", l = {summary.l_reached:.3g}" if summary.l_reached is not None else ""
    insider = f", insider k = {summary.insider_k}" if summary.insider_k is not None else ""
    return (
        f"Released: {plural(summary.rows or 0, 'row')} in {classes}{left_out}; the smallest has "
        f"{summary.k_reached:,} (k = {summary.k}){insider}{diversity}."
    )
