"""The release: each class's nodes with the records' own sensitive and plain values, and nobody's name on a row.

By counts   where the study lists every value that a record may carry: the parties add up how many records of each
            class carry what (the paper's step 31). It opens the release and nothing else.
By shuffle  otherwise: rows pass through all parties' hands, sealed, and are opened once everyone has approved. A party
            fills up with dummies, so that nobody learns another's number of rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import msgspec
import numpy as np
import pyarrow as pa

from covey import measures
from covey.anonymize.constraints import diversity_of
from covey.anonymize.problem import Ints, Longs
from covey.cells import MISSING
from covey.errors import Aborted, InputError, PeerError, Unmet
from covey.protocols.cluster.ground import Clusters, Ground
from covey.protocols.protocol import Figures, Proposal, Result, Seat
from covey.schema import Column, Role
from covey.secure import conjunction, shuffle
from covey.secure import sum as secure_sum
from covey.secure.declare import Leakage
from covey.study import Study
from covey.table import Table, group, labelled
from covey.wire import Channel, Count, Message

MOST_PLACES = 1 << 21
"""Numbers that are added up at most: beyond that rows are shuffled."""
LENGTHS = tuple(1 << power for power in range(4, 15))

LEAKAGE_OF_COUNTS = Leakage(everyone=("the release: how many records of each class carry which values",))


class Rows(Message, tag="cluster.rows"):
    """How many rows the sender has. Only where the study makes sizes public."""

    rows: Count


@dataclass(frozen=True)
class Classes:
    """What is published: boxes that differ, their sizes, and each own record's class."""

    sizes: Longs
    boxes: Ints
    label: Longs

    @classmethod
    def of(cls, clusters: Clusters, label: Longs) -> Classes:
        """Clusters with the same box are one class to whoever reads the release."""
        number, first = group([*clusters.boxes.T], len(clusters))
        sizes = np.bincount(number, weights=clusters.sizes, minlength=len(first)).astype(np.int64)
        return cls(sizes, clusters.boxes[first], number[label])


def figures(ground: Ground, classes: Classes, leaf_counts: Sequence[Longs] | None) -> Figures:
    """What is known of the release before it is opened."""
    nodes, sizes = ground.local(classes.boxes), classes.sizes
    rows, columns = int(sizes.sum()), ground.columns
    lost = sum(float(measures.lm(tree)[nodes[:, c]] @ sizes) for c, tree in enumerate(ground.trees))
    em = None
    if leaf_counts is not None:
        pairs = enumerate(zip(ground.trees, leaf_counts, strict=True))
        em = sum(float(measures.em(tree, own)[nodes[:, c]] @ sizes) for c, (tree, own) in pairs) / (rows * columns)
    roots = np.array([tree.root if tree.nodes > 1 else -1 for tree in ground.trees])
    return Figures(
        rows=rows,
        classes=len(sizes),
        k_reached=int(sizes.min()),
        suppressed_cells=int(((nodes == roots).sum(axis=1) * sizes).sum()),
        loss={
            "lm": lost / (rows * columns),
            "em": em,
            "dm": float(measures.discernibility(sizes)),
            "c_avg": measures.average_class(sizes, ground.k),
        },
    )


def require_little_suppressed(study: Study, ground: Ground, classes: Classes) -> None:
    """Raises Unmet where more records end at every root than the study allows."""
    roots = np.array([tree.root for tree in ground.trees])
    lost = int(classes.sizes[(ground.local(classes.boxes) == roots).all(axis=1)].sum())
    rows = int(classes.sizes.sum())
    if lost > study.suppression * rows:
        raise Unmet(
            f"{lost:,} of {rows:,} records would be suppressed, more than suppression = {study.suppression:g} allows; "
            f"{math.ceil(lost / rows * 1000) / 1000:g} would do, or a smaller k"
        )


def domain(column: Column) -> tuple[str, ...] | None:
    """Every value that a record may carry in this column, if the study lists them."""
    if column.values is None:
        return None
    return (*column.values, MISSING) if column.missing == "value" else column.values


def by_counts(study: Study, classes: int) -> bool:
    """Whether the study lists so few combinations of carried values that they can be added up."""
    domains = [domain(column) for column in carried(study)]
    listed = [len(values) for values in domains if values is not None]
    return len(listed) == len(domains) and classes * math.prod(listed) <= MOST_PLACES


def carried(study: Study) -> tuple[Column, ...]:
    """The columns that are published as they are."""
    return study.of_role(Role.SENSITIVE, Role.PLAIN)


async def publish(seat: Seat, ground: Ground, classes: Classes, known: Figures) -> Result:
    """Asks for approval, opens the release and returns it. Raises Unmet where too much would be suppressed."""
    require_little_suppressed(seat.study, ground, classes)
    channel = seat.channel.at("release")
    if by_counts(seat.study, len(classes.sizes)):
        await seat.approve(Proposal(opens=LEAKAGE_OF_COUNTS.everyone, figures=known))
        seat.book.learns(LEAKAGE_OF_COUNTS)
        number, cells = await _add_up(channel, seat.study, seat.records, classes)
    else:
        number, cells = await _shuffle(seat, channel, classes, known)
    _check(channel, classes, number)
    return result(seat.study, ground, classes, known, number, cells)


def result(
    study: Study, ground: Ground, classes: Classes, known: Figures, number: Longs, cells: dict[str, list[str]]
) -> Result:
    """The release from each row's class and its carried cells."""
    nodes = ground.local(classes.boxes)[number]
    columns: dict[str, pa.Array] = {}
    for position, (column, tree) in enumerate(zip(study.quasi, ground.trees, strict=True)):
        columns[column.name] = labelled(np.ascontiguousarray(nodes[:, position]), tree.labels)
    columns.update({name: pa.array(values, pa.string()).dictionary_encode() for name, values in cells.items()})
    table = pa.table({column.name: columns[column.name] for column in study.released})
    return Result(table, replace(known, l_reached=_diversity(study, number, cells, len(classes.sizes))))


