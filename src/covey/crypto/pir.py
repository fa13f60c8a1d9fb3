"""Private retrieval: a client takes one record out of a server's public table, and the server does not learn which.

SimplePIR (Henzinger et al. 2023): the table is a matrix of bytes, a query is Regev's encryption of a unit vector.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from covey.crypto.rng import Stream

Words32 = NDArray[np.uint32]


@dataclass(frozen=True)
class Shape:
    """How a table of equal records lies in the matrix: `stack` records below each other in every column."""

    records: int
    record_bytes: int
    stack: int

    @property
    def columns(self) -> int:
        """Numbers in a query."""
        return -(-self.records // self.stack)

    @property
    def rows(self) -> int:
        """Numbers in an answer."""
        return self.stack * self.record_bytes

    @property
    def query_bytes(self) -> int:
        """On the wire, from the client."""
        return 4 * self.columns

    @property
    def answer_bytes(self) -> int:
        """On the wire, to the client."""
        return 4 * self.rows

    @property
    def hint_bytes(self) -> int:
        """On the wire, to every client alike, once for a table."""
        raise NotImplementedError


def shape_of(records: int, record_bytes: int) -> Shape:
    """The shape with the fewest bytes per client; raises `InputError` for a table that cannot be answered from."""
    raise NotImplementedError


class Matrix:
    """The public random matrix A, expanded from a public seed block by block: it is never in memory as a whole."""

    def __init__(self, seed: bytes, shape: Shape) -> None:
        raise NotImplementedError


class Table:
    """The server's records, ready to answer from."""

    def __init__(self, records: bytes, shape: Shape) -> None:
        """`records` is one record after the other. Raises `InputError` for another number of bytes."""
        raise NotImplementedError

    def hint(self, matrix: Matrix) -> Words32:
        """What a client needs to read any answer: rows x dimension."""
        raise NotImplementedError

    def answer(self, queries: Words32) -> Words32:
        """One row of answers for each row of queries (queries x columns -> queries x rows)."""
        raise NotImplementedError


@dataclass(frozen=True)
class Asked:
    """Queries to send, one row each, and what their clients keep to read the answers."""

    queries: Words32


def ask(matrix: Matrix, indices: Sequence[int], streams: Sequence[Stream]) -> Asked:
    """Queries of many clients at once, each with a stream of its own: a query depends on its stream and index alone."""
    raise NotImplementedError


def recover(asked: Asked, hint: Words32, answers: Words32) -> list[bytes]:
    """The records that were asked for. Raises `InputError` for answers or a hint of another shape."""
    raise NotImplementedError
