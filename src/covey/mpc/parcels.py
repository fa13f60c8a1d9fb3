"""A round's message to a neighbour, and what it weighs on the wire."""

from __future__ import annotations

from covey.mpc.planes import WORD
from covey.wire import FRAME_BYTES, Chunk, Vector, chunks
from covey.wire.message import encode

WORD_BYTES = WORD // 8


class Part(Chunk[Vector], tag="box.part"):
    """Words that all strands have for a neighbour in one round, one after the other, or a chunk of it."""

    words: Vector


_EMPTY_BYTES = FRAME_BYTES + len(encode(Part(Vector.unpack(b""))))


def messages(words: int) -> int:
    """Returns the number of messages that so many words take; no words take none."""
    return chunks.messages(words) if words else 0


def size(words: int) -> int:
    """Returns the bytes of these messages on the wire, with the frame of each."""
    lengths = [WORD_BYTES * (last - first) for first, last in chunks.spans(words, WORD_BYTES)] if words else []
    return sum(_EMPTY_BYTES + length + (length > 0xFF) + 2 * (length > 0xFFFF) for length in lengths)
