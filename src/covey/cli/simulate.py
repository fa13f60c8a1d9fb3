"""`covey simulate`: all parties on this machine."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from covey.cli.options import Json, PartyTables, WholeTable, by_party, require_one_kind
from covey.errors import Aborted, InputError, Unmet

if TYPE_CHECKING:
    from covey.study import Study


def simulate(
    context: typer.Context,
    study: Annotated[Path, typer.Argument(metavar="STUDY", help="The study file; it needs no addresses.")],
    out: Annotated[
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
    from covey.cli.outcome import render, require_publishable
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
    if relay and (in_process or agreed.partition == "respondents"):
        raise InputError("--relay is for parties that are processes; these run in one process and need no connections")
    if table is None and (skew is not None or deal_seed is not None):
        raise InputError("--skew and --deal-seed say how --table is dealt; there is no --table")
    given = by_party("--data", data or [])
    try:
        with ExitStack() as stack:
            starter = None
            if not in_process and agreed.partition != "respondents":
                of_study(agreed)
                starter = stack.enter_context(worker.starter(own=bool(context.obj)))
            if table is not None:
                given = _deal(agreed, table, out, skew, deal_seed if deal_seed is not None else seed)
            display = stack.enter_context(Display(together=True))
            if in_process:
                summary = one.simulate(
                    agreed, given, seed=seed, latency=late, bandwidth=wide or float("inf"),
                    listener=display.show, out=out,
                ).figures  # fmt: skip
            else:
                key = None if seed is None else seed_of(seed)
                setting = many.SimulationSetting(key, late, wide, display.show, display.notice, relay)
                summary = many.simulate(agreed, given, out, setting, starter)
    except KeyboardInterrupt:
        raise Aborted("interrupted; nothing was released", resumable=False) from None
    except Unmet as error:
        raise _explained(agreed, given, error) from None
    render(summary, out, as_json=as_json)
    require_publishable(summary, out)


def _explained(study: Study, data: dict[str, str], error: Unmet) -> Unmet:
    """Returns the trusted party's error where it says more: a simulation has everyone's data, and no secrets."""
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
        told = str(error)  # it may begin with whose words they are
        parts = (told, told.partition(": ")[2])
        return more if any(part and str(more).startswith(part) for part in parts) else error
    return error


def _deal(study: Study, table: str, out: Path, skew: str | None, seed: int | None) -> dict[str, str]:
    from covey.party.record.folder import RunFolder
    from covey.party.simulate.deal import deal, seed_of, write_hands
    from covey.study.study import RESPONDENTS

    if study.partition == "respondents":
        if skew is not None:
            raise InputError("--skew is for a study whose rows are split; in this one each respondent has a row")
        return {RESPONDENTS: table}
    RunFolder(out).prepare()
    return write_hands(deal(study, table, skew=skew, seed=None if seed is None else seed_of(seed)), out)
