"""The input and the output of every centralized anonymizer, and the signs that it gives while it works.

Records with equal codes (and equal sensitive values, where those matter) are one *item* with a count, so that
ten million rows with a hundred thousand distinct tuples cost what the tuples cost.
A search shows its progress, and can be cancelled, between two bounded steps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from covey.arrays import Ints, Longs
from covey.errors import Aborted, InputError
from covey.hierarchy import Hierarchy

Progress = Callable[[str, float], None]  # what is being done, and how much of it is done: 0 to 1
Cancel = Callable[[], bool]


def silent(step: str, fraction: float) -> None:
    """A display for nobody."""


def never() -> bool:
    """Nobody asks to stop."""
    return False


def report(step: str, fraction: float, progress: Progress, cancel: Cancel) -> None:
    """Tell the caller how far it is; raise Aborted if the caller wants no more."""
    progress(step, fraction)
    if cancel():
        raise Aborted(f"cancelled during {step}; nothing was written", resumable=False)


Diversity = Literal["frequency", "distinct", "entropy"]
Distance = Literal["equal", "ordered", "hierarchy"]
FARTHEST = 2**30


@dataclass(frozen=True)
class Sensitive:
    """One sensitive column of the items: value codes 0 .. values - 1, in their natural order."""

    codes: Ints
    values: int
    distance: Distance = "equal"
    tree: Hierarchy | None = None
    l: float | None = None  # noqa: E741 - its own l, instead of the problem's
    t: float | None = None
    name: str = ""


@dataclass(frozen=True)
class Problem:
    """Items to be put into classes, the costs of nodes, and the conditions on every class."""

    trees: tuple[Hierarchy, ...]
    codes: Ints  # columns x items: leaf codes
    counts: Longs  # records per item
    costs: tuple[Longs, ...]  # per column: each node's integer cost, weights included
    scale: int  # the integer cost of a fully generalized cell of weight 1
    k: int
    sensitive: tuple[Sensitive, ...] = ()
    l: float | None = None  # noqa: E741 - the field's name for it
    diversity: Diversity = "frequency"
    c: float | None = None  # besides l: recursive (c, l)-diversity
    t: float | None = None
    suppression: float = 1.0  # the largest part of the records that may end withheld or at every root
    spacing: tuple[Ints | None, ...] = ()  # columns published as intervals: each leaf code's place in 0 .. FARTHEST

    def __post_init__(self) -> None:
        if self.k < 1:
            raise InputError("k must be 1 or more")
        if self.codes.shape != (len(self.trees), len(self.counts)):
            raise InputError("codes must be columns x items")

    def spaced(self) -> tuple[Ints, Longs]:
        """The codes as numbers that say distances, and the largest that each column could have."""
        codes, farthest = self.codes, np.array([tree.codes - 1 for tree in self.trees], dtype=np.int64)
        for column, positions in enumerate(self.spacing):
            if positions is not None:
                codes = codes.copy() if codes is self.codes else codes
                codes[column], farthest[column] = positions[self.codes[column]], FARTHEST
        return codes, farthest

    @property
    def weights(self) -> tuple[float, ...]:
        """The weight of each column: the cost of its root."""
        return tuple(int(cost[tree.root]) / self.scale for cost, tree in zip(self.costs, self.trees, strict=True))

    def l_of(self, column: Sensitive) -> float | None:
        """The l that is asked of a sensitive column."""
        return self.l if column.l is None else column.l

    def t_of(self, column: Sensitive) -> float | None:
        """The t that is asked of a sensitive column."""
        return self.t if column.t is None else column.t

    @property
    def watched(self) -> bool:
        """True if l or t is asked, so that sensitive values take part."""
        limits = [self.l, self.t, *(limit for column in self.sensitive for limit in (column.l, column.t))]
        return any(limit is not None for limit in limits)

    @property
    def records(self) -> int:
        return int(self.counts.sum())

    @property
    def items(self) -> int:
        return len(self.counts)

    @property
    def columns(self) -> int:
        return len(self.trees)


@dataclass(frozen=True)
class Partition:
    """The class of each record of each item, and the node of each class and column.

    `item[i]` puts `count[i]` of its records into class `group[i]`; records of no class are withheld.
    """

    item: Longs
    group: Longs
    count: Longs
    nodes: Ints  # classes x columns
    notes: dict[str, object] = field(default_factory=dict)  # what the algorithm says of its work, for --explain
    reproducible: bool = True

    @property
    def classes(self) -> int:
        return len(self.nodes)

    def sizes(self) -> Longs:
        return np.bincount(self.group, weights=self.count, minlength=self.classes).astype(np.int64)

    def lost(self, problem: Problem) -> int:
        """The number of records that are withheld or at every root."""
        roots = np.array([tree.root for tree in problem.trees])
        at_root = int(self.sizes()[(self.nodes == roots).all(axis=1)].sum())
        return problem.records - int(self.count.sum()) + at_root

    def loss(self, problem: Problem) -> float:
        """The mean cost of a cell. A withheld record costs what a fully generalized one does."""
        per_class = np.zeros(self.classes, dtype=np.int64)
        root_cost = 0
        for column, cost in enumerate(problem.costs):
            per_class += cost[self.nodes[:, column]]
            root_cost += int(cost[problem.trees[column].root])
        withheld = problem.records - int(self.count.sum())
        total = int((per_class * self.sizes()).sum()) + withheld * root_cost
        return total / (problem.scale * problem.columns * max(problem.records, 1))


def boxes(problem: Problem, item: Longs, group: Longs, classes: int) -> tuple[Ints, Ints]:
    """The lowest and highest leaf code of each class in each column, classes x columns."""
    low = np.empty((classes, problem.columns), dtype=np.int32)
    high = np.empty((classes, problem.columns), dtype=np.int32)
    order = np.argsort(group, kind="stable")
    starts = np.searchsorted(group[order], np.arange(classes))
    members = item[order]
    for column in range(problem.columns):
        codes = problem.codes[column, members]
        low[:, column] = np.minimum.reduceat(codes, starts) if classes else 0
        high[:, column] = np.maximum.reduceat(codes, starts) if classes else 0
    return low, high


def close(problem: Problem, item: Longs, group: Longs, classes: int) -> Ints:
    """Each class's nodes, classes x columns. Leaves below a node are contiguous, so the box's two ends decide it."""
    low, high = boxes(problem, item, group, classes)
    nodes = np.empty((classes, problem.columns), dtype=np.int32)
    for column, tree in enumerate(problem.trees):
        nodes[:, column] = tree.common_ancestor(low[:, column], high[:, column])
    return nodes


def closed(problem: Problem, item: Longs, group: Longs, count: Longs, **notes: object) -> Partition:
    """The partition of these pieces. Every class has a member and publishes the lowest nodes that it may."""
    classes = int(group.max()) + 1 if len(group) else 0
    return Partition(item, group, count, close(problem, item, group, classes), notes)
