"""`covey audit`, `covey forget`, `covey export` and `covey report`: what is done with a finished run or a release."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from covey.cli.options import Json, Parts
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
    faults = {str(result.folder): list(result.wrong) for result in audited}
    if replay:
        from covey.party.audit.replay import replay as play_again

        for result in audited:
            if not result.wrong:
                faults[str(result.folder)] += play_again(result.folder, keys, data)
    if as_json:
        print_json([_spelled(result, faults, replay) for result in audited])
    else:
        for result in audited:
            _render(result, faults[str(result.folder)], replay)
    first = next((f"{folder}: {sentences[0]}" for folder, sentences in faults.items() if sentences), None)
    if first is not None:
        raise Unmet(first)


def _spelled(result: Audited, faults: dict[str, list[str]], replay: bool) -> dict[str, object]:
    sentences = faults[str(result.folder)]
    return {
        "folder": str(result.folder),
        "party": result.party,
        "finished": result.finished,
        "messages": result.messages,
        "protocol_version": result.protocol_version,
        "scripted": result.scripted,
        "replayed": replay and not result.wrong,
        "signers": dict(result.signers),
        "foreign": result.foreign,
        "wrong": sentences,
        "answer": not sentences,
    }


def _render(result: Audited, faults: list[str], replay: bool) -> None:
    if faults:
        typer.echo(f"no   {result.folder}")
        for sentence in faults:
            typer.echo(f"     {sentence}")
        return
    ending = "finished" if result.finished else "ended before its end"
    typer.echo(f"yes  {result.folder}: party {result.party!r}, {plural(result.messages, 'message')}, {ending}")
    messages = ", declared messages" if result.scripted else ""
    typer.echo(f"     chains, signatures{messages}, ledger and summary hold")
    if result.foreign:
        typer.echo(f"     {result.foreign}")
    elif not result.scripted and not replay:
        typer.echo("     the protocol declares no script of its messages: only --replay tells whether they are right")
    if replay:
        typer.echo("     re-run: what it sent is what the protocol prescribes for its data and committed seed")
    for name, fingerprint in result.signers.items():
        typer.echo(f"     {name}: {fingerprint}")


def forget(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a run or of a simulation.")],
    unfinished: Annotated[
        bool, typer.Option("--unfinished", help="Also erase a run that has not ended; it can then not go on.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Erases the journals of a finished run, with their seeds and session keys, and leaves what may be kept.

    Example: covey forget out
    """
    from covey.party.record.forget import forget as erase

    erased = erase(folder, unfinished=unfinished)
    if as_json:
        print_json({"erased": [str(path) for path in erased]})
        return
    for path in erased:
        typer.echo(f"erased {path}")
    if not erased:
        typer.echo(f"{folder}: nothing is left to forget")


def export(
    release: Annotated[str, typer.Argument(metavar="RELEASE", help="A release, or the folder of one.")],
    target: Annotated[
        str, typer.Argument(metavar="TARGET", help="A file (.csv, .parquet, .xlsx) or postgres://…?table=NAME.")
    ],
    force: Annotated[bool, typer.Option("--force", help="Replace a file or a table that is there.")] = False,
    parts: Parts = 1,
    as_json: Json = False,
) -> None:
    """Writes a release as CSV, Parquet or Excel, or into a table of a database; its cells stay as they are.

    Example: covey export out release.xlsx
    """
    import pyarrow as pa

    from covey.files import release_in
    from covey.sources import arrange, connect
    from covey.sources import export as write

    source = connect(release_in(Path(release)) or release)
    cells = pa.Table.from_batches(source.batches(source.columns)).rename_columns(list(source.columns))
    location = write(arrange(cells), target, force=force, parts=parts)
    if as_json:
        print_json({"written": location, "rows": cells.num_rows})
    else:
        typer.echo(f"wrote {plural(cells.num_rows, 'row')} to {location}")


def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a run or of a release.")],
    data: Annotated[
        str | None,
        typer.Option("--data", metavar="DATA", help="Your own data, to show each column before and after."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Makes report.html again from the files in a folder; without --data it shows nothing of the original.

    Example: covey report out --data clinic.csv
    """
    from covey.party.record.reporting import write

    path = write(folder, data=data)
    if as_json:
        print_json({"report": str(path)})
    else:
        typer.echo(f"wrote {path}")
