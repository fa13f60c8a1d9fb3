"""Tags: one party sees which people are alike in all holders' columns together, and nothing else about them.

Source    ours. Inverses in the exponent as in the pseudorandom function of Dodis & Yampolskiy.
Roles     the holders, who have a secret S in common, and each a secret of its own; and the evaluator, who has no data
          and knows none of these.
Course    a person's tuple is worth T, the sum over holders j of a pseudorandom number t_j of j's part of the tuple,
          under a key of j's own that is new at each visit. With a fresh random r for each person, holder j sends
          r t_j + mask_j, where all masks add up to nothing, and one holder sends the point R = r G; r, masks and order
          follow from S. The evaluator adds up to w = r T, and has the tag (1/w) R = (1/T) G: equal
          where whole tuples are equal. People come in a fresh random order.
Security  semi-honest. A holder's numbers are uniform but for their sum. The pair (w, R) follows from the tag alone: w
          is uniform, R = w times the tag. Tags of different tuples look random if inverses of sums of secrets do, in
          a group without a pairing. Not the sums T themselves: sums keep differences, and equal differences tell who
          shares which holder's values (`tests/leaks` carries the attack out).
          A holder that lies cannot aim at another's t_j, which it cannot compute.
Not       the evaluator sees the sizes of all groups. Together with one holder it knows S, and takes masks and r off:
          it sees t_j, so who has equal values at holder j. It cannot compute t_j of a guess.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from covey.arrays import Ints, Longs
from covey.crypto.group import ORDER, SCALAR_BYTES, Points, Scalars, generator_times
from covey.crypto.rng import Rng, Stream, derive, spell
from covey.crypto.secret import Secret
from covey.table import group

_DRAWN_BYTES = 48
"""Random bytes of a number modulo the order, which is then uniform but for 2^-131."""


@dataclass(frozen=True)
class Disguise:
    """The randomness of one visit, which all holders draw alike and the evaluator does not know.

    A visit has layers: tags of tuples, and tags of tuples with each sensitive value. People are in one order in all of
    them; numbers and masks are of each layer's own.
    """

    seed: Secret
    holders: int
    people: int

    def order(self) -> Longs:
        """The person at each position."""
        return Rng(derive(self.seed, "order")).stream("order").permutation(self.people)

    def blinds(self, layer: int) -> list[int]:
        """The random number of each position."""
        return draw(Rng(derive(self.seed, "blinds", layer)).stream("blinds"), self.people)

    def masks(self, layer: int, holder: int) -> list[int]:
        """A holder's masks, position by position: those of all holders add up to nothing."""
        ring = [derive(self.seed, "masks", layer, (holder + step) % self.holders) for step in (0, 1)]
        plus, minus = (draw(Rng(seed).stream("masks"), self.people) for seed in ring)
        return [a - b for a, b in zip(plus, minus, strict=True)]

    def masked(self, layer: int, holder: int, worth: Sequence[int], order: Longs) -> bytes:
        """The numbers that a holder sends: in this order, blinded and masked."""
        blinds, masks = self.blinds(layer), self.masks(layer, holder)
        ordered = zip(blinds, order.tolist(), masks, strict=True)
        return spelled([(blind * worth[person] + mask) % ORDER for blind, person, mask in ordered])

    def points(self, layer: int) -> Points:
        """The points that the speaker sends besides: the blinds in the exponent."""
        return generator_times(Scalars(spelled(self.blinds(layer))))


def pseudorandom(key: Secret, parts: Sequence[Ints], people: int) -> list[int]:
    """A number below the order for each person, equal where all parts are; a hash for each distinct tuple."""
    own, first = group([*parts], people)
    tuples = np.stack([np.zeros(len(first), np.int32), *(part[first] for part in parts)], axis=1).astype("<i4")
    numbers = [
        int.from_bytes(hmac.digest(key.reveal(), row.tobytes(), hashlib.sha512), "little") % ORDER for row in tuples
    ]
    return [numbers[place] for place in own.tolist()]


def draw(stream: Stream, count: int) -> list[int]:
    """Uniform numbers below the order."""
    raw = stream.bytes(_DRAWN_BYTES * count)
    starts = range(0, len(raw), _DRAWN_BYTES)
    return [int.from_bytes(raw[start : start + _DRAWN_BYTES], "little") % ORDER for start in starts]


def spelled(numbers: Sequence[int]) -> bytes:
    """Numbers below the order as they are sent."""
    return b"".join([number.to_bytes(SCALAR_BYTES, "little") for number in numbers])


def read(raw: bytes) -> list[int]:
    """Numbers as they were sent. Raises ValueError for one that is not below the order."""
    starts = range(0, len(raw), SCALAR_BYTES)
    numbers = [int.from_bytes(raw[start : start + SCALAR_BYTES], "little") for start in starts]
    if numbers and max(numbers) >= ORDER:
        raise ValueError("a number is not reduced modulo the group's order")
    return numbers


def add_up(parts: Sequence[Sequence[int]]) -> list[int]:
    """The sums of all holders' numbers: the masks cancel out."""
    return [sum(numbers) % ORDER for numbers in zip(*parts, strict=True)]


def tags(sums: Sequence[int], points: Points) -> Points:
    """The tag of each position. Raises ValueError where a sum is zero."""
    return points.times(Scalars(spelled(inverses(sums)))) if len(points) else points


def inverses(numbers: Sequence[int]) -> list[int]:
    """The inverse of each modulo the order, by one inversion for all. Raises ValueError for zero."""
    before, product = [], 1
    for number in numbers:
        before.append(product)
        product = product * number % ORDER
    rest = pow(product, -1, ORDER)  # raises ValueError for zero
    answer = [0] * len(before)
    for place in range(len(before) - 1, -1, -1):
        answer[place] = before[place] * rest % ORDER
        rest = rest * numbers[place] % ORDER
    return answer


def alike(found: Points) -> Longs:
    """A number for each tag, equal where tags are."""
    words = np.frombuffer(found.pack(), dtype="<u8").reshape(-1, SCALAR_BYTES // 8)
    order = np.lexsort((words[:, 1], words[:, 0]))
    ordered = words[order]
    number = np.zeros(len(words), dtype=np.int64)
    number[order[1:]] = np.cumsum((ordered[1:] != ordered[:-1]).any(axis=1))
    return number


def visit_seed(secret: Secret, *step: str | int) -> Secret:
    """The seed of one visit, from the holders' secret."""
    return derive(secret, "visit", spell(*step))
