"""The roles, the trusted party, and the plan: the same run on shares, in the open, and on made-up rows."""

from __future__ import annotations

from collections.abc import Coroutine, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TypeVar

import numpy as np

from covey.arrays import Longs
from covey.crypto.rng import Rng, Stream
from covey.crypto.secret import SECRET_BYTES, Secret
from covey.errors import Unmet
from covey.mpc import Clear, Outside, Sealed
from covey.protocols.peel.disclosures import SENTENCES
from covey.protocols.peel.parameters import run_of
from covey.protocols.peel.parties import parties_of
from covey.protocols.peel.rule import Peeling
from covey.protocols.peel.run import Ask, Run
from covey.protocols.protocol import Figures, Forecast, Preview, Proposal, Result, Seat
from covey.protocols.shared import insiders
from covey.protocols.shared.diversity import require_diverse
from covey.protocols.shared.rows import carried, domain
from covey.secure.declare import RELEASE, TAKING_PART, TOTALS, Leakage, Lesson
from covey.study import Study
from covey.study.insiders import asked
from covey.table import Table, Values

T = TypeVar("T")
DRAWN = 6_000
"""Rows of a dry run, at most."""
TRUST = Leakage(
    everyone=(
        "that {computing} compute, and any two of them together can read every row",
        "that one of them who cheats is not caught",
    ),
    about=TAKING_PART,
)
TOTAL = Leakage(everyone=(SENTENCES["total"],), about=TOTALS)
INSIDE = tuple(SENTENCES[key] for key in ("empty", "order", "leave"))
LEAKAGE = Leakage(
    everyone=tuple(SENTENCES[key] for key in ("classes", "narrowed")), roles={"holder": INSIDE, "helper": INSIDE}
)
CELLS = Leakage(roles=dict.fromkeys(("holder", "outside"), (SENTENCES["cells"],)), about=RELEASE)
RECEIVED = Leakage(roles={"recipient": (SENTENCES["cells"],)}, about=RELEASE)


def cells_of(study: Study) -> Leakage:
    """Returns what the last opening teaches."""
    return RECEIVED if any(party.role == "recipient" for party in study.parties) else CELLS


async def computing(seat: Seat) -> Result:
    """Computes, with rows or without. Raises Unmet if all have fewer than k, or no class keeps what is asked."""
    run = _begun(seat)
    box = Sealed.among(seat.channel.at("box"), run.parties)
    tables = {} if seat.table is None else {run.parties.index(seat.party): _shuffled(seat, seat.table)}
    seat.progress.phase("windows")

    async def reached(state: Peeling) -> None:
        seat.progress.reach(len(state.windows))

    return _diverse(seat, await run.play(box, tables, _ask(seat), reached))


async def outside(seat: Seat) -> Result:
    """Shares rows if there are any, waits for the classes, votes, reads. Raises Unmet as `computing` does."""
    run = _begun(seat)
    line = Outside(seat.channel.at("box"), run.parties)
    table = None if seat.table is None else _shuffled(seat, seat.table)
    seat.progress.phase("windows")
    return _diverse(seat, await run.wait(line, run.parties.index(seat.party), table, _ask(seat)))


def _begun(seat: Seat) -> Run:
    run = run_of(seat.study)
    seat.progress.phase("rows")
    seat.note(*_known(seat.study))
    return run


def _shuffled(seat: Seat, table: Table) -> Table:
    """Returns a holder's rows in an order that nobody else knows."""
    return table.select(seat.channel.rng.stream("rows").permutation(table.rows))


def _ask(seat: Seat) -> Ask:
    async def ask(figures: Figures, preview: Preview) -> None:
        seat.progress.phase("release")
        await seat.propose(Proposal(cells_of(seat.study), figures=figures, preview=preview))

    return ask


def _diverse(seat: Seat, result: Result) -> Result:
    if result.figures is not None:
        require_diverse(seat.study, result.figures)
    return result


def ideal(study: Study, tables: Mapping[str, Table]) -> Result:
    """Returns the release of a trusted party: the same run in the open."""
    return _driven(_played(study, tables, Clear([Secret(bytes([place]) * 32) for place in range(3)])))


def foresee(study: Study, rows: Mapping[str, int]) -> Forecast:
    """Returns the cost of a run on rows that are drawn evenly from the domains."""
    stream, trees = _made_up("rows"), run_of(study).terms.trees
    number = min(sum(rows.values()), DRAWN)
    codes = np.stack([stream.words_below(tree.codes, number).astype(np.int32) for tree in trees])
    columns = []
    for column in carried(study):
        labels = domain(column) or ("text",)
        columns.append(Values(column, stream.words_below(len(labels), number).astype(np.int32), tuple(labels)))
    return rehearse(study, rows, Table(study, study.quasi, trees, codes, tuple(columns)))


def _made_up(label: str) -> Stream:
    """Returns public randomness for rows that nobody has."""
    return Rng(Secret(bytes(SECRET_BYTES))).stream(label)


def _drawn(stream: Stream, like: Table, number: int) -> Table:
    """Returns made-up rows: each column's cells are drawn by themselves from the table's."""

    def places() -> Longs:
        return stream.words_below(max(like.rows, 1), number).astype(np.int64)

    codes = np.stack([column[places()] for column in like.codes])
    carried = tuple(replace(values, codes=values.codes[places()]) for values in like.carried)
    return Table(like.study, like.quasi, like.trees, codes, carried)


def rehearse(study: Study, rows: Mapping[str, int], like: Table) -> Forecast:
    """Returns the cost of a run on rows drawn from a table's marginals; bytes grow with their number to .75."""
    stream, records = _made_up("chosen"), max(sum(rows.values()), 1)
    drawn = {name: _drawn(stream, like, number * min(records, DRAWN) // records) for name, number in rows.items()}
    box = Clear([Secret(bytes([place]) * 32) for place in range(3)])
    with suppress(Unmet):
        _driven(_played(study, drawn, box))
    total = int(box.bytes * max(1.0, records / DRAWN) ** 0.75)
    learned = [*_known(study), (cells_of(study), {})]
    return Forecast(box.rounds, box.messages, total, 0.5 + total * 2e-8, learned)


def _known(study: Study) -> list[Lesson]:
    """Returns what the parties learn before the approval."""
    computing = ", ".join(parties_of(study)[:3])
    alone: list[Lesson] = [(insiders.UNPROTECTED, {})] if asked(study.privacy) == 1 else []
    return [(TRUST, {"computing": computing}), (TOTAL, {"k": study.privacy.k}), (LEAKAGE, {}), *alone]


def _played(study: Study, tables: Mapping[str, Table], box: Clear) -> Coroutine[object, object, Result]:
    run = run_of(study)

    async def reached(state: Peeling) -> None: ...

    async def ask(figures: Figures, preview: Preview) -> None: ...

    given = {run.parties.index(name): table for name, table in tables.items()}
    return run.play(box, given, ask, reached)


def _driven(work: Coroutine[object, object, T]) -> T:
    """Returns the result of work that waits for nothing but a box in the open."""
    try:
        work.send(None)
    except StopIteration as done:
        answer: T = done.value
        return answer
    raise TypeError("work in the open never waits")
