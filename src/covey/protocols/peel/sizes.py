"""Private sizes: the number of all records is opened, every holder pads to it, and empty records are dropped."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from covey.arrays import Words
from covey.errors import Aborted, Unmet
from covey.mpc import Box, Shared, stacked
from covey.protocols.peel.coding import side_by_side
from covey.protocols.peel.disclosures import EMPTY, total

BITS = 32
"""Of a holder's number of records."""


async def joint_records(box: Box, numbers: Sequence[Shared], k: int, outside: Sequence[int] = ()) -> int:
    """Returns how many records all holders have, of their shared numbers. Raises Unmet where these are fewer than k.

    Parties outside are told the number, or 0 if it is below k.
    """
    records = await box.count(stacked(*numbers))
    few = bool((await box.open_bit(await (records < box.constant(k, records.width, 1)), says=total(k)))[0])
    opened = np.zeros(1, np.uint64) if few else await box.open(records, says=total(k))
    await box.tell(outside, opened, says=total(k))
    return enough(int(opened[0]), k)


def enough(records: int, k: int) -> int:
    """Returns the number of records. Raises Unmet where it is below k."""
    if records < k:
        raise Unmet(f"the holders together have fewer than k = {k} records; nothing can be released")
    return records


def padded(words: Words, width: int, records: int) -> Words:
    """Returns words of that width (chunks x records) behind a 1, and zeros for empty records up to a number."""
    full = np.zeros((len(words), records), np.uint64)
    full[:, : words.shape[1]] = words
    real = np.arange(records) < words.shape[1]
    return side_by_side([real.astype(np.uint64), full], [1, width])


async def based(box: Box, rows: Shared, records: int, *, empty: bool) -> Shared:
    """Returns the rows in an order that nobody knows; where some are empty, bit 0 says which, and these are dropped.

    Raises Aborted if more or fewer rows are there than all holders together said.
    """
    base, _ = await box.shuffle(rows)
    if not empty:
        return base
    real = await box.open_bit(base.bits([0]), says=EMPTY)
    if real.sum() != records:
        raise Aborted("a holder shared another number of rows than it said; nothing is written", resumable=False)
    return base.bits(slice(1, None)).at(np.flatnonzero(real))
