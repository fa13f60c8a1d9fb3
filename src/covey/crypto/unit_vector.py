"""A proof that encrypted numbers mark one place: one of them is one, all others are zero, and nobody sees which.

Source    Groth and Kohlweiss (Eurocrypt 2015), as a proof about a whole vector by Zhang, Oliynykov and Balogun (NDSS
          2019). The prover commits to the bits of the place and shows that they are bits. Each place has the product
          of its bits' polynomials, whose degree is full at the marked place alone; a sum over all places, weighted
          by powers of a challenge y, is compared with the ciphertexts at a challenge x.
Cost      a list of n takes the prover some 8 log n multiplications and 256 log n bytes, and the verifier 2 n.
Security  sound in the random oracle model while the prover knows no logarithm of the second base, which is a hash;
          it shows nothing else of the place. All lists of an answer are checked in one sum, with weights that nobody
          could choose.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from covey.crypto.elgamal import Ciphertexts, encrypt_with
from covey.crypto.group import GENERATOR, ORDER, POINT_BYTES, Points, Scalars, hash_to_group, powers, weighted_sum
from covey.crypto.proof import challenge, hedged, weights
from covey.crypto.rng import Label, Stream, spell
from covey.errors import InputError

_SECOND = hash_to_group([b""], "unit vector", "second base")


@dataclass(frozen=True)
class Marked:
    """A list of encrypted marks, as its owner knows it."""

    marks: Ciphertexts
    place: int
    randomness: Sequence[int]
    """The logarithms of the marks' first halves."""


def depth(count: int) -> int:
    """The number of bits of a place in a list of that length."""
    return max(1, (count - 1).bit_length())


def proof_bytes(counts: Sequence[int]) -> int:
    """The length of a proof for lists of these lengths."""
    return sum(POINT_BYTES * (8 * depth(count) + 1) for count in counts)


def prove(lists: Sequence[Marked], key: Points, stream: Stream, *context: Label) -> bytes:
    """A proof, for this context, that each list marks one place."""
    start = _statement([own.marks for own in lists], key, context)
    secrets = spell(*(part for own in lists for part in (own.place, *own.randomness)))
    nonces = hedged(stream, secrets, "unit vector", start)
    return b"".join(_prove(own, key, nonces, start, number) for number, own in enumerate(lists))


def holds(proof: bytes, lists: Sequence[Ciphertexts], key: Points, *context: Label) -> bool:
    """True if this proves, for that context, that each of these lists marks one place."""
    if len(proof) != proof_bytes([len(own) for own in lists]):
        return False
    start, sums, at = _statement(lists, key, context), _Sum(key), 0
    by = iter(weights(sum(2 * depth(len(own)) + 2 for own in lists), "covey unit sum/1", start, proof))
    try:
        for number, own in enumerate(lists):
            size = proof_bytes([len(own)])
            _check(proof[at : at + size], own, sums, by, start, number)
            at += size
        return sums.is_zero()
    except InputError:
        return False


def _prove(own: Marked, key: Points, stream: Stream, start: bytes, number: int) -> bytes:
    size = depth(len(own.marks))
    bits = [own.place >> level & 1 for level in range(size)]
    hide, mask, mask_hide, product_hide = ([stream.scalar(ORDER) for _ in range(size)] for _ in range(4))
    products = [bit * other for bit, other in zip(bits, mask, strict=True)]
    committed = powers([*bits, *mask, *products]).plus(_SECOND.times(Scalars.of([*hide, *mask_hide, *product_hide])))
    y = challenge("covey unit y/1", start, number, committed.data)
    polynomial = [1]
    for level, (bit, other) in enumerate(zip(bits, mask, strict=True)):
        lift = pow(y, 1 << level, ORDER)
        polynomial = _times(polynomial, (lift - 1) * other, 1 - bit + lift * bit)
    fresh = Scalars.draw(stream, size)
    lower = encrypt_with(polynomial[:size], key, fresh)
    x = challenge("covey unit x/1", start, number, committed.data, lower.first.data, lower.second.data)
    opened = [(bit * x + other) % ORDER for bit, other in zip(bits, mask, strict=True)]
    opened_hide = [one * x + other for one, other in zip(hide, mask_hide, strict=True)]
    zero_hide = [one * (x - z) + other for one, z, other in zip(hide, opened, product_hide, strict=True)]
    rest = pow(x, size, ORDER) * sum(r * power for r, power in zip(own.randomness, _powers_of(y), strict=False))
    rest += sum(r * power for r, power in zip(fresh.numbers(), _powers_of(x), strict=False))
    responses = Scalars.of([*opened, *opened_hide, *zero_hide, rest])
    return committed.data + lower.first.data + lower.second.data + responses.reveal()


