"""`covey new`: a first study file from a look at the data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from covey.errors import InputError
from covey.plain import slug

if TYPE_CHECKING:
    from covey.guess import Guess


def new(
    data: Annotated[list[str], typer.Argument(metavar="DATA…", help="A table, or one table per party.")],
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="Where to write the study.")] = Path("study.toml"),
    k: Annotated[int, typer.Option("--k", min=2, help="The k to ask for.")] = 10,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result for programs.")] = False,
) -> None:
    """Looks at data and writes a commented study file: guessed roles and hierarchies, and why.

    Example: covey new north.csv south.csv --out study.toml
    """
    from covey.files import write_atomically
    from covey.guess import draft
    from covey.sources import connect

    sources = [(_party(path, data), connect(path)) for path in data]
    for _, source in sources:
        source.require(())
    made = draft(slug(Path(data[0]).stem, "study"), sources, k)
    targets = {out.parent / path: text for path, text in made.files.items()}
    taken = [path for path in (out, *targets) if path.exists()]
    if taken:
        raise InputError(f"{taken[0]}: is there already; choose another --out, or remove it first")
    for path, text in targets.items():
        write_atomically(path, text.encode())
    write_atomically(out, made.text.encode())
    if as_json:
        guesses = [
            {"column": g.name, "role": str(g.role), "hierarchy": g.hierarchy, "why": g.why} for g in made.guesses
        ]
        typer.echo(json.dumps({"study": str(out), "partition": made.partition, "columns": guesses}, indent=2))
        return
    _render(out, made.guesses, bool(targets))


def _party(path: str, every: list[str]) -> str:
    """A party's name from its file's; two files of one name are told apart by their place."""
    stems = [_stem(other) for other in every]
    own = _stem(path)
    return own if stems.count(own) == 1 else f"{own}-{every.index(path) + 1}"


def _stem(path: str) -> str:
    """What a file's name gives of a party's: letters, digits, `_` and `-`, beginning with one of the first two."""
    return slug(Path(path.split("?", maxsplit=1)[0]).stem, "party")


def _render(out: Path, guesses: tuple[Guess, ...], files: bool) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("column", "role", "hierarchy", "because"):
        table.add_column(heading)
    for each in guesses:
        shown = (each.hierarchy or "").partition("\n")[0]
        table.add_row(Text(each.name), str(each.role), Text(shown), Text(each.why))
    console = Console(highlight=False)
    console.print(table)
    console.print(f"\nwrote {out}: read every guess before you share it", markup=False)
    if files:
        console.print(
            "its hierarchies/ list the values of your data, one level below *: put levels in, "
            "and take out any value that partners must not see"
        )
    console.print(f"next: covey check {out} --data …", markup=False)
