"""Narrower labels, and values that one record alone has: what is computed of the records that left, and opened."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from covey.arrays import Bits, Ints, Longs
from covey.crypto.rng import Rng
from covey.crypto.secret import SECRET_BYTES, Secret
from covey.mpc import Box, Shared, joined, width_of
from covey.protocols.peel.coding import Coding, bits_of
from covey.protocols.peel.disclosures import ALONE, NARROWED
from covey.protocols.peel.runs import as_before

CHANCE = 40
"""Bits of a long value's hash beyond those that tell all pairs of records apart."""


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


async def borne_alone(box: Box, cells: Shared, columns: Sequence[slice]) -> Bits:
    """Returns for each exact column (its bits in the cells) if one record alone has its value."""
    if not columns or not cells.records:
        return np.zeros(len(columns), dtype=bool)
    bits = joined(*await box.together(*(_alone(box, cells.bits(column)) for column in columns)))
    return bits_of(await box.open(bits, says=ALONE), bits.width)[:, 0]


async def _alone(box: Box, value: Shared) -> Shared:
    """Returns one record: 1 if a record has a value that no other one has.

    Long values are hashed, each piece by itself: two that differ become equal once in 2^40 tables.
    """
    most = 2 * width_of(value.records) + CHANCE
    if value.width > most:
        value = value.mixed(_hashing(most, value.width))
    run = (await box.sort(value)).key
    before = await as_before(box, run)
    lone = await (~before & ~before.ahead(1))
    none = await box.fold(~lone, np.zeros(lone.records, np.int64), box.both)
    return ~none


def _hashing(rows: int, width: int) -> Bits:
    """Returns a public random matrix. A value made to collide with another gains no more than an equal one."""
    words = Rng(Secret(bytes(SECRET_BYTES))).stream("hash", rows, width).words(rows * -(-width // 64))
    return np.unpackbits(words.astype("<u8").view(np.uint8)).reshape(rows, -1)[:, :width].astype(bool)
