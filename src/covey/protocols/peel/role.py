"""The roles, the trusted party, and the plan: the same run on shares, in the open, and on made-up rows."""

from __future__ import annotations

from collections.abc import Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TypeVar

from covey.crypto.secret import SECRET_BYTES, Secret
from covey.errors import Unmet
from covey.mpc import SOUNDNESS_BITS, Checked, Clear, Outside, Sealed
from covey.protocols.peel.cells import Cells
from covey.protocols.peel.disclosures import SENTENCES
from covey.protocols.peel.made_up import drawn
from covey.protocols.peel.parameters import run_of
from covey.protocols.peel.parties import parties_of
from covey.protocols.peel.rule import Peeling
from covey.protocols.peel.run import Ask, Run
from covey.protocols.protocol import SHARES, Figures, Forecast, Preview, Proposal, Recognition, Result, Seat
from covey.protocols.shared import insiders
from covey.protocols.shared.columns.ownership import holders
from covey.protocols.shared.diversity import require_diverse
from covey.secure import coin
from covey.secure.declare import RELEASE, TAKING_PART, TOTALS, Leakage, Lesson, Traffic
from covey.study import Study
from covey.study.insiders import asked
from covey.table import Table

T = TypeVar("T")
DRAWN = 6_000
"""Rows of a dry run, at most."""
COMPUTING = "that {computing} compute, and any two of them together can read every row"
TRUST = Leakage(
    everyone=(COMPUTING, 'that one of them who cheats is not caught (cheating = "trust")'), about=TAKING_PART
)
DETECT = Leakage(
    everyone=(
        COMPUTING,
        f"that one of them who cheats is stopped before anything is opened that hangs on it, but for a chance of "
        f"2^-{SOUNDNESS_BITS} at most",
    ),
    about=TAKING_PART,
)
TOTAL = Leakage(everyone=(SENTENCES["total"],), about=TOTALS)
COMMON = Leakage(everyone=(SENTENCES["largest"], SENTENCES["common"]), about=TOTALS)
LENGTH = Leakage(everyone=(SENTENCES["length"],), about=TOTALS)
RANGE = Leakage(roles=dict.fromkeys(("holder", "helper"), (SENTENCES["range"],)))
EMPTY = Leakage(roles=dict.fromkeys(("holder", "helper"), (SENTENCES["empty"],)))
INSIDE = tuple(SENTENCES[key] for key in ("order", "leave"))
LEAKAGE = Leakage(
    everyone=tuple(SENTENCES[key] for key in ("classes", "narrowed")),
    roles={"holder": INSIDE, "helper": INSIDE, "trustee": INSIDE},
)
ALONE = Leakage(everyone=(SENTENCES["alone"],), about=RELEASE)
CELLS = Leakage(roles=dict.fromkeys(("holder", "outside"), (SENTENCES["cells"],)), about=RELEASE)
RECEIVED = Leakage(roles=dict.fromkeys(("recipient", "collector"), (SENTENCES["cells"],)), about=RELEASE)
ANSWERED = ("who answered, by handle, and when", SENTENCES["fits"])
LETTERS = Leakage(
    roles={"collector": ANSWERED, "trustee": ANSWERED,
           "respondent": ("that its own answer is on the board, from its receipt, and nothing else",)},
    about=TAKING_PART,
)  # fmt: skip


def cells_of(study: Study) -> Leakage:
    """Returns what the last opening teaches."""
    return RECEIVED if any(party.role in ("recipient", "collector") for party in study.parties) else CELLS


async def computing(seat: Seat) -> Result:
    """Computes, with rows or without. Raises Unmet if all have fewer than k, or no class keeps what is asked."""
    return await played(seat, await begun(seat))


async def played(seat: Seat, run: Run) -> Result:
    """Computes in this run."""
    attempt, backend = seat.states.attempt, Checked if run.checked else Sealed
    box = backend.among(seat.channel.at(SHARES, attempt), run.parties, attempt=attempt)
    tables = {} if seat.table is None else {run.parties.index(seat.party): _shuffled(seat, seat.table)}
    seat.progress.phase("windows")

    async def reached(state: Peeling) -> None:
        seat.progress.reach(len(state.windows))

    return _diverse(seat, await run.play(box, tables, _ask(seat), reached, seat.states))


async def outside(seat: Seat) -> Result:
    """Shares rows if there are any, waits for the classes, votes, reads. Raises Unmet as `computing` does."""
    return await waited(seat, await begun(seat))


async def waited(seat: Seat, run: Run) -> Result:
    """Waits for the classes of this run."""
    attempt = seat.states.attempt
    line = Outside(seat.channel.at(SHARES, attempt), run.parties, attempt=attempt, checked=run.checked)
    table = None if seat.table is None else _shuffled(seat, seat.table)
    seat.progress.phase("windows")
    return _diverse(seat, await run.wait(line, run.parties.index(seat.party), table, _ask(seat), seat.states))


