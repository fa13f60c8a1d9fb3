"""Gentry and Ramzan's private retrieval (2005), which the paper on collection names: a reference for small tables."""

from __future__ import annotations

from dataclasses import dataclass

from covey.crypto.rng import Stream


@dataclass(frozen=True)
class Query:
    """A modulus whose group has a hidden subgroup of the record's order, and a generator."""

    modulus: int
    generator: int


class Table:
    """The server's records, as one number that is congruent to each record modulo its prime power."""

    def __init__(self, records: list[bytes]) -> None:
        raise NotImplementedError

    def answer(self, query: Query) -> list[int]:
        """One number for each chunk of a record."""
        raise NotImplementedError


class Client:
    """One retrieval."""

    query: Query

    def __init__(self, records: int, record_bytes: int, index: int, stream: Stream, *, bits: int = 2048) -> None:
        raise NotImplementedError

    def recover(self, answers: list[int]) -> bytes:
        """The record."""
        raise NotImplementedError
