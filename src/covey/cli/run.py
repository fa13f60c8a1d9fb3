"""`covey run`: one party against the real others."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from covey.errors import InputError


def run(
    study: Annotated[Path, typer.Argument(metavar="STUDY", help="The study file, with addresses and certificates.")],
    party: Annotated[str, typer.Option("--as", metavar="PARTY", help="Which party of the study this is.")],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="The folder for what the run leaves.")],
    data: Annotated[
        str | None, typer.Option("--data", metavar="DATA", help="A CSV or Parquet file, or postgres://…")
    ] = None,
    keys: Annotated[Path, typer.Option("--keys", metavar="DIR", help="This party's keys.")] = Path("keys"),
    listen: Annotated[
        str | None,
        typer.Option("--listen", metavar="HOST:PORT", help="Where to listen, if not at our address."),
    ] = None,
    wait: Annotated[float, typer.Option("--wait", metavar="MINUTES", help="How long to wait for people.")] = 60.0,
    approve: Annotated[bool, typer.Option("--approve", help="Approve the release without being asked.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result for programs.")] = False,
) -> None:
    """Runs one party; before anything is published it shows what will be, and asks.

    Example: covey run study.toml --as north --data north.csv --out out --keys keys
    """
    from covey.cli.display import Display
    from covey.cli.outcome import render
    from covey.party.session.approval import approve_always, ask_on_terminal
    from covey.party.session.run import Job, run_party
    from covey.wire.contact import Address

    if not 0 < wait <= 60 * 24 * 30:
        raise InputError("--wait must be a number of minutes above 0, and at most 30 days")
    with Display() as display:

        async def ask(shown: str) -> bool:
            with display.paused():
                return await ask_on_terminal(shown)

        summary = run_party(
            Job(
                study=study,
                party=party,
                out=out,
                keys=keys,
                decide=approve_always if approve else ask,
                data=data,
                listen=None if listen is None else Address.parse(listen),
                wait=60 * wait,
                listener=display.show,
                notice=display.notice,
            )
        )
    render(summary, out, as_json=as_json)
