"""`covey demo`: the main job, on sample data that ships with the package."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from covey.cli import complete
from covey.cli.options import Json
from covey.cli.outcome import render
from covey.cli.output import console, print_json, table
from covey.errors import Aborted

if TYPE_CHECKING:
    from covey.party.simulate.demo import Demo
    from covey.summary import Summary

_SHOWN = 12


def demo(
    context: typer.Context,
    protocol: Annotated[
        str | None,
        typer.Option(
            "--protocol",
            metavar="NAME",
            help="The protocol to show, such as peel or peel-columns; see `covey protocols`.",
            autocompletion=complete.protocols,
        ),
    ] = None,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="A new folder, or that of an earlier demo.")] = Path(
        "covey-demo"
    ),
    as_json: Json = False,
) -> None:
    """Shows the main job: parties as separate processes, with real certificates and TLS, publish one table.

    Example: covey demo --out demo
    """
    from covey.cli.display import Display
    from covey.party.simulate import worker
    from covey.party.simulate.demo import DEFAULT, check, prepare
    from covey.party.simulate.processes import SimulationSetting, simulate
    from covey.protocols import named

    named(protocol or DEFAULT)
    with worker.starter(own=bool(context.obj)) as starter:
        ready = prepare(protocol or DEFAULT, out)
        if not as_json:
            _introduce(ready)
        try:
            with Display(together=True) as display:
                summary = simulate(ready.study, ready.data, out, SimulationSetting(listener=display.show), starter)
        except KeyboardInterrupt:
            raise Aborted("interrupted; nothing was released", resumable=False) from None
    verified = check(ready, out)
    if as_json:
        print_json({**summary.describe(), "verified": verified})
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
    typer.echo("")
    _excerpt(run / "release.csv")
    typer.echo("")
    render(summary, run, with_ledger=False)
    typer.echo(f"Checked: {verified}.")
    typer.echo(f"What each party learned is in {run}/PARTY/ledger.json")


def _excerpt(release: Path) -> None:
    """Prints a dozen rows from all over the release: it is sorted, so that its beginning is not typical."""
    with release.open(newline="", encoding="utf-8") as stream:
        header, *rows = list(csv.reader(stream))
    shown = rows if len(rows) <= _SHOWN else [rows[place * len(rows) // _SHOWN] for place in range(_SHOWN)]
    title = "release.csv" if shown is rows else f"release.csv: {_SHOWN} of its {len(rows):,} rows"
    console().print(table(header, shown, title=title))
