"""Peeling, the rule: at one node after the other the records that share their key with k - 1 others leave.

Written once, on a box: over shares it is the protocol, in the open the trusted party and the plan. A window is a
stretch of nodes that are visited side by side. Each record picks the first node of the window at which its group keeps
what is asked; groups that still keep it with their pickers alone leave. A small table loses less node by node: there a
window ends at its first node that anybody leaves at. Opened are who leaves, the labels there, and at the end narrower
labels. Cells are opened after everybody's approval (`opening`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from covey.arrays import Bits, Ints, Longs, Words
from covey.hierarchy import Hierarchy
from covey.mpc import Box, Shared, joined, stacked, width_of
from covey.protocols.peel.agenda import Agenda, Labels, Window
from covey.protocols.peel.coding import Coding, bits_of
from covey.protocols.peel.conditions import Conditions
from covey.protocols.peel.disclosures import CLASSES, LEAVE
from covey.protocols.peel.narrowing import narrowed
from covey.protocols.peel.nodes import digest
from covey.table import group


@dataclass(frozen=True)
class Classes:
    """The classes that left: a row each."""

    labels: Ints
    """Narrowed labels (classes x columns)."""
    sizes: Longs
    nodes: Ints
    """The node at which each class left: a level of each column."""

    def words(self) -> Words:
        """Returns the classes as words, for those who did not compute them."""
        return np.concatenate([self.labels, self.nodes, self.sizes[:, np.newaxis]], axis=1).astype(np.uint64).ravel()

    def table(self, names: Sequence[str], trees: Sequence[Hierarchy]) -> pa.Table:
        """Returns a row for each class: its labels, its size, and its node as the level of each column."""
        columns = {
            name: [tree.labels[label] for label in self.labels[:, place].tolist()]
            for place, (name, tree) in enumerate(zip(names, trees, strict=True))
        }
        nodes = [" ".join(map(str, node)) for node in self.nodes.tolist()]
        columns[_free("size", names)] = [str(size) for size in self.sizes.tolist()]
        columns[_free("node", names)] = nodes
        return pa.table(columns)

    @classmethod
    def of(cls, words: Words, columns: int) -> Classes:
        """Returns the classes of these words."""
        numbers = words.astype(np.int64).reshape(-1, 2 * columns + 1)
        labels, nodes = numbers[:, :columns].astype(np.int32), numbers[:, columns:-1].astype(np.int32)
        return cls(labels, numbers[:, -1], nodes)


def _free(name: str, taken: Sequence[str]) -> str:
    """Returns the name, behind which underscores keep it apart from a study's columns."""
    while name in taken:
        name += "_"
    return name


@dataclass(frozen=True)
class Peeled:
    """The classes, and of each record that left its class and its shared cells, class by class."""

    classes: Classes
    number: Longs
    cells: Shared
    withheld: int


@dataclass(frozen=True)
class Leavers:
    """The records that left in one window."""

    rows: Shared
    nodes: Ints
    """The node of each (columns x records),"""
    labels: Ints
    """and its labels there."""


@dataclass
class Peeling:
    """The state of a run between windows: shares of those who remain and of those who left, and what is public."""

    base: Shared
    """The records that remain, in an order that nobody knows: digits, attributes, cells."""
    columns: int
    windows: list[Window] = field(default_factory=list)
    leavers: list[Leavers] = field(default_factory=list)
    """Of each window."""

    def classes(self, windows: int | None = None) -> tuple[Longs, Ints, Ints]:
        """Returns the class of each record that left in the first windows, and each class's labels and node."""
        parts, none = self.leavers[:windows], np.zeros((self.columns, 0), np.int32)
        nodes = np.concatenate([none, *(part.nodes for part in parts)], axis=1)
        labels = np.concatenate([none, *(part.labels for part in parts)], axis=1)
        number, first = group([*nodes, *labels], nodes.shape[1])
        return number, labels[:, first].T, nodes[:, first].T

    def decide(self, agenda: Agenda, window: int) -> Ints:
        """Returns the nodes of a window; those of earlier windows were decided before."""
        left = self.windows[window].left if window < len(self.windows) else self.base.records
        number, labels, _ = self.classes(window)
        return agenda.next(self.windows[:window], left, Labels(labels, np.bincount(number, minlength=len(labels))))


_NOBODY: Longs = np.zeros(0, np.int64)
Reached = Callable[[Peeling], Awaitable[None]]
"""Called after each window, with a state from which the run can go on."""


async def peel(
    box: Box, state: Peeling, coding: Coding, conditions: Conditions, agenda: Agenda, reached: Reached
) -> Peeled:
    """Returns the classes of a state's records. The state grows window by window; the agenda begins anew."""
    for window in range(len(state.windows)):
        state.decide(agenda, window)
    while state.base.records >= conditions.least and len(nodes := state.decide(agenda, len(state.windows))):
        await _visited(box, state, coding, conditions, nodes, one_by_one=agenda.one_by_one)
        await reached(state)
    number, _, nodes = state.classes()
    order = np.argsort(number, kind="stable")  # class by class, so that sizes tell the class of each record
    number, left = number[order], stacked(state.base.at(_NOBODY), *(part.rows for part in state.leavers)).at(order)
    labels = await narrowed(box, left.bits(slice(0, coding.width)), number, coding)
    classes = Classes(labels, np.bincount(number, minlength=len(nodes)), nodes)
    cells = left.bits(slice(coding.width + conditions.width, None))
    return Peeled(classes, number, cells, state.base.records)