async def begun(seat: Seat) -> Run:
    """Returns the run; holders of columns draw a key for hashes together, which no helper learns."""
    run = run_of(seat.study)
    seat.progress.phase("rows")
    seat.note(*_known(seat.study))
    if seat.study.partition != "vertical" or seat.table is None:
        return run
    return replace(run, key=await coin.toss(seat.channel.at("key").among(*holders(seat.study))))


def _shuffled(seat: Seat, table: Table) -> Table:
    """Returns a holder's rows in an order that nobody else knows."""
    return table.select(seat.channel.rng.stream("rows").permutation(table.rows))


def _ask(seat: Seat) -> Ask:
    async def ask(figures: Figures, preview: Preview, own: Recognition | None, alone: Sequence[str]) -> None:
        seat.progress.phase("release")
        opens = cells_of(seat.study)
        await seat.propose(
            Proposal(opens, figures=figures, preview=preview, known_to_all=True, recognition=own, alone=alone)
        )

    return ask


def _diverse(seat: Seat, result: Result) -> Result:
    if result.figures is not None:
        require_diverse(seat.study, result.figures)
    return result


def ideal(study: Study, tables: Mapping[str, Table]) -> Result:
    """Returns the release of a trusted party: the same run in the open."""
    return trusted(run_of(study), tables)


def trusted(run: Run, tables: Mapping[str, Table]) -> Result:
    """Returns the release of a trusted party that has these tables."""
    return _driven(_played(run, tables, _in_the_open(run)))


def _in_the_open(run: Run) -> Clear:
    return Clear([Secret(bytes([place]) * 32) for place in range(3)], checked=run.checked)


def foresee(study: Study, rows: Mapping[str, int]) -> Forecast:
    """Returns the cost of a run on records that are drawn from the domains."""
    return rehearsed(run_of(study), rows, None)


def rehearse(study: Study, rows: Mapping[str, int], like: Table) -> Forecast:
    """Returns the cost of a run on records drawn from a table's marginals."""
    return rehearsed(run_of(study), rows, like)


def rehearsed(run: Run, rows: Mapping[str, int], like: Table | None) -> Forecast:
    """Returns the cost of this run on records like these, or drawn from the domains."""
    study = run.study
    vertical = study.partition == "vertical"
    records = max(max(rows.values(), default=0) if vertical else sum(rows.values()), 1)
    box = _in_the_open(run)
    shares = {name: number * min(records, DRAWN) // records for name, number in rows.items()}
    with suppress(Unmet):
        _driven(_played(run, drawn(study, shares, like), box))
    keys = coin.COST.of(len(study.holders)) if vertical else Traffic()
    larger = max(1.0, records / DRAWN)
    total = int(box.bytes * larger**0.75) + keys.bytes  # as measured from 5,000 to 300,000 records
    learned, bits = [*_known(study), (cells_of(study), {})], box.soundness_bits
    mind = () if bits is None else (f"a computing party that deviates is missed with a chance of about 2^-{bits}",)
    rounds, messages = (int(number * larger**0.15) for number in (box.rounds, box.messages))
    return Forecast(rounds + keys.rounds, messages + keys.messages, total, 0.5 + total * 2e-8, learned, mind)


def _known(study: Study) -> list[Lesson]:
    """Returns what the parties learn before the approval."""
    computing, k, cells = ", ".join(parties_of(study)[:3]), study.privacy.k, Cells.of(study)
    vertical, letters, checked = study.partition == "vertical", study.partition == "respondents", run_of(study).checked
    lessons: list[tuple[Leakage, Mapping[str, object], bool]] = [
        (LETTERS, {}, letters),
        (DETECT if checked else TRUST, {"computing": computing}, True),
        (COMMON if vertical else TOTAL, {"k": k}, not letters),
        (LENGTH, {}, not cells.listed and not letters),
        (RANGE, {}, checked and not letters),
        (EMPTY, {}, not vertical and not letters and study.sizes == "private"),
        (LEAKAGE, {}, True),
        (insiders.UNPROTECTED, {}, not vertical and not letters and asked(study.privacy) == 1),
        (ALONE, {}, bool(cells.in_question)),
    ]
    return [(leakage, numbers) for leakage, numbers, tells in lessons if tells]


def _played(run: Run, tables: Mapping[str, Table], box: Clear) -> Coroutine[object, object, Result]:
    run = replace(run, key=Secret(bytes(SECRET_BYTES)))

    async def reached(state: Peeling) -> None: ...

    async def ask(figures: Figures, preview: Preview, own: Recognition | None, alone: Sequence[str]) -> None: ...

    known = {name: place for place, name in enumerate((*run.parties, *(set(tables) - {*run.parties})))}
    given = {known[name]: table for name, table in tables.items()}
    return run.play(box, given, ask, reached)


def _driven(work: Coroutine[object, object, T]) -> T:
    """Returns the result of work that waits for nothing but a box in the open."""
    try:
        work.send(None)
    except StopIteration as done:
        answer: T = done.value
        return answer
    raise TypeError("work in the open never waits")
