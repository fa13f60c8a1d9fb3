"""`covey new`: looks at data and decides what may be published: a first study file."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from covey.cli.options import Encoding, Json, encoded
from covey.cli.output import console, print_json
from covey.errors import InputError
from covey.plain import plain_lines, plural

if TYPE_CHECKING:
    from covey.guess import Draft, Guess
    from covey.schema import Role

_FATES = {
    "ask": "wait for you: left out until somebody answers",
    "out": "left out: they name people, or say nothing of their own",
    "quasi": "known to others: made coarser, so that k rows or more share them",
    "open": "published as they are: few values, each of many rows",
    "constant": "one value only",
}
_MOST_LISTED = 30
_MOST_LINES = 40
_AROUND = 5  # lines below the list
_ANSWERS = {"q": "quasi", "s": "sensitive", "o": "identifier", "l": "ask"}


def new(
    data: Annotated[list[str], typer.Argument(metavar="DATA…", help="A table, or one table per party.")],
    file: Annotated[Path, typer.Option("--out", metavar="FILE", help="The study file to write.")] = Path("study.toml"),
    k: Annotated[int, typer.Option("--k", min=2, help="The k to ask for.")] = 10,
    role: Annotated[
        list[str] | None,
        typer.Option("--role", metavar="COLUMN=ROLE", help="The role of a column, instead of the draft's; repeatable."),
    ] = None,
    ask: Annotated[bool, typer.Option("--ask", help="Go through the open questions, the dangerous first.")] = False,
    complete: Annotated[bool, typer.Option("--all", help="List every column, however many.")] = False,
    encoding: Encoding = None,
    as_json: Json = False,
) -> None:
    """Looks at data and decides, by its values, what may be published: a commented study file.

    identifier: left out. quasi: known to others, made coarser. sensitive and plain: published as they are, with few
    values, each of many rows. ask: left out until somebody answers a question. key: joins tables, left out.

    Example: covey new north.csv south.csv --out study.toml
    """
    from covey.guess import draft_of

    tables = [encoded(table, encoding) for table in data]
    roles = _roles(role or [])
    draft = draft_of(tables, k, roles=roles)
    if ask and (answers := dict(_asked(draft, to_stderr=as_json))):
        draft = draft_of(tables, k, roles={**roles, **answers})
    draft.write(file)
    if as_json:
        print_json({
            "study": str(file), "partition": draft.partition, "notes": list(draft.notes),
            "columns": [_described(guess) for guess in draft.guesses],
        })  # fmt: skip
        return
    _render(file, draft, data, encoding, complete)


def _described(guess: Guess) -> dict[str, object]:
    return {
        "column": guess.name, "fate": guess.fate, "role": str(guess.role), "why": guess.why,
        "question": guess.question, "values": guess.values, "alone": guess.alone, "hierarchy": guess.hierarchy,
        "more": list(guess.lines),
    }  # fmt: skip


def _roles(texts: list[str]) -> dict[str, Role]:
    """Reads COLUMN=ROLE texts. Raises InputError that names the one that is wrong."""
    from covey.schema import Role

    roles = {}
    for text in texts:
        column, _, role = text.rpartition("=")
        if not column or role not in tuple(Role):
            raise InputError(f"--role {text}: write it as COLUMN=ROLE, with a role of {', '.join(Role)}")
        roles[column] = Role(role)
    return roles


def _asked(draft: Draft, *, to_stderr: bool) -> Iterator[tuple[str, Role]]:
    """Asks the open questions one at a time, until the input ends."""
    from covey.schema import Role

    waiting = [guess for guess in _by_danger(draft.guesses) if guess.fate == "ask"]
    for number, guess in enumerate(waiting, start=1):
        typer.echo(
            f"\n{number} of {len(waiting)}: {plain_lines(guess.name)} ({_counts(guess)})\n"
            f"  {plain_lines(guess.why)}\n  {guess.question}",
            err=to_stderr,
        )
        answer = ""
        while answer not in _ANSWERS:
            typer.echo("  publish as [q]uasi or [s]ensitive, leave [o]ut, or [l]ater: ", nl=False, err=to_stderr)
            line = sys.stdin.readline()
            if not line:
                typer.echo(err=to_stderr)
                return
            answer = line.strip()[:1].lower()
        if answer != "l":
            yield guess.name, Role(_ANSWERS[answer])


def _by_danger(guesses: Sequence[Guess]) -> list[Guess]:
    """The columns by fate, those with the most rows alone first."""
    order = list(_FATES)
    return sorted(guesses, key=lambda guess: (order.index(guess.fate), -guess.alone, -guess.values))


def _counts(guess: Guess) -> str:
    unique = f", {plural(guess.alone, 'row')} alone" if guess.alone else ""
    return f"{plural(guess.values, 'value')}{unique}"


def _render(file: Path, draft: Draft, data: Sequence[str], encoding: str | None, complete: bool) -> None:
    screen = console()
    notes = [f"note: {note}" for note in draft.notes]
    guesses = _by_danger(draft.guesses)
    room = len(guesses)
    if not complete:
        lines = sum(len(note) // screen.width + 1 for note in notes) + len(_FATES) + _AROUND
        room = min(_MOST_LISTED, _MOST_LINES - lines) if len(guesses) > _MOST_LINES - lines else len(guesses)
    for line in _lines(guesses[:room], screen.width):
        screen.print(line, markup=False, no_wrap=True)
    if remainder := guesses[room:]:
        fates = [guess.fate for guess in remainder]
        numbers = ", ".join(f"{fates.count(fate)} {fate}" for fate in dict.fromkeys(fates))
        screen.print(f"and {plural(len(remainder), 'column')} more: {numbers}; --all lists them", markup=False)
    for note in notes:
        screen.print(note, markup=False)
    screen.print(f"wrote {file}, which decides what is published: read it", markup=False)
    waiting = sum(guess.fate == "ask" for guess in guesses)
    as_party = f" --as {draft.parties[0]}" if draft.parties else ""
    read_as = f" --encoding {encoding}" if encoding else ""
    if waiting:
        screen.print(f"{plural(waiting, 'column')} of {len(guesses)} left out: --ask goes through their questions")
    screen.print(
        f"next: covey check {file}{as_party} --data {shlex.quote(data[0])}{read_as}", markup=False, soft_wrap=True
    )


def _lines(guesses: Sequence[Guess], width: int) -> Iterator[str]:
    """A line for each column below its fate, cut to the screen."""
    from rich.cells import cell_len, set_cell_size

    def cut(text: str, size: int) -> str:
        return text if cell_len(text) <= size else set_cell_size(text, size - 1) + "…"

    names = {guess.name: cut(plain_lines(guess.name), 20) for guess in guesses}
    widest = max(map(cell_len, names.values()), default=0)
    for fate, meaning in _FATES.items():
        columns = [guess for guess in guesses if guess.fate == fate]
        if columns:
            yield f"{fate.upper()} ({len(columns)}): {meaning}"
        for guess in columns:
            unique = f"{guess.alone:,} alone" if guess.alone else ""
            counts = f"{plural(guess.values, 'value'):>13} {unique:>12}"
            yield cut(f"  {set_cell_size(names[guess.name], widest)} {counts}  {plain_lines(guess.why)}", width)
