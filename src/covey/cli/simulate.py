"""`covey simulate` and `covey demo`: all parties on this machine."""

from __future__ import annotations

import csv
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from covey.cli.options import Json, PartyTables, WholeTable, by_party, complete_protocols, require_one_kind
from covey.cli.output import console, print_json, render, table
from covey.errors import Aborted, InputError, Unmet

if TYPE_CHECKING:
    from covey.party.simulate.demo import Demo
    from covey.study import Study
    from covey.summary import Summary


def simulate(
    context: typer.Context,
    study: Annotated[Path, typer.Argument(metavar="STUDY", help="The study file; it needs no addresses.")],
    folder: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="A new folder, which gets a folder for each party.")
    ],
    data: PartyTables = None,
    table: WholeTable = None,
    skew: Annotated[
        str | None, typer.Option("--skew", metavar="COLUMN", help="Deal each party a range of this column's values.")
    ] = None,
    deal_seed: Annotated[
        int | None, typer.Option("--deal-seed", min=0, help="Makes the dealing of the table repeatable.")
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", min=0, help="Makes the whole run repeatable.")] = None,
    in_process: Annotated[
        bool, typer.Option("--in-process", help="Run all parties in one process, without TLS: faster.")
    ] = False,
    relay: Annotated[
        bool, typer.Option("--relay", help="Let the parties meet at a message broker, which is started: nats-server.")
    ] = False,
    latency: Annotated[
        str | None, typer.Option("--latency", help="The latency of every connection, for instance 30ms.")
    ] = None,
    bandwidth: Annotated[
        str | None,
        typer.Option("--bandwidth", help="The bandwidth of each party's line to all others together, such as 20mbit."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Runs all parties of a study on this machine, each as a process with its own keys, over TLS.

    Example: covey simulate study.toml --data north=north.csv --data south=south.csv --out out
    """
    from covey.cli.display import Display
    from covey.cli.output import render, require_publishable
    from covey.party.simulate import in_process as one
    from covey.party.simulate import processes as many
    from covey.party.simulate import worker
    from covey.party.simulate.deal import seed_of
    from covey.protocols import of_study
    from covey.study import Study
    from covey.wire.slow import parse_bandwidth, parse_latency

    agreed = Study.load(study)
    late = 0.0 if latency is None else parse_latency(latency)
    wide = None if bandwidth is None else parse_bandwidth(bandwidth)
    require_one_kind(data, table)
    single_process = in_process or (agreed.partition == "respondents" and agreed.protocol == "collect")
    if relay and single_process:
        raise InputError("--relay is for parties that are processes; these run in one process and need no connections")
    if table is None and (skew is not None or deal_seed is not None):
        raise InputError("--skew and --deal-seed say how --table is dealt; there is no --table")
    tables = by_party("--data", data or [])
    try:
        with ExitStack() as stack:
            starter = None
            if not single_process:
                of_study(agreed)
                starter = stack.enter_context(worker.starter(own=bool(context.obj)))
            if table is not None:
                tables = _deal(agreed, table, folder, skew, deal_seed if deal_seed is not None else seed)
            display = stack.enter_context(Display(merged=True))
            if in_process:
                summary = one.simulate(
                    agreed, tables, seed=seed, latency=late, bandwidth=wide or float("inf"),
                    listener=display.show, out=folder,
                ).figures  # fmt: skip
            else:
                key = None if seed is None else seed_of(seed)
                setting = many.SimulationSetting(key, late, wide, display.show, display.notice, relay)
                summary = many.simulate(agreed, tables, folder, setting, starter)
    except KeyboardInterrupt:
        raise Aborted("interrupted; nothing was released", resumable=False) from None
    except Unmet as error:
        raise _explained(agreed, tables, error) from None
    render(summary, folder, as_json=as_json)
    require_publishable(summary, folder)


def _explained(study: Study, data: dict[str, str], error: Unmet) -> Unmet:
    """Returns the trusted party's error if it says more."""
    from covey.party.session.data import load_table
    from covey.protocols import of_study

    if study.partition == "respondents":
        return error
    tables = {name: load_table(study, name, path) for name, path in data.items()}
    if any(table is not None and table.on_engine is not None for table in tables.values()):
        return error  # a trusted party would need the rows
    try:
        of_study(study).ideal(study, {name: table for name, table in tables.items() if table is not None})
    except Unmet as more:
        sentence = str(error)  # it may begin with whose words they are
        parts = (sentence, sentence.partition(": ")[2])
        return more if any(part and str(more).startswith(part) for part in parts) else error
    return error


def _deal(study: Study, table: str, folder: Path, skew: str | None, seed: int | None) -> dict[str, str]:
    from covey.party.record.folder import RunFolder
    from covey.party.simulate.deal import deal, seed_of, write_hands
    from covey.study.study import RESPONDENTS

    if study.partition == "respondents":
        if skew is not None:
            raise InputError("--skew is for a study whose rows are split; in this one each respondent has a row")
        return {RESPONDENTS: table}
    RunFolder(folder).prepare()
    return write_hands(deal(study, table, skew=skew, seed=None if seed is None else seed_of(seed)), folder)


_EXCERPT = 12


def demo(
    context: typer.Context,
    protocol: Annotated[
        str | None,
        typer.Option(
            "--protocol",
            metavar="NAME",
            help="The protocol to show, such as peel or peel-columns; see `covey protocols`.",
            autocompletion=complete_protocols,
        ),
    ] = None,
    folder: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="A new folder, or that of an earlier demo.")
    ] = Path("covey-demo"),
    as_json: Json = False,
) -> None:
    """Shows the main job: parties as separate processes, with real certificates and TLS, publish one table.

    Example: covey demo --out demo
    """
    from covey.cli.display import Display
    from covey.party.simulate import worker
    from covey.party.simulate.demo import DEFAULT, beside, check, prepare
    from covey.party.simulate.processes import SimulationSetting, simulate
    from covey.protocols import named

    named(protocol or DEFAULT)
    with worker.starter(own=bool(context.obj)) as starter:
        ready = prepare(protocol or DEFAULT, folder)
        if not as_json:
            _introduce(ready)
        try:
            with Display(merged=True) as display:
                summary = simulate(ready.study, ready.data, folder, SimulationSetting(listener=display.show), starter)
        except KeyboardInterrupt:
            raise Aborted("interrupted; nothing was released", resumable=False) from None
    verified = check(ready, folder)
    if as_json:
        print_json({**summary.describe(), "verified": verified})
    else:
        _conclude(summary, verified, folder, beside(ready))


def _introduce(ready: Demo) -> None:
    from covey.protocols import of_study

    names = [party.name for party in ready.study.parties]
    if ready.study.partition == "respondents" and len(names) == 1:
        participants = f"The {names[0]}, and a respondent for every row of the table,"
        setting = (
            "All are in this process, and each respondent speaks with the collector only; it takes about half a minute."
        )
    else:
        participants = f"{len(names)} parties ({', '.join(names)})"
        setting = "Each is a process of its own with its own keys; they talk over TLS 1.3 on this machine."
    if ready.study.partition == "respondents" and len(names) > 1:
        setting += " Each row of the table is a respondent's, who sends one sealed letter."
    typer.echo(f"{participants} run the sample study {ready.sample!r}.")
    protocol = of_study(ready.study)
    typer.echo(f"Protocol {ready.study.protocol}: {protocol.about}.")
    if protocol.printed is not None:
        typer.echo(f"As its paper prints it, it opens {protocol.printed.opens}.")
    typer.echo(setting)


def _conclude(summary: Summary, verified: str, run: Path, comparison: str | None) -> None:
    typer.echo("")
    _excerpt(run / "release.csv")
    typer.echo("")
    render(summary, run, with_ledger=False)
    typer.echo(f"Checked: {verified}.")
    typer.echo(f"What each party learned is in {run}/PARTY/ledger.json")
    if comparison is not None:
        typer.echo(f"Beside it: {comparison}.")


def _excerpt(release: Path) -> None:
    """Prints a dozen rows from all over the sorted release."""
    with release.open(newline="", encoding="utf-8") as stream:
        header, *rows = list(csv.reader(stream))
    sample = rows if len(rows) <= _EXCERPT else [rows[index * len(rows) // _EXCERPT] for index in range(_EXCERPT)]
    title = "release.csv" if sample is rows else f"release.csv: {_EXCERPT} of its {len(rows):,} rows"
    console().print(table(header, sample, title=title))
