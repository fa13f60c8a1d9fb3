"""`covey collect`: a collection with real people, from the invitations to the release."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from covey.cli.options import KEYS, Json, Keys, Listen, RunFolder, listen_address
from covey.cli.output import print_json
from covey.errors import InputError, Unmet

if TYPE_CHECKING:
    from covey.party.collection.home import Home
    from covey.study import Study

app = typer.Typer(
    no_args_is_help=True, help="Collect rows from people: invite, serve, respond, trustee, page, receipt, status."
)

_STUDY = typer.Argument(metavar="STUDY", help="The study file, with the collector's address and certificate.")


@app.callback()
def root() -> None:
    """Collect rows from people: invite, serve, respond, trustee, page, receipt, status."""


@app.command()
def invite(
    study: Annotated[Path, _STUDY],
    folder: Annotated[Path, typer.Option("--out", metavar="DIR", help="The collector's folder, as for serve.")],
    count: Annotated[int, typer.Option("--count", metavar="N", help="The number of invitations.")] = 1,
    valid: Annotated[
        float, typer.Option("--valid", metavar="DAYS", help="The number of days for which they can be used.")
    ] = 14.0,
    links: Annotated[
        bool, typer.Option("--links", help="Print links to the study's page, for people who answer in a browser.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Prints invitations, one on each line. Each lets one person enrol once; the folder keeps only their hashes.

    Example: covey collect invite study.toml --out collection --count 200 > invitations.txt
    """
    from covey.party.collection.eligibility import address_of, collected, place_of
    from covey.party.collection.invitation import issue
    from covey.party.collection.page import require
    from covey.party.identity.roster import Roster
    from covey.wire.contact import fingerprint

    if not 0 < valid <= 400:
        raise InputError("--valid must be a number of days above 0, and at most 400")
    agreed, party = collected(study)
    address = address_of(agreed, party)
    location = str(place_of(agreed, party, address))
    prefix = f"{require(agreed)}/#" if links else ""
    certificate = Roster.of(agreed).certificates[party].der
    expires = int(time.time() + 86400 * valid)
    invitations = issue(
        folder,
        address,
        bytes.fromhex(fingerprint(certificate)),
        agreed.study_hash,
        count=count,
        expires=expires,
    )
    lines = [prefix + invitation.spell() for invitation in invitations]
    if as_json:
        until = datetime.fromtimestamp(expires, UTC).isoformat()
        print_json({"invitations": lines, "expires": until, "address": location})
        return
    for line in lines:
        typer.echo(line)
    amount = "1 invitation" if count == 1 else f"{count:,} invitations"
    typer.echo(f"{amount} to {location}, each for one person; send each by itself", err=True)


@app.command()
def serve(
    study: Annotated[Path, _STUDY],
    folder: RunFolder,
    keys: Keys = KEYS,
    listen: Listen = None,
    quorum: Annotated[
        int | None,
        typer.Option(
            "--quorum", metavar="N", help="The number of people who must be ready: at least 2k (default: 2k)."
        ),
    ] = None,
    closes: Annotated[
        str | None,
        typer.Option(
            "--closes",
            metavar="TIME",
            help="When it begins: 7d or 2026-12-01T18:00 (default: as soon as the quorum is ready).",
        ),
    ] = None,
    phase_deadline: Annotated[
        str, typer.Option("--phase-deadline", metavar="TIME", help="The longest time that anybody may take to answer.")
    ] = "1h",
    web: Annotated[
        str | None,
        typer.Option("--web", metavar="HOST:PORT", help="Answer browsers here too, with the study's page."),
    ] = None,
    web_certificate: Annotated[
        Path | None,
        typer.Option("--web-certificate", metavar="FILE", help="A certificate that browsers trust, with its chain."),
    ] = None,
    web_key: Annotated[Path | None, typer.Option("--web-key", metavar="FILE", help="The certificate's key.")] = None,
    as_json: Json = False,
) -> None:
    """Collects: takes enrolments until it begins, then leads everyone through the phases to the release.

    It may be ended and started again at any moment, with the same command; nothing is lost. With --web people answer in
    a browser; once the collection is over, the same command shows them so until it is interrupted.

    Example: covey collect serve study.toml --out collection --quorum 100 --closes 7d
    """
    from covey.cli.display import Display
    from covey.cli.output import render
    from covey.party.collection import times
    from covey.party.collection.collecting import serve as collect
    from covey.party.collection.opening import CollectorTask
    from covey.party.collection.pages import meets_pages, stay
    from covey.party.collection.register import is_over
    from covey.party.collection.web import WebTask
    from covey.wire.contact import Address

    if quorum is None and closes is None:
        raise InputError("say when to begin: --quorum N, --closes TIME, or both")
    if web is None and (web_certificate, web_key) != (None, None):
        raise InputError("say where browsers are answered: --web HOST:PORT")
    browsers = None if web is None else WebTask(Address.parse(web), web_certificate, web_key)
    over = is_over(folder) and (browsers is not None or (listen is None and meets_pages(study)))
    with Display() as display:
        task = CollectorTask(
            study=study,
            keys=keys,
            out=folder,
            listen=listen_address(listen),
            quorum=quorum,
            closes=None if closes is None or over else times.moment(closes, "--closes", time.time()),
            phase_seconds=times.duration(phase_deadline, "--phase-deadline"),
            web=browsers,
            listener=display.show,
            notice=display.notice,
        )
        if over:
            display.notice(stay(task))
            return
        summary = collect(task)
    render(summary, folder, as_json=as_json)


