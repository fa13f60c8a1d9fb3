"""`covey authority`: the party that issues the identity keys of `suppress`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from covey.errors import InputError

app = typer.Typer(no_args_is_help=True, help="The authority that issues the identity keys of suppress.")

_DAYS = 30


@app.callback()
def root() -> None:
    """The authority that issues the identity keys of suppress."""


@app.command()
def serve(
    study: Annotated[
        Path, typer.Argument(metavar="STUDY", help="The study file, with the authority's section and all certificates.")
    ],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="The folder for its log and its sessions.")],
    keys: Annotated[Path, typer.Option("--keys", metavar="DIR", help="The authority's keys.")] = Path("keys"),
    listen: Annotated[
        str | None,
        typer.Option("--listen", metavar="HOST:PORT", help="Where to listen, if not at its address."),
    ] = None,
    wait: Annotated[
        float, typer.Option("--wait", metavar="MINUTES", help="How long to wait for the parties of a session.")
    ] = 60.0 * 24,
    once: Annotated[bool, typer.Option("--once", help="End with the first session that comes to its end.")] = False,
) -> None:
    """Issues the parties of a study the keys of their names, session after session, until it is interrupted.

    Whoever has the authority's keys can open what the parties encrypt: run it at neither of them.

    Example: covey authority serve study.toml --keys keys --out authority
    """
    from covey.cli.display import Display
    from covey.party.session.authority import Service
    from covey.party.session.authority import serve as serve_sessions
    from covey.wire.contact import Address

    if not 0 < wait <= 60 * 24 * _DAYS:
        raise InputError(f"--wait must be a number of minutes above 0, and at most {_DAYS} days")
    with Display() as display:
        finished = serve_sessions(
            Service(
                study=study,
                keys=keys,
                out=out,
                listen=None if listen is None else Address.parse(listen),
                wait=60 * wait,
                once=once,
                listener=display.show,
                notice=display.notice,
            )
        )
    typer.echo(f"{finished} session{'' if finished == 1 else 's'} finished; the keys that were issued are in {out}")
