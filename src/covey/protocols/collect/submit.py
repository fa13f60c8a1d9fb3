"""Submission: a class's members hand in their answers through each other's hands, so that nobody knows whose is whose.

Source    Xue and others, section 4.6, whose "anonymous channel" is a decryption mix within the class here: the
          collector knows who is in which class anyhow. A row is padded, sealed to the collector and then to each mixer,
          the last one innermost. Each mixer in turn takes its layer off, refuses repeated rows, and brings them into
          random order.
Hides     which row is whose, as long as one mixer besides the row's owner is honest; all but one of a class's members
          together always know the last one's row. In classes of more than 16 the first 16 in a random order mix.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import msgspec
from msgspec import Meta

from covey.crypto.elgamal import KeyShare
from covey.crypto.group import POINT_BYTES, Point, Points
from covey.crypto.rng import Label, Stream, spell
from covey.crypto.seal import BODY_OVERHEAD, OVERHEAD, Sealed, seal, unseal
from covey.errors import InputError, PeerError
from covey.protocols.collect.keys import Enrolment, Membership
from covey.protocols.collect.terms import Terms
from covey.protocols.rows import carried, domain
from covey.secure.padding import LENGTH_BYTES, pad, unpad
from covey.study import Study
from covey.table import Table
from covey.wire import Channel, Message, gather

MOST_MIXERS = 16
LARGEST_CLASS = 1 << 20
CHUNK_BYTES = 1 << 20


class Company(Message, tag="collect.company"):
    """The keys for letters of a class's members, in no order that says anything, and the mixers' places among them."""

    keys: Annotated[list[Point], Meta(min_length=1, max_length=LARGEST_CLASS)]


class Onions(Message, tag="collect.onions"):
    """Rows in their layers, of equal length."""

    heads: Points
    bodies: Annotated[bytes, Meta(max_length=12 << 20)]


@dataclass(frozen=True)
class Class:
    """A class as one of its members, or the collector, knows it."""

    keys: Points
    """In the order in which everyone numbers the members."""
    mixers: tuple[int, ...]
    """The places of those who mix, in their order."""

    @classmethod
    def of(cls, channel: Channel, keys: Sequence[Point]) -> Class:
        """The class of these members."""
        order = sorted(
            range(len(keys)),
            key=lambda place: hashlib.sha256(spell("mixer", channel.session, keys[place].data)).digest(),
        )
        return cls(Points.join(keys), tuple(order[:MOST_MIXERS]))


async def join_class(channel: Channel, terms: Terms, hub: str, membership: Membership) -> Class:
    """A respondent learns who shares its class: keys, no names. Raises PeerError if they are fewer than k."""
    keys = (await channel.at("company").receive(hub, Company)).keys
    if len(keys) < terms.k or not Points.join(keys).distinct():
        raise PeerError(
            party=hub, step=channel.step, reason=f"a class of fewer than {terms.k} members, or one named twice"
        )
    if membership.letters.public not in keys:
        raise PeerError(party=hub, step=channel.step, reason="a class that we are not in")
    return Class.of(channel, keys)


async def hand_in(channel: Channel, terms: Terms, hub: str, membership: Membership, own: Class, row: bytes) -> None:
    """A respondent's part: its row goes in, and if it is a mixer, everyone's pass through its hands."""
    at, context = channel.at("mix"), _context(channel, own)
    wrapped = seal(pad([row], 1, terms.row_bytes), membership.rows, channel.rng.stream("row"), *context, "row")
    for depth, place in reversed(list(enumerate(own.mixers))):
        key = own.keys.slice(place, place + 1)
        wrapped = seal(wrapped.rows(), key, channel.rng.stream("onion", depth), *context, depth)
    await send(at.at("in"), hub, wrapped)
    place = list(own.keys).index(membership.letters.public.data)
    if place not in own.mixers:
        return
    depth = own.mixers.index(place)
    size = row_size(terms, len(own.mixers) - depth)
    batch = await receive(at.at("pass"), hub, len(own.keys), size)
    mixed = peel(at, hub, batch, membership.letters, (*context, depth))
    await send(at.at("pass"), hub, permuted(mixed, channel.rng.stream("order")))


async def gather_rows(
    channel: Channel, terms: Terms, study: Study, enrolment: Enrolment, members: Sequence[str], own: Class
) -> list[list[str]]:
    """The collector's part for one class: passes the rows on from mixer to mixer and opens them at last."""
    at, context = channel.at("mix"), _context(channel, own)
    layers = len(own.mixers)
    parts = await gather(*(receive(at.at("in"), name, 1, row_size(terms, layers)) for name in members))
    batch = Sealed.join(parts)
    for depth, place in enumerate(own.mixers):
        mixer = members[place]
        await send(at.at("pass"), mixer, batch)
        batch = await receive(at.at("pass"), mixer, len(members), row_size(terms, layers - depth - 1))
    last = members[own.mixers[-1]]
    try:
        rows = unseal(batch, enrolment.rows.surrender(), *context, "row")
        return [read_row(study, unpad(row)) for row in rows]
    except InputError as error:
        reason = f"a row of its class cannot be read: {error}"
        raise PeerError(party=last, step=at.step, reason=reason) from None