@app.command()
def respond(
    study: Annotated[Path, typer.Argument(metavar="STUDY", help="The study file that came with the invitation.")],
    invitation: Annotated[str, typer.Option("--invite", metavar="TOKEN", help="Your invitation, the whole line.")],
    record: Annotated[
        Path | None, typer.Option("--record", metavar="FILE.json", help="Your answers, instead of being asked.")
    ] = None,
    folder: Annotated[
        Path | None, typer.Option("--folder", metavar="DIR", help="The folder that keeps your key and answers.")
    ] = None,
    consent: Annotated[bool, typer.Option("--yes", help="Agree without being asked.")] = False,
    as_json: Json = False,
) -> None:
    """Takes part in a collection: asks you, shows what leaves this machine, asks for consent, and sends your answer.

    Ctrl-C is harmless: the same command goes on. With protocol = "collect" it stays on until the release is made.

    Example: covey collect respond study.toml --invite covey-…
    """
    from covey.party.collection.delivering import Delivery
    from covey.party.collection.eligibility import by_peeling, place_of
    from covey.party.collection.responding import outcome, prepare, seated
    from covey.party.collection.responding import respond as take_part

    agreed, hub, home, invited = prepare(study, invitation, folder, time.time())
    answers = _given(agreed, home, record)
    receipt = home.receipt()
    if receipt is not None:
        _tell(receipt, as_json, "You have taken part already. ")
        return
    location = str(place_of(agreed, hub, invited.address))
    _answer(agreed, hub, home, answers, location, agreed_already=consent)
    if by_peeling(agreed):
        sentence = Delivery(agreed, hub, home, invited, _say).run()
    else:
        sentence = outcome(take_part(seated(agreed, hub, home, invited, say=_say)), agreed.privacy.k)
    _tell(home.receipt() or {"how": "waiting", "sentence": sentence}, as_json)


def _tell(receipt: Mapping[str, object], as_json: bool, prefix: str = "") -> None:
    if as_json:
        print_json(receipt)
    else:
        typer.echo(f"{prefix}{receipt['sentence']}")


