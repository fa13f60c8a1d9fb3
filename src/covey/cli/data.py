"""`covey data`: copies out the samples that ship, and fetches public data sets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from covey import samples
from covey.cli.options import Json, complete_samples
from covey.cli.output import console, print_json, table
from covey.samples.fetch import PUBLIC, known
from covey.samples.fetch import fetch as fetch_public

app = typer.Typer(no_args_is_help=True, help="Sample data that ships with Covey, and public data to fetch.")


@app.command("list")
def list_(as_json: Json = False) -> None:
    """Lists the samples that ship and the public data sets that can be fetched."""
    entries = [("sample", name, samples.describe(name)) for name in samples.names()]
    entries += [("public", name, public.about) for name, public in PUBLIC.items()]
    if as_json:
        print_json([{"kind": k, "name": n, "about": description} for k, n, description in entries])
        return
    commands = {"sample": "covey data sample", "public": "covey data fetch"}
    rows = [(f"{commands[kind]} {name}", description) for kind, name, description in entries]
    console().print(table(("get it with", "what it is"), rows))


@app.command()
def sample(
    name: Annotated[str, typer.Argument(help="A sample: see `covey data list`.", autocompletion=complete_samples)],
    folder: Annotated[
        Path | None, typer.Option("--out", help="A new or empty folder; default: the sample's name.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Copies a sample out of the package: its tables, hierarchies and study file."""
    _say(name, samples.copy(name, folder or Path(name)), as_json)


@app.command()
def fetch(
    name: Annotated[str, typer.Argument(help="A public data set: see `covey data list`.")],
    folder: Annotated[
        Path | None, typer.Option("--out", help="A new or empty folder; default: the data set's name.")
    ] = None,
    source: Annotated[str | None, typer.Option("--from", help="Another address, or a copy of the raw file.")] = None,
    as_json: Json = False,
) -> None:
    """Fetches a public data set, checks its rows by hash, and writes it with hierarchies and a study file."""
    _say(name, fetch_public(known(name), folder or Path(name), source=source), as_json)


def _say(name: str, folder: Path, as_json: bool) -> None:
    files = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    if as_json:
        print_json({"name": name, "folder": str(folder), "files": files})
        return
    typer.echo(f"{name} is in {folder}: {', '.join(files)}")
    typer.echo(f"Begin with the comments in {folder / 'study.toml'}")
