"""ElGamal in the exponent: numbers that can be added up, scaled and compared with zero while nobody reads them.

A ciphertext of m under the key K is (r*G, m*G + r*K). The key may be joint: the sum of the parties' public
keys, and then all of them are needed to open anything. Small numbers are read back through a table.
Anyone can turn a ciphertext into another one of a related number: that is its use, and no integrity at all.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from covey.arrays import Longs
from covey.crypto import proof
from covey.crypto.group import POINT_BYTES, Point, Points, Scalar, Scalars, generator_times, powers
from covey.crypto.rng import Label, Stream
from covey.errors import InputError

_LARGEST_TABLE = 1 << 20


class KeyShare:
    """One party's part of a joint key, for one use; alone it is an ordinary key."""

    __slots__ = ("_secret", "public")

    def __init__(self, stream: Stream) -> None:
        self._secret = Scalar.fresh(stream)
        self.public = Point(generator_times(self._secret).data)

    def prove(self, stream: Stream, *context: Label) -> bytes:
        """A proof of knowing the share, without which a joint key is open to whoever names its part last."""
        return proof.prove(self._secret, self.public, stream, *context)

    def unlock(self, ciphertexts: Ciphertexts) -> Points:
        """Our part of the opening of these ciphertexts; `opened` needs one from every party."""
        return ciphertexts.first.times(self._secret)

    def surrender(self) -> Scalar:
        """The secret itself, where the protocol lets everyone open everything that was sealed to the joint key."""
        return self._secret

    def __repr__(self) -> str:
        return "KeyShare(…)"


@dataclass(frozen=True)
class Ciphertexts:
    """Encrypted numbers, as two columns of points."""

    first: Points
    second: Points

    def __post_init__(self) -> None:
        if len(self.first) != len(self.second):
            raise InputError(f"a ciphertext has two halves: {len(self.first)} first, {len(self.second)} second")

    def __len__(self) -> int:
        return len(self.first)

    def plus(self, other: Ciphertexts) -> Ciphertexts:
        """Ciphertexts of the sums."""
        return Ciphertexts(self.first.plus(other.first), self.second.plus(other.second))

    def minus(self, other: Ciphertexts) -> Ciphertexts:
        """Ciphertexts of the differences."""
        return Ciphertexts(self.first.minus(other.first), self.second.minus(other.second))

    def plus_numbers(self, numbers: Sequence[int]) -> Ciphertexts:
        """Ciphertexts of the numbers with these known ones added; not yet re-randomised."""
        return Ciphertexts(self.first, self.second.plus(powers(numbers)))

    def scaled(self, by: Scalars) -> Ciphertexts:
        """Ciphertexts of the multiples. A random factor leaves of a number only whether it is zero."""
        return Ciphertexts(self.first.times(by), self.second.times(by))

    def total(self) -> Ciphertexts:
        """One ciphertext of the sum of all, by halves."""
        if not len(self):
            raise InputError("there is nothing to add up")
        rest = self
        while len(rest) > 1:
            half = len(rest) // 2
            added = rest.slice(0, half).plus(rest.slice(half, 2 * half))
            rest = Ciphertexts.join([added, rest.slice(2 * half, len(rest))])
        return rest

    def running_totals(self) -> Ciphertexts:
        """Ciphertexts of the sums of the first one, two, three … numbers.

        In square blocks, so that the additions of a row of blocks are one array's: two for each ciphertext.
        """
        count = len(self)
        if count < 2:
            return self
        width = math.isqrt(count - 1) + 1
        blocks = [self.take(np.arange(place, count, width)) for place in range(min(width, count))]
        for place in range(1, len(blocks)):  # within each block of `width` in a row, a prefix's sum at each place
            longer = len(blocks[place])
            blocks[place] = blocks[place].plus(blocks[place - 1].slice(0, longer))
        before = blocks[-1].running_totals()  # the sums of whole blocks, of which each later block needs the one before
        for place, block in enumerate(blocks):
            rest = len(block) - 1
            if rest:
                blocks[place] = Ciphertexts.join(
                    [block.slice(0, 1), block.slice(1, rest + 1).plus(before.slice(0, rest))]
                )
        order = np.empty(count, dtype=np.int64)
        order[np.concatenate([np.arange(place, count, width) for place in range(len(blocks))])] = np.arange(count)
        return Ciphertexts.join(blocks).take(order)

    def take(self, order: Longs | Sequence[int]) -> Ciphertexts:
        """The ciphertexts at these places, in this order."""
        return Ciphertexts(self.first.take(order), self.second.take(order))

    def slice(self, first: int, last: int) -> Ciphertexts:
        """The ciphertexts from `first` up to but not including `last`."""
        return Ciphertexts(self.first.slice(first, last), self.second.slice(first, last))

    @classmethod
    def join(cls, parts: Sequence[Ciphertexts]) -> Ciphertexts:
        """One batch after the other."""
        return cls(Points.join(part.first for part in parts), Points.join(part.second for part in parts))


