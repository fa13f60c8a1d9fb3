"""Window test: two learn if their private sets have fewer than k elements in common, and nothing else.

Source    the cardinality threshold of Freedman, Nissim & Pinkas 2004 as sums under additive encryption. The *reader*
          encrypts for each of a public list whether it has it; the *asker* adds up those that it has itself, to x, and
          returns x, x - 1 … x - k + 1, each times something random and in random order: one is zero if x < k.
Roles     the asker and the reader, who tells the outcome.
Security  semi-honest, under decisional Diffie-Hellman. The list's length and k are public.
Not       a party that lies changes the answer. For large k a masked comparison is cheaper (`comparison`).
"""

from __future__ import annotations

import numpy as np

from covey.arrays import Bits
from covey.crypto import elgamal
from covey.crypto.elgamal import Ciphertexts
from covey.crypto.group import Points, Scalars
from covey.crypto.reading import ReadingKey
from covey.protocols.as_printed.federate import comparison
from covey.secure import lists
from covey.secure.declare import Cost, Leakage, Traffic
from covey.secure.lists import Elements
from covey.wire import Channel

LEAKAGE = Leakage(everyone=("whether both sets have fewer than {k} of {size} in common",))

COST = Cost(lambda size, k: lists.traffic(size, 2) + lists.traffic(k, 2) + Traffic(1, 1, comparison.flags_size(1)))


class Has(Elements, tag="window.has"):
    """For each of the list whether the reader has it, encrypted."""


class Shifted(Elements, tag="window.shifted"):
    """The number in common less 0, 1 … k - 1, each times something random."""


async def ask_below(channel: Channel, reader: str, key: Points, mine: Bits, k: int) -> bool:
    """The asker, who has these of the list."""
    columns = await lists.receive(channel, reader, Has, columns=2, due=len(mine), distinct=False)
    has = Ciphertexts(*columns).take(np.flatnonzero(mine))
    rng = channel.rng.child("window")
    common = has.total() if len(has) else elgamal.encrypt([0], key, rng.stream("none"))
    shifted = common.take(np.zeros(k, np.int64)).plus_numbers([-number for number in range(k)])
    hidden = elgamal.rerandomise(shifted.scaled(Scalars.draw(rng.stream("factors"), k)), key, rng.stream("fresh"))
    hidden = hidden.take(rng.stream("order").permutation(k))
    await lists.send(channel, reader, Shifted, [hidden.first, hidden.second])
    return bool((await comparison.opened(channel, reader, np.zeros(1, dtype=bool)))[0])


async def answer_below(channel: Channel, asker: str, key: ReadingKey, mine: Bits, k: int) -> bool:
    """The reader, who has these of the list."""
    has = key.encrypt(mine, channel.rng.stream("has"))
    await lists.send(channel, asker, Has, [has.first, has.second])
    found = Ciphertexts(*await lists.receive(channel, asker, Shifted, columns=2, due=k, distinct=False))
    below = np.array([key.zeros(found).any()])
    await comparison.tell(channel, asker, below)
    return bool(below[0])


def ideal(first: Bits, second: Bits, k: int) -> bool:
    """The answer of a trusted party."""
    return int((first & second).sum()) < k