def _check(proof: bytes, marks: Ciphertexts, sums: _Sum, by: Iterator[int], start: bytes, number: int) -> None:
    """Adds a list's equations to the sum. Raises InputError for what is no element of the group, or no number."""
    size = depth(len(marks))
    cut = 5 * size * POINT_BYTES
    points, responses = Points(proof[:cut], identity=True), Scalars(proof[cut:])
    committed, lower = points.slice(0, 3 * size), points.slice(3 * size, 5 * size)
    y = challenge("covey unit y/1", start, number, committed.data)
    halves = lower.slice(0, size), lower.slice(size, 2 * size)
    x = challenge("covey unit x/1", start, number, committed.data, halves[0].data, halves[1].data)
    numbers = responses.numbers()
    opened, opened_hide, zero_hide, rest = (
        numbers[:size], numbers[size : 2 * size], numbers[2 * size : 3 * size], numbers[3 * size]
    )  # fmt: skip
    first, second = [next(by) for _ in range(size)], [next(by) for _ in range(size)]
    for level, z in enumerate(opened):  # x I + B = z G + w H and (x - z) I + A = v H, at every bit
        sums.generator -= first[level] * z
        sums.second -= first[level] * opened_hide[level] + second[level] * zero_hide[level]
    bits = [one * x + other * (x - z) for one, other, z in zip(first, second, opened, strict=True)]
    sums.add(committed, [*bits, *first, *second])
    value = 1
    for level, z in enumerate(opened):
        value = value * (x - z + pow(y, 1 << level, ORDER) * z) % ORDER
    top = pow(x, size, ORDER)
    places = [top * power for _, power in zip(range(len(marks)), _powers_of(y), strict=False)]
    places += [power for _, power in zip(range(size), _powers_of(x), strict=False)]
    for half, low in ((marks.first, halves[0]), (marks.second, halves[1])):
        weight = next(by)
        sums.add(Points.join([half, low]), [weight * each for each in places])
        if half is marks.second:
            sums.generator -= weight * value
            sums.key_times -= weight * rest
        else:
            sums.generator -= weight * rest


class _Sum:
    """A weighted sum of points that is zero if all equations hold."""

    def __init__(self, key: Points) -> None:
        self.key = key
        self.generator = self.second = self.key_times = 0
        self._points: list[Points] = []
        self._weights: list[int] = []

    def add(self, points: Points, by: Sequence[int]) -> None:
        self._points.append(points)
        self._weights += by

    def is_zero(self) -> bool:
        points = Points.join([*self._points, GENERATOR, _SECOND, self.key])
        total = weighted_sum(points, Scalars.of([*self._weights, self.generator, self.second, self.key_times]))
        return bool(total.identities()[0])


def _statement(lists: Sequence[Ciphertexts], key: Points, context: tuple[Label, ...]) -> bytes:
    spelt = [half.data for own in lists for half in (own.first, own.second)]
    return hashlib.sha512(spell("covey unit vector/1", *context, key.data, *spelt)).digest()


def _times(polynomial: list[int], constant: int, slope: int) -> list[int]:
    """The polynomial times (constant + slope X), lowest degree first."""
    low = [constant * each for each in polynomial] + [0]
    high = [0] + [slope * each for each in polynomial]
    return [(one + other) % ORDER for one, other in zip(low, high, strict=True)]


def _powers_of(base: int) -> Iterator[int]:
    power = 1
    while True:
        yield power
        power = power * base % ORDER
