"""The messages of `suppress`, and the lists that take more than one of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

import numpy as np
from msgspec import Meta

from covey.arrays import Longs
from covey.cells import SUPPRESSED
from covey.crypto.group import Point
from covey.crypto.ibe import AuthorityParameters, IdentityKey
from covey.errors import InputError, PeerError
from covey.protocols.as_printed.suppress.parameters import MOST_ROWS
from covey.protocols.as_printed.suppress.tuples import JointClasses, KeptTuples, Labels, OwnReleasedRows, key_of
from covey.study import Study
from covey.table import Table
from covey.wire import Bytes32, Channel, Count, Message, Vector
from covey.wire.message import PAYLOAD_BYTES

TUPLES = 4096
"""Tuples, or rows, in a message at most."""
_CELL = 4096
Cell = Annotated[str, Meta(max_length=_CELL)]


class Issued(Message, tag="suppress.issued"):
    """The authority's parameters, and the key of the recipient's name."""

    name: Annotated[str, Meta(max_length=512)]
    parameters: AuthorityParameters
    key: IdentityKey


class TableSize(Message, tag="suppress.sizes"):
    """The sender's number of rows, and the hash of the parameters that the authority gave it."""

    rows: Count
    parameters: Bytes32


class Offered(Message, tag="suppress.key"):
    """The keyholder's public key of this session, where there is no authority."""

    key: Point


class TupleCounts(Message, tag="suppress.tuples"):
    """Tuples with their numbers of rows, in the order of their spelling; `more` follow in the next message."""

    cells: Annotated[list[Cell], Meta(max_length=1 << 20)]
    counts: Vector
    more: bool


class CiphertextPart(Message, tag="suppress.sealed"):
    """Ciphertexts; they are tested where they are read, by the step that computes on them."""

    items: Annotated[bytes, Meta(max_length=PAYLOAD_BYTES)]


class TableVerdict(Message, tag="suppress.verdict"):
    """The verdict whether both tables together were k-anonymous as they stood."""

    anonymous: bool


class ReleasedPart(Message, tag="suppress.rows"):
    """Rows of the release: the class of each, and its values in the columns that are published as they are."""

    classes: Vector
    cells: Annotated[list[Cell], Meta(max_length=1 << 22)]


async def send_tuples(channel: Channel, peer: str, counts: Mapping[Labels, int]) -> None:
    """Tells the peer these tuples."""
    listed = sorted(counts, key=key_of)
    for message in spell_tuples(listed, [counts[each] for each in listed]):
        await channel.send(peer, message)


def spell_tuples(listed: Sequence[Labels], counts: Sequence[int]) -> list[TupleCounts]:
    """The messages that carry a list."""
    starts = range(0, max(1, len(listed)), TUPLES)
    return [
        TupleCounts(
            cells=[cell for labels in listed[start : start + TUPLES] for cell in labels],
            counts=Vector(np.array(counts[start : start + TUPLES], dtype=np.uint64)),
            more=start + TUPLES < len(listed),
        )
        for start in starts
    ]


async def receive_tuples(channel: Channel, peer: str, study: Study, rows: int, least: int) -> dict[Labels, int]:
    """The peer's tuples, each with `least` rows or more, of at most `rows` in all. Raises PeerError for others."""
    columns, found, before, more = len(study.quasi), dict[Labels, int](), b"", True
    trees = [column.tree() if column.closed else None for column in study.quasi]
    leaves = [frozenset(tree.labels[: tree.codes] if tree else ()) for tree in trees]  # empty: any value will do
    while more:
        message = await channel.receive(peer, TupleCounts)
        counts, more = message.counts.words.tolist(), message.more
        if len(message.cells) != columns * len(counts) or len(counts) > TUPLES or (more and len(counts) < TUPLES):
            raise PeerError(party=peer, step=channel.step, reason="its list of tuples does not have the due length")
        for place, count in enumerate(counts):
            labels = tuple(message.cells[columns * place : columns * (place + 1)])
            known = all(not of or cell in of for cell, of in zip(labels, leaves, strict=True))
            if SUPPRESSED in labels or not known or (key := key_of(labels)) <= before or count < least:
                raise PeerError(
                    party=peer, step=channel.step, reason="it listed what is no tuple of the study, or twice"
                )
            found[labels], before = count, key
        if sum(found.values()) > rows:
            raise PeerError(party=peer, step=channel.step, reason="its tuples have more rows than it said it has")
    return found


def spell_rows(own: OwnReleasedRows, classes: JointClasses) -> list[ReleasedPart]:
    """A party's rows, in the order of their content, so that their order carries nothing."""
    columns = list(own.cells.values())
    rows = sorted(
        (classes.number[labels], tuple(column[place] for column in columns)) for place, labels in enumerate(own.tuples)
    )
    return [
        ReleasedPart(
            Vector(np.array([number for number, _ in rows[start : start + TUPLES]], dtype=np.uint64)),
            [cell for _, cells in rows[start : start + TUPLES] for cell in cells],
        )
        for start in range(0, len(rows), TUPLES)
    ]


async def receive_rows(
    channel: Channel, peer: str, names: Sequence[str], kept: KeptTuples, classes: JointClasses
) -> OwnReleasedRows:
    """The peer's rows, as many of each class as it said. Raises PeerError for others."""
    numbers: list[int] = []
    cells: list[str] = []
    async for message in channel.receive_stream(peer, ReleasedPart, -(-kept.rows // TUPLES)):
        numbers += message.classes.words.tolist()
        cells += message.cells
    due: Longs = np.zeros(len(classes.sizes), dtype=np.int64)
    for labels, count in kept.counts.items():
        due[classes.number[labels]] = count
    due[-1] = kept.suppressed
    sane = len(cells) == len(names) * len(numbers) and max(numbers, default=0) < len(due)
    if not sane or not np.array_equal(np.bincount(np.array(numbers, dtype=np.int64), minlength=len(due)), due):
        raise PeerError(party=peer, step=channel.step, reason="its rows are not those of the classes that it named")
    shown: list[Labels | None] = [*classes.labels, None]
    width = len(names)
    columns = {name: cells[place::width] for place, name in enumerate(names)}
    return OwnReleasedRows(kept, tuple(shown[number] for number in numbers), columns)


def require_sendable(own: OwnReleasedRows) -> None:
    """Raises InputError for a cell that is too long to be sent, before anyone waits for it."""
    for name, cells in own.cells.items():
        _refuse_long(name, cells)


def accepts(study: Study, own: Table) -> None:
    """Raises InputError for too many rows, or a value that is too long to be sent, before anyone is met."""
    if study.rows_at_most is None and own.rows > MOST_ROWS:
        raise InputError(f"this party has more than {MOST_ROWS:,} rows; say rows_at_most in [study], for all parties")
    for values in own.carried:
        _refuse_long(values.column.name, values.labels)


def _refuse_long(name: str, texts: Sequence[str]) -> None:
    if any(len(text) > _CELL for text in texts):
        raise InputError(f"column {name!r} has cells of more than {_CELL:,} characters; leave it out of the study")
