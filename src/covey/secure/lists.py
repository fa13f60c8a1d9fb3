"""Long lists of points travel in chunks of about a mebibyte; each chunk says how long the whole list is.

The receiver learns the list's length and nothing else from its shape. A list that is longer than was agreed,
or whose chunks disagree, ends the run with the sender's name. `send_made` and `receive_changed` compute on a list chunk
by chunk, on another thread, while other chunks travel.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import TypeVar

import numpy as np

from covey.arrays import Words
from covey.crypto.group import POINT_BYTES, Points
from covey.errors import InputError, PeerError
from covey.wire import FRAME_BYTES, Channel, Count, Message, Vector, gather

CHUNK = 1 << 15
"""Points per message."""

LONGEST = 1 << 26
"""Rows of the longest list that is ever accepted: four gibibytes of points."""

MESSAGE_BYTES = FRAME_BYTES + 40

WORDS = 1 << 17
"""Words per message of a vector."""

WORD_MESSAGE_BYTES = FRAME_BYTES + 28


class Elements(Message):
    """A part of a list of `total` rows; a row's points stand in columns, one column after the other."""

    total: Count
    points: Points


E = TypeVar("E", bound=Elements)


def rows_per_message(columns: int = 1) -> int:
    """Rows of that many points that go into one message."""
    return max(1, CHUNK // columns)


def messages(rows: int, columns: int = 1) -> int:
    """Messages that a list takes; an empty list takes one, to say so."""
    return max(1, -(-rows // rows_per_message(columns)))


def size(rows: int, columns: int = 1) -> int:
    """Bytes that a list takes on the wire."""
    return rows * columns * POINT_BYTES + messages(rows, columns) * MESSAGE_BYTES


async def send(channel: Channel, to: str, kind: type[E], columns: Sequence[Points]) -> None:
    """Sends a list, given by its columns, to one peer."""
    total, step = len(columns[0]), rows_per_message(len(columns))
    if total > LONGEST or any(len(column) != total for column in columns):
        raise InputError(f"a list of {total} rows at {channel.step or 'the start'}: at most {LONGEST}, columns alike")
    for first in range(0, max(1, total), step):
        part = Points.join(column.slice(first, first + step) for column in columns)
        await channel.send(to, kind(total, part))


async def receive(
    channel: Channel, sender: str, kind: type[E], *, columns: int = 1, due: int | None = None, distinct: bool = True
) -> list[Points]:
    """One peer's list, by its columns.

    Raises `PeerError` if it does not have the rows that are due, or if its first column repeats an element.
    """
    parts = [part async for part in _chunks(channel, sender, kind, columns, due)]
    answer = [Points.join(part[place] for part in parts) for place in range(columns)]
    if distinct and not answer[0].distinct():
        raise _refused(channel, sender, "an element is repeated")
    return answer


async def _chunks(
    channel: Channel, sender: str, kind: type[E], columns: int, due: int | None
) -> AsyncIterator[list[Points]]:
    """A list's chunks, each by its columns, once it is known to have the rows that it should."""
    step = rows_per_message(columns)
    total, done = due, 0
    while total is None or done < max(1, total):
        message = await channel.receive(sender, kind)
        if total is None and message.total <= LONGEST:
            total = message.total
        if message.total != total:
            expected = total or f"at most {LONGEST}"
            raise _refused(channel, sender, f"a list of {message.total} rows, expected {expected}")
        rows = min(step, total - done)
        if len(message.points) != rows * columns:
            raise _refused(channel, sender, f"{len(message.points)} points, expected {rows * columns}")
        yield [message.points.slice(place * rows, (place + 1) * rows) for place in range(columns)]
        done += max(1, rows)


def _refused(channel: Channel, sender: str, reason: str) -> PeerError:
    return PeerError(party=sender, step=channel.step or "the start", reason=reason)


async def send_made(channel: Channel, to: str, kind: type[E], total: int, make: Callable[[int, int], Points]) -> None:
    """Sends a list of one column; `make(first, last)` makes the next chunk while the one before is on its way."""
    if total > LONGEST:
        raise InputError(f"a list of {total} rows at {channel.step or 'the start'}: at most {LONGEST}")

    async def made(first: int) -> Points:
        return await asyncio.to_thread(make, first, min(first + CHUNK, total))

    async def travel(part: Points) -> Points:
        await channel.send(to, kind(total, part))
        return part

    part = await made(0)
    for first in range(CHUNK, total, CHUNK):
        _, part = await gather(travel(part), made(first))
    await travel(part)


async def receive_changed(
    channel: Channel, sender: str, kind: type[E], due: int, change: Callable[[Points], Points]
) -> Points:
    """One peer's list of one column as `change` makes it, which tells different elements apart; chunk by chunk.

    Raises `PeerError` as `receive` does.
    """
    changed = [
        await asyncio.to_thread(change, part[0]) async for part in _chunks(channel, sender, kind, 1, due)
    ]  # fmt: skip
    answer = Points.join(changed)
    if not answer.distinct():
        raise _refused(channel, sender, "an element is repeated")
    return answer


async def exchange(
    channel: Channel, peer: str, kind: type[E], columns: Sequence[Points], *, due: int | None = None
) -> list[Points]:
    """Sends a list to a peer while reading one of the same kind from it, so that neither waits for the other."""
    theirs: list[Points] = []

    async def read() -> None:
        theirs.extend(await receive(channel, peer, kind, columns=len(columns), due=due))

    await gather(send(channel, peer, kind, columns), read())
    return theirs


def spelled(ids: Sequence[str]) -> list[bytes]:
    """The ids as bytes. Raises `InputError`, without quoting it, if one occurs twice."""
    if len(set(ids)) != len(ids):
        repeated = len(ids) - len(set(ids))
        raise InputError(f"{repeated} ids occur more than once in the key column: each may stand in one row only")
    return [own.encode() for own in ids]


class VectorPart(Message):
    """A part of a vector whose length both sides know."""

    values: Vector


W = TypeVar("W", bound=VectorPart)


def word_messages(count: int) -> int:
    """Messages that a vector of that many words takes."""
    return -(-count // WORDS)


def word_size(count: int) -> int:
    """Bytes that a vector of that many words takes on the wire."""
    return 8 * count + word_messages(count) * WORD_MESSAGE_BYTES


async def send_words(channel: Channel, to: str, kind: type[W], words: Words) -> None:
    """Sends a vector to one peer."""
    for first in range(0, len(words), WORDS):
        await channel.send(to, kind(Vector(words[first : first + WORDS])))


async def receive_words(channel: Channel, sender: str, kind: type[W], due: int) -> Words:
    """One peer's vector. Raises `PeerError` if a part of it is longer or shorter than is due."""
    words = np.empty(due, dtype=np.uint64)
    for first in range(0, due, WORDS):
        part = (await channel.receive(sender, kind)).values.words
        if len(part) != len(words[first : first + WORDS]):
            reason = f"{len(part)} values, expected {len(words[first : first + WORDS])}"
            raise PeerError(party=sender, step=channel.step or "the start", reason=reason)
        words[first : first + WORDS] = part
    return words
