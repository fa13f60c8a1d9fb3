"""Many numbers in one Paillier ciphertext: shifting is cheaper than opening, and a pack is opened once."""

from __future__ import annotations

from collections.abc import Sequence

import gmpy2
from gmpy2 import mpz

from covey.crypto.paillier import Ciphertexts, PublicKey
from covey.errors import InputError


def pack(ciphertexts: Ciphertexts, width: int, slots: int) -> Ciphertexts:
    """Ciphertexts of up to `slots` numbers each, side by side: the first number in the lowest `width` bits.

    The numbers must lie from 0 to 2^width - 1, or they run into each other.
    """
    key, square, packed = ciphertexts.key, ciphertexts.key.square, []
    if width * slots >= key.bits:
        raise InputError(f"{slots} numbers of {width} bits do not fit under a key of {key.bits}")
    shift = mpz(1) << width
    for start in range(0, len(ciphertexts), slots):
        together, *rest = ciphertexts.values[start : start + slots][::-1]
        for value in rest:
            together = gmpy2.powmod(together, shift, square) * value % square
        packed.append(together)
    return Ciphertexts(key, packed)


def unpack(numbers: Sequence[int], width: int, slots: int, count: int) -> list[int]:
    """The numbers that were packed; `count` of them. Raises `InputError` if something is left over."""
    if len(numbers) != -(-count // slots):
        raise InputError(f"{len(numbers)} packs, {-(-count // slots)} hold {count} numbers")
    mask, found = (1 << width) - 1, []
    for start, number in zip(range(0, count, slots), numbers, strict=True):
        here = min(slots, count - start)
        if number >> (width * here):
            raise InputError("a pack holds more than its numbers")
        found += [number >> (width * place) & mask for place in range(here)]
    return found


def slots(key: PublicKey, width: int) -> int:
    """The number of numbers of that many bits that fit into one ciphertext. Raises InputError if none does."""
    room = (key.bits - 1) // width
    if room < 1:
        raise InputError(f"a number of {width} bits does not fit under a key of {key.bits}")
    return room
