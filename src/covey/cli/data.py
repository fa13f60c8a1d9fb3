"""`covey data`: what ships, copied out; what is public, fetched."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from covey import samples
from covey.cli import complete
from covey.samples.fetch import PUBLIC, known
from covey.samples.fetch import fetch as fetch_public

app = typer.Typer(no_args_is_help=True, help="Sample data that ships with Covey, and public data to fetch.")

Json = Annotated[bool, typer.Option("--json", help="Print the result for programs.")]


@app.command("list")
def list_(as_json: Json = False) -> None:
    """Lists the samples that ship and the public data sets that can be fetched."""
    entries = [("sample", name, samples.describe(name)) for name in samples.names()]
    entries += [("public", name, public.about) for name, public in PUBLIC.items()]
    if as_json:
        typer.echo(json.dumps([{"kind": k, "name": n, "about": about} for k, n, about in entries], indent=2))
        return
    commands = {"sample": "covey data sample", "public": "covey data fetch"}
    table = Table(box=None, pad_edge=False)
    for heading in ("get it with", "what it is"):
        table.add_column(heading)
    for kind, name, about in entries:
        table.add_row(f"{commands[kind]} {name}", about)
    Console().print(table)


@app.command()
def sample(
    name: Annotated[str, typer.Argument(help="A sample: see `covey data list`.", autocompletion=complete.samples)],
    out: Annotated[Path | None, typer.Option(help="A new or empty folder; default: the sample's name.")] = None,
    as_json: Json = False,
) -> None:
    """Copies a sample out of the package: its tables, hierarchies and study file."""
    _say(name, samples.copy(name, out or Path(name)), as_json)


@app.command()
def fetch(
    name: Annotated[str, typer.Argument(help="A public data set: see `covey data list`.")],
    out: Annotated[Path | None, typer.Option(help="A new or empty folder; default: the data set's name.")] = None,
    source: Annotated[str | None, typer.Option("--from", help="Another address, or a copy of the raw file.")] = None,
    as_json: Json = False,
) -> None:
    """Fetches a public data set, checks its rows by hash, and writes it with hierarchies and a study file."""
    _say(name, fetch_public(known(name), out or Path(name), source=source), as_json)


def _say(name: str, folder: Path, as_json: bool) -> None:
    files = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    if as_json:
        typer.echo(json.dumps({"name": name, "folder": str(folder), "files": files}, indent=2))
        return
    typer.echo(f"{name} is in {folder}: {', '.join(files)}")
    typer.echo(f"Begin with the comments in {folder / 'study.toml'}")
