"""The public sizes of a run, and the tuples that are compared: every one with every other, or by bins of a hash.

Bounds    the length of every list follows from what both parties have shown, and from nothing else. Only rare rows
          count: the rows of tuples of which a party has k by itself are known from the lists of these tuples, and no
          list is ever longer than the number of tuples there can be.
Bins      by hashing, the keyholder puts each of its tuples into one of the three bins that a public hash gives for it
          (cuckoo hashing), and the comparer each of its own into all three; only tuples of the same bin are compared.
          Bins are filled up to their public size: their loads would tell about the tuples.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from covey.arrays import Longs
from covey.crypto.rng import Stream, spell
from covey.errors import Aborted
from covey.protocols.as_printed.suppress.parameters import Parameters

CHUNK = 1024
"""Ciphertexts in a message, about."""
LANES = 4
"""Chunks that are under way side by side; each lane is a step of its own."""
HASHES = 3
CHANCE = 2.0**-40
"""The largest chance that a public size does not suffice."""
_NOTHING = 2.0**-40
"""Terms of a tail below this part of the chance: each is smaller than the one before, and all of them do not count."""
_ROOMY, _TIGHT, _MANY = 1.5, 1.27, 4096


@dataclass(frozen=True)
class BinLayout:
    """A table of bins: one tuple of the keyholder in each at most, and so many places for the comparer's."""

    bins: int
    slots: int
    hashed: bool

    @classmethod
    def of(cls, listed: int, compared: int) -> BinLayout:
        """The cheaper form for so many tuples at most on the two sides."""
        if not listed or not compared:
            return cls(0, 0, hashed=False)
        bins = bins_for(listed)
        slots = slots_for(compared, bins)
        if bins * slots < listed * compared:
            return cls(bins, slots, hashed=True)
        return cls(listed, compared, hashed=False)

    @property
    def comparisons(self) -> int:
        return self.bins * self.slots

    def place(self, keys: Sequence[bytes], seed: bytes, stream: Stream) -> Longs:
        """The keyholder's side: a bin for each of its tuples. Raises Aborted if there is no way to place them."""
        if not self.hashed:
            return stream.permutation(self.bins)[: len(keys)]
        return cuckoo(choices(keys, seed, self.bins), self.bins)

    def fill(self, keys: Sequence[bytes], seed: bytes, stream: Stream) -> Longs:
        """The comparer's side: bins x slots, in each the number of one of its tuples, or -1, in random order.

        Raises Aborted if a bin overflows.
        """
        table = np.full((self.bins, self.slots), -1, dtype=np.int64)
        if not self.bins:
            return table
        if not self.hashed:
            table[:, : len(keys)] = np.arange(len(keys))
        elif len(keys):
            bins = choices(keys, seed, self.bins).ravel()
            order = np.argsort(bins, kind="stable")
            ranked = bins[order]
            within = np.arange(len(ranked)) - np.searchsorted(ranked, ranked)
            if int(within.max()) >= self.slots:
                raise _unlucky()
            table[ranked, within] = order // HASHES
        for row in table:
            row[:] = row[stream.permutation(self.slots)]
        return table


@dataclass(frozen=True)
class Bounds:
    """The sizes that both parties know before the first ciphertext."""

    k: int
    given_up: int
    """Rows that the keyholder gives up: k, or none where both have fewer than k."""
    keyholder: int
    """The keyholder's rows outside the tuples that it has named, those given up included."""
    comparer: int
    domain: int | None

    @classmethod
    def of(cls, parameters: Parameters, rows: tuple[int, int], named: tuple[int, int]) -> Bounds:
        """From both parties' rows, the keyholder's first, and from how many of them have tuples that were named."""
        return cls(
            parameters.k, parameters.given_up(rows[0]), rows[0] - named[0], rows[1] - named[1], parameters.domain
        )

    def _capped(self, length: int) -> int:
        return length if self.domain is None else min(length, self.domain)

    @property
    def tested(self) -> int:
        """Entries of each of the two lists of phase 1."""
        return self._capped(max(self.keyholder, self.comparer))

    @cached_property
    def layout(self) -> BinLayout:
        """The bins of phase 2: which tuples are compared."""
        if not self.given_up:
            return BinLayout(0, 0, hashed=False)
        return BinLayout.of(self._capped(self.keyholder - self.given_up), self._capped(self.comparer))

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
        """The number of ciphertexts that both parties make, about."""
        return 2 * self.k * self.tested + self.k * self.layout.bins + self.layout.comparisons


def choices(keys: Sequence[bytes], seed: bytes, bins: int) -> Longs:
    """Three different bins for each tuple, by a public hash."""
    found = np.empty((len(keys), HASHES), dtype=np.int64)
    for row, key in enumerate(keys):
        digest = hashlib.sha512(spell("covey bins/1", seed, key)).digest()
        taken: list[int] = []
        for turn in range(HASHES):
            place = int.from_bytes(digest[16 * turn : 16 * turn + 16], "big") % (bins - turn)
            for before in sorted(taken):
                place += place >= before
            taken.append(place)
        found[row] = taken
    return found


def cuckoo(wanted: Longs, bins: int) -> Longs:
    """One of its bins for each item, no bin twice: found whenever there is a way. Raises Aborted if there is none."""
    owner = np.full(bins, -1, dtype=np.int64)
    for item in range(len(wanted)):
        before = {int(place): -1 for place in wanted[item]}  # which bin's owner would move here
        queue = list(before)
        for place in queue:
            if owner[place] < 0:
                break
            for other in wanted[owner[place]].tolist():
                if other not in before:
                    before[other] = place
                    queue.append(other)
        else:
            raise _unlucky()
        while before[place] >= 0:
            owner[place] = owner[before[place]]
            place = before[place]
        owner[place] = item
    found = np.empty(len(wanted), dtype=np.int64)
    taken = np.flatnonzero(owner >= 0)
    found[owner[taken]] = taken
    return found


def bins_for(listed: int) -> int:
    """A number of bins such that the tuples find their places but for a chance of less than 2^-40.

    Small tables fail first when four tuples have the same three bins; large ones have room as in the literature on
    private set intersection.
    """
    four = math.comb(listed, 4) / CHANCE
    least = HASHES + 1
    while math.comb(least, HASHES) ** 3 < 4 * four:
        least += max(1, least // 50)
    return max(math.ceil((_TIGHT if listed >= _MANY else _ROOMY) * listed), least)


@lru_cache(maxsize=256)
def slots_for(compared: int, bins: int) -> int:
    """A number of places in each bin such that none overflows but for a chance of less than 2^-40 in all.

    A bin's load is binomial, whatever the mean: the tail is summed from where its terms no longer count, down to where
    it reaches the chance.
    """
    share = HASHES / bins
    if share >= 1:
        return compared
    terms, count = list[float](), int(compared * share)
    while count < compared:
        count += 1
        terms.append(math.exp(_log_chance(compared, share, count)))
        if bins * terms[-1] < CHANCE * _NOTHING:
            break
    above = 0.0
    while terms:
        above += terms.pop()
        if bins * above >= CHANCE:
            return count
        count -= 1
    return max(count, 1)


def _log_chance(n: int, share: float, m: int) -> float:
    """The logarithm of the chance that m of n fall into a bin with that share."""
    ways = math.lgamma(n + 1) - math.lgamma(m + 1) - math.lgamma(n - m + 1)
    return ways + m * math.log(share) + (n - m) * math.log1p(-share)


def _unlucky() -> Aborted:
    return Aborted(
        "the hashing of tuples into bins failed, which happens less than once in 2^39 runs; begin anew, in another "
        "folder",
        resumable=False,
    )