async def _visited(
    box: Box, state: Peeling, coding: Coding, conditions: Conditions, nodes: Ints, *, one_by_one: bool
) -> None:
    """Visits the nodes side by side, opens who leaves and with which labels, and moves them out of the base."""
    box.decide(digest(nodes))
    if one_by_one:
        nodes, leave, label = await _visit_in_turn(box, state.base, coding, conditions, nodes)
        last = nodes[-1:]
    else:
        leave, label = await _visit(box, state.base, coding, conditions, nodes)
        last = nodes
    leaves = await box.open_bit(leave, says=LEAVE)
    places, opened = np.flatnonzero(leaves), np.zeros((label.width, 0), dtype=bool)
    if len(places):
        opened = bits_of(await box.open(label.at(places), says=CLASSES), label.width)
    levels, digits = _read(coding, last, opened)
    state.windows.append(Window(nodes, state.base.records))
    state.leavers.append(Leavers(state.base.at(places), levels, coding.labels(digits, levels)))
    state.base = state.base.at(np.flatnonzero(~leaves))


async def _visit(box: Box, base: Shared, coding: Coding, conditions: Conditions, nodes: Ints) -> tuple[Shared, Shared]:
    """Returns for each record if it leaves, and its label: of several nodes the picked one's number, and its key."""
    word, beside = base.bits(slice(0, coding.width)), base.bits(slice(coding.width, coding.width + conditions.width))
    if len(nodes) == 1:
        key = word.bits(coding.key(nodes[0]))
        return await conditions.keep(box, key, beside), key
    keys = [word.bits(coding.key(node)) for node in nodes]
    if conditions.by_node:
        holds = await box.together(*(conditions.keep(box, key, beside) for key in keys))
    else:
        holds = await box.together(*(box.grouped(key, conditions.least) for key in keys))
    seen = await _so_far(joined(*holds))
    first = joined(seen.bits([0]), seen.bits(slice(1, None)) ^ seen.bits(slice(0, -1)))
    picked = seen.bits([-1])
    digits = await (first.mixed(coding.masks(nodes)) & word)
    label = joined(first.mixed(_numbers(len(nodes))), digits)
    keeps = await conditions.keep(box, joined(picked, label), beside)  # who picked nothing joins nobody who did
    return await (keeps & picked), label


async def _visit_in_turn(
    box: Box, base: Shared, coding: Coding, conditions: Conditions, nodes: Ints
) -> tuple[Ints, Shared, Shared]:
    """Returns the nodes up to the first at which a record leaves, and for each record if it leaves there, and its key.

    Nothing is opened of the nodes behind it: those who left are no longer counted there, and they are visited again.
    """
    word, beside = base.bits(slice(0, coding.width)), base.bits(slice(coding.width, coding.width + conditions.width))
    keys = [word.bits(coding.key(node)) for node in nodes]
    holds = joined(*await box.together(*(conditions.keep(box, key, beside) for key in keys)))
    place = 0
    if len(nodes) > 1:
        nobody = await box.fold(~holds, np.zeros(holds.records, np.int64), box.both)
        opened = await box.open(await _so_far(~nobody), says=LEAVE)
        place = min(int((~bits_of(opened, len(nodes))).sum()), len(nodes) - 1)
    return nodes[: place + 1], holds.bits([place]), keys[place]


async def _so_far(flags: Shared) -> Shared:
    """Returns bits of which each is 1 if it or an earlier one was."""
    step = 1
    while step < flags.width:
        later = await (flags.bits(slice(step, None)) | flags.bits(slice(0, -step)))
        flags, step = joined(flags.bits(slice(0, step)), later), 2 * step
    return flags


def _numbers(nodes: int) -> Bits:
    """Returns the bits (rows) of each node's number in its window."""
    return (np.arange(nodes) >> np.arange(width_of(nodes - 1))[::-1, np.newaxis] & 1).astype(bool)


def _read(coding: Coding, nodes: Ints, opened: Bits) -> tuple[Ints, Bits]:
    """Returns the levels of each opened label (columns x records), and the bits of its word, 0 where it has none."""
    width = width_of(len(nodes) - 1)
    number = np.zeros(opened.shape[1], np.int64)
    for bit in opened[:width]:
        number = number << 1 | bit
    digits = np.zeros((coding.width, opened.shape[1]), dtype=bool)
    if len(nodes) == 1:
        digits[coding.key(nodes[0])] = opened
    else:
        digits = opened[width:]
    return nodes[np.minimum(number, len(nodes) - 1)].T, digits
