"""`covey simulate`: all parties on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from covey.errors import Aborted, InputError, Unmet

if TYPE_CHECKING:
    from covey.study import Study


def simulate(
    study: Annotated[Path, typer.Argument(metavar="STUDY", help="The study file; it needs no addresses.")],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="A new folder, with one below it per party.")],
    data: Annotated[
        list[str] | None, typer.Option("--data", metavar="PARTY=DATA", help="A party's data; once per party.")
    ] = None,
    table: Annotated[
        str | None, typer.Option("--table", metavar="DATA", help="One table, to be dealt to the parties first.")
    ] = None,
    skew: Annotated[
        str | None, typer.Option("--skew", metavar="COLUMN", help="Deal each party a range of this column's values.")
    ] = None,
    deal_seed: Annotated[int | None, typer.Option("--deal-seed", min=0, help="Repeats the dealing alone.")] = None,
    seed: Annotated[int | None, typer.Option("--seed", min=0, help="Repeats the whole run.")] = None,
    in_process: Annotated[bool, typer.Option("--in-process", help="One process, no TLS: faster.")] = False,
    latency: Annotated[str | None, typer.Option("--latency", help="Of every line, for instance 30ms.")] = None,
    bandwidth: Annotated[str | None, typer.Option("--bandwidth", help="Of every line, for instance 10mbit.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result for programs.")] = False,
) -> None:
    """Runs all parties of a study on this machine, each as a process with its own keys, over TLS.

    Example: covey simulate study.toml --data north=north.csv --data south=south.csv --out out
    """
    from covey.cli.display import Display
    from covey.cli.outcome import render
    from covey.party.simulate import in_process as one
    from covey.party.simulate import processes as many
    from covey.party.simulate.deal import seed_of
    from covey.study import Study
    from covey.wire.slow import parse_bandwidth, parse_latency

    agreed = Study.load(study)
    late = 0.0 if latency is None else parse_latency(latency)
    wide = None if bandwidth is None else parse_bandwidth(bandwidth)
    if (table is None) == (not data):
        raise InputError("give either --data PARTY=DATA for each party, or --table DATA to deal one table to them")
    if table is None and (skew is not None or deal_seed is not None):
        raise InputError("--skew and --deal-seed say how --table is dealt; there is no --table")
    given = parties_data(data or [])
    try:
        if table is not None:
            given = _deal(agreed, table, out, skew, deal_seed if deal_seed is not None else seed)
        with Display() as display:
            if in_process:
                summary = one.simulate(
                    agreed, given, seed=seed, latency=late, bandwidth=wide or float("inf"),
                    listener=display.show, out=out,
                ).joint  # fmt: skip
            else:
                key = None if seed is None else seed_of(seed)
                summary = many.simulate(agreed, given, out, many.Setting(key, late, wide, display.show, display.notice))
    except KeyboardInterrupt:
        raise Aborted("interrupted; nothing was released", resumable=False) from None
    except Unmet as error:
        raise _explained(agreed, given, error) from None
    render(summary, out, as_json=as_json)


def _explained(study: Study, data: dict[str, str], error: Unmet) -> Unmet:
    """What a trusted party would say, where it says more: a simulation has everyone's data, and no secrets."""
    from covey.party.session.data import load_table
    from covey.protocols import of_study

    if study.partition == "respondents":
        return error
    tables = {name: load_table(study, name, path) for name, path in data.items()}
    try:
        of_study(study).ideal(study, {name: table for name, table in tables.items() if table is not None})
    except Unmet as more:
        told = str(error)  # it may begin with whose words they are
        parts = (told, told.partition(": ")[2])
        return more if any(part and str(more).startswith(part) for part in parts) else error
    return error


def parties_data(given: list[str]) -> dict[str, str]:
    """`PARTY=DATA` texts by party. Raises InputError that names the one that is wrong."""
    found: dict[str, str] = {}
    for text in given:
        party, equals, path = text.partition("=")
        if not equals or not party or not path:
            raise InputError(f"--data {text}: write it as PARTY=DATA")
        if party in found:
            raise InputError(f"--data {party}=… is given twice; a party has one table")
        found[party] = path
    return found


def _deal(study: Study, table: str, out: Path, skew: str | None, seed: int | None) -> dict[str, str]:
    from covey.party.record.folder import RunFolder
    from covey.party.session.respondents import RESPONDENTS
    from covey.party.simulate.deal import deal, seed_of, write_hands

    if study.partition == "respondents":
        if skew is not None:
            raise InputError("--skew is for a study whose rows are split; in this one each respondent has a row")
        return {RESPONDENTS: table}
    RunFolder(out).prepare()
    return write_hands(deal(study, table, skew=skew, seed=None if seed is None else seed_of(seed)), out)
