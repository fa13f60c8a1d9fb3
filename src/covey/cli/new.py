"""`covey new`: writes a first study file from a look at the data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from covey.cli.options import Encoding, Json, encoded
from covey.cli.output import console, print_json, table

if TYPE_CHECKING:
    from covey.guess import Guess


def new(
    data: Annotated[list[str], typer.Argument(metavar="DATA…", help="A table, or one table per party.")],
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The study file to write.")] = Path("study.toml"),
    k: Annotated[int, typer.Option("--k", min=2, help="The k to ask for.")] = 10,
    encoding: Encoding = None,
    as_json: Json = False,
) -> None:
    """Looks at data and writes a commented study file: guessed roles and hierarchies, and why.

    Example: covey new north.csv south.csv --out study.toml
    """
    from covey.guess import write_draft

    made = write_draft([encoded(each, encoding) for each in data], out, k)
    if as_json:
        guesses = [
            {"column": g.name, "role": str(g.role), "hierarchy": g.hierarchy, "why": g.why} for g in made.guesses
        ]
        print_json({"study": str(out), "partition": made.partition, "columns": guesses})
        return
    _render(out, made.guesses, bool(made.files))


def _render(out: Path, guesses: tuple[Guess, ...], files: bool) -> None:
    shown = console()
    rows = [(each.name, str(each.role), (each.hierarchy or "").partition("\n")[0], each.why) for each in guesses]
    shown.print(table(("column", "role", "hierarchy", "because"), rows))
    shown.print(f"\nwrote {out}: read every guess before you share it", markup=False)
    if files:
        shown.print(
            "its hierarchies/ list the values of your data, one level below *: put levels in, "
            "and take out any value that partners must not see"
        )
    shown.print(f"next: covey check {out} --data …", markup=False)