def joint_key(publics: Iterable[Points]) -> Points:
    """The key that only all of these parties together can open. Raises `InputError` if they cancel out."""
    key = reduce(Points.plus, publics)
    if key.identities().any():
        raise InputError("the public keys cancel each other out")
    return key


def encrypt(numbers: Sequence[int], key: Points, stream: Stream) -> Ciphertexts:
    """Each number under the key, with randomness of its own."""
    return encrypt_with(numbers, key, Scalars.draw(stream, len(numbers)))


def encrypt_with(numbers: Sequence[int], key: Points, randomness: Scalars) -> Ciphertexts:
    """Each number under the key, with this randomness, which the encryptor keeps for a proof and never uses again."""
    return Ciphertexts(generator_times(randomness), powers(numbers).plus(key.times(randomness)))


def rerandomise(ciphertexts: Ciphertexts, key: Points, stream: Stream) -> Ciphertexts:
    """New ciphertexts of the same numbers; linking them to the old ones takes the key, or our randomness."""
    fresh = Scalars.draw(stream, len(ciphertexts))
    return Ciphertexts(ciphertexts.first.plus(generator_times(fresh)), ciphertexts.second.plus(key.times(fresh)))


def opened(ciphertexts: Ciphertexts, parts: Iterable[Points]) -> Points:
    """The content m*G of each ciphertext, from every party's part of the opening."""
    return reduce(Points.minus, parts, ciphertexts.second)


class Logarithms:
    """Reads numbers from 0 to bound - 1 off m*G: a table of baby steps, then giant ones."""

    def __init__(self, bound: int, table: int | None = None) -> None:
        """`table` is the number of entries; by default enough for a direct look-up, up to 2^20."""
        self.bound = bound
        self._stride = min(bound, table or _LARGEST_TABLE)
        if not 0 < self._stride <= _LARGEST_TABLE:
            raise InputError(f"a table of {self._stride} logarithms; 1 to {_LARGEST_TABLE} fit")
        steps = _encodings(powers(range(self._stride)))
        self._number = np.argsort(steps, kind="stable")
        self._sorted = steps[self._number]
        self._back = powers([-self._stride])

    @classmethod
    def for_many(cls, bound: int, count: int) -> Logarithms:
        """With the table that takes the least work for that many numbers spread evenly below the bound."""
        balanced = math.isqrt(max(1, count) * bound // 2) + 1
        return cls(bound, min(balanced, bound, _LARGEST_TABLE))

    def of(self, points: Points) -> Longs:
        """The number in each point, and -1 where it is none from 0 to bound - 1."""
        numbers = np.full(len(points), -1, dtype=np.int64)
        places, rest = np.arange(len(points)), points
        for start in range(0, self.bound, self._stride):
            near = np.minimum(np.searchsorted(self._sorted, _encodings(rest)), self._stride - 1)
            hits = self._sorted[near] == _encodings(rest)
            numbers[places[hits]] = self._number[near[hits]] + start
            places = places[~hits]
            if not places.size:
                break
            rest = rest.take(np.flatnonzero(~hits)).plus(self._back)
        numbers[numbers >= self.bound] = -1
        return numbers


def _encodings(points: Points) -> NDArray[np.bytes_]:
    """The points as an array that can be sorted and searched."""
    return np.frombuffer(points.data, dtype=f"S{POINT_BYTES}")
