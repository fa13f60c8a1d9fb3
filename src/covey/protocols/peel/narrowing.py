"""Narrower labels, and values that one record alone has: what is computed of the records that left, and opened."""

from __future__ import annotations

import numpy as np

from covey.arrays import Bits, Ints, Longs
from covey.mpc import Box, Shared, joined
from covey.protocols.peel.coding import Coding, bits_of
from covey.protocols.peel.disclosures import ALONE, NARROWED
from covey.protocols.peel.runs import as_before


async def narrowed(box: Box, words: Shared, number: Longs, coding: Coding) -> Ints:
    """Returns the narrowest labels of each class (classes x columns); `number` has each record's class.

    Opened are, for each class, the digits that all its records share and those above share too, and nothing below.
    """
    first = np.unique(number, return_index=True)[1]
    if not len(first):
        return np.zeros((0, len(coding.trees)), np.int32)
    firsts = words.at(first)
    same = await box.fold(~(words ^ firsts.at(number)), number, box.both)
    digits = coding.digits()
    whole = await box.together(*(box.all(same.bits(bits)) for _, _, bits in digits))
    shared = {(column, level): bit for (column, level, _), bit in zip(digits, whole, strict=True)}
    for below in range(2, max((tree.height for tree in coding.trees), default=0) + 1):  # from the root down
        lower = [(column, tree.height - below) for column, tree in enumerate(coding.trees) if tree.height >= below]
        higher = [(column, level + 1) for column, level in lower]
        both = await (joined(*(shared[each] for each in lower)) & joined(*(shared[each] for each in higher)))
        shared.update({each: both.bits([place]) for place, each in enumerate(lower)})
    flags = joined(*shared.values())
    wide = joined(
        *(shared[column, level] for column, level, bits in digits for _ in range(bits.start, bits.stop)),
        box.zeros(0, len(first)),
    )
    kept, bits = await box.together(box.open(flags, says=NARROWED), box.open(await (wide & firsts), says=NARROWED))
    levels = np.array([[tree.height] * len(first) for tree in coding.trees])
    for (column, _), flag in zip(shared, bits_of(kept, flags.width), strict=True):
        levels[column] -= flag
    return coding.labels(bits_of(bits, coding.width), levels).T


async def borne_alone(box: Box, columns: Shared, ends: Longs) -> Bits:
    """Returns for each exact column (its bits end there) if one record alone has its value."""
    starts = [0, *ends.tolist()[:-1]]
    work = [_alone(box, columns.bits(slice(*span))) for span in zip(starts, ends.tolist(), strict=True)]
    found = joined(*await box.together(*work))
    return bits_of(await box.open(found, says=ALONE), found.width)[:, 0]


async def _alone(box: Box, value: Shared) -> Shared:
    """Returns one record: 1 if a record has a value that no other one has."""
    run = (await box.sort(value)).key
    before = await as_before(box, run)
    lone = await (~before & ~before.ahead(1))
    none = await box.fold(~lone, np.zeros(lone.records, np.int64), box.both)
    return ~none
