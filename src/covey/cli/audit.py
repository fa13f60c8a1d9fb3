"""`covey audit`: checks that a run's folders hold what the parties signed, and that it follows from the messages."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from covey.cli.options import Json
from covey.cli.output import print_json
from covey.errors import InputError, Unmet
from covey.plain import plural

if TYPE_CHECKING:
    from covey.party.audit.folders import Audited


def audit(
    folders: Annotated[list[Path], typer.Argument(metavar="DIR…", help="Folders of runs, or of a simulation.")],
    replay: Annotated[
        bool, typer.Option("--replay", help="Also run the party again from its journal, seed and data.")
    ] = False,
    keys: Annotated[
        Path | None, typer.Option("--keys", metavar="DIR", help="For --replay: the party's keys (default: DIR/keys).")
    ] = None,
    data: Annotated[
        str | None, typer.Option("--data", metavar="DATA", help="For --replay: the data, if they have moved.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Checks transcripts against the protocol, the other files, and each other; exit 1 if anything is wrong.

    Example: covey audit out --replay --keys keys
    """
    from covey.party.audit.folders import audit as look

    audited = look(folders)
    if (keys or data) and (not replay or len(audited) != 1):
        raise InputError("--keys and --data are for the --replay of one party's folder; the others' are not yours")
    wrong = {str(each.folder): list(each.wrong) for each in audited}
    if replay:
        from covey.party.audit.replay import replay as play_again

        for each in audited:
            if not each.wrong:
                wrong[str(each.folder)] += play_again(each.folder, keys, data)
    if as_json:
        print_json([_spelled(each, wrong, replay) for each in audited])
    else:
        for each in audited:
            _render(each, wrong[str(each.folder)], replay)
    first = next((f"{folder}: {sentences[0]}" for folder, sentences in wrong.items() if sentences), None)
    if first is not None:
        raise Unmet(first)


def _spelled(each: Audited, wrong: dict[str, list[str]], replay: bool) -> dict[str, object]:
    found = wrong[str(each.folder)]
    return {
        "folder": str(each.folder),
        "party": each.party,
        "finished": each.finished,
        "messages": each.messages,
        "protocol_version": each.protocol_version,
        "scripted": each.scripted,
        "replayed": replay and not each.wrong,
        "signers": dict(each.signers),
        "foreign": each.foreign,
        "wrong": found,
        "answer": not found,
    }


def _render(each: Audited, wrong: list[str], replay: bool) -> None:
    if wrong:
        typer.echo(f"no   {each.folder}")
        for sentence in wrong:
            typer.echo(f"     {sentence}")
        return
    how = "finished" if each.finished else "ended before its end"
    typer.echo(f"yes  {each.folder}: party {each.party!r}, {plural(each.messages, 'message')}, {how}")
    messages = ", declared messages" if each.scripted else ""
    typer.echo(f"     chains, signatures{messages}, ledger and summary hold")
    if each.foreign:
        typer.echo(f"     {each.foreign}")
    elif not each.scripted and not replay:
        typer.echo("     the protocol declares no script of its messages: only --replay tells whether they are right")
    if replay:
        typer.echo("     re-run: what it sent is what the protocol prescribes for its data and committed seed")
    for name, fingerprint in each.signers.items():
        typer.echo(f"     {name}: {fingerprint}")
