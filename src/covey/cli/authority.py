"""`covey authority`: the party that issues the identity keys of `suppress`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from covey.cli.options import KEYS, Json, Keys, Listen, Wait, listen_address, wait_seconds
from covey.cli.output import print_json
from covey.plain import plural

app = typer.Typer(no_args_is_help=True, help="The authority that issues the identity keys of suppress.")


@app.callback()
def root() -> None:
    """The authority that issues the identity keys of suppress."""


@app.command()
def serve(
    study: Annotated[
        Path, typer.Argument(metavar="STUDY", help="The study file, with the authority's section and all certificates.")
    ],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="The folder for its log and its sessions.")],
    keys: Keys = KEYS,
    listen: Listen = None,
    wait: Wait = 60.0 * 24,
    once: Annotated[bool, typer.Option("--once", help="End after the first session that finishes.")] = False,
    as_json: Json = False,
) -> None:
    """Issues identity keys to the parties of a study, session after session, until it is interrupted.

    With the authority's keys one can decrypt what the parties encrypt: run the authority at neither of them.

    Example: covey authority serve study.toml --keys keys --out authority
    """
    from covey.cli.display import Display
    from covey.party.session.authority import Service
    from covey.party.session.authority import serve as serve_sessions

    seconds, address = wait_seconds(wait), listen_address(listen)
    with Display() as display:
        finished = serve_sessions(
            Service(
                study=study,
                keys=keys,
                out=out,
                listen=address,
                wait=seconds,
                once=once,
                listener=display.show,
                notice=display.notice,
            )
        )
    if as_json:
        print_json({"finished": finished, "folder": str(out)})
    else:
        typer.echo(f"{plural(finished, 'session')} finished; the keys that were issued are in {out}")
