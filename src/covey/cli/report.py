"""`covey report`: the page of a run or a release, made again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer


def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a run or of a release.")],
    data: Annotated[
        str | None,
        typer.Option("--data", metavar="DATA", help="Your own data, to show each column before and after."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result for programs.")] = False,
) -> None:
    """Makes report.html again from the files in a folder; without --data it shows nothing of the original.

    Example: covey report out --data clinic.csv
    """
    from covey.party.record.reporting import write

    path = write(folder, data=data)
    typer.echo(json.dumps({"report": str(path)}) if as_json else f"wrote {path}")
