"""The release with columns split: every holder shows its nodes of each class, and its exact values class by class.

All holders know which record is in which class. So nothing is gained by a join on blinded keys: within a class exact
values are shown in the order of their spelling, which says whose they are to nobody, and that is all a join could show.
Exact values of different holders are paired anew within each class (`covey.protocols.shared.columns`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from covey import measures
from covey.arrays import Ints, Longs
from covey.errors import Aborted, PeerError, Unmet
from covey.protocols.cluster_columns import leaks
from covey.protocols.cluster_columns.conversation import receive, send
from covey.protocols.cluster_columns.terms import Terms
from covey.protocols.protocol import Figures, Proposal, Result, Seat
from covey.protocols.shared import columns
from covey.protocols.shared.columns import Cells, Opened
from covey.secure import book
from covey.secure import sum as secure_sum
from covey.study import Study
from covey.table import Table
from covey.wire import Channel, Count, Message, gather

_FIXED = 1 << 24
_LARGE = 1 << 32


class Announced(Message, tag="cluster.announced"):
    """How many classes there are, and how many distinct exact rows the sender shows."""

    classes: Count
    distinct: Count


async def known_figures(channel: Channel, terms: Terms, sizes: Longs, nodes: Ints, table: Table | None) -> Figures:
    """The figures of the release, added up by everyone; who has no data adds nothing, and gives no sizes."""
    mine = np.zeros(6, dtype=np.uint64)
    if table is not None:
        lost, roots = own_loss(table, nodes, sizes)
        mine[4], mine[5] = round(lost * _FIXED), roots
    if channel.me == terms.pivot:
        mine[:4] = [int(sizes.sum()), len(sizes), int(sizes.min()), measures.discernibility(sizes)]
    total = await secure_sum.total(channel, mine)
    rows, classes, smallest, squares, lost, roots = (int(each) for each in total)
    if not 0 < classes <= rows:
        raise Aborted("the figures are impossible: a party did not keep to the protocol", resumable=False)
    return Figures(
        rows=rows,
        classes=classes,
        k_reached=smallest,
        suppressed_cells=roots,
        loss={
            "lm": lost / _FIXED / (rows * len(terms.study.quasi)),
            "em": None,
            "dm": float(squares),
            "c_avg": rows / classes / terms.k,
        },
    )


def own_loss(table: Table, nodes: Ints, sizes: Longs) -> tuple[float, int]:
    """What our columns lose, in cells, and how many of their cells are at a root."""
    lost, roots = 0.0, 0
    for place, tree in enumerate(table.trees):
        lost += float(measures.lm(tree)[nodes[:, place]] @ sizes)
        roots += int(sizes[nodes[:, place] == tree.root].sum()) if tree.nodes > 1 else 0
    return lost, roots


@dataclass(frozen=True)
class Part:
    """What one holder shows: its nodes of each class, its distinct exact rows, and which of them each class has."""

    nodes: Ints  # classes x its quasi columns
    entries: tuple[bytes, ...]
    codes: Longs  # class by class, sorted within each
    sizes: Longs | None  # of the classes, where the pivot shows it


async def publish(seat: Seat, channel: Channel, terms: Terms, mine: Part | None, known: Figures) -> Result:
    """Asks for approval, shows our part to everyone, if we have one, and puts all parts together."""
    leakage, numbers = leaks.of_release(terms, known.rows)
    role = "evaluator" if mine is None else "holder"
    await seat.approve(Proposal(opens=tuple(leakage.sentences(role, **numbers)), figures=known))
    seat.book.learns(leakage, **numbers)
    parts = {} if mine is None else {channel.me: mine}

    async def see(holder: str) -> None:
        parts[holder] = await receive_part(channel.at(holder), terms, holder, known)

    telling = [show(channel.at(channel.me), peer, mine) for peer in channel.peers] if mine is not None else []
    await gather(*telling, *(see(holder) for holder in terms.holders if holder != channel.me))
    return result(terms.study, assemble(channel, terms, parts), known)


def part_of(terms: Terms, me: str, label: Longs, nodes: Ints, table: Table) -> Part:
    """Our part of the release."""
    sizes = np.bincount(label).astype(np.int64) if me == terms.pivot else None
    if not table.carried:
        return Part(nodes, (), np.zeros(0, dtype=np.int64), sizes)
    packed = columns.packed(np.zeros((0, table.rows), np.int32), table.carried)
    entries = tuple(sorted(set(packed)))
    number = {entry: place for place, entry in enumerate(entries)}
    codes = np.array([number[row] for row in packed], dtype=np.int64)
    return Part(nodes, entries, codes[np.lexsort((codes, label))], sizes)


async def show(channel: Channel, to: str, part: Part) -> None:
    """Shows our part to one party."""
    await channel.send(to, Announced(len(part.nodes), len(part.entries)))
    if part.sizes is not None:
        await send(channel, to, part.sizes, _LARGE)
    await send(channel, to, part.nodes.ravel().astype(np.int64), _LARGE)
    await book.send(channel, to, part.entries)
    await send(channel, to, part.codes, _LARGE)


async def receive_part(channel: Channel, terms: Terms, holder: str, known: Figures) -> Part:
    """A holder's part. Raises PeerError for what cannot be one."""

    def refused(reason: str) -> PeerError:
        return PeerError(party=holder, step=channel.step, reason=reason)

    study = terms.study
    announced = await channel.receive(holder, Announced)
    exact, quasi = columns.exact_columns(study, holder), columns.quasi_columns(study, holder)
    if announced.classes != known.classes or announced.distinct > (known.rows if exact else 0):
        raise refused(f"it announces {announced.classes} classes of {announced.distinct} exact rows")
    sizes = await receive(channel, holder, known.classes, _LARGE) if holder == terms.pivot else None
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
    return Part(nodes, entries, codes, sizes)


def assemble(channel: Channel, terms: Terms, parts: Mapping[str, Part]) -> Opened:
    """The released rows from all parts."""
    study, sizes = terms.study, parts[terms.pivot].sizes
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
    return columns.opened(study, lanes or [(nodes[klass], empty)])


def result(study: Study, opened: Opened, known: Figures | None = None) -> Result:
    """The release. Raises Unmet where more records end at every root than the study allows."""
    trees = [column.tree() for column in study.quasi]
    figures = columns.figures(study, trees, opened)
    if known is not None and figures.rows != known.rows:
        raise Aborted("the release has another number of rows than was approved", resumable=False)
    lost = int(opened.sizes[(opened.nodes == [tree.root for tree in trees]).all(axis=1)].sum())
    if lost > study.suppression * figures.rows:
        raise Unmet(
            f"{lost:,} of {figures.rows:,} records would be suppressed, more than suppression = "
            f"{study.suppression:g} allows; {math.ceil(lost / figures.rows * 1000) / 1000:g} would do, or a smaller k"
        )
    return Result(opened.table(study, trees), figures)
