"""The agenda: which nodes are visited next, decided in whole numbers from what everybody knows.

*Windows.* The nodes of a window are visited side by side, which saves rounds and loses a little. A window ends where
about 15% of the records will have left; a small table with a short list is visited one node at a time. The root is a
window of its own.

*Frequencies.* A list needs frequencies that nobody knows. They come from a public file (`reference`), or are *staged*:
the cheapest nodes are visited first; once enough records have left, the list follows from their labels, and is made
anew when twice as many have left. Nothing is opened for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from covey.arrays import Bits, Ints, Longs
from covey.crypto.rng import Rng, derive
from covey.crypto.secret import Secret
from covey.hierarchy import Hierarchy
from covey.protocols.peel.costs import Lattice
from covey.protocols.peel.nodes import list_nodes, lists_all
from covey.protocols.shared.peeling.marginals import Marginals, count_leaves
from covey.protocols.shared.peeling.pairs import pairs_of

PERCENT = 15
"""The part of the records that leave in a window, about,"""
WIDEST = 128
"""the most nodes of a window,"""
SMALL = 1 << 11
"""and the most records of a table that is visited one node at a time,"""
AHEAD = 64
"""of which so many are tried ahead: behind the first at which a record leaves they were tried in vain."""
FIRST = (12, 64)
"""The cheapest nodes that are visited before the first staged list: at least, and at most,"""
ENOUGH = 8
"""until one of so many records has left."""
_FINE, _DIE = 1 << 10, 30


@dataclass(frozen=True)
class Labels:
    """Labels of records that left: tree nodes (classes x columns), before they are narrowed, and sizes."""

    boxes: Ints
    sizes: Longs


@dataclass(frozen=True)
class Window:
    """A finished window: its nodes, and the records left before it."""

    nodes: Ints
    left: int


@dataclass
class Agenda:
    """The nodes to come. The same calls of `next` give the same windows everywhere."""

    lattice: Lattice
    """Without frequencies, where these are staged."""
    k: int
    records: int
    effort: str
    seed: Secret
    reference: Sequence[Longs] | None = None
    _planned: Ints = field(init=False)
    _offered: Ints = field(init=False)
    _visited: set[bytes] = field(default_factory=set)
    _listed_at: int | None = None
    """How many records had left when the last staged list was made."""

    def __post_init__(self) -> None:
        if self.reference is not None or lists_all(self.lattice, self.records):
            self._planned = self._list(self.lattice.frequencies if self.reference is None else self.reference)
        else:
            self._planned = self.lattice.cheapest(FIRST[1])
        self._offered = self._planned[:0]

    @property
    def one_by_one(self) -> bool:
        """True if a window ends at its first node that a record leaves at."""
        return self.records <= SMALL

    @property
    def staged(self) -> bool:
        """True if the list follows from the labels of those who left."""
        return self.reference is None and not lists_all(self.lattice, self.records)

    def next(self, windows: Sequence[Window], left: int, labels: Labels) -> Ints:
        """Returns the nodes of the next window (nodes x columns); none at the end."""
        if windows:
            self._visited.update(node.tobytes() for node in windows[-1].nodes)
            self._planned = np.concatenate([self._offered[len(windows[-1].nodes) :], self._planned])
        if self._is_due(left):
            self._listed_at = self.records - left
            self._planned = self._list(*frequencies(self.lattice.trees, labels, self.k, self.records, self.seed))
        ahead = min(width_of_next(windows, left, self.records), max(len(self._planned) - 1, 1))
        self._offered, self._planned = self._planned[:ahead], self._planned[ahead:]
        return self._offered

    def _is_due(self, left: int) -> bool:
        gone = self.records - left
        if not self.staged or self.lattice.heights.tobytes() in self._visited:
            return False
        if self._listed_at is not None:
            return gone >= max(2 * self._listed_at, 1)
        return (len(self._visited) >= FIRST[0] and gone * ENOUGH >= self.records) or not len(self._planned)

    def _list(self, counts: Sequence[Longs], shared: Sequence[Bits] = ()) -> Ints:
        """Returns the nodes of a list by these frequencies that were not visited yet."""
        lattice = replace(self.lattice, frequencies=tuple(counts))
        nodes = list_nodes(
            lattice, Marginals(self.records, self.k, tuple(counts), tuple(shared)), self.effort, self.seed
        )
        return nodes[[node.tobytes() not in self._visited for node in nodes]]


def width_of_next(windows: Sequence[Window], left: int, records: int) -> int:
    """Returns the number of nodes of the next window, told from the one before; in whole numbers."""
    if len(windows) < 2:
        return 1
    last = windows[-1]
    if records <= SMALL:
        return min(2 * len(last.nodes), AHEAD)
    width = PERCENT * last.left * len(last.nodes) // (100 * max(last.left - left, 1))
    return max(1, min(width, 2 * len(last.nodes), WIDEST))


def frequencies(
    trees: Sequence[Hierarchy], labels: Labels, k: int, records: int, seed: Secret
) -> tuple[tuple[Longs, ...], tuple[Bits, ...]]:
    """Returns what labels tell of all records: counts of each leaf, and which pairs of values k or more share.

    Below each label leaves are drawn like those of exact labels. A leaf that nobody showed has some records, too.
    """
    gone = max(int(labels.sizes.sum()), 1)
    codes = np.empty((len(trees), int(labels.sizes.sum())), np.int32)
    for column, tree in enumerate(trees):
        label = np.repeat(labels.boxes[:, column], labels.sizes)
        ends = np.cumsum(np.bincount(label, minlength=tree.nodes)[: tree.codes] + 1)
        before = np.concatenate([[0], ends])
        low, high = before[tree.first[label]], before[tree.last[label] + 1]
        dice = Rng(derive(seed, "leaves", column)).stream("rows").words_below(1 << _DIE, len(label)).astype(np.int64)
        codes[column] = np.searchsorted(ends, low + ((high - low) * dice >> _DIE), side="right")
    counts = [own * _FINE * records // gone + _FINE * (k - 1) // 2 + 1 for own in count_leaves(trees, codes)]
    shared = [pair.count(trees, codes) * records >= k * gone for pair in pairs_of(trees)]
    return tuple(counts), tuple(shared)
