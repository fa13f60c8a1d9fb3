"""Rows of the release: each class's labels with the records' own values, and nobody's name on a row.

By counts   where the study lists every value that a record may carry: how many records of each class carry what is
            added up, which opens the release and nothing else. A party that takes records of another away from a
            value is noticed by that one, if fewer are opened than it put in. Among three or more, records of a third
            party's with the same value in the same class can cover it up.
By shuffle  otherwise: sealed rows pass through all parties' hands and are opened once everyone has approved. A party
            fills up with dummies, so that nobody learns another's number of rows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec
import numpy as np

from covey.arrays import Longs
from covey.cells import MISSING
from covey.errors import Aborted, InputError, PeerError
from covey.plain import plural
from covey.protocols.protocol import Figures, Preview, Proposal, Seat
from covey.protocols.shared.cost import CostEstimate
from covey.schema import Column, Role
from covey.secure import approval, conjunction, shuffle
from covey.secure import sum as secure_sum
from covey.secure.declare import RELEASE, Leakage
from covey.study import Study
from covey.table import CarriedCells, Table, tally
from covey.wire import Channel, Count, Message

MOST_PLACES = 1 << 21
"""Numbers that are added up at most; beyond that rows are shuffled."""
LENGTHS = tuple(1 << power for power in range(4, 15))
_NUMBER_BYTES = 16
"""Bytes of a row's class and of its lists, at most; each cell has at most 5 besides its text."""
_LIKELY_BYTES = 12
"""Bytes of a cell in a column of which nothing is known, about."""

LEAKAGE = Leakage(everyone=("the release: for each class, how many records have which values",), about=RELEASE)


class Submits(Message, tag="rows.submits"):
    """The number of rows that the sender submits, where the study makes sizes public."""

    rows: Count


@dataclass(frozen=True)
class Rows:
    """Released rows: the class of each, and its cells in the columns that are published as they are."""

    klass: Longs
    cells: dict[str, list[str]]


async def release(seat: Seat, klass: Longs, sizes: Longs, known: Figures, preview: Preview) -> Rows:
    """All parties' rows after everyone's approval; `klass` has each own row's class, or -1 where it is withheld."""
    channel = seat.channel.at("rows")
    withheld, released = seat.records.tally((klass >= 0).astype(np.int64), 2).tolist()
    preview = replace(preview, own=(released, withheld))
    own = seat.records.with_class(klass)
    if by_counts(seat.study, len(sizes)):
        await seat.propose(Proposal(LEAKAGE, figures=known, preview=preview))
        rows = await _add_up(channel, seat.study, own, sizes)
    else:
        rows = await _shuffle(seat, channel, own, len(sizes), known, preview)
    if not np.array_equal(np.bincount(rows.klass, minlength=len(sizes)), sizes):
        raise Aborted(
            "the classes' rows are not as many as were counted: a party did not keep to the protocol", resumable=False
        )
    return rows


def carried(study: Study) -> tuple[Column, ...]:
    """The columns that are published as they are."""
    return study.of_role(Role.SENSITIVE, Role.PLAIN)


def by_counts(study: Study, classes: int) -> bool:
    """Tells if the study lists so few combinations of carried values that they can be added up."""
    domains = [domain(column) for column in carried(study)]
    return all(domains) and classes * math.prod(map(len, domains)) <= MOST_PLACES


def domain(column: Column) -> tuple[str, ...]:
    """Every value that a record may carry in this column; none if the study does not list them."""
    if column.values is None:
        return ()
    return (*column.values, MISSING) if column.missing == "value" else column.values


