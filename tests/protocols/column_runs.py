"""Runs of sealed `peel` on columns: the release as the reference has it, in the open, and on shares."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa
from tests.harness.parties import Outcome, run_parties
from tests.protocols.sealed_runs import Told
from tests.reference.studies import Drawn
from tests.unit.mpc.boxes import seeds_of

from covey.crypto.secret import Secret
from covey.mpc import Clear, Opening, Outside, Sealed
from covey.protocols import Result
from covey.protocols.peel.parameters import run_of
from covey.protocols.peel.rule import Peeling
from covey.protocols.peel.run import Run
from covey.protocols.protocol import Figures, Preview, Recognition
from covey.protocols.shared.columns.ownership import exact_columns, exact_holders
from covey.sources.release import arrange, canonical_csv
from covey.study import Study
from covey.table import Table
from covey.wire import Channel

KEY = Secret(bytes(range(32)))
"""The key for hashes that holders drew before."""


async def ask(figures: Figures, preview: Preview, own: Recognition | None, alone: Sequence[str]) -> None:
    """Agrees."""


async def reached(state: Peeling) -> None:
    """Goes on after a window."""


def begun(drawn: Drawn) -> tuple[Run, dict[int, Table]]:
    """Returns the run of a study, and the tables by the holders' places."""
    run = replace(run_of(drawn.study), key=KEY)
    names = (party.name for party in drawn.study.holders)
    return run, {run.parties.index(name): table for name, table in zip(names, drawn.tables, strict=True)}


def in_the_open(drawn: Drawn, box: Clear) -> Result:
    """Returns the release of a trusted party."""
    run, tables = begun(drawn)
    return asyncio.run(run.play(box, tables, ask, reached))


def on_shares(drawn: Drawn, seed: int) -> tuple[dict[str, Outcome[Result]], dict[str, list[Opening]]]:
    """Returns how each party fares, and the openings of those who compute."""
    run, tables = begun(drawn)
    seeds, ledgers = seeds_of(seed), dict[str, list[Opening]]()

    async def role(channel: Channel) -> Result:
        place = run.parties.index(channel.me)
        if place >= 3:
            line = Outside(channel.at("box"), run.parties)
            return await run.wait(line, place, tables.get(place), ask)
        box = Sealed(channel.at("box"), run.parties, (seeds[place], seeds[(place + 1) % 3]))
        try:
            return await run.play(box, {place: tables[place]} if place in tables else {}, ask, reached)
        finally:
            ledgers[channel.me] = box.ledger

    return run_parties(dict.fromkeys(run.parties, role), seed=seed), ledgers


def due(drawn: Drawn, told: Told) -> pa.Table:
    """Returns the released table of the reference's classes; each row shows the cells of one person."""
    study, cells = drawn.study, {column.name: list[str]() for column in drawn.study.released}
    people = {record.cell: record for record in drawn.records}
    for labels, _, members in told[0]:
        for cell in members:
            for column, label in zip(study.quasi, labels, strict=True):
                cells[column.name].append(label)
            for column, value in zip(study.sensitive, people[cell].values, strict=True):
                cells[column.name].append(value)
    return pa.table(cells)


def parts_of(study: Study, table: pa.Table) -> list[bytes]:
    """Returns what a release says of each owner's exact cells: those of two owners do not belong together."""
    quasi, owners = [column.name for column in study.quasi], exact_holders(study)
    shown = [{*quasi, *(column.name for column in exact_columns(study, owner))} for owner in owners] or [set(quasi)]
    names = [[name for name in table.column_names if name in some] for some in shown]
    return [
        canonical_csv(arrange(table.select(some).cast(pa.schema((name, pa.string()) for name in some))))
        for some in names
    ]
