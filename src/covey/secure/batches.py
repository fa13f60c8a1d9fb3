"""Rows of equal length, so that nobody sees which is which, and dummies, so that nobody sees how many there are.

Sealed rows travel in batches: the receiver knows how many are due, and how large they are.
"""

from __future__ import annotations

from collections.abc import Sequence

from covey.crypto.group import POINT_BYTES, Points
from covey.crypto.seal import Sealed
from covey.errors import InputError
from covey.wire import FRAME_BYTES, Channel, Message, chunks

MESSAGE_BYTES = FRAME_BYTES + 42


class Batch(Message):
    """A part of a list of sealed rows: what opens them, and their bodies one after the other."""

    heads: Points
    bodies: bytes


def messages(rows: int, row_bytes: int) -> int:
    """The number of messages that so many rows take."""
    return chunks.messages(rows, row_bytes)


def size(rows: int, row_bytes: int) -> int:
    """The bytes that so many rows take on the wire."""
    return chunks.size(rows, row_bytes, MESSAGE_BYTES)


async def send(channel: Channel, to: str, kind: type[Batch], rows: Sealed) -> None:
    """Sends rows to one peer."""
    row_bytes = POINT_BYTES + (len(rows.bodies[0]) if len(rows) else 0)
    for first, last in chunks.spans(len(rows), row_bytes):
        part = rows.slice(first, last)
        await channel.send(to, kind(part.heads, b"".join(part.bodies)))


async def receive(channel: Channel, sender: str, kind: type[Batch], rows: int, row_bytes: int) -> Sealed:
    """One peer's rows. Raises `PeerError` unless there are so many, of so many bytes each."""
    body, parts = row_bytes - POINT_BYTES, []
    for first, last in chunks.spans(rows, row_bytes):
        part = await channel.receive(sender, kind)
        due = last - first
        if len(part.heads) != due or len(part.bodies) != due * body:
            reason = f"{len(part.heads)} rows of {len(part.bodies)} bytes, expected {due} of {body} bytes each"
            raise channel.refusal(sender, reason)
        parts.append(Sealed(part.heads, [part.bodies[at * body : (at + 1) * body] for at in range(due)]))
    return Sealed.join(parts)


LENGTH_BYTES = 4


def pad(rows: Sequence[bytes], count: int, length: int) -> list[bytes]:
    """Rows of equal length, dummies added: four bytes with the length and one, zero for a dummy; the row; zeros."""
    if len(rows) > count:
        raise InputError(f"{len(rows)} rows, but only {count} may be submitted: raise the agreed number")
    longest = max(map(len, rows), default=0)
    if longest > length:
        raise InputError(f"a row of {longest} bytes; the agreed length is {length}")
    filled = [(len(row) + 1).to_bytes(LENGTH_BYTES, "big") + row + bytes(length - len(row)) for row in rows]
    return filled + [bytes(LENGTH_BYTES + length)] * (count - len(rows))


def unpad(padded: bytes) -> bytes | None:
    """The row in its padding, or None for a dummy. Raises `InputError` for padding that we would not make."""
    marked = int.from_bytes(padded[:LENGTH_BYTES], "big")
    end = LENGTH_BYTES + max(0, marked - 1)
    if end > len(padded) or any(padded[end:]):
        raise InputError("a row whose padding is wrong")
    return padded[LENGTH_BYTES:end] if marked else None
