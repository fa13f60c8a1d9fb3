"""Private retrieval: clients take one record each out of a server's table, and the server does not learn which.

Source    SimplePIR (Henzinger, Hong, Corrigan-Gibbs, Meiklejohn and Vaikuntanathan 2023), with parameters of our own.
          The table is a matrix D of bytes, taken as -128 … 127; a record is a piece of a column. A public random matrix
          A (columns x DIMENSION, from a seed) is the same for all. The query for column c is A s + e + 2^24 u_c modulo
          2^32, with a new secret s and new small errors e; the answer is D times it; the hint is D A, and so
          answer - hint s = 2^24 D u_c + D e: rounded to 2^24, it is the column.
Security  a query looks uniform to whoever cannot solve the learning-with-errors problem: dimension 1,408, modulus 2^32,
          secrets uniform, errors centred binomial from 2 x 128 bits (standard deviation 8). The best primal and dual
          attacks need BKZ with blocks of 515 and 513: 2^150 operations classically and 2^136 with quantum sieves in the
          core-SVP model, which leaves out everything but one call of the sieve (tests/unit/crypto/core_svp.py
          computes it). The dimension of 1,024 with deviation 6.4, which the paper takes for 128 bits, has 2^95 in it.
Errors    D e in one row is a sum of 256 x columns independent terms, each within an interval of length |d| <= 128. So
          (Hoeffding) it reaches 2^23 in absolute value with a chance of at most 2 exp(-2 (2^23)^2 / (256 columns 2^14))
          = 2 exp(-2^25 / columns): below 2^-91 a byte for the 2^19 columns that are allowed, whatever the table.
          Rounding is right for every error from -2^23 to 2^23 - 1.
Not       the client learns whole columns, more than its record: the table must be one that any client may see. A server
          that answers wrongly gives a wrong record, and may learn from how the client goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from covey.arrays import Words32
from covey.compiled import jit as compiled
from covey.crypto.rng import Rng, Stream
from covey.crypto.secret import Secret
from covey.crypto.sodium import cores
from covey.errors import InputError

Bytes8 = NDArray[np.int8]

DIMENSION = 1408
SCALE = 1 << 24
"""What a byte of the answer is multiplied by: 2^32 / 256."""
ERROR_WORDS = 2
"""An error is how many more bits are set in this many random words than in as many others."""
LARGEST_COLUMNS = 1 << 19
SEED_BYTES = 32

_LANES = 4
_BLOCK = 1024
_PANEL = 2048


@dataclass(frozen=True)
class TableShape:
    """The layout of a table of equal records in the matrix: `stack` records below each other in every column."""

    records: int
    record_bytes: int
    stack: int = 1

    def __post_init__(self) -> None:
        if min(self.records, self.record_bytes, self.stack) < 1:
            raise InputError("a table has records of one byte at least, and one record in a column at least")
        if self.columns > LARGEST_COLUMNS:
            raise InputError(
                f"{self.columns} columns; errors add up to too much beyond {LARGEST_COLUMNS}: stack higher"
            )

    @property
    def columns(self) -> int:
        """Numbers in a query; a multiple of four."""
        return -(-self.records // (self.stack * _LANES)) * _LANES

    @property
    def rows(self) -> int:
        """Numbers in an answer."""
        return self.stack * self.record_bytes

    @property
    def query_bytes(self) -> int:
        """Bytes of a query, from each client."""
        return 4 * self.columns

    @property
    def answer_bytes(self) -> int:
        """To each client."""
        return 4 * self.rows

    @property
    def hint_bytes(self) -> int:
        """To every client alike, once for a table."""
        return 4 * self.rows * DIMENSION

    def place(self, index: int) -> tuple[int, int]:
        """The column of a record, and which of the stacked records it is there."""
        if not 0 <= index < self.records:
            raise InputError(f"the table has records 0 to {self.records - 1}")
        return index % self.columns, index // self.columns


def shape_of(records: int, record_bytes: int) -> TableShape:
    """The shape in which query, answer and hint together have the fewest bytes."""
    lowest = max(1, -(-records // LARGEST_COLUMNS))
    best = max(lowest, round((records / (record_bytes * (DIMENSION + 1))) ** 0.5))
    shapes = [TableShape(records, record_bytes, stack) for stack in range(max(lowest, best - 1), best + 2)]
    return min(shapes, key=lambda shape: shape.query_bytes + shape.answer_bytes + shape.hint_bytes)


class Matrix:
    """The public random matrix A, expanded from a public seed block by block: it is never in memory as a whole."""

    def __init__(self, seed: bytes, shape: TableShape) -> None:
        if len(seed) != SEED_BYTES:
            raise InputError(f"a seed has {SEED_BYTES} bytes, this one {len(seed)}")
        self.seed, self.shape = bytes(seed), shape

    def rows(self, first: int) -> Words32:
        """The rows from `first`, a multiple of the block's size, to the block's end or the last one."""
        rows = min(_BLOCK, self.shape.columns - first)
        block = np.empty((rows, DIMENSION), dtype="<u4")
        Rng(Secret(self.seed)).stream("pir matrix", first // _BLOCK).fill(block.reshape(-1).view(np.uint8).data)
        return block.astype(np.uint32, copy=False)

    @property
    def workers(self) -> int:
        """Threads that walk along the matrix at the same time."""
        return min(cores(), -(-self.shape.columns // _BLOCK))

    def walk(self, work: Callable[[int, int, Words32], None]) -> None:
        """Calls `work(worker, first, rows)` for every block; each worker has one block at a time."""

        def some(worker: int) -> None:
            for first in range(worker * _BLOCK, self.shape.columns, self.workers * _BLOCK):
                work(worker, first, self.rows(first))

        with ThreadPoolExecutor(self.workers) as pool:
            list(pool.map(some, range(self.workers)))


class RetrievalTable:
    """The server's records, ready to answer from."""

    def __init__(self, records: bytes, shape: TableShape) -> None:
        """`records` is one record after the other. Raises `InputError` for another number of bytes."""
        if len(records) != shape.records * shape.record_bytes:
            due = shape.records * shape.record_bytes
            raise InputError(f"{len(records)} bytes for {shape.records} records: {due} are due")
        self.shape = shape
        whole = np.zeros((shape.stack * shape.columns, shape.record_bytes), dtype=np.int8)
        octets = np.frombuffer(records, dtype=np.uint8).reshape(shape.records, shape.record_bytes)
        whole[: shape.records] = (octets ^ 0x80).view(np.int8)
        upright = whole.reshape(shape.stack, shape.columns, shape.record_bytes).transpose(0, 2, 1)
        padded = -(-shape.rows // _LANES) * _LANES
        self._bytes = np.zeros((padded, shape.columns), dtype=np.int8)
        self._bytes[: shape.rows] = upright.reshape(shape.rows, shape.columns)

    def hint(self, matrix: Matrix) -> Words32:
        """The matrix that a client needs to read any answer: rows x DIMENSION."""
        if matrix.shape != self.shape:
            raise InputError("the matrix belongs to a table of another shape")
        totals = np.zeros((matrix.workers, len(self._bytes), DIMENSION), dtype=np.uint32)
        matrix.walk(lambda worker, first, block: _add_products(self._bytes, first, block, totals[worker]))
        return np.asarray(totals.sum(axis=0, dtype=np.uint32)[: self.shape.rows])

    def answer(self, queries: Words32) -> Words32:
        """One row of answers for each row of queries: queries x columns in, queries x rows out."""
        if queries.ndim != 2 or queries.shape[1] != self.shape.columns or queries.dtype != np.uint32:
            raise InputError(f"a query has {self.shape.columns} words of 32 bits")
        answers = np.zeros((len(queries), len(self._bytes)), dtype=np.uint32)
        asked = np.ascontiguousarray(queries)
        height = -(-len(self._bytes) // (_LANES * cores())) * _LANES

        def some(first: int) -> None:
            _multiply(self._bytes[first : first + height], asked, answers, first)

        with ThreadPoolExecutor(cores()) as pool:
            list(pool.map(some, range(0, len(self._bytes), height)))
        return answers[:, : self.shape.rows]


@dataclass(frozen=True, eq=False)
class Queries:
    """Queries to send, one row each, and what their clients keep to read the answers."""

    shape: TableShape
    queries: Words32
    slots: tuple[int, ...] = field(repr=False)
    secrets: Words32 = field(repr=False)


def ask(matrix: Matrix, indices: Sequence[int], streams: Sequence[Stream]) -> Queries:
    """Queries of many clients at once, each with a stream of its own: a query depends on its stream and index alone.

    No stream may make two queries: each is a new secret.
    """
    shape = matrix.shape
    if len(indices) != len(streams):
        raise InputError(f"{len(indices)} queries, {len(streams)} random streams: each query needs one")
    places = [shape.place(index) for index in indices]
    secrets = np.empty((len(indices), DIMENSION), dtype=np.uint32)
    queries = np.empty((len(indices), shape.columns), dtype=np.uint32)
    for row, stream in enumerate(streams):
        secrets[row] = stream.words(DIMENSION // 2).view(np.uint32)
    matrix.walk(lambda worker, first, block: _encrypt(block, secrets, queries, first))
    for row, stream in enumerate(streams):
        queries[row] += errors(stream, shape.columns)
    queries[np.arange(len(places)), [column for column, _ in places]] += np.uint32(SCALE)
    return Queries(shape, queries, tuple(slot for _, slot in places), secrets)


def recover(asked: Queries, hint: Words32, answers: Words32) -> list[bytes]:
    """The records that were asked for. Raises `InputError` for answers or a hint of another shape."""
    shape = asked.shape
    if hint.shape != (shape.rows, DIMENSION) or answers.shape != (len(asked.slots), shape.rows):
        raise InputError("the answer or the hint belongs to a table of another shape")
    records = []
    for slot, secret, answer in zip(asked.slots, asked.secrets, answers, strict=True):
        lines = slice(slot * shape.record_bytes, (slot + 1) * shape.record_bytes)
        records.append(read(answer[lines] - (hint[lines] * secret).sum(axis=1, dtype=np.uint32)))
    return records


def read(noisy: Words32) -> bytes:
    """The bytes in numbers that are multiples of `SCALE` but for an error within half of it."""
    rounded = (noisy + np.uint32(SCALE // 2)) >> np.uint32(24)
    return (rounded.astype(np.uint8) ^ np.uint8(0x80)).tobytes()


def errors(stream: Stream, count: int) -> Words32:
    """Small random numbers, modulo 2^32: centred binomial with a standard deviation of 8."""
    words = np.bitwise_count(stream.words(2 * ERROR_WORDS * count)).reshape(2, count, ERROR_WORDS)
    heads, tails = words.sum(axis=2, dtype=np.uint32)
    return np.asarray(heads - tails)


@compiled
def _multiply(table: Bytes8, queries: Words32, answers: Words32, to: int) -> None:
    """Adds table x query to each row of answers, from column `to` on: four rows of the table at a time."""
    rows, columns = table.shape
    panel = np.empty((rows, _PANEL), np.uint32)
    for start in range(0, columns, _PANEL):
        width = min(_PANEL, columns - start)
        for row in range(rows):
            for x in range(width):
                panel[row, x] = np.uint32(table[row, start + x])
        for query in range(len(queries)):
            part = queries[query, start : start + width]
            for row in range(0, rows, _LANES):
                one, two, three, four = panel[row], panel[row + 1], panel[row + 2], panel[row + 3]
                a, b, c, d = np.uint32(0), np.uint32(0), np.uint32(0), np.uint32(0)
                for x in range(width):
                    word = part[x]
                    a += one[x] * word
                    b += two[x] * word
                    c += three[x] * word
                    d += four[x] * word
                answers[query, to + row] += a
                answers[query, to + row + 1] += b
                answers[query, to + row + 2] += c
                answers[query, to + row + 3] += d


@compiled
def _encrypt(block: Words32, secrets: Words32, queries: Words32, to: int) -> None:
    """Writes block x secret into each row of queries, from column `to` on: four rows of the block at a time."""
    rows, width = block.shape
    for row in range(0, rows, _LANES):
        one, two, three, four = block[row], block[row + 1], block[row + 2], block[row + 3]
        for query in range(len(secrets)):
            secret = secrets[query]
            a, b, c, d = np.uint32(0), np.uint32(0), np.uint32(0), np.uint32(0)
            for x in range(width):
                word = secret[x]
                a += one[x] * word
                b += two[x] * word
                c += three[x] * word
                d += four[x] * word
            queries[query, to + row] = a
            queries[query, to + row + 1] = b
            queries[query, to + row + 2] = c
            queries[query, to + row + 3] = d


@compiled
def _add_products(table: Bytes8, first: int, block: Words32, hint: Words32) -> None:
    """Adds to the hint what the table's columns from `first` on make of the block: four columns at a time."""
    rows, width = block.shape
    for x in range(0, rows, _LANES):
        one, two, three, four = block[x], block[x + 1], block[x + 2], block[x + 3]
        for row in range(len(table)):
            line = hint[row]
            a, b = np.uint32(table[row, first + x]), np.uint32(table[row, first + x + 1])
            c, d = np.uint32(table[row, first + x + 2]), np.uint32(table[row, first + x + 3])
            for place in range(width):
                line[place] += a * one[place] + b * two[place] + c * three[place] + d * four[place]