def _diversity(study: Study, number: Longs, cells: dict[str, list[str]], classes: int) -> float | None:
    reached = math.inf
    for column in study.sensitive:
        values = np.unique(np.array(cells[column.name], dtype=object).astype(str), return_inverse=True)[1]
        counts = np.zeros((classes, int(values.max(initial=0)) + 1), dtype=np.int64)
        np.add.at(counts, (number, values), 1)
        reached = min([reached, *(diversity_of(row, study.privacy.diversity) for row in counts)])
    return reached if study.sensitive else None


async def _add_up(channel: Channel, study: Study, table: Table, classes: Classes) -> tuple[Longs, dict[str, list[str]]]:
    """Each row's class and carried cells, from joint counts of each class and combination of values."""
    domains = {column.name: domain(column) or () for column in carried(study)}
    places = math.prod(len(values) for values in domains.values())
    joint = classes.label * places + _combination(table, domains)
    own = np.bincount(joint, minlength=len(classes.sizes) * places).astype(np.uint64)
    total = (await secure_sum.total(channel.at("count"), own)).astype(np.int64)
    if total.min(initial=0) < 0 or int(total.sum()) != int(classes.sizes.sum()):
        raise Aborted("the classes' counts do not add up: a party did not keep to the protocol", resumable=False)
    number, combination = np.divmod(np.repeat(np.arange(len(total)), total), places)
    cells: dict[str, list[str]] = {}
    for name, values in reversed(domains.items()):
        combination, code = np.divmod(combination, len(values))
        cells[name] = [values[each] for each in code.tolist()]
    return number, cells


def _combination(table: Table, domains: dict[str, tuple[str, ...]]) -> Longs:
    """The number of each own record's combination of carried values."""
    number = np.zeros(table.rows, dtype=np.int64)
    for name, values in domains.items():
        own = table.values(name)
        place = {value: position for position, value in enumerate(values)}
        lookup = np.array([place.get(label, 0) for label in own.labels] or [0], dtype=np.int64)
        number = number * len(values) + lookup[own.codes]
    return number


async def _shuffle(
    seat: Seat, channel: Channel, classes: Classes, known: Figures
) -> tuple[Longs, dict[str, list[str]]]:
    """The same from rows that went through everyone's hands."""
    names = [column.name for column in carried(seat.study)]
    own = [seat.records.values(name) for name in names]
    rows = [
        msgspec.msgpack.encode((number, [values.labels[values.codes[row]] for values in own]))
        for row, number in enumerate(classes.label.tolist())
    ]
    length = await _agree_on_length(channel.at("length"), max(map(len, rows), default=0))
    counts = await _counts(seat, channel.at("rows"), known.rows)
    mixed = await shuffle.mix(channel.at("mix"), rows, counts=counts, length=length)
    shown = shuffle.leakage(len(channel.parties))
    submitted = ", ".join(f"{name}: {count}" for name, count in counts.items())
    numbers: dict[str, object] = {
        "rows": known.rows,
        "submitted": submitted,
        "dummies": sum(counts.values()) - known.rows,
    }
    await seat.approve(Proposal(opens=tuple(shown.sentences("holder", **numbers)), figures=known))
    seat.book.learns(shown, **numbers)
    opened = await shuffle.open_rows(channel.at("open"), mixed, approved=True)
    number = np.empty(len(opened), dtype=np.int64)
    cells: dict[str, list[str]] = {name: [] for name in names}
    for place, raw in enumerate(opened):
        number[place], texts = _row(channel, raw, len(names), len(classes.sizes))
        for name, text in zip(names, texts, strict=True):
            cells[name].append(text)
    return number, cells


def _row(channel: Channel, raw: bytes, columns: int, classes: int) -> tuple[int, list[str]]:
    try:
        number, texts = msgspec.msgpack.decode(raw, type=tuple[int, list[str]])
    except (msgspec.MsgspecError, ValueError):
        number, texts = -1, []
    if not 0 <= number < classes or len(texts) != columns:
        raise PeerError(party=" or ".join(channel.peers), step=channel.step, reason="it submitted what is no row")
    return number, texts


async def _agree_on_length(channel: Channel, longest: int) -> int:
    """The shortest of the agreed lengths that everyone's rows have room in; nobody learns whose are longest."""
    fits = await conjunction.conjoin(channel, np.array([longest <= length for length in LENGTHS]))
    if fits is None or not fits.any():
        raise InputError(f"a released row takes more than {LENGTHS[-1]} bytes; leave out long plain columns")
    return LENGTHS[int(np.flatnonzero(fits)[0])]


async def _counts(seat: Seat, channel: Channel, rows: int) -> dict[str, int]:
    """How many rows each party submits: its own number where sizes are public, else as many as it could have."""
    if seat.study.sizes == "public":
        theirs = await channel.exchange(Rows(seat.records.rows))
        return {channel.me: seat.records.rows, **{name: message.rows for name, message in theirs.items()}}
    most = seat.study.rows_at_most or rows
    return dict.fromkeys(channel.parties, min(most, rows))


def _check(channel: Channel, classes: Classes, number: Longs) -> None:
    """Every class has as many rows as its public size says: else somebody changed its mind, and nothing is released."""
    if not np.array_equal(np.bincount(number, minlength=len(classes.sizes)), classes.sizes):
        raise Aborted(
            "the released classes have other sizes than were agreed: a party did not keep to the protocol",
            resumable=False,
        )
