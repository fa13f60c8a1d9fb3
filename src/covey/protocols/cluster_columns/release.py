"""The release with columns split: every holder shows its nodes of each class, and its exact values class by class.

All holders know which record is in which class, so a join on blinded keys would hide nothing more. Within a class a
holder shows its exact values in the order of their spelling, which tells nobody whose they are. Exact values of
different holders are paired anew within each class (`covey.protocols.shared.columns`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from covey import measures
from covey.arrays import Ints, Longs
from covey.errors import Aborted, PeerError
from covey.protocols.cluster_columns.driver import receive, send
from covey.protocols.cluster_columns.leakage import of_release
from covey.protocols.cluster_columns.own_columns import OwnColumns
from covey.protocols.cluster_columns.parameters import Parameters
from covey.protocols.protocol import Figures, Proposal, Result, Seat
from covey.protocols.shared import columns
from covey.protocols.shared.columns import Cells, ReleasedRows
from covey.secure import book
from covey.secure import sum as secure_sum
from covey.table import Table
from covey.wire import Channel, Count, Message, gather

_FIXED = 1 << 24
"""The parts of a cell in which losses are added up."""
_LARGE = 1 << 32


class Announced(Message, tag="cluster.announced"):
    """The number of classes, and of distinct exact rows that the sender shows."""

    classes: Count
    distinct: Count


async def add_up_figures(
    channel: Channel, parameters: Parameters, own: OwnColumns | None = None, label: Longs | None = None
) -> Figures:
    """The figures of the release, added up by everyone; a party without data adds nothing.

    Every holder adds what its columns lose. The pivot alone adds what all holders know, so that it counts once.
    """
    mine = np.zeros(6, dtype=np.uint64)
    if own is not None and label is not None:
        sizes = np.bincount(label).astype(np.int64)
        lost, roots = own_loss(own.table, own.nodes(label), sizes)
        mine[4:] = [round(lost * _FIXED), roots]
        if own.pivot:
            mine[:4] = [int(sizes.sum()), len(sizes), int(sizes.min()), measures.discernibility(sizes)]
    rows, classes, smallest, squares, lost_parts, roots = (int(each) for each in await secure_sum.total(channel, mine))
    if not 0 < classes <= rows:
        raise Aborted("the figures are impossible: a party did not keep to the protocol", resumable=False)
    return Figures(
        rows=rows,
        classes=classes,
        k_reached=smallest,
        suppressed_cells=roots,
        loss={
            "lm": lost_parts / _FIXED / (rows * len(parameters.study.quasi)),
            "em": None,
            "dm": float(squares),
            "c_avg": rows / classes / parameters.k,
        },
    )


def own_loss(table: Table, nodes: Ints, sizes: Longs) -> tuple[float, int]:
    """The loss of our columns, in cells, and the number of their cells that are at a root."""
    lost, roots = 0.0, 0
    for place, tree in enumerate(table.trees):
        lost += float(measures.lm(tree)[nodes[:, place]] @ sizes)
        roots += int(sizes[nodes[:, place] == tree.root].sum()) if tree.nodes > 1 else 0
    return lost, roots


@dataclass(frozen=True)
class Contribution:
    """One holder's part of the release: its nodes of each class, its distinct exact rows, and each class's rows."""

    nodes: Ints  # classes x its quasi columns
    entries: tuple[bytes, ...]
    codes: Longs  # class by class, sorted within each
    sizes: Longs | None  # of the classes, where the pivot shows it


def contribution_of(parameters: Parameters, me: str, label: Longs, nodes: Ints, table: Table) -> Contribution:
    """Our part of the release."""
    sizes = np.bincount(label).astype(np.int64) if me == parameters.pivot else None
    if not table.carried:
        return Contribution(nodes, (), np.zeros(0, dtype=np.int64), sizes)
    packed = columns.packed(np.zeros((0, table.rows), np.int32), table.carried)
    entries = tuple(sorted(set(packed)))
    number = {entry: place for place, entry in enumerate(entries)}
    codes = np.array([number[row] for row in packed], dtype=np.int64)
    return Contribution(nodes, entries, codes[np.lexsort((codes, label))], sizes)


async def publish(
    seat: Seat, channel: Channel, parameters: Parameters, mine: Contribution | None, known: Figures
) -> Result:
    """Asks for approval, shows our part to everyone, if we have one, and puts all parts together."""
    leakage, numbers = of_release(parameters, known.rows)
    role = "evaluator" if mine is None else "holder"
    await seat.approve(Proposal(opens=tuple(leakage.sentences(role, **numbers)), figures=known))
    seat.book.learns(leakage, **numbers)
    parts = {} if mine is None else {channel.me: mine}

    async def see(holder: str) -> None:
        parts[holder] = await receive_contribution(channel.at(holder), parameters, holder, known)

    showing = [show(channel.at(channel.me), peer, mine) for peer in channel.peers] if mine is not None else []
    await gather(*showing, *(see(holder) for holder in parameters.holders if holder != channel.me))
    return columns.result(parameters.study, assemble(channel, parameters, parts), approved=known.rows)


async def show(channel: Channel, to: str, part: Contribution) -> None:
    """Shows our part to one party."""
    await channel.send(to, Announced(len(part.nodes), len(part.entries)))
    if part.sizes is not None:
        await send(channel, to, part.sizes, _LARGE)
    await send(channel, to, part.nodes.ravel().astype(np.int64), _LARGE)
    await book.send(channel, to, part.entries)
    await send(channel, to, part.codes, _LARGE)


async def receive_contribution(channel: Channel, parameters: Parameters, holder: str, known: Figures) -> Contribution:
    """A holder's part. Raises PeerError for what cannot be one."""

    def refused(reason: str) -> PeerError:
        return channel.refusal(holder, reason)

    study = parameters.study
    announced = await channel.receive(holder, Announced)
    exact, quasi = columns.exact_columns(study, holder), columns.quasi_columns(study, holder)
    if announced.classes != known.classes or announced.distinct > (known.rows if exact else 0):
        raise refused(f"it announces {announced.classes} classes of {announced.distinct} exact rows")
    sizes = await receive(channel, holder, known.classes, _LARGE) if holder == parameters.pivot else None
    if sizes is not None and int(sizes.sum()) != known.rows:
        raise refused(f"its classes have {int(sizes.sum())} rows, {known.rows} were counted")
    flat = await receive(channel, holder, known.classes * len(quasi), _LARGE)
    nodes = flat.reshape(known.classes, len(quasi)).astype(np.int32)
    if (nodes >= [column.tree().nodes for column in quasi]).any():
        raise refused("a node is none of its hierarchy's")
    entries = await book.receive(channel, holder, announced.distinct)
    codes = await receive(channel, holder, known.rows if exact else 0, max(_LARGE, announced.distinct))
    if len(codes) and int(codes.max()) >= announced.distinct:
        raise refused("an exact row that is not in its book")
    return Contribution(nodes, entries, codes, sizes)


def assemble(channel: Channel, parameters: Parameters, parts: Mapping[str, Contribution]) -> ReleasedRows:
    """The released rows from all parts."""
    study, sizes = parameters.study, parts[parameters.pivot].sizes
    if sizes is None or any(len(part.codes) not in (0, int(sizes.sum())) for part in parts.values()):
        raise Aborted("the classes' rows are not as many as were counted", resumable=False)
    klass = np.repeat(np.arange(len(sizes)), sizes)
    place = {column.name: position for position, column in enumerate(study.quasi)}
    nodes = np.zeros((len(sizes), len(study.quasi)), dtype=np.int32)
    lanes = []
    for holder, part in parts.items():
        nodes[:, [place[column.name] for column in columns.quasi_columns(study, holder)]] = part.nodes
    for holder in columns.exact_holders(study):
        shown = columns.exact_columns(study, holder)
        cells = [columns.read_part(channel, holder, entry, (), shown)[1] for entry in parts[holder].entries]
        lanes.append((nodes[klass], [cells[code] for code in parts[holder].codes.tolist()]))
    empty: list[Cells] = [()] * len(klass)
    return columns.released_rows(study, lanes or [(nodes[klass], empty)])
