"""Submission: a class's members hand in their rows through a mix of their own, so that nobody knows whose is whose.

Source    Xue and others, section 4.6, whose "anonymous channel" is a decryption mix within the class here: the
          collector knows the members of each class anyway. A row is padded, sealed to the collector and then to each
          mixer, the last one innermost. Each mixer in turn takes its layer off, refuses repeated rows, and brings the
          rows into random order.
Security  nobody learns which row is whose, as long as one mixer besides the row's owner is honest. All but one of a
          class's members together always know the last one's row. In classes of more than 16 the first 16 in a random
          order mix.
Leaving   a member that leaves before its class's rows are open is left out: the others are told of a smaller company,
          of k or more, and hand in anew; below k the class is withheld. Nothing of the former company was opened:
          either the mix had not begun, or each of its rows still has the layer of the mixer that left. The members
          that are left take no layer off for the former company any more. Rows are sealed for one company (its keys
          are part of the seal), so that none fits into another's mix.
Not       it does not protect against a collector that cheats: one that lies about who left, and has the last mixer on
          its side, could open both companies' rows and find the one that differs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from covey.crypto.elgamal import KeyShare
from covey.crypto.group import Point, Points
from covey.crypto.rng import Label, Stream, spell
from covey.crypto.seal import OVERHEAD, Sealed, seal, unseal
from covey.errors import InputError, PeerError
from covey.protocols.as_printed.collect.keys import Enrolment, Membership
from covey.protocols.as_printed.collect.parameters import Parameters
from covey.protocols.protocol import EVERYONE, Attendance
from covey.protocols.shared import roll
from covey.protocols.shared.rows import carried, domain
from covey.secure import batches
from covey.secure.batches import LENGTH_BYTES, Batch, pad, unpad
from covey.study import Study
from covey.table import Table
from covey.wire import Channel, Message, gather

MOST_MIXERS = 16
LARGEST_CLASS = 1 << 20


class Company(Message, tag="collect.company"):
    """The next task of a member of a class: to hand in among the holders of these keys, to mix, or nothing more.

    The keys are those for letters, in no order that says anything.
    """

    what: Literal["join", "mix", "released", "withheld"]
    keys: Annotated[list[Point], Meta(max_length=LARGEST_CLASS)]


class ClassOnions(Batch, tag="collect.onions"):
    """Rows in their layers, of equal length."""


@dataclass(frozen=True)
class Class:
    """A class as one of its members, or the collector, knows it."""

    keys: Points
    """The members' keys, in the order in which everyone numbers them."""
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


@dataclass
class Member:
    """A respondent's side of the submission."""

    channel: Channel
    parameters: Parameters
    hub: str
    membership: Membership
    own: Class | None = None
    mixed: bool = False

    async def serve(self, row: bytes, agree: Callable[[int], Awaitable[None]]) -> bool:
        """Hands the row in, and mixes if it is asked to. Returns True if the class was released.

        `agree` is asked once, with the number of members, before anything leaves.
        """
        for step in count():
            task = await self.channel.at("company", step).receive(self.hub, Company)
            at = self.channel.at(step, "mix")
            if task.what == "join":
                first, self.own = self.own is None, self._joined(task.keys)
                self.mixed = False
                if first:
                    await agree(len(self.own.keys))
                await self._hand_in(at, self.own, row)
            elif task.what == "mix":
                await self._mix(at)
            else:
                return task.what == "released"
        return False

    def _joined(self, keys: Sequence[Point]) -> Class:
        """The class of these members. Raises PeerError below k, and where it has anyone who was not in it before."""
        if len(keys) < self.parameters.k or not Points.join(keys).distinct():
            raise self._refused(f"a class of fewer than {self.parameters.k} members, or one named twice")
        if self.membership.letters.public not in keys:
            raise self._refused("a class that we are not in")
        before = None if self.own is None else set(self.own.keys)
        if before is not None and not {key.data for key in keys} < before:
            raise self._refused("a class may only become smaller once its members know it")
        return Class.of(self.channel, keys)

    async def _hand_in(self, at: Channel, own: Class, row: bytes) -> None:
        context = _context(at, own)
        padded = pad([row], 1, self.parameters.row_bytes)
        wrapped = seal(padded, self.membership.rows, at.rng.stream("row"), *context, "row")
        for depth, place in reversed(list(enumerate(own.mixers))):
            key = own.keys.slice(place, place + 1)
            wrapped = seal(wrapped.rows(), key, at.rng.stream("onion", depth), *context, depth)
        await batches.send(at.at("in"), self.hub, ClassOnions, wrapped)

    async def _mix(self, at: Channel) -> None:
        own = self.own
        place = -1 if own is None else list(own.keys).index(self.membership.letters.public.data)
        if own is None or place not in own.mixers or self.mixed:
            raise self._refused("we are to mix where it is not our turn, or a second time")
        depth, self.mixed = own.mixers.index(place), True
        size = row_size(self.parameters, len(own.mixers) - depth)
        batch = await batches.receive(at.at("pass"), self.hub, ClassOnions, len(own.keys), size)
        mixed = peel(at, self.hub, batch, self.membership.letters, (*_context(at, own), depth))
        await batches.send(at.at("pass"), self.hub, ClassOnions, permuted(mixed, at.rng.stream("order")))

    def _refused(self, reason: str) -> PeerError:
        return self.channel.refusal(self.hub, reason)


