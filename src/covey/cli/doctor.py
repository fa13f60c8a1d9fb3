"""`covey doctor`: examines this machine."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from covey.cli.options import Json
from covey.cli.output import console, print_json, table, verdict
from covey.doctor import examine
from covey.errors import Unmet


def doctor(
    out: Annotated[Path, typer.Option(help="The folder to which a run would write.")] = Path(),
    as_json: Json = False,
) -> None:
    """Examines this machine: Python, packages, clocks, folder, compiler, ports; says what to do if one is unfit."""
    findings = examine(out)
    unfit = [finding for finding in findings if not finding.fit]
    if as_json:
        print_json({"fit": not unfit, "findings": [asdict(each) for each in findings]})
    else:
        rows = [(verdict(each.fit, "fit", "unfit"), each.name, each.found, each.advice) for each in findings]
        console().print(table(("", "examined", "found", "what to do"), rows))
    if unfit:
        raise Unmet("this machine is unfit: " + "; ".join(f"{each.name}: {each.advice}" for each in unfit))
