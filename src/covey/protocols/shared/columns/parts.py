"""Parts of the release, where all holders know which record is in which class: a join would hide nothing more.

Every holder shows its nodes of each class, and its exact values class by class, in the order of their spelling, which
tells nobody whose they are. One of them, the leader, also shows how many records each class has. Exact values of
different holders are paired anew within each class (`release`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from covey import measures
from covey.arrays import Ints, Longs
from covey.errors import Aborted, PeerError
from covey.protocols.shared.columns.joining import packed, read_part
from covey.protocols.shared.columns.ownership import exact_columns, exact_holders, holders, quasi_columns
from covey.protocols.shared.columns.release import Cells, ReleasedRows, released_rows
from covey.protocols.shared.cost import SMALL_BYTES, CostEstimate
from covey.secure import book
from covey.study import Study
from covey.table import Table
from covey.wire import Channel, Chunk, Count, Message, chunks, gather

_LARGE = 1 << 32


class DecidedNumbers(Chunk[bytes], tag="cluster.said"):
    """Numbers that the sender decided on: one byte each, or four where they may be larger."""

    numbers: bytes


class PartCounts(Message, tag="cluster.announced"):
    """The number of classes, and of distinct exact rows that the sender shows."""

    classes: Count
    distinct: Count


@dataclass(frozen=True)
class Contribution:
    """One holder's part of the release: its nodes of each class, its distinct exact rows, and each class's rows."""

    nodes: Ints  # classes x its quasi columns
    entries: tuple[bytes, ...]
    codes: Longs  # class by class, sorted within each
    sizes: Longs | None  # of the classes, where the leader shows it


def contribution_of(label: Longs, nodes: Ints, table: Table, *, leads: bool) -> Contribution:
    """Our part of the release: each record's class, the nodes of each class (classes x columns), and the records."""
    sizes = np.bincount(label).astype(np.int64) if leads else None
    if not table.carried:
        return Contribution(nodes, (), np.zeros(0, dtype=np.int64), sizes)
    rows = packed(np.zeros((0, table.rows), np.int32), table.carried)
    entries = tuple(sorted(set(rows)))
    number = {entry: place for place, entry in enumerate(entries)}
    codes = np.array([number[row] for row in rows], dtype=np.int64)
    return Contribution(nodes, entries, codes[np.lexsort((codes, label))], sizes)


async def exchange(
    channel: Channel, study: Study, leader: str, mine: Contribution | None, rows: int, classes: int, to: Sequence[str]
) -> ReleasedRows | None:
    """Shows our part, if we have one, to everyone who gets the release; all parts put together if that is us."""
    found = {} if mine is None else {channel.me: mine}

    async def see(holder: str) -> None:
        found[holder] = await receive_contribution(
            channel.at(holder), study, holder, leader, rows=rows, classes=classes
        )

    showing = [show(channel.at(channel.me), peer, mine) for peer in channel.peers if mine is not None and peer in to]
    seen = [holder for holder in holders(study) if holder != channel.me] if channel.me in to else []
    await gather(*showing, *(see(holder) for holder in seen))
    return assemble(channel, study, leader, found) if channel.me in to else None


def add_cost(estimate: CostEstimate, parts: Mapping[str, Contribution], to: Sequence[str]) -> None:
    """Adds what `exchange` costs where each holder has such a part, and these parties get the release."""
    messages = size = 0
    for holder, part in parts.items():
        lists = [4 * part.nodes.size, 4 * len(part.codes), *([] if part.sizes is None else [4 * len(part.sizes)])]
        seen = len([name for name in to if name != holder])
        messages += seen * (1 + len(book.paginate(part.entries)) + sum(chunks.messages(each, 1) for each in lists))
        size += seen * (SMALL_BYTES + book.size(part.entries) + sum(chunks.size(each, 1) for each in lists))
    estimate.exchange({*parts, *to}, messages, size)


async def show(channel: Channel, to: str, part: Contribution) -> None:
    """Shows our part to one party."""
    await channel.send(to, PartCounts(len(part.nodes), len(part.entries)))
    if part.sizes is not None:
        await send_numbers(channel, to, part.sizes, _LARGE)
    await send_numbers(channel, to, part.nodes.ravel().astype(np.int64), _LARGE)
    await book.send(channel, to, part.entries)
    await send_numbers(channel, to, part.codes, _LARGE)


