"""`covey new`: writes a first study file from a look at the data."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from covey.cli.options import Encoding, Json, encoded
from covey.cli.output import console, print_json, table
from covey.errors import InputError

if TYPE_CHECKING:
    from covey.guess import Draft
    from covey.schema import Role


def new(
    data: Annotated[list[str], typer.Argument(metavar="DATA…", help="A table, or one table per party.")],
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The study file to write.")] = Path("study.toml"),
    k: Annotated[int, typer.Option("--k", min=2, help="The k to ask for.")] = 10,
    role: Annotated[
        list[str] | None,
        typer.Option("--role", metavar="COLUMN=ROLE", help="The role of a column, instead of a guess; once for each."),
    ] = None,
    encoding: Encoding = None,
    as_json: Json = False,
) -> None:
    """Looks at data and writes a commented study file: guessed roles and hierarchies, and why.

    Example: covey new north.csv south.csv --out study.toml
    """
    from covey.guess import write_draft

    made = write_draft([encoded(each, encoding) for each in data], out, k, _roles(role or []))
    if as_json:
        guesses = [
            {"column": g.name, "role": str(g.role), "hierarchy": g.hierarchy, "more": list(g.lines), "why": g.why}
            for g in made.guesses
        ]
        print_json({"study": str(out), "partition": made.partition, "columns": guesses, "notes": list(made.notes)})
        return
    _render(out, made, data, encoding)


def _roles(texts: list[str]) -> dict[str, Role]:
    """Reads COLUMN=ROLE texts. Raises InputError that names the one that is wrong."""
    from covey.schema import Role

    found = {}
    for text in texts:
        column, _, role = text.rpartition("=")
        if not column or role not in tuple(Role):
            raise InputError(f"--role {text}: write it as COLUMN=ROLE, with a role of {', '.join(Role)}")
        found[column] = Role(role)
    return found


def _render(out: Path, made: Draft, data: Sequence[str], encoding: str | None) -> None:
    shown = console()
    rows = [(each.name, str(each.role), each.hierarchy or "", each.why) for each in made.guesses]
    shown.print(table(("column", "role", "hierarchy", "because"), rows))
    for note in made.notes:
        shown.print(f"\nnote: {note}", markup=False)
    shown.print(f"\nwrote {out}: read every guess before you share it", markup=False)
    if made.files:
        shown.print(
            "its hierarchies/ list the values of your data, grouped by how frequent they are: give groups that mean "
            "something, and take out any value that partners must not see"
        )
    whose = f" --as {made.parties[0]}" if made.parties else ""
    read_as = f" --encoding {encoding}" if encoding else ""
    shown.print(f"next: covey check {out}{whose} --data {shlex.quote(data[0])}{read_as}", markup=False, soft_wrap=True)
