"""`covey relay`: what the host of a relay needs for a study."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from covey.cli.options import Json, Listen, StudyFile, listen_address
from covey.cli.output import print_json

app = typer.Typer(no_args_is_help=True, help="Prepares a relay, at which parties without an address meet.")


@app.callback()
def root() -> None:
    """Prepares a relay, at which parties without an address meet."""


@app.command()
def config(
    study: StudyFile,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="The folder for the broker's files.")] = Path(
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

    written = write(Study.load(study), out, listen_address(listen))
    if as_json:
        print_json({"files": [str(path) for path in written.files], "pin": written.pin})
        return
    for path in written.files:
        typer.echo(path)
    if written.pin:
        typer.echo(f"Copy {out / CERTIFICATE} to certs/{CERTIFICATE} beside the study, and add to its [relay]:")
        typer.echo(f'  certificate = "certs/{CERTIFICATE}"')
        typer.echo(
            f"Keep {out / KEY} on the broker's host. If the broker has a certificate of its own, use that instead."
        )
    fixed = " or ".join(".".join(map(str, version)) for version in FIXED_IN)
    typer.echo(f"Start it with: cd {out} && nats-server -c nats-server.conf")
    typer.echo(f"Use nats-server {fixed}, or a later one: earlier ones have {FLAWS}.")
