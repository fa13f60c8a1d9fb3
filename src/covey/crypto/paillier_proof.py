"""Proofs by the holder of a Paillier key: that its modulus is one, and that what it encrypted are bits.

Modulus   Goldberg, Reyzin, Sagga and Baldimtsi (Asiacrypt 2019), section 3: numbers that are a hash have n-th roots
          modulo n, all of them, only if n shares no factor with its totient; then a ciphertext holds one number. With
          no prime factor below `SMALLEST`, a modulus that is none has a root for each number with a chance of 1 in
          `SMALLEST` at most.
Bits      the holder commits to the same bits in ristretto255, proves there that they are bits (`committed_bits`), and
          that both hold the same: of `SUMS` random weightings, the weighted sum of the ciphertexts and that of the
          commitments are the same number, which stays hidden under a mask longer by 40 bits. Differences that a small
          factor of the modulus would let pass do so with a chance of 2 in `SMALLEST` for each weighting, so that
          factors need not be proved large.
Cost      for each bit about 0.2 ms of the prover and 0.25 ms of the verifier with 2,048 bits, and 192 bytes.
Security  sound in the random oracle model, with a chance of about 2^-84 for a cheat, under discrete logarithms.
Not       that the modulus has two factors, or large ones: whoever makes it easy to factor lets others read its sums.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from functools import cache

import gmpy2
import numpy as np
from gmpy2 import mpz

from covey.arrays import Words
from covey.crypto.committed_bits import SECOND, CommittedBits, EquationSum, add_equations
from covey.crypto.group import ORDER, POINT_BYTES, Points, Scalars, powers
from covey.crypto.paillier import Ciphertexts, PublicKey, SecretKey
from covey.crypto.proof import challenge, hedged, weights
from covey.crypto.rng import Label, Stream, spell
from covey.errors import InputError

SMALLEST = 1 << 22
"""No prime below this divides a modulus that is accepted."""
ROOTS = 6
"""SMALLEST to the power of this is 2^132."""
SUMS = 4
WEIGHT_BITS = 32
CHALLENGE_BITS = 128
MOST_BITS = 1 << 13
"""Bits of one proof; more of them take several proofs."""
_HIDING = 40
_NUMBER_BITS = WEIGHT_BITS + MOST_BITS.bit_length() + CHALLENGE_BITS + _HIDING
_NUMBER_BYTES = 32
_WINDOW = 8


def prove_modulus(secret: SecretKey, *context: Label) -> bytes:
    """The roots that show, in this context, that the key's modulus shares no factor with its totient."""
    key, size = secret.public, secret.public.bits // 8
    return b"".join(secret.root(each).to_bytes(size, "little") for each in _targets(key, context))


def modulus_holds(key: PublicKey, shown: bytes, *context: Label) -> bool:
    """True if the modulus has no small factor and shares none with its totient."""
    size = key.bits // 8
    if len(shown) != ROOTS * size or gmpy2.gcd(key.n, _small_primes()) != 1:
        return False
    roots = [mpz.from_bytes(shown[at : at + size], "little") for at in range(0, len(shown), size)]
    found = zip(roots, _targets(key, context), strict=True)
    return all(root < key.n and gmpy2.powmod(root, key.n, key.n) == target for root, target in found)


def prove_bits(
    secret: SecretKey,
    bits: Sequence[int],
    exponents: Sequence[bytes],
    hidden: Ciphertexts,
    stream: Stream,
    *context: Label,
) -> bytes:
    """A proof, for this context, that these ciphertexts, made with the masks of these exponents, hold bits."""
    key, start = secret.public, _statement(hidden, context)
    drawn = hedged(stream, b"".join(exponents) + bytes(bits), "paillier bits", start)
    committed = CommittedBits.draw(bits, drawn)
    by = _weightings(start, committed.points, len(bits))
    masks = [int.from_bytes(each, "little") for each in exponents]
    known = [(_dot(own, bits), _dot(own, masks), _dot(own, committed.hide)) for own in by]
    long = 1 << (8 * _mask_bytes(key.bits) - 1)
    nonces = [(drawn.below(1 << (_NUMBER_BITS - 1)), drawn.below(long), drawn.scalar(ORDER)) for _ in by]
    base = gmpy2.powmod(key.base, key.n, key.square)
    ours = [(1 + number * key.n) * gmpy2.powmod(base, mask, key.square) % key.square for number, mask, _ in nonces]
    theirs = powers([number for number, _, _ in nonces]).plus(SECOND.times(Scalars.of([hide for _, _, hide in nonces])))
    sums = b"".join(each.to_bytes(key.width, "little") for each in ours) + theirs.data
    x, asked = _challenges(start, committed.points, sums)
    responses = [
        [nonce + e * each for nonce, each in zip(own, numbers, strict=True)]
        for own, e, numbers in zip(nonces, asked, known, strict=True)
    ]
    short = b"".join(number.to_bytes(_NUMBER_BYTES, "little") for number, _, _ in responses)
    lengthy = b"".join(mask.to_bytes(_mask_bytes(key.bits), "little") for _, mask, _ in responses)
    scalars = Scalars.of([*committed.respond(x), *(hide for _, _, hide in responses)])
    return committed.points.data + sums + short + lengthy + scalars.reveal()


