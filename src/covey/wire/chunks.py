"""Long lists travel in chunks of about a mebibyte, and the receiver says how many items are due.

A type of message that is a chunk of a list has one long field: `class Tags(Chunk[Vector], tag="align.tags")` with
`values: Vector`. Both sides know how long the list is; where the receiver does not, the type is `Announced`, each of
its chunks says how long the whole list is, and the receiver names the longest that it takes. A chunk that is longer or
shorter than is due ends the run with the sender's name. An empty list takes one message, which is empty.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Iterable
from functools import lru_cache
from typing import Generic, Protocol, Self, TypeVar, cast

import msgspec
import numpy as np

from covey.arrays import Bits
from covey.errors import InputError, PeerError
from covey.wire.depth import gather, while_sending
from covey.wire.frame import FRAME_BYTES
from covey.wire.message import Count, Message

CHUNK_BYTES = 1 << 20

WORD_BYTES = 8
WORDS_MESSAGE_BYTES = FRAME_BYTES + 28
"""The size of a message with a chunk of a `Vector`, without the words."""

LONGEST = 1 << 26
"""Rows of the longest list that is ever accepted: two gibibytes of points."""


class Long(Protocol):
    """A field that can be cut into chunks: a `Vector`, points of a group, shares."""

    @property
    def item_bytes(self) -> int:
        """The bytes of one item on the wire."""

    def __len__(self) -> int: ...

    def slice(self, first: int, last: int) -> Self:
        """The items from `first` up to but not including `last`."""

    @classmethod
    def join(cls, parts: Iterable[Self]) -> Self:
        """One part after the other."""


T = TypeVar("T", bound=Long | bytes)
M = TypeVar("M", bound=Message)


class Chunk(Message, Generic[T]):
    """A chunk of a list whose length both sides know. A subclass declares one field, of the type T."""


class Announced(Chunk[T]):
    """A chunk of a list of `total` rows, of which the receiver knows at most a bound.

    A row may have several items; the list then has all first ones, all second ones, and so on.
    """

    total: Count


def per_message(item_bytes: int) -> int:
    """The number of items in a full chunk."""
    return max(1, CHUNK_BYTES // item_bytes)


def spans(count: int, item_bytes: int) -> list[tuple[int, int]]:
    """The first item of each chunk, and the one after its last."""
    step = per_message(item_bytes)
    return [(first, min(first + step, count)) for first in range(0, max(1, count), step)]


def messages(count: int, item_bytes: int = WORD_BYTES) -> int:
    """The number of messages that a list of so many items takes."""
    return len(spans(count, item_bytes))


def size(count: int, item_bytes: int = WORD_BYTES, message_bytes: int = WORDS_MESSAGE_BYTES) -> int:
    """The bytes that a list takes on the wire; `message_bytes` is the size of an empty message."""
    return count * item_bytes + messages(count, item_bytes) * message_bytes


class LongLists(ABC):
    """The part of a channel that sends and receives lists in chunks."""

    step: str

    @property
    @abstractmethod
    def peers(self) -> tuple[str, ...]: ...

    @abstractmethod
    async def send(self, to: str, message: Message) -> None: ...

    @abstractmethod
    async def receive(self, sender: str, kind: type[M], *, patience: float | None = None) -> M: ...

    async def send_all(self, to: str, kind: type[Chunk[T]], items: T, *, columns: int = 1) -> None:
        """Sends a list to one peer, in rows of so many items."""
        make = cast("Callable[..., Message]", kind)
        head = (len(items) // columns,) if issubclass(kind, Announced) else ()
        for first, last in spans(len(items), 1 if isinstance(items, bytes) else items.item_bytes):
            part = items[first:last] if isinstance(items, bytes) else items.slice(first, last)
            await self.send(to, make(*head, part))

    async def broadcast_all(self, kind: type[Chunk[T]], items: T) -> None:
        """Sends a list to every peer."""
        await gather(*(self.send_all(peer, kind, items) for peer in self.peers))

    async def receive_parts(
        self,
        sender: str,
        kind: type[Chunk[T]],
        due: int | None,
        *,
        columns: int = 1,
        item_bytes: int = 0,
        patience: float | None = None,
    ) -> AsyncIterator[T]:
        """Yields the chunks of one peer's list of `due` rows, each taken off the line only when it is asked for.

        `item_bytes` is needed where the type does not tell it. Raises `PeerError` for a chunk of another length than
        is due, and for an announced list of other than `due` rows or, where that is not known, of more than `LONGEST`.
        """
        field, known_bytes = long_field(kind)
        step = per_message(item_bytes or known_bytes)
        rows, done = due, 0
        while rows is None or done < max(1, rows * columns):
            message = await self.receive(sender, kind, patience=patience)
            if isinstance(message, Announced):
                if rows is None and message.total <= LONGEST:
                    rows = message.total
                if message.total != rows:
                    bound = f"at most {LONGEST}" if rows is None else str(rows)
                    raise self.refusal(sender, f"a list of {message.total} rows, expected {bound}")
            elif rows is None:
                raise InputError(f"a list of {field} is not announced: say how many are due")
            part = cast("T", getattr(message, field))
            self.check_length(sender, part, min(step, rows * columns - done), field)
            yield part
            done += step

    async def receive_all(
        self,
        sender: str,
        kind: type[Chunk[T]],
        due: int | None,
        *,
        columns: int = 1,
        patience: float | None = None,
    ) -> T:
        """One peer's list of `due` rows. Raises `PeerError` as `receive_parts` does."""
        parts = [part async for part in self.receive_parts(sender, kind, due, columns=columns, patience=patience)]
        return parts[0] if len(parts) == 1 else join(parts)

    async def collect_all(self, kind: type[Chunk[T]], due: int) -> dict[str, T]:
        """A list of `due` items from every peer, by sender."""
        lists = await gather(*(self.receive_all(peer, kind, due) for peer in self.peers))
        return dict(zip(self.peers, lists, strict=True))

    async def exchange_all(self, kind: type[Chunk[T]], items: T) -> dict[str, T]:
        """Sends a list to every peer while reading one of equal length from each, by sender."""
        return await while_sending(self.broadcast_all(kind, items), self.collect_all(kind, len(items)))

    async def send_bits(self, to: str, kind: type[Chunk[bytes]], bits: Bits) -> None:
        """Sends bits to one peer, eight in a byte."""
        await self.send_all(to, kind, np.packbits(bits).tobytes())

    async def receive_bits(self, sender: str, kind: type[Chunk[bytes]], due: int) -> Bits:
        """One peer's bits. Raises `PeerError` for other than `due` of them."""
        packed = await self.receive_all(sender, kind, -(-due // 8))
        return np.unpackbits(np.frombuffer(packed, dtype=np.uint8), count=due).astype(bool)

    def check_length(self, sender: str, items: Long | bytes, due: int, what: str) -> None:
        """Raises `PeerError` unless a peer's list has the length that is due."""
        if len(items) != due:
            raise self.refusal(sender, f"{len(items)} {'bytes' if isinstance(items, bytes) else what}, expected {due}")

    def refusal(self, party: str, reason: str) -> PeerError:
        """The error that names a peer, this step, and how the peer broke the protocol."""
        return PeerError(party=party, step=self.step or "the start", reason=reason)


def join(parts: list[T]) -> T:
    """One part after the other."""
    if isinstance(parts[0], bytes):
        return cast("T", b"".join(cast("list[bytes]", parts)))
    kind = cast("type[Long]", type(parts[0]))
    return cast("T", kind.join(cast("list[Long]", parts)))


@lru_cache(maxsize=1024)
def long_field(kind: type[Chunk[T]]) -> tuple[str, int]:
    """The name of a chunk's long field, and the bytes of one of its items; 0 where the type does not tell."""
    field = msgspec.structs.fields(kind)[-1]
    item_bytes = getattr(field.type, "item_bytes", 1)
    return field.name, item_bytes if isinstance(item_bytes, int) else 0
