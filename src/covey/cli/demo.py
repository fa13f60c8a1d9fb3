"""`covey demo`: the main job, on what ships with the package."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from covey.cli import complete
from covey.errors import Aborted

if TYPE_CHECKING:
    from covey.party.simulate.demo import Demo
    from covey.summary import Summary

_SHOWN = 12


def demo(
    protocol: Annotated[
        str | None,
        typer.Option(
            "--protocol",
            metavar="NAME",
            help="Which protocol to show; see `covey protocols`.",
            autocompletion=complete.protocols,
        ),
    ] = None,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="A new folder, or an earlier demo's.")] = Path(
        "covey-demo"
    ),
    as_json: Annotated[bool, typer.Option("--json", help="Print the result for programs.")] = False,
) -> None:
    """Shows the main job: parties as separate processes, with real certificates and TLS, publish one table.

    Example: covey demo --out demo
    """
    from covey.cli.display import Display
    from covey.party.simulate.demo import DEFAULT, check, prepare
    from covey.party.simulate.processes import Setting, simulate

    ready = prepare(protocol or DEFAULT, out)
    if not as_json:
        _introduce(ready)
    try:
        with Display() as display:
            summary = simulate(ready.study, ready.data, out, Setting(listener=display.show))
    except KeyboardInterrupt:
        raise Aborted("interrupted; nothing was released", resumable=False) from None
    verified = check(ready, out)
    if as_json:
        typer.echo(json.dumps({**summary.describe(), "verified": verified}, indent=2, ensure_ascii=False))
    else:
        _conclude(summary, verified, out)


def _introduce(ready: Demo) -> None:
    from covey.protocols import of_study

    names = [party.name for party in ready.study.parties]
    if ready.study.partition == "respondents":
        who = f"The {names[0]}, and a respondent for every row of the table,"
        where = (
            "All are in this process, and each respondent speaks with the collector only; it takes about half a minute."
        )
    else:
        who = f"{len(names)} parties ({', '.join(names)})"
        where = "Each is a process of its own with its own keys; they talk over TLS 1.3 on this machine."
    typer.echo(f"{who} run the sample study {ready.sample!r}.")
    typer.echo(f"Protocol {ready.study.protocol}: {of_study(ready.study).about}.")
    typer.echo(where)


def _conclude(summary: Summary, verified: str, run: Path) -> None:
    from covey.cli.outcome import render

    typer.echo("")
    _excerpt(run / "release.csv")
    typer.echo("")
    render(summary, run, with_ledger=False)
    typer.echo(f"Checked: {verified}.")
    typer.echo(f"What each party learned is in {run}/PARTY/ledger.json")


def _excerpt(release: Path) -> None:
    """A dozen rows from all over the release: it is sorted, and its beginning is not typical."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    with release.open(newline="", encoding="utf-8") as stream:
        header, *rows = list(csv.reader(stream))
    shown = rows if len(rows) <= _SHOWN else [rows[place * len(rows) // _SHOWN] for place in range(_SHOWN)]
    title = "release.csv" if shown is rows else f"release.csv: {_SHOWN} of its {len(rows):,} rows"
    table = Table(box=None, pad_edge=False, header_style="bold", title=title, title_justify="left")
    for name in header:
        table.add_column(Text(name))
    for row in shown:
        table.add_row(*map(Text, row))
    Console().print(table)