def bits_hold(shown: bytes, hidden: Ciphertexts, *context: Label) -> bool:
    """True if this proves, for that context, that these ciphertexts hold bits. The modulus must have been proved."""
    key, count = hidden.key, len(hidden)
    if len(shown) != proof_bytes(count, key.bits):
        return False
    parts = _cut(shown, (3 * count * POINT_BYTES, SUMS * key.width, SUMS * POINT_BYTES,
                         SUMS * _NUMBER_BYTES, SUMS * _mask_bytes(key.bits)))  # fmt: skip
    try:
        points, ours, theirs = Points(next(parts), identity=True), next(parts), next(parts)
        numbers, masks = _numbers(next(parts), _NUMBER_BYTES), _numbers(next(parts), _mask_bytes(key.bits))
        responses = Scalars(next(parts)).numbers()
        start = _statement(hidden, context)
        by = _weightings(start, points, count)
        x, asked = _challenges(start, points, ours + theirs)
        if any(number >> _NUMBER_BITS for number in numbers):
            return False
        return _sums_agree(hidden, by, _numbers(ours, key.width), asked, numbers, masks) and _bits_agree(
            points, by, Points(theirs, identity=True), x, asked, numbers, responses, start + shown
        )
    except InputError:
        return False


def proof_bytes(count: int, bits: int) -> int:
    """The length of a proof about that many bits under a key of so many."""
    return 6 * POINT_BYTES * count + SUMS * (bits // 4 + 2 * POINT_BYTES + _NUMBER_BYTES + _mask_bytes(bits))


def blocks(count: int) -> list[tuple[int, int]]:
    """The parts, from the first up to but not including the last, of so many bits that are proved one by one."""
    return [(first, min(first + MOST_BITS, count)) for first in range(0, count, MOST_BITS)]


def _sums_agree(
    hidden: Ciphertexts, by: Words, ours: list[int], asked: list[int], numbers: list[int], masks: list[int]
) -> bool:
    """True if the ciphertexts' weighted sums are those that were opened under masks."""
    key = hidden.key
    base = gmpy2.powmod(key.base, key.n, key.square)
    for own, commitment, e, number, mask in zip(by, ours, asked, numbers, masks, strict=True):
        opened = (1 + number * key.n) * gmpy2.powmod(base, mask, key.square) % key.square
        total = weighted_product(hidden.values, own, key.square)
        if opened != commitment * gmpy2.powmod(total, e, key.square) % key.square:
            return False
    return True


def _bits_agree(
    points: Points,
    by: Words,
    theirs: Points,
    x: int,
    asked: list[int],
    numbers: list[int],
    responses: list[int],
    seed: bytes,
) -> bool:
    """True if the commitments are to bits, and their weighted sums are those that were opened under masks."""
    count = len(points) // 3
    chosen = iter(weights(2 * count + SUMS, "covey paillier bits sum/1", seed))
    sums, own = EquationSum(), [next(chosen) for _ in range(SUMS)]
    factors = [-weight * e for weight, e in zip(own, asked, strict=True)]
    extra = [sum(factor * int(each) for factor, each in zip(factors, column, strict=True)) for column in by.T]
    add_equations(points, responses[:-SUMS], x, sums, chosen, extra)
    sums.add(theirs, [-weight for weight in own])
    sums.generator += sum(weight * number for weight, number in zip(own, numbers, strict=True))
    sums.second += sum(weight * hide for weight, hide in zip(own, responses[-SUMS:], strict=True))
    return sums.is_zero()


def weighted_product(values: Sequence[mpz], exponents: Words, modulus: mpz) -> mpz:
    """The product of all values, each to its exponent below 2^32: a multiplication for each eight bits of it."""
    total = mpz(1)
    for shift in range(WEIGHT_BITS - _WINDOW, -1, -_WINDOW):
        buckets = [mpz(1)] * (1 << _WINDOW)
        for value, digit in zip(values, (exponents >> np.uint64(shift) & np.uint64(255)).tolist(), strict=True):
            buckets[digit] = buckets[digit] * value % modulus
        running = product = mpz(1)
        for bucket in buckets[:0:-1]:
            running = running * bucket % modulus
            product = product * running % modulus
        total = gmpy2.powmod(total, 1 << _WINDOW, modulus) * product % modulus
    return total


@cache
def _small_primes() -> mpz:
    return gmpy2.primorial(SMALLEST)


def _targets(key: PublicKey, context: tuple[Label, ...]) -> list[mpz]:
    """Numbers modulo n that nobody could choose."""
    size = key.bits // 8 + 16
    raw = hashlib.shake_256(spell("covey modulus/1", *context, key.pack())).digest(ROOTS * size)
    return [mpz.from_bytes(raw[at : at + size], "little") % key.n for at in range(0, len(raw), size)]


def _mask_bytes(bits: int) -> int:
    """The length of an exponent of masks, summed with weights and hidden."""
    return bits // 16 + -(-_NUMBER_BITS // 8) + 1


def _statement(hidden: Ciphertexts, context: tuple[Label, ...]) -> bytes:
    return hashlib.sha512(spell("covey paillier bits/1", *context, hidden.key.pack(), hidden.residues().data)).digest()


def _weightings(start: bytes, points: Points, count: int) -> Words:
    raw = hashlib.shake_256(spell("covey paillier weights/1", start, points.data)).digest(4 * SUMS * count)
    return np.frombuffer(raw, dtype="<u4").astype(np.uint64).reshape(SUMS, count)


def _challenges(start: bytes, points: Points, sums: bytes) -> tuple[int, list[int]]:
    seed = hashlib.sha512(spell(start, points.data, sums)).digest()
    return challenge("covey paillier x/1", seed), weights(SUMS, "covey paillier sums/1", seed)


def _dot(by: Words, numbers: Sequence[int]) -> int:
    return sum(weight * number for weight, number in zip(by.tolist(), numbers, strict=True))


def _cut(raw: bytes, sizes: Sequence[int]) -> Iterator[bytes]:
    at = 0
    for size in sizes:
        yield raw[at : at + size]
        at += size
    yield raw[at:]


def _numbers(raw: bytes, size: int) -> list[int]:
    return [int.from_bytes(raw[at : at + size], "little") for at in range(0, len(raw), size)]