async def receive_contribution(
    channel: Channel, study: Study, holder: str, leader: str, *, rows: int, classes: int
) -> Contribution:
    """A holder's part of a release of so many rows and classes. Raises PeerError for what cannot be one."""

    def refused(reason: str) -> PeerError:
        return channel.refusal(holder, reason)

    announced = await channel.receive(holder, PartCounts)
    exact, quasi = exact_columns(study, holder), quasi_columns(study, holder)
    if announced.classes != classes or announced.distinct > (rows if exact else 0):
        raise refused(f"it announces {announced.classes} classes of {announced.distinct} exact rows")
    sizes = await receive_numbers(channel, holder, classes, _LARGE) if holder == leader else None
    if sizes is not None and int(sizes.sum()) != rows:
        raise refused(f"its classes have {int(sizes.sum())} rows, {rows} were counted")
    flat = await receive_numbers(channel, holder, classes * len(quasi), _LARGE)
    nodes = flat.reshape(classes, len(quasi)).astype(np.int32)
    if (nodes >= [column.tree().nodes for column in quasi]).any():
        raise refused("a node is none of its hierarchy's")
    entries = await book.receive(channel, holder, announced.distinct)
    codes = await receive_numbers(channel, holder, rows if exact else 0, max(_LARGE, announced.distinct))
    if len(codes) and int(codes.max()) >= announced.distinct:
        raise refused("an exact row that is not in its book")
    return Contribution(nodes, entries, codes, sizes)


def assemble(channel: Channel, study: Study, leader: str, parts: Mapping[str, Contribution]) -> ReleasedRows:
    """The released rows from all parts."""
    sizes = parts[leader].sizes
    if sizes is None or any(len(part.codes) not in (0, int(sizes.sum())) for part in parts.values()):
        raise Aborted("the classes' rows are not as many as were counted", resumable=False)
    klass = np.repeat(np.arange(len(sizes)), sizes)
    place = {column.name: position for position, column in enumerate(study.quasi)}
    nodes = np.zeros((len(sizes), len(study.quasi)), dtype=np.int32)
    lanes = []
    for holder, part in parts.items():
        nodes[:, [place[column.name] for column in quasi_columns(study, holder)]] = part.nodes
    for holder in exact_holders(study):
        shown = exact_columns(study, holder)
        cells = [read_part(channel, holder, entry, (), shown)[1] for entry in parts[holder].entries]
        lanes.append((nodes[klass], [cells[code] for code in parts[holder].codes.tolist()]))
    empty: list[Cells] = [()] * len(klass)
    return released_rows(study, lanes or [(nodes[klass], empty)])


def own_loss(table: Table, nodes: Ints, sizes: Longs) -> tuple[float, int]:
    """The loss of our columns, in cells, and the number of their cells that are at a root."""
    lost, roots = 0.0, 0
    for place, tree in enumerate(table.trees):
        lost += float(measures.lm(tree)[nodes[:, place]] @ sizes)
        roots += int(sizes[nodes[:, place] == tree.root].sum()) if tree.nodes > 1 else 0
    return lost, roots


async def send_numbers(channel: Channel, to: str, numbers: Longs, bound: int) -> None:
    """Sends numbers below a bound."""
    await channel.send_all(to, DecidedNumbers, numbers.astype(_kind(bound)).tobytes())


async def receive_numbers(channel: Channel, sender: str, due: int, bound: int) -> Longs:
    """Receives `due` numbers below a bound. Raises PeerError for anything else."""
    kind = _kind(bound)
    raw = await channel.receive_all(sender, DecidedNumbers, due * np.dtype(kind).itemsize)
    numbers = np.frombuffer(raw, dtype=kind).astype(np.int64)
    if len(numbers) and int(numbers.max()) >= bound:
        raise channel.refusal(sender, f"a number of {bound} or more")
    return numbers


def _kind(bound: int) -> str:
    return "<u1" if bound <= 256 else "<u4"
