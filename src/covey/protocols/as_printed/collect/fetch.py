"""Reading the index: a respondent gets its cell's entry, and nobody sees which one.

Up to 2^14 cells everyone is sent the whole index: nothing is asked, so nothing can be seen. Above, the index is read by
private retrieval (`covey.crypto.pir`): a query hides the cell as learning with errors is hard. It may be plain
retrieval: entries are encrypted, and whoever reads more than one can open none. A study may ask for the paper's scheme
(`covey.crypto.gentry_ramzan`) instead, where a query hides the cell as phi-hiding is hard.

The collector serves so many respondents at a time (`Attendance.crowd`), so that only so many copies are under way;
queries are answered in lots, and those of respondents that live in one process are made together.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from msgspec import Meta

from covey.arrays import Words32
from covey.crypto import pir
from covey.crypto.gentry_ramzan import Chunks, ChunkTable, Client, Query
from covey.crypto.rng import Stream, spell
from covey.errors import InputError
from covey.protocols.as_printed.collect.keys import Enrolment
from covey.protocols.as_printed.collect.parameters import BROADCAST_CELLS, DEALT_BITS, Parameters
from covey.protocols.protocol import EVERYONE, Attendance
from covey.protocols.shared import roll
from covey.wire import Channel, Message, gather

T = TypeVar("T")

LOT = 32
"""Respondents that are served at the same time where memory is shared with them."""
QUERY_LOT = 64
"""Queries that are answered at the same time."""
LARGEST_PIECE = 12 << 20


class Index(Message, tag="collect.index"):
    """The whole index, an entry after the other."""

    entries: Annotated[bytes, Meta(max_length=BROADCAST_CELLS * DEALT_BITS // 4)]


class Hint(Message, tag="collect.hint"):
    """A piece of what is needed to read any answer; the same for all."""

    words: Annotated[bytes, Meta(max_length=LARGEST_PIECE)]


class ColumnQuery(Message, tag="collect.query"):
    """An encrypted wish for one column of the table."""

    words: Annotated[bytes, Meta(max_length=LARGEST_PIECE)]


class ColumnReply(Message, tag="collect.reply"):
    """The column, encrypted."""

    words: Annotated[bytes, Meta(max_length=LARGEST_PIECE)]


class HidingQuery(Message, tag="collect.hiding-query"):
    """A modulus that hides the wish, and a generator: Gentry and Ramzan's query."""

    modulus: Annotated[bytes, Meta(max_length=1024)]
    generator: Annotated[bytes, Meta(max_length=1024)]


class TablePowers(Message, tag="collect.table-powers"):
    """The generator to the power of the table, for each chunk of an entry."""

    powers: Annotated[list[Annotated[bytes, Meta(max_length=1024)]], Meta(max_length=256)]


async def serve(
    channel: Channel,
    parameters: Parameters,
    content: bytes,
    enrolment: Enrolment,
    then: Callable[[str], Awaitable[T]],
    attendance: Attendance = EVERYONE,
) -> dict[str, T]:
    """Lets everyone read; `then` is awaited for each, and what it answers is returned, without those who left."""
    if parameters.private_retrieval:
        return await _serve_queries(channel, parameters, content, enrolment, then, attendance)
    free = asyncio.Semaphore(attendance.crowd)
    table = await asyncio.to_thread(_chunk_table, parameters, content) if parameters.chunked else None
    message = None if parameters.chunked else Index(content)

    async def one(name: str) -> T:
        async with free:
            if message is not None:
                await channel.send(name, message)
            if table is not None:
                await _raise_to_table(channel, name, table)
            return await then(name)

    return await roll.call(attendance, enrolment.handles, one)


