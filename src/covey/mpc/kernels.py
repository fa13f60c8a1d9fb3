"""The kernels that a backend gives, and openings: each says what it tells, or nothing is opened."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from covey.arrays import Bits, Longs, Words
from covey.errors import InputError
from covey.mpc.ledger import Disclosure, Opening
from covey.mpc.planes import WORD, as_public, unpacked

if TYPE_CHECKING:
    from covey.mpc.shared import Shared

T = TypeVar("T")

DIGEST_WORDS = 4


def inverse(order: Longs) -> Longs:
    """Returns the permutation that undoes this one."""
    out = np.empty_like(order)
    out[order] = np.arange(len(order))
    return out


@dataclass(frozen=True)
class Shuffled:
    """The three passes of a shuffle, as far as a party knows them."""

    passes: tuple[Longs | None, Longs | None, Longs | None] = field(repr=False)

    @cached_property
    def inverses(self) -> tuple[Longs | None, ...]:
        """The way back of each pass."""
        return tuple(None if order is None else inverse(order) for order in self.passes)


class Kernels(ABC):
    """The kernels and openings. `ones` is the constant 1 as it holds it: copies x 1 x 1."""

    ones: Words

    def __init__(self) -> None:
        self.rounds = 0
        self.ledger: list[Opening] = []
        self._decisions = hashlib.sha256()
        self._undeclared = False

    @property
    def soundness_bits(self) -> int | None:
        """A deviation passes all checks with a chance of at most 2^-bits; None where nothing is checked."""
        return None

    @abstractmethod
    async def share(self, values: Words | None, width: int, records: int, holder: int) -> Shared:
        """Returns a holder's column, shared; the others give None and know its size."""

    @abstractmethod
    async def both(self, a: Shared, b: Shared) -> Shared:
        """Returns a & b, bit by bit; a column of one bit goes with every bit of the other."""

    @abstractmethod
    async def all(self, value: Shared) -> Shared:
        """Returns for each record 1 if all its bits are 1."""

    @abstractmethod
    async def less(self, a: Shared, b: Shared) -> Shared:
        """Returns for each record 1 if a < b."""

    @abstractmethod
    async def add(self, a: Shared, b: Shared) -> Shared:
        """Returns a + b, one bit wider than the wider of them, so that no sum overflows."""

    @abstractmethod
    async def shuffle(self, value: Shared) -> tuple[Shared, Shuffled]:
        """Returns the records in an order that nobody knows, and what `unshuffle` needs."""

    @abstractmethod
    async def unshuffle(self, value: Shared, shuffled: Shuffled) -> Shared:
        """Returns a column of as many records in the order from before that shuffle."""

    @abstractmethod
    async def together(self, *work: Coroutine[object, object, T]) -> list[T]:
        """Returns the results of work side by side. It shares rounds: the slowest counts."""

    @abstractmethod
    async def _reveal(self, value: Shared, to: int | None = None) -> Words | None:
        """Returns the planes of a column for everybody, or for one party by its number and None for the others."""

    @abstractmethod
    async def _precedes(self, a: Shared, b: Shared) -> Words:
        """Returns the plane of a < b, for everybody; no word of a equals b's."""

    @abstractmethod
    async def compare(self, *columns: Shared) -> None:
        """Raises `PeerError` if neighbours do not hold the same of what they hold in common of these columns."""

    @abstractmethod
    async def _told(self, parties: Sequence[int], words: Words) -> None:
        """Sends public words to parties who do not compute, in one round."""

    @abstractmethod
    async def _agree(self) -> None:
        """Takes a round in which only the hash of public decisions is compared."""

    async def open(self, value: Shared, *, says: Disclosure) -> Words:
        """Returns a column's words for everybody: (records) or, of more than 64 bits, (chunks, records)."""
        words = await self._opened(value, says, None)
        if words is None:
            raise InputError("a column that is opened to everybody is opened to this party")
        return words

    async def open_to(self, party: int, value: Shared, *, says: Disclosure) -> Words | None:
        """Returns a column's words for one party, by its number, and None for the others."""
        return await self._opened(value, says, party)

    async def tell(self, parties: Sequence[int], words: Words, *, says: Disclosure) -> None:
        """Sends words that all three know to parties who do not compute: one sends them, the others their hash."""
        if not words.size:
            return
        for party in parties:
            await self._announce(says, words.size, WORD, party)
        if parties:
            await self._told(parties, words)

    async def open_bit(self, value: Shared, *, says: Disclosure) -> Bits:
        """Returns a column of one bit for everybody."""
        if value.width != 1:
            raise InputError(f"a column of {value.width} bits has more than one bit: choose it with .bits")
        return (await self.open(value, says=says)).astype(bool)

    async def open_order(self, a: Shared, b: Shared, *, says: Disclosure) -> Bits:
        """Returns a < b for everybody, of words that all differ: a round less than `less` and `open_bit`.

        Of equal words it would tell the last bit: only words that end in a place, as those of a sort, always differ.
        """
        await self._announce(says, a.records, 1, None)
        return unpacked(await self._precedes(a, b), a.records)

    def decide(self, decision: bytes) -> None:
        """Takes down a public decision. Parties compare the hash of all of them before the next opening."""
        self._decisions.update(len(decision).to_bytes(8, "big") + decision)
        self._undeclared = True

    def _declared(self) -> Words:
        """Returns what the coming round says of decisions: the hash of all, or nothing if there is no new one."""
        digest = self._decisions.digest() if self._undeclared else b""
        self._undeclared = False
        return np.frombuffer(digest, np.uint64)

    async def _opened(self, value: Shared, says: Disclosure, to: int | None) -> Words | None:
        await self._announce(says, value.records, value.width, to)
        planes = await self._reveal(value.cut(), to)
        return None if planes is None else as_public(planes, value.records)

    async def _announce(self, says: Disclosure, records: int, width: int, to: int | None) -> None:
        """Enters into the ledger what an opening says, after everybody's decisions were compared."""
        if not isinstance(says, Disclosure):
            raise TypeError("says= is a Disclosure: the key of a sentence, and numbers for it")
        if self._undeclared:
            await self._agree()
        self.ledger.append(Opening(says, records, width, self.rounds, to))
