"""`covey doctor`: this machine, examined."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from covey.doctor import Finding, examine
from covey.errors import Unmet


def doctor(
    out: Annotated[Path, typer.Option(help="The folder that a run would write to.")] = Path(),
    as_json: Annotated[bool, typer.Option("--json", help="Print the result for programs.")] = False,
) -> None:
    """Examines this machine: Python, packages, clocks, folder, compiler, ports; says what to do if one is unfit."""
    findings = examine(out)
    unfit = [finding for finding in findings if not finding.fit]
    if as_json:
        typer.echo(json.dumps({"fit": not unfit, "findings": [asdict(each) for each in findings]}, indent=2))
    else:
        Console().print(_table(findings))
    if unfit:
        raise Unmet("this machine is unfit: " + "; ".join(f"{each.name}: {each.advice}" for each in unfit))


def _table(findings: list[Finding]) -> Table:
    table = Table(box=None, pad_edge=False)
    for heading in ("", "examined", "found", "what to do"):
        table.add_column(heading)
    for each in findings:
        verdict = Text("fit", "green") if each.fit else Text("unfit", "red")
        table.add_row(verdict, each.name, Text(each.found, overflow="fold"), Text(each.advice))
    return table
