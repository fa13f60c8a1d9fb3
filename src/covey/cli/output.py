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
    for heading in headings:
        made.add_column(Text(heading), justify="right" if heading in right else "left")
    for row in rows:
        made.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in row))
    return made


def verdict(fit: bool, yes: str = "ok", no: str = "no") -> Text:
    """A word in green or in red."""
    from rich.text import Text

    return Text(yes, "green") if fit else Text(no, "red")