async def _serve_queries(
    channel: Channel,
    parameters: Parameters,
    content: bytes,
    enrolment: Enrolment,
    then: Callable[[str], Awaitable[T]],
    attendance: Attendance,
) -> dict[str, T]:
    """Serves the index by private retrieval; a lot's queries are answered together."""
    shape = pir.shape_of(parameters.grid.cells, parameters.entry_bytes)
    table = await asyncio.to_thread(pir.RetrievalTable, content, shape)
    matrix, handles = pir.Matrix(seed_of(enrolment.lot), shape), enrolment.handles
    hint = (await asyncio.to_thread(table.hint, matrix)).astype("<u4").tobytes()
    turn = asyncio.Semaphore(max(1, attendance.crowd // LOT))

    async def one_lot(lot: Sequence[str]) -> dict[str, T]:
        async with turn:
            there = await _reply(channel, table, hint, lot, attendance)
            return await roll.call(attendance, there, then)

    lots = [handles[start : start + QUERY_LOT] for start in range(0, len(handles), QUERY_LOT)]
    answers = await gather(*(one_lot(lot) for lot in lots))
    return {name: answer for part in answers for name, answer in part.items()}


async def read(channel: Channel, parameters: Parameters, hub: str, lot: bytes, cell: int) -> bytes:
    """The entry of our cell."""
    if parameters.chunked:
        return await _read_chunked(channel, parameters, hub, cell)
    if not parameters.private_retrieval:
        content = (await channel.receive(hub, Index)).entries
        due = parameters.grid.cells * parameters.entry_bytes
        if len(content) != due:
            raise channel.refusal(hub, f"an index of {len(content)} bytes, expected {due}")
        return content[cell * parameters.entry_bytes : (cell + 1) * parameters.entry_bytes]
    shape = pir.shape_of(parameters.grid.cells, parameters.entry_bytes)
    hint = await _hint(channel, hub, shape)
    asked = await _desk().ask(seed_of(lot), shape, cell, channel.rng.stream("query"))
    await channel.send(hub, ColumnQuery(asked.queries.astype("<u4").tobytes()))
    words = (await channel.receive(hub, ColumnReply)).words
    if len(words) != shape.answer_bytes:
        raise channel.refusal(hub, f"a reply of {len(words)} bytes, expected {shape.answer_bytes}")
    [record] = pir.recover(asked, hint, _words(words)[np.newaxis, :])
    return record


def chunks_of(parameters: Parameters) -> Chunks:
    """The cut of entries into chunks, for Gentry and Ramzan's scheme."""
    return Chunks(parameters.grid.cells, parameters.entry_bytes)


def _chunk_table(parameters: Parameters, content: bytes) -> ChunkTable:
    size = parameters.entry_bytes
    return ChunkTable([content[start : start + size] for start in range(0, len(content), size)], chunks_of(parameters))


async def _raise_to_table(channel: Channel, name: str, table: ChunkTable) -> None:
    """Answers one respondent's query."""
    asked = await channel.receive(name, HidingQuery)
    query = Query(int.from_bytes(asked.modulus, "big"), int.from_bytes(asked.generator, "big"))
    try:
        powers = await asyncio.to_thread(table.answer, query)
    except InputError as error:
        raise channel.refusal(name, str(error)) from None
    await channel.send(name, TablePowers([_spelled(power, table.chunks) for power in powers]))


async def _read_chunked(channel: Channel, parameters: Parameters, hub: str, cell: int) -> bytes:
    chunks = chunks_of(parameters)
    client = await asyncio.to_thread(Client, chunks, cell, channel.rng.stream("query"))
    query = client.query
    await channel.send(hub, HidingQuery(_spelled(query.modulus, chunks), _spelled(query.generator, chunks)))
    powers = (await channel.receive(hub, TablePowers)).powers
    try:
        return await asyncio.to_thread(client.recover, [int.from_bytes(power, "big") for power in powers])
    except InputError as error:
        raise channel.refusal(hub, str(error)) from None


def _spelled(number: int, chunks: Chunks) -> bytes:
    return number.to_bytes(chunks.bits // 8, "big")


def seed_of(lot: bytes) -> bytes:
    """The seed of the public matrix: who can try many lots can try many matrices, but make none up."""
    return hashlib.sha256(spell("collect matrix", lot)).digest()


async def _reply(
    channel: Channel, table: pir.RetrievalTable, hint: bytes, lot: Sequence[str], attendance: Attendance
) -> list[str]:
    """Hands the hint to a lot of respondents and answers their queries together; those who asked."""
    shape = table.shape

    async def query(name: str) -> Words32:
        for start in range(0, len(hint), LARGEST_PIECE):
            await channel.send(name, Hint(hint[start : start + LARGEST_PIECE]))
        words = (await channel.receive(name, ColumnQuery)).words
        if len(words) != shape.query_bytes:
            raise channel.refusal(name, f"a query of {len(words)} bytes, expected {shape.query_bytes}")
        return _words(words)

    queries = await roll.call(attendance, lot, query)
    if not queries:
        return []
    replies = (await asyncio.to_thread(table.answer, np.stack(list(queries.values())))).astype("<u4")
    await gather(*(channel.send(name, ColumnReply(own.tobytes())) for name, own in zip(queries, replies, strict=True)))
    return list(queries)


async def _hint(channel: Channel, hub: str, shape: pir.TableShape) -> Words32:
    parts = []
    for start in range(0, shape.hint_bytes, LARGEST_PIECE):
        part = (await channel.receive(hub, Hint)).words
        if len(part) != min(LARGEST_PIECE, shape.hint_bytes - start):
            raise channel.refusal(hub, "a hint of another size than its table needs")
        parts.append(part)
    return _words(b"".join(parts)).reshape(shape.rows, pir.DIMENSION)


def _words(raw: bytes) -> Words32:
    return np.frombuffer(raw, dtype="<u4").astype(np.uint32, copy=False)


@dataclass
class _Desk:
    """Makes the queries of the respondents in one process: those that come at the same time, together."""

    waiting: list[tuple[int, Stream, asyncio.Future[pir.Queries]]] = field(default_factory=list)
    busy: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def ask(self, seed: bytes, shape: pir.TableShape, cell: int, stream: Stream) -> pir.Queries:
        """A query for that cell, made with that stream alone, whoever else asks."""
        answer: asyncio.Future[pir.Queries] = asyncio.get_running_loop().create_future()
        self.waiting.append((cell, stream, answer))
        async with self.busy:
            if not answer.done():
                waiting, self.waiting = self.waiting, []
                await _make(pir.Matrix(seed, shape), waiting)
        return await answer


async def _make(matrix: pir.Matrix, waiting: list[tuple[int, Stream, asyncio.Future[pir.Queries]]]) -> None:
    cells, streams = [cell for cell, _, _ in waiting], [stream for _, stream, _ in waiting]
    made = await asyncio.to_thread(pir.ask, matrix, cells, streams)
    for row, (_, _, answer) in enumerate(waiting):
        if not answer.done():
            own = slice(row, row + 1)
            answer.set_result(pir.Queries(made.shape, made.queries[own], made.slots[own], made.secrets[own]))


_DESKS: WeakKeyDictionary[asyncio.AbstractEventLoop, _Desk] = WeakKeyDictionary()


def _desk() -> _Desk:
    return _DESKS.setdefault(asyncio.get_running_loop(), _Desk())
