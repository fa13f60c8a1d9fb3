"""What travels of a level's groups, and the sizes that both sides derive from what both know."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from covey.arrays import Bits, Longs
from covey.crypto import packing
from covey.crypto.paillier import Ciphertexts, SecretKey
from covey.errors import InputError, PeerError
from covey.protocols.federate.parameters import Parameters
from covey.protocols.federate.users import UNIT
from covey.secure.ciphers import Ciphers
from covey.wire import Channel, Message, Vector

RANGE_BITS = UNIT.bit_length() - 1
SCORE_BITS = UNIT.bit_length() + 2


class Candidates(Message, tag="federate.candidates"):
    """For each group that the sender divides how many cuts it considers, and each one's number of members above it."""

    counts: Vector
    above: Vector


class Above(Ciphers, tag="federate.above"):
    """How many of the recipient's users lie above each cut, under the recipient's key, many in one ciphertext."""


class Scores(Ciphers, tag="federate.scores"):
    """The sender's part of each cut's score, under the sender's key."""


class Halves(Message, tag="federate.halves"):
    """For each member of each group that is divided whether it is in the upper half."""

    upper: Vector


def tests_of(params: Parameters) -> int:
    """How many tests a group has."""
    return 1 if params.delta is None else 3


def width_of(params: Parameters, size: int) -> int:
    """Bits of the largest number that is tested in a group of so many members."""
    factor = 1 if params.delta is None else params.delta.denominator
    return int(max(factor * size, params.k) + 1).bit_length()


def room_for(sizes: Sequence[int]) -> int:
    """Bits for a number of members of any of these groups."""
    return int(max(sizes)).bit_length()


def to_vector(numbers: Longs) -> Vector:
    """Numbers as they travel."""
    return Vector(numbers.astype(np.uint64))


def to_words(bits: Bits) -> Vector:
    """Bits as they travel, 64 in a word."""
    packed = np.packbits(bits, bitorder="little")
    return Vector(np.frombuffer(packed.tobytes() + bytes(-len(packed) % 8), dtype="<u8").astype(np.uint64))


def read_halves(message: Halves, sizes: Sequence[int]) -> list[Bits] | None:
    """Each group's upper half; None where they cannot be."""
    total = sum(sizes)
    if len(message.upper) != -(-total // 64):
        return None
    raw = np.unpackbits(message.upper.words.astype("<u8").view(np.uint8), bitorder="little")
    if raw[total:].any():
        return None
    upper = np.split(raw[:total].astype(bool), np.cumsum(sizes)[:-1])
    return None if any(each.all() or not each.any() for each in upper) else upper


def read_numbers(
    channel: Channel, sender: str, secret: SecretKey, packed: Ciphertexts, room: int, count: int
) -> list[int]:
    """The numbers in packs that somebody made under our key. Raises PeerError where a pack holds more."""
    try:
        return packing.unpack(secret.decrypt(packed), room, packing.slots(secret.public, room), count)
    except InputError as error:
        raise PeerError(party=sender, step=channel.step, reason=str(error)) from None
