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

from covey.crypto.committed_bits import CommittedBits, EquationSum, add_equations
from covey.crypto.elgamal import Ciphertexts, encrypt_with
from covey.crypto.group import ORDER, POINT_BYTES, Points, Scalars
from covey.crypto.proof import challenge, hedged, weights
from covey.crypto.rng import Label, Stream, spell
from covey.errors import InputError


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
    start, sums, at = _statement(lists, key, context), EquationSum(key), 0
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
    bits = CommittedBits.draw([own.place >> level & 1 for level in range(size)], stream)
    y = challenge("covey unit y/1", start, number, bits.points.data)
    polynomial = [1]
    for level, (bit, mask) in enumerate(zip(bits.bits, bits.masks, strict=True)):
        lift = pow(y, 1 << level, ORDER)
        polynomial = _times(polynomial, (lift - 1) * mask, 1 - bit + lift * bit)
    fresh = Scalars.draw(stream, size)
    lower = encrypt_with(polynomial[:size], key, fresh)
    x = challenge("covey unit x/1", start, number, bits.points.data, lower.first.data, lower.second.data)
    rest = pow(x, size, ORDER) * sum(r * power for r, power in zip(own.randomness, _powers_of(y), strict=False))
    rest += sum(r * power for r, power in zip(fresh.numbers(), _powers_of(x), strict=False))
    responses = Scalars.of([*bits.respond(x), rest])
    return bits.points.data + lower.first.data + lower.second.data + responses.reveal()


def _check(proof: bytes, marks: Ciphertexts, sums: EquationSum, by: Iterator[int], start: bytes, number: int) -> None:
    """Adds a list's equations to the sum. Raises InputError for what is no element of the group, or no number."""
    size = depth(len(marks))
    cut = 5 * size * POINT_BYTES
    points, responses = Points(proof[:cut], identity=True), Scalars(proof[cut:]).numbers()
    bits, first, second = (points.slice(at * size, to * size) for at, to in ((0, 3), (3, 4), (4, 5)))
    y = challenge("covey unit y/1", start, number, bits.data)
    x = challenge("covey unit x/1", start, number, bits.data, first.data, second.data)
    add_equations(bits, responses[:-1], x, sums, by)
    value = 1
    for level, z in enumerate(responses[:size]):
        value = value * (x - z + pow(y, 1 << level, ORDER) * z) % ORDER
    top, rest = pow(x, size, ORDER), responses[-1]
    places = [top * power for _, power in zip(range(len(marks)), _powers_of(y), strict=False)]
    places += [power for _, power in zip(range(size), _powers_of(x), strict=False)]
    one, other = next(by), next(by)
    sums.add(Points.join([marks.first, first]), [one * each for each in places])
    sums.add(Points.join([marks.second, second]), [other * each for each in places])
    sums.generator -= one * rest + other * value
    sums.key -= other * rest


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