def peel(channel: Channel, hub: str, batch: Sealed, own: KeyShare, context: tuple[Label, ...]) -> Sealed:
    """The rows without our layer. Raises PeerError for a repeated row, or one that does not open."""
    if not batch.heads.distinct():
        raise PeerError(party=hub, step=channel.step, reason="a row occurs twice")
    try:
        return Sealed.parse(unseal(batch, own.surrender(), *context))
    except InputError as error:
        raise PeerError(party=hub, step=channel.step, reason=f"it passed on what is no row: {error}") from None


def permuted(batch: Sealed, stream: Stream) -> Sealed:
    """The rows in random order."""
    return batch.take(stream.permutation(len(batch)))


def row_size(terms: Terms, layers: int) -> int:
    """Bytes of a row that has so many mixers before it: the innermost layer is the collector's."""
    return LENGTH_BYTES + terms.row_bytes + (layers + 1) * OVERHEAD


def spell_row(terms: Terms, study: Study, table: Table, row: int = 0) -> bytes:
    """The carried values of a record. Raises InputError, naming the column, where one is too long to be sent."""
    cells = []
    for column in carried(study):
        values = table.values(column.name)
        cells.append(values.labels[values.codes[row]])
    raw = msgspec.msgpack.encode(cells)
    if len(raw) > terms.row_bytes:
        longest = max(carried(study), key=lambda column: len(cells[carried(study).index(column)]))
        raise InputError(
            f"column {longest.name!r}: a value is too long for a row of {terms.row_bytes} bytes, which every "
            "respondent pads its own to; list the column's values in the study, or leave it out"
        )
    return raw


def read_row(study: Study, raw: bytes | None) -> list[str]:
    """The carried values in a row. Raises InputError if the study knows no such row."""
    columns = carried(study)
    try:
        cells = msgspec.msgpack.decode(b"" if raw is None else raw, type=list[str])
    except (msgspec.MsgspecError, ValueError):
        cells = []
    if len(cells) != len(columns):
        raise InputError("it has not the study's columns")
    for column, cell in zip(columns, cells, strict=True):
        if column.values is not None and cell not in domain(column):
            raise InputError(f"column {column.name!r} has a value that the study does not list")
    return cells


async def send(channel: Channel, to: str, batch: Sealed) -> None:
    """Rows, in as many messages as they take."""
    step = max(1, CHUNK_BYTES // (POINT_BYTES + len(batch.bodies[0])))
    for first in range(0, len(batch), step):
        part = batch.slice(first, first + step)
        await channel.send(to, Onions(part.heads, b"".join(part.bodies)))


async def receive(channel: Channel, sender: str, rows: int, size: int) -> Sealed:
    """That many rows of that size. Raises PeerError for anything else."""
    body, step = size - OVERHEAD + BODY_OVERHEAD, max(1, CHUNK_BYTES // (size - OVERHEAD + BODY_OVERHEAD + POINT_BYTES))
    parts = []
    for first in range(0, rows, step):
        due = min(step, rows - first)
        part = await channel.receive(sender, Onions)
        if len(part.heads) != due or len(part.bodies) != due * body:
            reason = f"{len(part.heads)} rows of {len(part.bodies)} bytes, expected {due} of {body} bytes each"
            raise PeerError(party=sender, step=channel.step, reason=reason)
        parts.append(
            Sealed(part.heads, [part.bodies[start : start + body] for start in range(0, len(part.bodies), body)])
        )
    return Sealed.join(parts)


def _context(channel: Channel, own: Class) -> tuple[Label, ...]:
    digest = hashlib.sha256(own.keys.data).digest()
    return ("collect mix", channel.session, digest)