async def _add_up(channel: Channel, study: Study, cells_of: CarriedCells, sizes: Longs) -> Rows:
    domains = {column.name: domain(column) for column in carried(study)}
    width = math.prod(map(len, domains.values()))
    combination = cells_of.klass
    for name, values in domains.items():
        own = cells_of.values(name)
        place = {value: position for position, value in enumerate(values)}
        lookup = np.array([place.get(label, 0) for label in own.labels] or [0], dtype=np.int64)
        combination = combination * len(values) + lookup[own.codes]
    mine = tally(combination, len(sizes) * width, cells_of.counts).astype(np.uint64)
    total = (await secure_sum.total(channel.at("count"), mine)).astype(np.int64)
    if total.min(initial=0) < 0 or int(total.sum()) != int(sizes.sum()):
        raise Aborted("the classes' values do not add up: a party did not keep to the protocol", resumable=False)
    if (total < mine.astype(np.int64)).any():
        shown = " and ".join(f"column {name!r}" for name in domains)
        raise Aborted(
            f"another party took records of ours away from {shown} and gave a class other values: fewer are opened "
            "than we put in. Write nothing, and ask the others for `covey audit --replay`, which shows whose numbers "
            "do not follow from its records",
            resumable=False,
        )
    number, rest = np.divmod(np.repeat(np.arange(len(total)), total), width)
    cells: dict[str, list[str]] = {}
    for name, values in reversed(domains.items()):
        rest, code = np.divmod(rest, len(values))
        cells[name] = [values[each] for each in code.tolist()]
    return Rows(number, cells)


async def _shuffle(
    seat: Seat, channel: Channel, cells_of: CarriedCells, classes: int, known: Figures, preview: Preview
) -> Rows:
    names = [column.name for column in carried(seat.study)]
    own = [cells_of.values(name) for name in names]
    mine = [
        spell_row(number, [values.labels[values.codes[row]] for values in own])
        for row, number in enumerate(cells_of.klass.tolist())
    ]
    if cells_of.counts is not None:
        mine = [row for row, often in zip(mine, cells_of.counts.tolist(), strict=True) for _ in range(often)]
    length = await agree_on_length(channel.at("length"), mine)
    counts = await _submitted(seat, channel.at("submit"), len(mine), known.rows)
    shown = shuffle.leakage(len(channel.parties))
    numbers: dict[str, object] = {
        "rows": known.rows,
        "submitted": ", ".join(f"{name}: {count:,}" for name, count in counts.items()),
        "dummies": _of_empty_rows(sum(counts.values()) - known.rows),
    }
    return await mix(seat, channel, mine, names, classes, counts, length, Proposal(shown, numbers, known, preview))


async def mix(
    seat: Seat,
    channel: Channel,
    mine: Sequence[bytes],
    names: Sequence[str],
    classes: int,
    counts: Mapping[str, int],
    length: int,
    proposal: Proposal,
) -> Rows:
    """All parties' spelled rows through a shuffle, opened after everyone's approval."""
    mixed = await shuffle.mix(channel.at("mix"), mine, counts=counts, length=length)
    await seat.propose(proposal)
    opened = await shuffle.open_rows(channel.at("open"), mixed, approved=True)
    read = [read_row(channel, row, classes, len(names)) for row in opened]
    cells = {name: [texts[place] for _, texts in read] for place, name in enumerate(names)}
    return Rows(np.array([number for number, _ in read], dtype=np.int64), cells)


def add_cost(estimate: CostEstimate, study: Study, rows_of: Mapping[str, int], classes: int, like: Table) -> None:
    """Adds what `release` costs where the parties have so many rows each, whose carried values are like these."""
    parties, records = len(study.parties), sum(rows_of.values())
    estimate.then(approval.COST, parties)
    if by_counts(study, classes):
        domains = [len(domain(column)) for column in carried(study)]
        estimate.then(secure_sum.COST, parties, classes * math.prod(domains))
        return
    estimate.then(conjunction.COST, parties, len(LENGTHS))
    alike = min(study.rows_at_most or records, records)
    counts = [*rows_of.values()] if study.sizes == "public" else [alike] * parties
    estimate.then(shuffle.COST, counts, likely_length(study, like))
    estimate.then(shuffle.OPENING_COST, parties)


