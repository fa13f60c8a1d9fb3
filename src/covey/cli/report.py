"""`covey report`: makes the page of a run or a release again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from covey.cli.options import Json
from covey.cli.output import print_json


def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a run or of a release.")],
    data: Annotated[
        str | None,
        typer.Option("--data", metavar="DATA", help="Your own data, to show each column before and after."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Makes report.html again from the files in a folder; without --data it shows nothing of the original.

    Example: covey report out --data clinic.csv
    """
    from covey.party.record.reporting import write

    path = write(folder, data=data)
    if as_json:
        print_json({"report": str(path)})
    else:
        typer.echo(f"wrote {path}")
