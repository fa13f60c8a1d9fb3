"""A book is an owner's distinct rows in order, so that a row can travel as its number: a code.

It is shown only when the rows are opened, and holds nothing but what the opened rows show.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta

from covey.wire import FRAME_BYTES, Channel, Message

PAGE_BYTES = 1 << 20
ENTRY_BYTES = 1 << 20
"""The longest row that an owner may contribute."""

PAGE_OVERHEAD = FRAME_BYTES + 32
_ENTRY_OVERHEAD = 3


class Page(Message, tag="book.page"):
    """A part of the sender's book: its distinct rows in the order of their codes."""

    entries: list[Annotated[bytes, Meta(max_length=ENTRY_BYTES)]]


def paginate(book: Sequence[bytes]) -> list[list[bytes]]:
    """The book in pages of about a mebibyte."""
    pages: list[list[bytes]] = []
    filled = 0
    for entry in book:
        if not pages or filled + len(entry) > PAGE_BYTES:
            pages.append([])
            filled = 0
        pages[-1].append(entry)
        filled += len(entry) + _ENTRY_OVERHEAD
    return pages


def size(book: Sequence[bytes]) -> int:
    """Bytes that a book takes on the wire."""
    return sum(len(entry) + _ENTRY_OVERHEAD for entry in book) + PAGE_OVERHEAD * len(paginate(book))


async def send(channel: Channel, to: str, book: Sequence[bytes]) -> None:
    """Shows a book to one peer, who knows how many rows it has."""
    for page in paginate(book):
        await channel.send(to, Page(page))


async def receive(channel: Channel, owner: str, due: int) -> tuple[bytes, ...]:
    """A peer's book. Raises `PeerError` if it is not sorted, or has more or fewer rows than are due."""
    entries: list[bytes] = []
    while len(entries) < due:
        page = (await channel.receive(owner, Page)).entries
        if not page or len(entries) + len(page) > due:
            raise channel.refusal(owner, f"a book of more or fewer than the {due} rows that it announced")
        entries += page
    if entries != sorted(set(entries)):
        raise channel.refusal(owner, "a book that is not sorted, or repeats a row")
    return tuple(entries)