def likely_length(study: Study, like: Table, *, labels: bool = False) -> int:
    """The length of released rows, with `labels` with quasi values too, whose carried values are like these."""
    shown = {values.column.name: values.labels for values in like.carried}
    if labels:
        shown |= {column.name: tree.labels for column, tree in zip(like.quasi, like.trees, strict=True)}
    names = [column.name for column in (*(study.quasi if labels else ()), *carried(study))]
    longest = 3 + sum(
        1 + max((len(text.encode()) for text in shown.get(name, ())), default=_LIKELY_BYTES) for name in names
    )
    return next((length for length in LENGTHS if length >= longest), LENGTHS[-1])


def spell_row(number: int, texts: Sequence[str]) -> bytes:
    """A row as it goes into the shuffle: its class and its cells."""
    return msgspec.msgpack.encode((number, texts))


def read_row(channel: Channel, raw: bytes, classes: int, columns: int) -> tuple[int, list[str]]:
    """An opened row: its class and its cells. Raises PeerError for anything else."""
    try:
        number, texts = msgspec.msgpack.decode(raw, type=tuple[int, list[str]])
    except (msgspec.MsgspecError, ValueError):
        number, texts = -1, []
    if not 0 <= number < classes or len(texts) != columns:
        raise PeerError(party=" or ".join(channel.peers), step=channel.step, reason="it submitted what is no row")
    return number, texts


def accepts(study: Study, own: Table, *, labels: bool = False) -> None:
    """Raises InputError for a record that is too long to be released, with `labels` together with its quasi values."""
    names = [column.name for column in (*(study.quasi if labels else ()), *carried(study))]
    if own.on_engine is not None and own.on_engine.longest() + _NUMBER_BYTES <= LENGTHS[-1]:
        return
    cells_of = own.with_class(np.zeros(own.rows, dtype=np.int64))
    columns = [(values.labels, values.codes) for values in cells_of.columns]
    if labels:
        columns += [(tree.labels, codes) for tree, codes in zip(own.trees, own.codes, strict=True)]
    longest = np.zeros(len(cells_of.klass), dtype=np.int64)
    for texts, codes in columns:
        longest += np.array([len(text.encode()) + 5 for text in texts] or [0], dtype=np.int64)[codes]
    if longest.max(initial=0) + _NUMBER_BYTES > LENGTHS[-1]:
        raise InputError(
            f"{int((longest + _NUMBER_BYTES > LENGTHS[-1]).sum()):,} rows have more than {LENGTHS[-1]:,} bytes in the "
            f"columns {', '.join(names)}, more than a released row may have; leave out or shorten long ones"
        )


async def agree_on_length(channel: Channel, mine: Sequence[bytes]) -> int:
    """The shortest of the possible lengths that everyone's rows fit in; whose row is the longest stays hidden."""
    longest = max(map(len, mine), default=0)
    fits = await conjunction.conjoin(channel, np.array([longest <= length for length in LENGTHS]))
    if fits is None or not fits.any():
        raise InputError(f"a released row takes more than {LENGTHS[-1]} bytes; leave out long plain columns")
    return LENGTHS[int(np.flatnonzero(fits)[0])]


def _of_empty_rows(number: int) -> str:
    """Words for the rows that only fill up."""
    if not number:
        return ", and none of these is empty"
    return f"; {plural(number, 'of these is', 'of these are')} empty, which hides how many rows each party has"


async def _submitted(seat: Seat, channel: Channel, mine: int, rows: int) -> dict[str, int]:
    """The number of rows that each party submits: its own where sizes are public, else as many as it could have."""
    if seat.study.sizes == "public":
        theirs = await channel.exchange(Submits(mine))
        return {name: mine if name == channel.me else theirs[name].rows for name in channel.parties}
    return dict.fromkeys(channel.parties, min(seat.study.rows_at_most or rows, rows))
