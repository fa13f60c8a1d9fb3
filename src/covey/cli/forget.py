"""`covey forget`: erases the secrets that a finished run keeps."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from covey.cli.options import Json
from covey.cli.output import print_json


def forget(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a run or of a simulation.")],
    unfinished: Annotated[
        bool, typer.Option("--unfinished", help="Also erase a run that has not ended; it can then not go on.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Erases the journals of a finished run, with their seeds and session keys, and leaves what may be kept.

    Example: covey forget out
    """
    from covey.party.record.forget import forget as erase

    gone = erase(folder, unfinished=unfinished)
    if as_json:
        print_json({"erased": [str(path) for path in gone]})
        return
    for path in gone:
        typer.echo(f"erased {path}")
    if not gone:
        typer.echo(f"{folder}: nothing is left to forget")
