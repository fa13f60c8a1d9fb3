"""The rule run on a generated study: on any box, and by the reference, in one shape that can be compared."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from tests.reference.peeling import Class, Node, narrowest, peeled
from tests.reference.studies import Drawn

from covey.arrays import Longs, Words
from covey.mpc import Box, joined, stacked, width_of
from covey.protocols.peel.agenda import Labels, Window
from covey.protocols.peel.rule import Classes, Peeling, Reached, peel
from covey.protocols.peel.sizes import BITS, based, joint_records, padded

Told = tuple[list[tuple[tuple[str, ...], Node, list[int]]], list[int], int]
"""The classes (labels, node, cells), the records left before each window, and how many are withheld."""


async def going(_: Peeling) -> None:
    """Goes on after a window."""


async def begun(box: Box, place: int, drawn: Drawn, *, private: bool) -> Peeling:
    """Returns the state before the first window: holders share numbers and rows, padded if these are private."""
    terms, sizes = drawn.terms, [table.rows for table in drawn.tables]
    shared = [
        box.share(_given(place, holder, np.array([[size]], np.uint64)), BITS, 1, holder % 3)
        for holder, size in enumerate(sizes)
    ]
    records = await joint_records(box, await box.together(*shared), drawn.study.privacy.k)
    parts, first, cell_bits = [], 0, width_of(sum(sizes))
    for holder, table in enumerate(drawn.tables):
        words, rows = terms.words(table, holder), records if private else table.rows
        cells = np.arange(first, first + table.rows, dtype=np.uint64)[np.newaxis]
        if private:
            words = padded(words, terms.width, rows)
            cells = np.concatenate([cells, np.zeros((1, rows - table.rows), np.uint64)], axis=1)
        columns = await box.together(
            box.share(_given(place, holder, words), terms.width + private, rows, holder % 3),
            box.share(_given(place, holder, cells), cell_bits, rows, holder % 3),
        )
        parts.append(joined(*columns))
        first += table.rows
    return Peeling(await based(box, stacked(*parts), empty=private), len(terms.trees))


async def released(
    box: Box,
    place: int,
    drawn: Drawn,
    reference: Sequence[Longs] | None,
    *,
    private: bool = True,
    reached: Reached = going,
    state: Peeling | None = None,
) -> Told:
    """Returns the release of a study; holder h is the computing party at place h modulo 3, or everybody at place -1.

    A state of an earlier attempt goes on.
    """
    state = state or await begun(box, place, drawn, private=private)
    terms, records = drawn.terms, len(drawn.records)

    async def agreed(classes: Classes, withheld: int) -> None:
        assert withheld + int(classes.sizes.sum()) == records

    release = await peel(box, state, terms.coding, terms.conditions, terms.agenda(records, reference), reached, agreed)
    assert release.cells is not None
    classes = []
    for number, (row, node) in enumerate(zip(release.classes.labels, release.classes.nodes.tolist(), strict=True)):
        labels = tuple(tree.labels[label] for tree, label in zip(terms.trees, row, strict=True))
        classes.append((labels, tuple(node), sorted(release.cells[release.number == number].tolist())))
    return sorted(classes), [window.left for window in state.windows], release.withheld


def _given(place: int, holder: int, words: Words) -> Words | None:
    return words if place in (-1, holder % 3) else None


def expected(drawn: Drawn, reference: Sequence[Longs] | None) -> Told:
    """Returns the same from the reference; the public policy alone is the rule's own."""
    agenda, windows = drawn.terms.agenda(len(drawn.records), reference), list[Window]()
    trees, height = drawn.terms.trees, len(drawn.terms.trees)

    def policy(classes: Sequence[Class], left: int) -> list[Node]:
        boxes = [[tree.labels.index(label) for tree, label in zip(trees, own, strict=True)] for _, own, _ in classes]
        order = sorted(range(len(classes)), key=lambda place: (*classes[place][0], *boxes[place]))
        labels = np.array([boxes[place] for place in order], np.int32).reshape(-1, height)
        sizes = np.array([len(classes[place][2]) for place in order], np.int64)
        nodes = agenda.next(windows, left, Labels(labels, sizes))
        if len(nodes):
            windows.append(Window(nodes, left))
        return [tuple(node) for node in nodes.tolist()]

    classes, history = peeled(drawn.records, drawn.asked, drawn.terms.conditions.by_node, policy)
    told = [(narrowest(members), node, sorted(record.cell for record in members)) for node, _, members in classes]
    return sorted(told), history, len(drawn.records) - sum(len(members) for _, _, members in classes)
