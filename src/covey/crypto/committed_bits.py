"""Commitments to bits, with the proof that they are bits: the first half of proofs about more.

Source    Groth and Kohlweiss (Eurocrypt 2015), figure 1. The prover commits to each bit b, to a mask a and to b a. For
          a challenge x it opens f = b x + a, and shows that f (x - f), which has no square of x if b is a bit, is
          committed. The second base is a hash, so that nobody knows its logarithm.

A verifier adds all equations up with weights that nobody could choose (`EquationSum`): a multiplication for each point.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from covey.crypto.group import GENERATOR, ORDER, Points, Scalars, hash_to_group, powers, weighted_sum
from covey.crypto.rng import Stream

SECOND = hash_to_group([b""], "unit vector", "second base")


class EquationSum:
    """A weighted sum of points that is zero if all equations hold; the two bases and the key are counted apart."""

    def __init__(self, key: Points | None = None) -> None:
        self.generator = self.second = self.key = 0
        self._key = key
        self._points: list[Points] = []
        self._weights: list[int] = []

    def add(self, points: Points, by: Sequence[int]) -> None:
        """Adds points, each times its weight."""
        self._points.append(points)
        self._weights += by

    def is_zero(self) -> bool:
        """True if all equations hold, but for a chance that nobody can raise. Raises InputError for a zero weight."""
        own = [(GENERATOR, self.generator), (SECOND, self.second)]
        own += [] if self._key is None else [(self._key, self.key)]
        points = Points.join([*self._points, *(point for point, _ in own)])
        total = weighted_sum(points, Scalars.of([*self._weights, *(weight for _, weight in own)]))
        return bool(total.identities()[0])


@dataclass(frozen=True)
class CommittedBits:
    """The prover's side."""

    bits: Sequence[int]
    hide: list[int]
    masks: list[int]
    mask_hide: list[int]
    product_hide: list[int]
    points: Points
    """The commitments to the bits, then to the masks, then to their products."""

    @classmethod
    def draw(cls, bits: Sequence[int], stream: Stream) -> CommittedBits:
        """Commits to these bits."""
        count = len(bits)
        drawn = Scalars.draw(stream, 4 * count).numbers()
        hide, masks, mask_hide, product_hide = (drawn[at * count : (at + 1) * count] for at in range(4))
        products = [bit * mask for bit, mask in zip(bits, masks, strict=True)]
        hidden = SECOND.times(Scalars.of([*hide, *mask_hide, *product_hide]))
        return cls(bits, hide, masks, mask_hide, product_hide, powers([*bits, *masks, *products]).plus(hidden))

    def respond(self, x: int) -> list[int]:
        """The responses to the challenge: opened numbers, their hiding, and that of the products."""
        opened = [(bit * x + mask) % ORDER for bit, mask in zip(self.bits, self.masks, strict=True)]
        hidden = [one * x + other for one, other in zip(self.hide, self.mask_hide, strict=True)]
        zero = [one * (x - f) + other for one, f, other in zip(self.hide, opened, self.product_hide, strict=True)]
        return [*opened, *hidden, *zero]


def add_equations(
    points: Points, responses: Sequence[int], x: int, sums: EquationSum, by: Iterator[int], extra: Sequence[int] = ()
) -> None:
    """Adds the equations of committed bits to a sum; `extra` are the bits' weights in other equations."""
    count = len(points) // 3
    opened, hidden, zero = (responses[at * count : (at + 1) * count] for at in range(3))
    first, second = [next(by) for _ in range(count)], [next(by) for _ in range(count)]
    bits = [one * x + other * (x - f) for one, other, f in zip(first, second, opened, strict=True)]
    if extra:
        bits = [one + other for one, other in zip(bits, extra, strict=True)]
    sums.add(points, [*bits, *first, *second])
    sums.generator -= sum(one * f for one, f in zip(first, opened, strict=True))
    sums.second -= sum(one * each for one, each in zip(first, hidden, strict=True))
    sums.second -= sum(one * each for one, each in zip(second, zero, strict=True))
