"""The rule run on a generated study: on any box, and by the reference, in one shape that can be compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from tests.reference.peeling import Class, Node, narrowest, peeled
from tests.reference.studies import Drawn

from covey.arrays import Longs, Words
from covey.mpc import Box, joined, stacked, width_of
from covey.protocols.peel.agenda import Labels, Window
from covey.protocols.peel.coding import side_by_side
from covey.protocols.peel.disclosures import CELLS
from covey.protocols.peel.narrowing import borne_alone
from covey.protocols.peel.rule import Peeling, Reached, peel
from covey.protocols.peel.sizes import BITS, based, joint_records, padded

Told = tuple[list[tuple[tuple[str, ...], Node, list[int]]], list[int], int, list[bool]]
"""The classes (labels, node, cells), the records left before each window, how many are withheld, and for each part of
the cells if one released record alone has it."""

DROPPED = (0, 1, 2)
"""The parts of a cell that are exact columns here: the number of a record without so many of its last bits."""


async def going(_: Peeling) -> None:
    """Goes on after a window."""


def words_of(drawn: Drawn, holder: int) -> Words:
    """Returns the words that the rule reads: digits, the holder's number, watched values."""
    terms, table = drawn.terms, drawn.tables[holder]
    widths = [*(column.width for column in terms.coding.columns), *terms.conditions.widths]
    beside = [np.full(table.rows, holder), *(table.values(column.name).codes for column in terms.watched)]
    attributes = [number.astype(np.uint64) for number in beside[: len(terms.conditions.widths)]]
    return side_by_side([*terms.coding.words(table.codes), *attributes], widths)


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
        words, rows = words_of(drawn, holder), records if private else table.rows
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
    return Peeling(await based(box, stacked(*parts), records, empty=private), len(terms.trees))


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

    release = await peel(box, state, terms.coding, terms.conditions, terms.agenda(records, reference), reached)
    assert release.withheld + int(release.classes.sizes.sum()) == records
    exact = [slice(0, width_of(records) - dropped) for dropped in DROPPED]
    alone = await borne_alone(box, release.cells, exact)
    cells, classes = await box.open(release.cells, says=CELLS), []
    for number, (row, node) in enumerate(zip(release.classes.labels, release.classes.nodes.tolist(), strict=True)):
        labels = tuple(tree.labels[label] for tree, label in zip(terms.trees, row, strict=True))
        classes.append((labels, tuple(node), sorted(cells[release.number == number].tolist())))
    return sorted(classes), [window.left for window in state.windows], release.withheld, alone.tolist()


def _given(place: int, holder: int, words: Words) -> Words | None:
    return words if place in (-1, holder % 3) else None


def expected(drawn: Drawn, reference: Sequence[Longs] | None) -> Told:
    """Returns the same from the reference; the public policy alone is the rule's own.

    Nodes that are visited in turn the reference visits one by one; a window ends at one that a record leaves at.
    """
    agenda, windows = drawn.terms.agenda(len(drawn.records), reference), list[Window]()
    trees, height = drawn.terms.trees, len(drawn.terms.trees)
    ahead: list[Node] = []

    def policy(classes: Sequence[Class], left: int) -> list[Node]:
        if ahead and left == windows[-1].left:
            windows[-1] = Window(np.vstack([windows[-1].nodes, np.array(ahead[0], np.int32)]), left)
            return [ahead.pop(0)]
        boxes = [[tree.labels.index(label) for tree, label in zip(trees, own, strict=True)] for _, own, _ in classes]
        order = sorted(range(len(classes)), key=lambda place: (*classes[place][0], *boxes[place]))
        labels = np.array([boxes[place] for place in order], np.int32).reshape(-1, height)
        sizes = np.array([len(classes[place][2]) for place in order], np.int64)
        nodes = agenda.next(windows, left, Labels(labels, sizes))
        first = nodes[:1] if agenda.one_by_one else nodes
        ahead[:] = [tuple(node) for node in nodes[len(first) :].tolist()]
        if len(nodes):
            windows.append(Window(first, left))
        return [tuple(node) for node in first.tolist()]

    classes, _ = peeled(drawn.records, drawn.asked, drawn.terms.conditions.by_node, policy)
    told = [(narrowest(members), node, sorted(record.cell for record in members)) for node, _, members in classes]
    cells = [cell for _, _, own in told for cell in own]
    alone = [1 in Counter(cell >> dropped for cell in cells).values() for dropped in DROPPED]
    return sorted(told), [window.left for window in windows], len(drawn.records) - len(cells), alone
