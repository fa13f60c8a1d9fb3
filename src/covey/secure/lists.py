"""Lists of points: rows of one point or more, whose length the receiver knows or is told.

The receiver learns the list's length and nothing else from its shape. `send_made` and `receive_changed` compute on a
list chunk by chunk, on another thread, while other chunks travel.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TypeVar

from covey.crypto.group import POINT_BYTES, Points
from covey.errors import InputError
from covey.secure.declare import Traffic
from covey.wire import FRAME_BYTES, Announced, Channel, chunks, while_sending
from covey.wire.chunks import LONGEST

MESSAGE_BYTES = FRAME_BYTES + 40


class Elements(Announced[Points]):
    """A part of a list of `total` rows of points."""

    points: Points


E = TypeVar("E", bound=Elements)


def messages(rows: int, columns: int = 1) -> int:
    """The number of messages that a list takes; an empty list takes one, to say so."""
    return chunks.messages(rows * columns, POINT_BYTES)


def size(rows: int, columns: int = 1) -> int:
    """The bytes that a list takes on the wire."""
    return chunks.size(rows * columns, POINT_BYTES, MESSAGE_BYTES)


def traffic(rows: int, columns: int = 1) -> Traffic:
    """The traffic of a list that somebody waits for."""
    return Traffic(1, messages(rows, columns), size(rows, columns))


async def send(channel: Channel, to: str, kind: type[E], columns: Sequence[Points]) -> None:
    """Sends a list, given by its columns, to one peer."""
    total = len(columns[0])
    if total > LONGEST or any(len(column) != total for column in columns):
        raise InputError(f"a list of {total} rows at {channel.step or 'the start'}: at most {LONGEST}, columns alike")
    await channel.send_all(to, kind, Points.join(columns), columns=len(columns))


async def receive(
    channel: Channel, sender: str, kind: type[E], *, columns: int = 1, due: int | None = None, distinct: bool = True
) -> list[Points]:
    """One peer's list, by its columns.

    Raises `PeerError` if it does not have the rows that are due, or if its first column repeats an element.
    """
    points = await channel.receive_all(sender, kind, due, columns=columns)
    rows = len(points) // columns
    answer = [points.slice(place * rows, (place + 1) * rows) for place in range(columns)]
    return [_distinct(channel, sender, answer[0]) if distinct else answer[0], *answer[1:]]


async def send_made(channel: Channel, to: str, kind: type[E], total: int, make: Callable[[int, int], Points]) -> None:
    """Sends a list of one column; `make(first, last)` makes the next chunk while the one before is on its way."""
    if total > LONGEST:
        raise InputError(f"a list of {total} rows at {channel.step or 'the start'}: at most {LONGEST}")

    async def made(first: int, last: int) -> Points:
        return await asyncio.to_thread(make, first, last)

    first, *others = chunks.spans(total, POINT_BYTES)
    part = await made(*first)
    for span in others:
        part = await while_sending(channel.send(to, kind(total, part)), made(*span))
    await channel.send(to, kind(total, part))


async def receive_changed(
    channel: Channel, sender: str, kind: type[E], due: int, change: Callable[[Points], Points]
) -> Points:
    """One peer's list of one column as `change` makes it, which tells different elements apart; chunk by chunk.

    Raises `PeerError` as `receive` does.
    """
    changed = [
        await asyncio.to_thread(change, part) async for part in channel.receive_parts(sender, kind, due)
    ]  # fmt: skip
    return _distinct(channel, sender, Points.join(changed))


async def exchange(
    channel: Channel, peer: str, kind: type[E], columns: Sequence[Points], *, due: int | None = None
) -> list[Points]:
    """Sends a list to a peer while reading one of the same kind from it, so that neither waits for the other."""
    reading = receive(channel, peer, kind, columns=len(columns), due=due)
    return await while_sending(send(channel, peer, kind, columns), reading)


def spelled(ids: Sequence[str]) -> list[bytes]:
    """The ids as bytes. Raises `InputError`, without quoting it, if one occurs twice."""
    if len(set(ids)) != len(ids):
        repeated = len(ids) - len(set(ids))
        raise InputError(f"{repeated} ids occur more than once in the key column: each may stand in one row only")
    return [own.encode() for own in ids]


def _distinct(channel: Channel, sender: str, points: Points) -> Points:
    if not points.distinct():
        raise channel.refusal(sender, "an element is repeated")
    return points
