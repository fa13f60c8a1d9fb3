"""The public sizes of a run: how long every list is follows from what both parties have shown, and from nothing else.

Only rare rows count: the rows of tuples of which a party has k by itself are known from the lists of these tuples, and
no list is ever longer than the number of tuples there can be.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from covey.protocols.suppress.layout import Layout
from covey.protocols.suppress.terms import Terms

CHUNK = 1024
"""Ciphertexts in a message, about."""
LANES = 4
"""Chunks that are under way side by side; each lane is a step of its own."""


@dataclass(frozen=True)
class Bounds:
    """What both parties know before the first ciphertext."""

    k: int
    given_up: int
    """Rows that the keyholder gives up: k, or none where both have fewer than k."""
    keyholder: int
    """The keyholder's rows outside the tuples that it has named, those given up included."""
    comparer: int
    domain: int | None

    @classmethod
    def of(cls, terms: Terms, rows: tuple[int, int], named: tuple[int, int]) -> Bounds:
        """From both parties' rows, the keyholder's first, and from how many of them have tuples that were named."""
        return cls(terms.k, terms.given_up(rows[0]), rows[0] - named[0], rows[1] - named[1], terms.domain)

    def _capped(self, length: int) -> int:
        return length if self.domain is None else min(length, self.domain)

    @property
    def tested(self) -> int:
        """Entries of each of the two lists of phase 1."""
        return self._capped(max(self.keyholder, self.comparer))

    @cached_property
    def layout(self) -> Layout:
        """Who is compared with whom in phase 2."""
        if not self.given_up:
            return Layout(0, 0, hashed=False)
        return Layout.of(self._capped(self.keyholder - self.given_up), self._capped(self.comparer))

    @property
    def test_chunk(self) -> int:
        """Entries in a message of phase 1."""
        return max(1, CHUNK // self.k)

    @property
    def test_chunks(self) -> int:
        return -(-self.tested // self.test_chunk)

    @property
    def compare_chunk(self) -> int:
        """Bins in a message of phase 2."""
        return max(1, CHUNK // max(self.k, self.layout.slots, 1))

    @property
    def compare_chunks(self) -> int:
        return -(-self.layout.bins // self.compare_chunk)

    @property
    def piece(self) -> int:
        """Places of a bin in one answer at most: where few tuples meet many, a bin's would not fit into a message.

        Never fewer than k, so that what each piece costs of its own, a power of each z, stays below its comparisons.
        """
        return max(CHUNK, self.k)

    @property
    def pieces(self) -> int:
        """Answers to a message of phase 2."""
        return -(-self.layout.slots // self.piece)

    @property
    def ciphertexts(self) -> int:
        """How many ciphertexts both parties make, about."""
        return 2 * self.k * self.tested + self.k * self.layout.bins + self.layout.comparisons
