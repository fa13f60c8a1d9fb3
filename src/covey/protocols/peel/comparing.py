"""Comparisons between two: both learn in which rows of joint numbers none is negative, and nothing else.

Source    Goldreich, Micali and Wigderson 1987, with one out of N oblivious transfers (`ObliviousTests`). A number is
          the sum of the chooser's and the keeper's; it is not negative where the chooser's is as large as what the
          keeper's lacks. They compare digit by digit: of each digit the chooser picks, from the keeper's table,
          whether its own is larger, and whether it is equal, both under the keeper's random bits. Digits are put
          together by ANDs, for each of which the chooser picks one of four bits. Then each has a bit for each number,
          which is not negative where the two differ: a private comparison says whether all of a row do.
Roles     the chooser and the keeper.
Security  semi-honest; that of the transfers and of `covey.secure.match`. All bits but the last answer look random.
Not       a party that lies changes answers unnoticed. Numbers beyond 2^31 are taken to be negative.
"""

from __future__ import annotations

import numpy as np

from covey.arrays import Bits, Longs
from covey.protocols.peel.choice import OFFER_COST, ObliviousTests
from covey.secure import match
from covey.secure.declare import Cost, Leakage, Traffic
from covey.wire import Channel

DIGIT, DIGITS = 8, 4
"""The bits of a digit, and the digits of a number."""
MOST = 1 << (DIGIT * DIGITS - 1)

LEAKAGE = Leakage(everyone=("for each of {rows} rows of joint numbers whether none is negative, no number",))


def _sizes(width: int) -> list[tuple[int, int]]:
    """The rows of bits that are offered, one list after the other: how many bits each row has, and how many rows."""
    return [(1 << DIGIT, 2 * DIGITS * width), *[(4, width)] * (DIGITS - 1)]


COST = Cost(
    lambda rows, width: sum((OFFER_COST.of(*each) for each in _sizes(rows * width)), Traffic()) + match.COST.of(rows)
)
"""Of `none_negative` for so many rows of `width` numbers."""


async def none_negative(channel: Channel, pair: ObliviousTests, mine: Longs) -> Bits:
    """The rows (rows x numbers) of which no joint number is negative. Each call needs a step of its own."""
    if not mine.size:
        return np.ones(len(mine), dtype=bool)
    found = await _compare(channel, pair, mine.ravel())
    held = found if pair.chooses else ~found
    texts = [np.packbits(row).tobytes() for row in held.reshape(mine.shape)]
    same = await match.matches(channel.at("all"), texts)
    return np.zeros(0, dtype=bool) if same is None else same


async def _compare(channel: Channel, pair: ObliviousTests, mine: Longs) -> Bits:
    """A bit for each number; it is not negative where the other party's bit differs."""
    shifts = DIGIT * np.arange(DIGITS)[:, np.newaxis]
    if pair.chooses:
        digits = (np.clip(mine, -MOST, MOST - 2) + MOST) >> shifts & (1 << DIGIT) - 1
        picked = await pair.choose(channel.at("digits"), np.concatenate([digits, digits]).ravel(), 1 << DIGIT)
        larger, equal = picked.reshape(2, DIGITS, -1)
        found = larger[0] ^ equal[0]
        for digit in range(1, DIGITS):
            both = 2 * equal[digit].astype(np.int64) + found
            found = larger[digit] ^ await pair.choose(channel.at("and", digit), both, 4)
        return np.asarray(found)
    digits = ((np.clip(-mine, 1 - MOST, MOST - 1) + MOST) >> shifts & (1 << DIGIT) - 1).ravel()
    random = _bits(channel, "digits", 2 * len(digits))
    choices = np.arange(1 << DIGIT)

    def table(part: slice) -> Bits:
        places = np.arange(part.start, part.stop)
        own = digits[places % len(digits), np.newaxis]
        asked = np.where(places[:, np.newaxis] < len(digits), choices > own, choices == own)
        return np.asarray(asked ^ random[part, np.newaxis])

    await pair.offer(channel.at("digits"), 2 * len(digits), table)
    larger, equal = random.reshape(2, DIGITS, -1)
    found = larger[0] ^ equal[0]
    for digit in range(1, DIGITS):
        fresh, first, second = _bits(channel, "and", len(mine), digit), equal[digit], found
        four = np.stack([(a ^ first) & (b ^ second) ^ fresh for a in (False, True) for b in (False, True)], axis=1)
        await pair.offer(channel.at("and", digit), len(mine), four.__getitem__)
        found = larger[digit] ^ fresh
    return np.asarray(found)


def _bits(channel: Channel, what: str, number: int, digit: int = 0) -> Bits:
    """The keeper's random bits."""
    raw = channel.rng.stream("compare", what, channel.step, digit).bytes(-(-number // 8))
    return np.unpackbits(np.frombuffer(raw, dtype=np.uint8))[:number].astype(bool)