@app.command()
def trustee(
    study: Annotated[Path, _STUDY],
    folder: RunFolder,
    keys: Keys = KEYS,
    dial: Annotated[
        str | None,
        typer.Option("--dial", metavar="HOST:PORT", help="Where the collector is, if not where the study says."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Serves as a trustee that the study names: waits until the answers are closed, then computes on them unseen.

    It may be ended and started again at any moment, with the same command; nothing is lost.

    Example: covey collect trustee study.toml --keys keys --out trustee
    """
    from covey.party.collection.trustee import prepare, serve

    _tell({"folder": str(folder), "sentence": serve(prepare(study, keys, folder, listen_address(dial), _say))}, as_json)


@app.command()
def page(
    study: Annotated[Path, _STUDY],
    file: Annotated[
        Path | None, typer.Option("--out", metavar="FILE.html", help="Write the page to this file.")
    ] = None,
    check: Annotated[
        str | None,
        typer.Option("--check", metavar="URL", help="Compare the page with what is at this address, or file."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Makes the page in which people answer in a browser, a single file, or compares it with what a server sends.

    Example: covey collect page study.toml --check https://survey.example.org
    """
    import hashlib

    from covey.files import write_atomically
    from covey.party.collection.eligibility import collected
    from covey.party.collection.page import build, program, require
    from covey.party.collection.page.compare import compare, fetch

    agreed, _ = collected(study)
    web = require(agreed)
    document = build(agreed)
    difference = None if check is None else compare(document, fetch(check))
    if file is not None:
        write_atomically(file, document)
    details = {"page": hashlib.sha256(document).hexdigest(), "program": program(), "bytes": len(document), "web": web}
    if as_json:
        print_json(details if check is None else {**details, "same": difference is None, "reason": difference})
    if difference is not None:
        raise Unmet(f"{check}: {difference}")
    if not as_json:
        typer.echo(f"page     {details['page']}, {len(document):,} bytes")
        typer.echo(f"program  {program()}, as the study says")
        if check is not None:
            typer.echo(f"{check} sends this very page.")


@app.command()
def receipt(
    study: Annotated[Path, typer.Argument(metavar="STUDY", help="The study file that came with the invitation.")],
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The respondent's folder, or its receipt.json.")],
    board: Annotated[
        Path | None,
        typer.Option("--board", metavar="FILE", help="The collector's board.json, to look the answer up in."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Checks a receipt: the collector's signature and, with --board, that the answer is among those that were counted.

    Example: covey collect receipt study.toml respond-survey --board board.json
    """
    from covey.files import json_object
    from covey.party.collection.eligibility import collected
    from covey.party.collection.receipts import check
    from covey.party.identity.roster import Roster

    agreed, hub = collected(study)
    path = folder / "receipt.json" if folder.is_dir() else folder
    if not path.is_file():
        raise InputError(f"{path}: there is no receipt; it is written when the collector has taken the answer")
    fault = check(agreed, Roster.of(agreed).certificates[hub], json_object(path), board)
    if as_json:
        print_json({"valid": fault is None, "on_board": board is not None and fault is None, "reason": fault})
    if fault is not None:
        raise Unmet(f"{path}: {fault}")
    if not as_json:
        typer.echo("The receipt holds." if board is None else "The receipt holds, and the answer is on the board.")


def _given(study: Study, home: Home, record: Path | None) -> dict[str, str] | None:
    """The answers in the file, if there is one. Raises InputError for others than were given before."""
    from covey.party.collection import questions

    answers = None if record is None else questions.load(study, record)
    if answers is not None and home.record(study) not in (None, answers):
        raise InputError(f"{home.path}: other answers were given before, and they stand; leave out --record")
    return answers


def _answer(
    study: Study, hub: str, home: Home, answers: dict[str, str] | None, location: str, *, agreed_already: bool
) -> None:
    """Makes sure that answers and consent are in the folder. Raises Unmet if the person does not agree."""
    from covey.party.collection import questions
    from covey.party.collection.statement import statement

    if home.record(study) is not None:
        return
    if answers is None:
        if not sys.stdin.isatty():
            raise InputError("there is no terminal to ask on; give your answers with --record FILE.json")
        typer.echo(f"Study {study.name!r} asks you:", err=True)
        answers = questions.ask_all(study, lambda text: input(f"  {text}: "), _say)
    questions.require_sendable(study, answers)
    typer.echo(statement(study, hub, location), err=True)
    if not agreed_already and not _agrees():
        raise Unmet("you did not agree: nothing has left this machine")
    home.keep_record(study, answers)


def _agrees() -> bool:
    if not sys.stdin.isatty():
        raise InputError("there is no terminal to ask on; read the above, and give your consent with --yes")
    while True:
        answer = input("Do you agree to take part? [yes/no] ").strip().lower()
        if answer in {"y", "yes", "n", "no"}:
            return answer.startswith("y")


@app.command()
def status(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The collector's folder.")],
    as_json: Json = False,
) -> None:
    """Shows the state of a collection: the phase, who is connected, who is missing, and the deadline.

    Example: covey collect status collection
    """
    from covey.party.collection import status as boards
    from covey.party.collection import times

    board = boards.read(folder)
    if as_json:
        print_json(board)
        return
    running = "" if board["running"] else "; the collector is not running"
    typer.echo(f"phase     {board['phase']}{running}")
    typer.echo(
        f"enrolled  {board['enrolled']:,}, of whom {board['ready']:,} are ready and {board['present']:,} here now"
    )
    if board.get("closes") and board["phase"] == "enrolment":
        typer.echo(f"begins    {times.shown(float(str(board['closes'])))}, if {board['quorum']:,} are ready by then")
    elif board["phase"] == "enrolment" and "quorum" in board:
        typer.echo(f"begins    when {board['quorum']:,} are ready")
    else:
        typer.echo(f"attempt   {board.get('attempt', 0)}, among {board.get('members', 0):,} respondents")
    for label, key in (("answering", "answering"), ("missing", "missing"), ("left", "left")):
        entries = board.get(key)
        names = list(entries) if isinstance(entries, list | dict) else []
        if names:
            remainder = f" and {len(names) - 12:,} more" if len(names) > 12 else ""
            typer.echo(f"{label:<9} {', '.join(names[:12])}{remainder}")
    if board.get("deadline"):
        typer.echo(f"deadline  {times.shown(float(str(board['deadline'])))} for those who are missing or answering")
    if "outcome" in board:
        typer.echo(f"outcome   {board['outcome']}")


def _say(sentence: str) -> None:
    typer.echo(sentence, err=True)
