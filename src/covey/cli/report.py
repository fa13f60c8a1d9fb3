"""`covey report`: a run's report, made again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer


def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a finished run.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the result for programs.")] = False,
) -> None:
    """Makes report.html again from a run's summary and ledger.

    Example: covey report out
    """
    from covey.report import write

    path = write(folder)
    typer.echo(json.dumps({"report": str(path)}) if as_json else f"wrote {path}")
