"""`covey run`: one party against the real others."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from covey.cli.options import (
    KEYS,
    Encoding,
    Format,
    JournalSize,
    Json,
    Keys,
    Listen,
    OptionalData,
    Parts,
    Wait,
    Written,
    encoded,
    journal_limit,
    listen_address,
    wait_seconds,
)
from covey.cli.output import print_json
from covey.errors import InputError
from covey.plain import plural


def run(
    study: Annotated[
        Path,
        typer.Argument(
            metavar="STUDY", help="The study file, with addresses and certificates; for a helper a folder of studies."
        ),
    ],
    party: Annotated[str, typer.Option("--as", metavar="PARTY", help="The party of the study that runs here.")],
    folder: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="The folder for the files that the run leaves."),
    ] = None,
    data: OptionalData = None,
    keys: Keys = KEYS,
    listen: Listen = None,
    wait: Wait = 60.0,
    journal: JournalSize = "512MB",
    approve: Annotated[bool, typer.Option("--approve", help="Approve the release without being asked.")] = False,
    for_others: Annotated[
        bool,
        typer.Option("--for-others", help="Go on with a run that is finished here, for parties that were cut off."),
    ] = False,
    control: Annotated[
        Path | None,
        typer.Option(
            "--control",
            metavar="DIR",
            help="For programs: keep status.json in this folder, and ask for approval there, not on the terminal.",
        ),
    ] = None,
    single: Annotated[
        bool, typer.Option("--once", help="Of a folder of studies: end after the first run that is finished.")
    ] = False,
    encoding: Encoding = None,
    written: Written = Format.CSV,
    parts: Parts = 1,
    as_json: Json = False,
) -> None:
    """Runs one party. Before anything is published, it shows the release's figures and asks for approval.

    A helper serves a folder of studies, each when its certificates are complete; it has no data and is not asked.

    Example: covey run study.toml --as north --data north.csv --out out --keys keys
    """
    if study.is_dir():
        return _serve(study, party, keys, wait, single=single, data=data, target=folder, as_json=as_json)
    if folder is None:
        raise InputError("name the folder for the files that the run leaves: --out DIR")
    if single:
        raise InputError("--once is for a helper that serves a folder of studies; leave it out")
    from covey.cli.display import Display
    from covey.cli.output import render
    from covey.files import ReleaseFormat
    from covey.party.record.names import APPROVAL
    from covey.party.session.approval import ApprovalQuestion, approve_always, asking_on_terminal
    from covey.party.session.control import Control
    from covey.party.session.progress import Snapshot
    from covey.party.session.run import Job, run_party

    seconds, address, limit = wait_seconds(wait), listen_address(listen), journal_limit(journal)
    controlled = None if control is None else Control(control)
    with Display() as display:

        def show(snapshot: Snapshot) -> None:
            display.show(snapshot)
            if controlled is not None:
                controlled.show(snapshot)

        async def ask(question: ApprovalQuestion) -> bool:
            if controlled is not None:
                return await controlled.ask(question)
            with display.paused():
                return await asking_on_terminal(str(folder / APPROVAL))(question)

        summary = run_party(
            Job(
                study=study,
                party=party,
                out=folder,
                keys=keys,
                decide=approve_always if approve else ask,
                data=None if data is None else encoded(data, encoding),
                listen=address,
                wait=seconds,
                for_others=for_others,
                journal=limit,
                listener=show,
                notice=display.notice,
                written=ReleaseFormat(written.value, parts),
            )
        )
    return render(summary, folder, as_json=as_json)


def _serve(
    folder: Path,
    party: str,
    keys: Path,
    wait: float,
    *,
    single: bool,
    data: str | None,
    target: Path | None,
    as_json: bool,
) -> None:
    """Serves a folder of studies as a helper."""
    from covey.cli.display import Display
    from covey.party.session.helper import RUNS, HelperService, serve

    if data is not None or target is not None:
        raise InputError(f"{folder}: is a folder of studies for a helper, who has no --data; its runs are in {RUNS}/")
    seconds = wait_seconds(wait)
    with Display() as display:
        finished = serve(
            HelperService(folder, party, keys, seconds, once=single, listener=display.show, notice=display.notice)
        )
    if as_json:
        print_json({"finished": finished, "folder": str(folder / RUNS)})
    else:
        typer.echo(f"{plural(finished, 'run')} finished; what they left is in {folder / RUNS}")
