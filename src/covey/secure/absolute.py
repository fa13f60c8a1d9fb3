"""Absolute values: the parties get shares of |x| for joint odd numbers x; nobody learns a number, nor its sign.

Source    ours, from known parts. A random sign g that nobody knows is a random number over the root of its opened
          square (Damgård, Fitzi, Kiltz, Nielsen and Toft 2006). With a random mask r, of which g r was shared before,
          x - r is opened, and g x = g (x - r) + g r follows without an exchange. A threshold test opens whether g x is
          positive: a fair coin to everybody. So each party knows whether |x| is g x or -g x.
Roles     every party alike, three or more.
Security  that of `covey.secure.threshold_test`. The opened squares, masked numbers and coins say nothing about x.
Not       a party that lies changes answers unnoticed; how many numbers there are is public.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count

import numpy as np

from covey.arrays import Longs, Words
from covey.crypto.dealing import extracted
from covey.crypto.field import F31
from covey.secure import threshold_test
from covey.secure.declare import Cost, Leakage, Traffic
from covey.secure.threshold_test import (
    FactorPart,
    MaskedNumbers,
    Prepared,
    Workshop,
    dealt_to,
    open_part,
    opening,
    own_part,
    traffic,
)
from covey.wire import Channel

LEAKAGE = Leakage(everyone=("that there are {width} joint numbers; none of them, and no sign",))


@dataclass(frozen=True)
class Signs:
    """Shares of random signs, of masks, and of each mask times its sign; each is used once."""

    sign: Words
    mask: Words
    flipped: Words

    def __len__(self) -> int:
        return len(self.sign)

    def of_rows(self, start: int, rows: Longs, width: int) -> Signs:
        """Those of some rows, where from a place on `width` of them make a row."""
        places = (start + rows[:, np.newaxis] * width + np.arange(width)).ravel()
        return Signs(*(part[places] if len(part) else part for part in self._parts))

    @property
    def _parts(self) -> tuple[Words, Words, Words]:
        return self.sign, self.mask, self.flipped


async def draw(channel: Channel, width: int) -> Signs:
    """That many signs and masks. Each call needs a step of its own; no number is needed yet."""
    nothing: Words = np.zeros(0, dtype=np.uint64)
    if not width:
        return Signs(nothing, nothing, nothing)
    for turn in count():
        at = channel.at(turn)
        workshop = Workshop(at, F31)
        random, mask = await workshop.random(2, width)
        part = own_part(at, F31.multiply(random, random), F31)
        square = await open_part(at, FactorPart, part, F31, bits=False)
        if square.all():  # a random number is 0 by chance in 2^31
            break
    sign = F31.multiply(random, F31.inverse(_root(square)))
    return Signs(sign, mask, await workshop.multiply(sign, mask))


async def absolutes(channel: Channel, signs: Signs, prepared: Prepared, mine: Longs) -> Longs:
    """This party's summands of |x|, which are uniform.

    Each x, the sum of the parties' numbers, is odd, and |x| is less than the bound for which tests were prepared.
    """
    if not len(mine):
        return np.zeros(0, dtype=np.int64)
    numbers = (mine % F31.prime).astype(np.uint64)
    masked = F31.subtract(numbers, own_part(channel, signs.mask, F31))
    opened = await open_part(channel, MaskedNumbers, masked, F31, bits=False)
    turned = F31.add(F31.multiply(opened, signs.sign), signs.flipped)
    at = channel.at("sign")
    coins = await threshold_test.open_products(at, prepared, own_part(at, turned, F31))
    absolute = np.where(coins == 0, turned, F31.subtract(np.zeros_like(turned), turned))
    return own_part(channel, absolute, F31).astype(np.int64)


def ideal(inputs: Mapping[str, Longs]) -> Longs:
    """A trusted party's answer."""
    return np.asarray(np.abs(np.sum(list(inputs.values()), axis=0)))


def _root(square: Words) -> Words:
    """A root of each square: its (p + 1) / 4-th power, as p is 3 modulo 4."""
    for _ in range(F31.bits - 2):
        square = F31.multiply(square, square)
    return square


def _drawing(parties: int, width: int) -> Traffic:
    if not width:
        return Traffic()
    dealt, first = parties * dealt_to(parties), _opening(parties, width)
    lists = [F31.size(-(-2 * width // extracted(parties)))] * dealt if parties > 3 else []
    return first + traffic(int(parties > 3) + 1, [*lists, *[F31.size(width)] * dealt])


def _opening(parties: int, width: int) -> Traffic:
    rounds = threshold_test.COST.rounds(parties, 1, width, F31) // 2
    return traffic(rounds, opening(parties, width, F31, bits=False) if width else [])


SIGNS_COST = Cost(_drawing)
"""Of one `draw`."""

COST = Cost(lambda parties, bound, width: _opening(parties, width) + threshold_test.COST.of(parties, bound, width, F31))
"""Of one `absolutes`, once signs are drawn and tests are prepared."""
