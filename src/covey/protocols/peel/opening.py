"""The last opening: released cells, to those who get the release.

Cells of one owner are opened class by class. Cells of several owners of columns are opened apart, each with the number
of its class behind a shuffle of its own, and paired anew within each class: no row shows two that belong together.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from covey.arrays import Longs, Words
from covey.errors import Aborted
from covey.mpc import Box, Outside, Shared, joined, width_of
from covey.protocols.peel.cells import Cells
from covey.protocols.peel.coding import bits_of
from covey.protocols.peel.disclosures import CELLS
from covey.protocols.shared.columns.release import paired
from covey.protocols.shared.peeling.classes import PublishedClasses
from covey.protocols.shared.rows import Rows


async def open_cells(
    box: Box, rows: Shared, number: Longs, cells: Cells, receivers: Sequence[int]
) -> list[Words] | None:
    """Returns each lane's words, of rows that stand class by class; None where this party receives none."""
    lanes, start = [rows], 0
    if len(cells.lanes) > 1:
        klass = box.public(number, _bits(int(number[-1]) + 1))
        spans = []
        for place in range(len(cells.lanes)):
            spans.append(slice(start, start := start + cells.lane(place).width))
        mixed = await box.together(*(box.shuffle(joined(klass, rows.bits(span))) for span in spans))
        lanes = [lane for lane, _ in mixed]
    opened = []
    for lane in lanes:
        shown = await box.together(*(box.open_to(party, lane, says=CELLS) for party in receivers))
        opened += [words for words in shown if words is not None][:1]
    return opened or None


async def read_cells(outside: Outside, sizes: Longs, cells: Cells) -> list[Words]:
    """Returns the same at a party that does not compute, given the sizes of the classes."""
    before = _bits(len(sizes)) if len(cells.lanes) > 1 else 0
    widths = [before + cells.lane(place).width for place in range(len(cells.lanes))]
    return [await outside.open(width, int(sizes.sum())) for width in widths]


def rows_of(opened: Sequence[Words], sizes: Longs, cells: Cells, published: PublishedClasses) -> Rows:
    """Returns the released rows. Raises Aborted where an owner's cells are not of these classes."""
    if len(cells.lanes) == 1:
        number = published.of_records(np.repeat(np.arange(len(sizes)), sizes))
        return Rows(number, cells.texts(opened[0]))
    before, lanes = _bits(len(sizes)), []
    for place, words in enumerate(opened):
        lane = cells.lane(place)
        klass = np.zeros(words.shape[-1], np.int64)
        for bit in bits_of(words, before + lane.width)[:before]:
            klass = klass << 1 | bit
        if not np.array_equal(np.bincount(klass, minlength=len(sizes)), sizes):
            raise Aborted("the opened cells are not of the classes that were approved", resumable=False)
        texts = lane.texts(words, before)
        lanes.append((published.of_records(klass), list(zip(*texts.values(), strict=True))))
    number, parts = paired(lanes)
    columns = zip(cells.lanes, parts, strict=True)
    named = ((column, part, place) for lane, part in columns for place, column in enumerate(lane))
    return Rows(number, {column.name: [row[place] for row in part] for column, part, place in named})


def _bits(classes: int) -> int:
    return width_of(classes - 1)
