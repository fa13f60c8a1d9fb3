"""Batches of sealed rows, all of one size: the receiver knows how many rows are due, and how large they are."""

from __future__ import annotations

from covey.crypto.group import POINT_BYTES, Points
from covey.crypto.seal import Sealed
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
