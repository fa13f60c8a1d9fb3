"""`covey forget`: erases what a finished run keeps secret."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer


def forget(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a run or of a simulation.")],
    unfinished: Annotated[
        bool, typer.Option("--unfinished", help="Also where a run has not ended; it can then not go on.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result for programs.")] = False,
) -> None:
    """Erases the journals of a finished run, with their seeds and session keys, and leaves what may be kept.

    Example: covey forget out
    """
    from covey.party.record.forget import forget as erase

    gone = erase(folder, unfinished=unfinished)
    if as_json:
        typer.echo(json.dumps({"erased": [str(path) for path in gone]}, indent=2))
        return
    for path in gone:
        typer.echo(f"erased {path}")
    if not gone:
        typer.echo(f"{folder}: nothing is left to forget")
