"""Largest: the asker learns which of several sums is the largest, where each has a part that is encrypted.

Source    a knock-out of the comparisons of `covey.protocols.as_printed.federate.comparison`.
Roles     the asker, who knows its own part of each sum and holds the other part under the reader's key; the reader.
Security  semi-honest, as comparisons are. The asker learns who won each match, the reader nothing.
Not       a party that lies changes answers unnoticed; how many sums each group has is public.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from covey.arrays import Longs
from covey.crypto.group import Points
from covey.crypto.paillier import Ciphertexts, SecretKey
from covey.crypto.reading import ReadingKey
from covey.protocols.as_printed.federate import comparison
from covey.protocols.as_printed.federate.comparison import starts
from covey.secure.declare import Cost, Leakage, Traffic
from covey.wire import Channel

LEAKAGE = Leakage(
    roles={"asker": ("of the matches of a knock-out among {sums} sums in {groups} groups which sum was larger",)}
)


async def ask(
    channel: Channel, reader: str, key: Points, mine: Sequence[Longs], theirs: Ciphertexts, width: int
) -> list[int]:
    """For each group the place of the largest sum of our number and the reader's; the first of equals.

    Sums differ by less than 2^width.
    """
    offsets = starts(np.array([len(own) for own in mine], dtype=np.int64))
    standing = [list(range(len(own))) for own in mine]
    for turn in range(turns([len(own) for own in mine])):
        played = [(g, *pair) for g, left in enumerate(standing) for pair in zip(left[::2], left[1::2], strict=False)]
        one = theirs.take([int(offsets[g]) + a for g, a, _ in played])
        two = theirs.take([int(offsets[g]) + b for g, _, b in played])
        lead = one.minus(two).plus_numbers([int(mine[g][a] - mine[g][b]) for g, a, b in played])
        at = channel.at(turn)
        shares = await comparison.ask_signs(at, reader, key, lead, np.full(len(played), width))
        won = await comparison.opened(at, reader, shares)
        out = {(g, b if first else a) for (g, a, b), first in zip(played, won.tolist(), strict=True)}
        standing = [[place for place in left if (g, place) not in out] for g, left in enumerate(standing)]
    return [left[0] for left in standing]


async def answer(
    channel: Channel, asker: str, secret: SecretKey, key: ReadingKey, sizes: Sequence[int], width: int
) -> None:
    """The reader's part; it learns nothing."""
    for turn, count in enumerate(matches(sizes)):
        at = channel.at(turn)
        await comparison.tell(at, asker, await comparison.answer_signs(at, asker, secret, key, np.full(count, width)))


def turns(sizes: Sequence[int]) -> int:
    """The number of rounds of a knock-out among so many."""
    return max((max(size, 1) - 1).bit_length() for size in sizes) if len(sizes) else 0


def matches(sizes: Sequence[int]) -> list[int]:
    """The number of matches of each turn."""
    left, found = list(sizes), []
    for _ in range(turns(sizes)):
        found.append(sum(size // 2 for size in left))
        left = [size - size // 2 for size in left]
    return found


def _traffic(sizes: Sequence[int], width: int, bits: int) -> Traffic:
    played = [np.full(count, width, dtype=np.int64) for count in matches(sizes)]
    told = (Traffic(1, 1, comparison.flags_size(len(each))) for each in played)
    return sum((comparison.SIGN_COST.of(each, bits) + one for each, one in zip(played, told, strict=True)), Traffic())


COST = Cost(_traffic)


def ideal(mine: Sequence[Longs], theirs: Sequence[Longs]) -> list[int]:
    """The answer of a trusted party."""
    return [int(np.argmax(a + b)) for a, b in zip(mine, theirs, strict=True)]
