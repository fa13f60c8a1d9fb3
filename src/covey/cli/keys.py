"""`covey keys`: makes and shows the keys with which a party proves its identity."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from covey.cli.options import KEYS, Json
from covey.cli.output import print_json
from covey.plain import plain

if TYPE_CHECKING:
    from covey.party.identity.certificate import Certificate

app = typer.Typer(no_args_is_help=True, help="Makes and shows a party's keys and certificate.")

_DAYS = 730


@app.command()
def new(
    party: Annotated[str, typer.Argument(metavar="PARTY", help="The party's name in the study.")],
    folder: Annotated[Path, typer.Option("--out", metavar="DIR", help="A folder without keys in it.")] = KEYS,
    days: Annotated[
        int, typer.Option("--days", min=1, max=3650, help="The number of days for which the certificate is valid.")
    ] = _DAYS,
    as_json: Json = False,
) -> None:
    """Makes a party's keys and certificate, readable by their owner alone, and prints the fingerprint.

    Example: covey keys new north --out keys
    """
    from covey.party.identity.keys import make, save

    identity = make(party, days=days)
    path = save(identity, folder)
    _show(identity.certificate, path, as_json)
    if not as_json:
        typer.echo(f"Give {path} to the other parties, and read the fingerprint to them over the telephone.")
        typer.echo(f"Keep the rest of {folder} to yourself: whoever has it is {party!r}.")


@app.command()
def show(
    path: Annotated[Path, typer.Argument(metavar="[DIR|PEM]", help="A folder with keys, or a certificate.")] = KEYS,
    as_json: Json = False,
) -> None:
    """Shows the party, the dates and the fingerprint of your certificate, or of one that you were given.

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
        print_json(_described(certificate, path))
        return
    typer.echo(f"party        {plain(certificate.party)}")
    typer.echo(f"certificate  {path}")
    typer.echo(f"valid        {certificate.begins:%Y-%m-%d} to {certificate.ends:%Y-%m-%d}")
    words = certificate.fingerprint.split(" ")
    typer.echo(f"fingerprint  {' '.join(words[:8])}")
    typer.echo(f"             {' '.join(words[8:])}")


def _described(certificate: Certificate, path: Path) -> dict[str, str]:
    return {
        "party": certificate.party,
        "certificate": str(path),
        "fingerprint": certificate.fingerprint.replace(" ", ""),
        "signing_key": certificate.signing_key.hex(),
        "begins": certificate.begins.isoformat(),
        "ends": certificate.ends.isoformat(),
    }


@app.command()
def card(
    file: Annotated[Path, typer.Option("--out", metavar="FILE", help="The file to write: north.covey.")],
    keys: Annotated[Path, typer.Option("--keys", metavar="DIR", help="The folder with this party's keys.")] = KEYS,
    address: Annotated[
        str | None,
        typer.Option("--address", metavar="HOST:PORT", help="Where the others reach you; without it you dial out."),
    ] = None,
    study: Annotated[
        Path | None, typer.Option("--study", metavar="STUDY", help="Carry this study too, as an invitation to it.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Writes your card: the one small file that you give to each partner, with your certificate and address.

    Example: covey keys card --address north.example.org:7701 --study study.toml --out north.covey
    """
    from covey.files import write_atomically
    from covey.party.identity import card as cards
    from covey.party.identity.keys import load

    certificate = load(keys).certificate
    write_atomically(file, cards.make(certificate, address, study).spell())
    _show(certificate, file, as_json)
    if not as_json:
        typer.echo("Give it to the other parties, and read the fingerprint to them over the telephone.")


@app.command()
def add(
    study: Annotated[Path, typer.Argument(metavar="STUDY", help="The study file; made from the card if it is new.")],
    files: Annotated[list[Path], typer.Argument(metavar="CARD…", help="The cards that partners gave you.")],
    take_study: Annotated[
        bool, typer.Option("--take-study", help="Take the study that the card carries in the place of ours.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Adds partners to a study by their cards. Compare each fingerprint with its owner by telephone.

    Example: covey keys add study.toml south.covey east.covey
    """
    from covey.files import read_bytes
    from covey.party.identity import card as cards

    added = []
    for file in files:
        partner = cards.read(read_bytes(file, "name a party's card", cards.LARGEST), str(file))
        if not study.exists():
            cards.unpack(partner, study.parent)
        elif take_study:
            cards.take(study, partner)
        cards.add(study, partner)
        added.append(_described(partner.identity, file))
        if not as_json:
            _show(partner.identity, file, as_json)
    if as_json:
        print_json({"study": str(study), "added": added})
