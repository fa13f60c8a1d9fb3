"""`covey keys`: what a party proves itself with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from covey.plain import plain

if TYPE_CHECKING:
    from covey.party.identity.certificate import Certificate

app = typer.Typer(no_args_is_help=True, help="A party's keys and certificate: made, shown.")

Json = Annotated[bool, typer.Option("--json", help="Print the result for programs.")]
_DAYS = 730


@app.command()
def new(
    party: Annotated[str, typer.Argument(metavar="PARTY", help="The party's name in the study.")],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="A folder without keys in it.")] = Path("keys"),
    days: Annotated[int, typer.Option("--days", min=1, max=3650, help="How long the certificate is valid.")] = _DAYS,
    as_json: Json = False,
) -> None:
    """Makes a party's keys and certificate, readable by their owner alone, and prints the fingerprint.

    Example: covey keys new north --out keys
    """
    from covey.party.identity.keys import make, save

    made = make(party, days=days)
    path = save(made, out)
    _show(made.certificate, path, as_json)
    if not as_json:
        typer.echo(f"Give {path} to the other parties, and read the fingerprint to them over the telephone.")
        typer.echo(f"Keep the rest of {out} to yourself: whoever has it is {party!r}.")


@app.command()
def show(
    path: Annotated[Path, typer.Argument(metavar="[DIR|PEM]", help="A folder with keys, or a certificate.")] = Path(
        "keys"
    ),
    as_json: Json = False,
) -> None:
    """Shows a certificate's party, days and fingerprint: yours, or one that you were given.

    Example: covey keys show certs/south.pem
    """
    from covey.party.identity.certificate import Certificate
    from covey.party.identity.keys import load

    if path.is_dir():
        keys = load(path)
        _show(keys.certificate, path / f"{keys.party}.pem", as_json)
    else:
        _show(Certificate.read(path, None), path, as_json)


def _show(certificate: Certificate, path: Path, as_json: bool) -> None:
    if as_json:
        content = {
            "party": certificate.party,
            "certificate": str(path),
            "fingerprint": certificate.fingerprint.replace(" ", ""),
            "signing_key": certificate.signing_key.hex(),
            "begins": certificate.begins.isoformat(),
            "ends": certificate.ends.isoformat(),
        }
        typer.echo(json.dumps(content, indent=2))
        return
    typer.echo(f"party        {plain(certificate.party)}")
    typer.echo(f"certificate  {path}")
    typer.echo(f"valid        {certificate.begins:%Y-%m-%d} to {certificate.ends:%Y-%m-%d}")
    words = certificate.fingerprint.split(" ")
    typer.echo(f"fingerprint  {' '.join(words[:8])}")
    typer.echo(f"             {' '.join(words[8:])}")
