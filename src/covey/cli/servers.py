"""`covey authority`, `covey relay` and `covey ui`: what a host serves."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from covey.cli.options import KEYS, Json, Keys, Listen, StudyFile, Wait, listen_address, wait_seconds
from covey.cli.output import print_json
from covey.errors import InputError
from covey.plain import plural

authority = typer.Typer(no_args_is_help=True, help="The authority that issues the identity keys of suppress.")


@authority.callback()
def authority_root() -> None:
    """The authority that issues the identity keys of suppress."""


@authority.command()
def serve(
    study: Annotated[
        Path, typer.Argument(metavar="STUDY", help="The study file, with the authority's section and all certificates.")
    ],
    folder: Annotated[Path, typer.Option("--out", metavar="DIR", help="The folder for its log and its sessions.")],
    keys: Keys = KEYS,
    listen: Listen = None,
    wait: Wait = 60.0 * 24,
    single: Annotated[bool, typer.Option("--once", help="End after the first session that finishes.")] = False,
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
                out=folder,
                listen=address,
                wait=seconds,
                once=single,
                listener=display.show,
                notice=display.notice,
            )
        )
    if as_json:
        print_json({"finished": finished, "folder": str(folder)})
    else:
        typer.echo(f"{plural(finished, 'session')} finished; the keys that were issued are in {folder}")


relay = typer.Typer(no_args_is_help=True, help="Prepares a relay, at which parties without an address meet.")


@relay.callback()
def relay_root() -> None:
    """Prepares a relay, at which parties without an address meet."""


@relay.command()
def config(
    study: StudyFile,
    folder: Annotated[Path, typer.Option("--out", metavar="DIR", help="The folder for the broker's files.")] = Path(
        "relay"
    ),
    listen: Listen = None,
    as_json: Json = False,
) -> None:
    """Writes a configuration for nats-server that lets the study's parties in, each under its own name only.

    Example: covey relay config study.toml --out relay
    """
    from covey.party.identity.relay_config import CERTIFICATE, FIXED_IN, FLAWS, KEY, write
    from covey.study import Study

    written = write(Study.load(study), folder, listen_address(listen))
    if as_json:
        print_json({"files": [str(path) for path in written.files], "pin": written.pin})
        return
    for path in written.files:
        typer.echo(path)
    if written.pin:
        typer.echo(f"Copy {folder / CERTIFICATE} to certs/{CERTIFICATE} beside the study, and add to its [relay]:")
        typer.echo(f'  certificate = "certs/{CERTIFICATE}"')
        typer.echo(
            f"Keep {folder / KEY} on the broker's host. If the broker has a certificate of its own, use that instead."
        )
    fixed = " or ".join(".".join(map(str, version)) for version in FIXED_IN)
    typer.echo(f"Start it with: cd {folder} && nats-server -c nats-server.conf")
    typer.echo(f"Use nats-server {fixed}, or a later one: earlier ones have {FLAWS}.")


def ui(
    folder: Annotated[
        Path, typer.Argument(metavar="[FOLDER]", help="The folder with your tables and studies.", show_default=False)
    ] = Path(),
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="The port; 0 takes a free one.")] = 0,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page in the browser, or only print its address.")
    ] = True,
) -> None:
    """Opens the steward's workbench in the browser: tables, studies, trying, joint runs; on this machine only.

    Example: covey ui clinic-data
    """
    try:
        from covey.ui.server import serve
    except ImportError as error:
        if error.name is None or error.name.startswith("covey"):
            raise
        raise InputError(f"the workbench needs an extra ({error.name}): pip install 'covey[ui]'") from None

    def say(sentence: str) -> None:
        typer.echo(sentence)

    serve(folder, port=port, browse=browser, say=say)
