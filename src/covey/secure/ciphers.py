"""Lists of Paillier ciphertexts, whose length both sides know; they are checked against their key on arrival."""

from __future__ import annotations

from typing import TypeVar

from covey.crypto.paillier import Ciphertexts, PublicKey
from covey.crypto.residues import Residues
from covey.errors import InputError
from covey.wire import FRAME_BYTES, Channel, Chunk, chunks

MESSAGE_BYTES = FRAME_BYTES + 36


class Ciphers(Chunk[Residues]):
    """A part of a list whose length both sides know."""

    numbers: Residues


C = TypeVar("C", bound=Ciphers)


def messages(count: int, bits: int) -> int:
    """The number of messages that a list under a key of that many bits takes."""
    return chunks.messages(count, bits // 4)


def size(count: int, bits: int) -> int:
    """The bytes that a list takes on the wire."""
    return chunks.size(count, bits // 4, MESSAGE_BYTES)


async def send(channel: Channel, to: str, kind: type[C], ciphertexts: Ciphertexts) -> None:
    """Sends a list to one peer."""
    await channel.send_all(to, kind, ciphertexts.residues())


async def receive(channel: Channel, sender: str, kind: type[C], key: PublicKey, due: int) -> Ciphertexts:
    """One peer's list, under this key. Raises `PeerError` for what is no such list."""
    parts = []
    async for numbers in channel.receive_parts(sender, kind, due, item_bytes=key.width):
        try:
            parts.append(key.accept(numbers))
        except InputError as error:
            raise channel.refusal(sender, str(error)) from None
    return Ciphertexts.join(key, parts)