@dataclass(frozen=True)
class Gathered:
    """The end of one company: its rows, or the members left to hand in anew (none where that is of no use)."""

    rows: list[list[str]] | None
    left: tuple[str, ...] = ()


class Assembly:
    """The collector's side of the submission, for all classes; each member has its tasks numbered by itself."""

    def __init__(
        self,
        channel: Channel,
        parameters: Parameters,
        study: Study,
        enrolment: Enrolment,
        attendance: Attendance = EVERYONE,
    ) -> None:
        self._channel, self._terms, self._study = channel, parameters, study
        self._enrolment, self._attendance = enrolment, attendance
        self._steps = {name: count() for name in enrolment.handles}
        self._at: dict[str, Channel] = {}

    async def join(self, names: Sequence[str]) -> Class:
        """Tells these who they are among."""
        keys = [self._enrolment.letters[name] for name in names]
        await gather(*(self._tell(name, Company("join", keys)) for name in names))
        return Class.of(self._channel, keys)

    async def end(self, names: Sequence[str], *, released: bool) -> None:
        """Tells these that this was all."""
        await gather(*(self._tell(name, Company("released" if released else "withheld", [])) for name in names))

    async def collect(self, names: Sequence[str], own: Class) -> Gathered:
        """Passes one company's rows on from mixer to mixer and opens them at last, unless somebody leaves before."""
        layers = len(own.mixers)
        parts = await roll.call(self._attendance, names, partial(self._take, row_size(self._terms, layers)))
        if len(parts) < len(names):
            return Gathered(None, tuple(parts))
        batch = Sealed.join(list(parts.values()))
        for depth, place in enumerate(own.mixers):
            size, mixer = row_size(self._terms, layers - depth - 1), names[place]
            passed = await roll.call(self._attendance, [mixer], partial(self._pass, batch, size))
            if mixer not in passed:
                return Gathered(None, tuple(name for name in names if name != mixer))
            batch = passed[mixer]
        try:
            return Gathered(self._open(batch, own, names[own.mixers[-1]]))
        except PeerError as error:
            self._attendance.excuse(error)
            return Gathered(None)

    async def _tell(self, name: str, task: Company) -> None:
        step = next(self._steps[name])
        self._at[name] = self._channel.at(step, "mix")
        await self._channel.at("company", step).send(name, task)

    async def _take(self, size: int, name: str) -> Sealed:
        return await batches.receive(self._at[name].at("in"), name, ClassOnions, 1, size)

    async def _pass(self, batch: Sealed, size: int, mixer: str) -> Sealed:
        await self._tell(mixer, Company("mix", []))
        at = self._at[mixer].at("pass")
        await batches.send(at, mixer, ClassOnions, batch)
        return await batches.receive(at, mixer, ClassOnions, len(batch), size)

    def _open(self, batch: Sealed, own: Class, last: str) -> list[list[str]]:
        try:
            rows = unseal(batch, self._enrolment.rows.surrender(), *_context(self._channel, own), "row")
            return [read_row(self._study, unpad(row)) for row in rows]
        except InputError as error:
            raise self._channel.refusal(last, f"a row of its class cannot be read: {error}") from None


def peel(channel: Channel, hub: str, batch: Sealed, own: KeyShare, context: tuple[Label, ...]) -> Sealed:
    """The rows without our layer. Raises PeerError for a repeated row, or one that does not open."""
    if not batch.heads.distinct():
        raise channel.refusal(hub, "a row occurs twice")
    try:
        return Sealed.parse(unseal(batch, own.surrender(), *context))
    except InputError as error:
        raise channel.refusal(hub, f"it passed on what is no row: {error}") from None


def permuted(batch: Sealed, stream: Stream) -> Sealed:
    """The rows in random order."""
    return batch.take(stream.permutation(len(batch)))


def row_size(parameters: Parameters, layers: int) -> int:
    """Bytes of a row that has so many mixers before it: the innermost layer is the collector's."""
    return LENGTH_BYTES + parameters.row_bytes + (layers + 1) * OVERHEAD


def spell_row(parameters: Parameters, study: Study, table: Table, row: int = 0) -> bytes:
    """The carried values of a record. Raises InputError, naming the column, where one is too long to be sent."""
    cells = []
    for column in carried(study):
        values = table.values(column.name)
        cells.append(values.labels[values.codes[row]])
    raw = msgspec.msgpack.encode(cells)
    if len(raw) > parameters.row_bytes:
        longest = max(carried(study), key=lambda column: len(cells[carried(study).index(column)]))
        raise InputError(
            f"column {longest.name!r}: a value is too long for a row of {parameters.row_bytes} bytes, which every "
            "respondent pads its own to; list the column's values in the study, or leave it out"
        )
    return raw


def accepts(study: Study, own: Table) -> None:
    """Raises InputError, naming the column, for a record that is too long to be sent."""
    if not all(domain(column) for column in carried(study)):
        for row in range(own.rows):
            spell_row(Parameters.of(study), study, own, row)


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


def _context(channel: Channel, own: Class) -> tuple[Label, ...]:
    digest = hashlib.sha256(own.keys.data).digest()
    return ("collect mix", channel.session, digest)
