"""Lists of Paillier ciphertexts travel in chunks of about a mebibyte, and are checked against their key on arrival.

Both sides know a list's length; a list of another length, or a number that is no ciphertext, ends the run with the
sender's name.
"""

from __future__ import annotations

from typing import TypeVar

from covey.crypto.paillier import Ciphertexts, PublicKey
from covey.crypto.residues import Residues
from covey.errors import InputError, PeerError
from covey.wire import FRAME_BYTES, Channel, Message

CHUNK_BYTES = 1 << 20

MESSAGE_BYTES = FRAME_BYTES + 36


class Ciphers(Message):
    """A part of a list whose length both sides know."""

    numbers: Residues


C = TypeVar("C", bound=Ciphers)


def per_message(bits: int) -> int:
    """Ciphertexts under a key of that many bits that go into one message."""
    return max(1, CHUNK_BYTES // (bits // 4))


def messages(count: int, bits: int) -> int:
    """Messages that a list takes; an empty list takes none."""
    return -(-count // per_message(bits))


def size(count: int, bits: int) -> int:
    """Bytes that a list takes on the wire."""
    return count * (bits // 4) + messages(count, bits) * MESSAGE_BYTES


async def send(channel: Channel, to: str, kind: type[C], ciphertexts: Ciphertexts) -> None:
    """Sends a list to one peer."""
    step = per_message(ciphertexts.key.bits)
    for first in range(0, len(ciphertexts), step):
        await channel.send(to, kind(ciphertexts.slice(first, first + step).residues()))


async def receive(channel: Channel, sender: str, kind: type[C], key: PublicKey, due: int) -> Ciphertexts:
    """One peer's list, under this key. Raises `PeerError` for what is no such list."""
    parts, step = [], per_message(key.bits)
    for first in range(0, due, step):
        numbers = (await channel.receive(sender, kind)).numbers
        expected = min(step, due - first)
        if len(numbers) != expected:
            reason = f"{len(numbers)} ciphertexts, expected {expected}"
            raise PeerError(party=sender, step=channel.step or "the start", reason=reason)
        try:
            parts.append(key.accept(numbers))
        except InputError as error:
            raise PeerError(party=sender, step=channel.step or "the start", reason=str(error)) from None
    return Ciphertexts.join(key, parts)
