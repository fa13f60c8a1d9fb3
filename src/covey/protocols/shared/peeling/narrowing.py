"""Narrower labels for the classes, unless a study says otherwise (`refine`): those that still hold all their records.

A class is published at a node of the list, and the list has not every node: its records may all lie below a narrower
label. So of each class and column it is asked, step by step downwards, whether the records all lie below one node's
child. An answer is yes only where the release then shows the child, and no where it does not: the labels of a class
tell all answers. No class loses or gains a record. A node with many children is not narrowed: each is a question.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from covey.arrays import Bits, Ints, Longs
from covey.hierarchy import Hierarchy
from covey.option import Flag
from covey.secure.declare import Leakage

REFINE = Flag(
    "refine",
    True,
    "narrow each class's labels, after the last visit, as far as all its records allow (default true; never with t): "
    "less loss, and everyone learns of each class no more than its labels in the release",
)
CHILDREN = 100
"""A node with more children is not narrowed."""
LEAKAGE = Leakage(
    everyone=(
        "for each class and column: the narrowest label that holds all its records, which the release then shows",
    )
)
LEAKAGE_BEFORE_MERGE = Leakage(
    everyone=(
        "for each class and column: the narrowest label that holds all its records, before records that are left over "
        "join it; the release shows that label, or a wider one that holds these too",
    )
)


@dataclass(frozen=True)
class Questions:
    """Labels one step narrower than a class's own: a class, a column and a node below the class's, each."""

    klass: Longs
    column: Longs
    node: Longs

    def __len__(self) -> int:
        return len(self.node)


@dataclass(frozen=True)
class _Children:
    """All nodes of a tree but the root, by their parents, and where each parent's begin."""

    nodes: Longs
    starts: Longs

    @classmethod
    def of(cls, tree: Hierarchy) -> _Children:
        nodes = np.flatnonzero(np.arange(tree.nodes) != tree.root)
        nodes = nodes[np.argsort(tree.parent[nodes], kind="stable")]
        return cls(nodes, np.searchsorted(tree.parent[nodes], np.arange(tree.nodes + 1)))

    def below(self, node: int) -> Longs:
        return self.nodes[self.starts[node] : self.starts[node + 1]]


class Narrowing:
    """The labels of some classes while they are narrowed; every party asks the same questions."""

    def __init__(self, boxes: Ints, trees: Sequence[Hierarchy]) -> None:
        self.boxes = boxes.copy()
        self._trees = trees
        self._children = [_Children.of(tree) for tree in trees]
        self._open = np.ones(boxes.shape, dtype=bool)

    def questions(self) -> Questions:
        """The next labels that may hold all records of their class; none where it is over."""
        asked: list[tuple[int, int, Longs]] = []
        for klass, column in np.argwhere(self._open).tolist():
            below = self._children[column].below(int(self.boxes[klass, column]))
            if 0 < len(below) <= CHILDREN:
                asked.append((klass, column, below))
        sizes = [len(below) for _, _, below in asked]
        nodes = np.concatenate([np.zeros(0, dtype=np.int64), *(below for _, _, below in asked)])
        return Questions(
            np.repeat(np.array([klass for klass, _, _ in asked], dtype=np.int64), sizes),
            np.repeat(np.array([column for _, column, _ in asked], dtype=np.int64), sizes),
            nodes,
        )

    def inside(self, asked: Questions, codes: Ints, klass: Longs) -> Bits:
        """The labels that hold all of these records (columns x records) that are in their class; klass -1 is none."""
        classes, placed = len(self.boxes), klass >= 0
        answer = np.ones(len(asked), dtype=bool)
        for column, tree in enumerate(self._trees):
            low, high = np.full(classes, tree.codes, dtype=np.int64), np.full(classes, -1, dtype=np.int64)
            np.minimum.at(low, klass[placed], codes[column, placed])
            np.maximum.at(high, klass[placed], codes[column, placed])
            here = asked.column == column
            node, own = asked.node[here], asked.klass[here]
            answer[here] = (low[own] >= tree.first[node]) & (high[own] <= tree.last[node])
        return answer

    def narrow(self, asked: Questions, answers: Bits) -> None:
        """Takes the labels of which all parties said that they hold their class's records."""
        self._open[:] = False
        klass, column = asked.klass[answers], asked.column[answers]
        self.boxes[klass, column] = asked.node[answers]
        self._open[klass, column] = True


def narrowed(boxes: Ints, trees: Sequence[Hierarchy], codes: Ints, klass: Longs) -> Ints:
    """The narrowest labels of classes, by one who sees all their records in these columns."""
    narrowing = Narrowing(boxes, trees)
    while len(asked := narrowing.questions()):
        narrowing.narrow(asked, narrowing.inside(asked, codes, klass))
    return narrowing.boxes
