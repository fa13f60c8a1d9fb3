"""Columns come in: each holder shares a hash of each key beside its columns, and one sort joins a person's columns.

Hashes are made with a key of the session that the holders alone know. Equal hashes come in the holders' order, since
the place before a sort is behind each key, so a person whom all have is a stretch of as many records as there are
holders. Opened are whether k people or more are common, then how many; nobody learns which.
Source: P. Mohassel, P. Rindal, M. Rosulek, Fast database joins and PSI for secret shared data, CCS 2020, with a sort.

Two different keys of M records have one hash with a chance below 2^-41, whatever M is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from covey.arrays import Longs, Words
from covey.crypto.rng import derive
from covey.crypto.secret import Secret
from covey.errors import Unmet
from covey.mpc import Box, Outside, Shared, joined, stacked, width_of
from covey.protocols.peel.cells import Cells
from covey.protocols.peel.coding import side_by_side
from covey.protocols.peel.disclosures import LARGEST, common
from covey.protocols.peel.intake import Base, agreed_cells, require_range, shared_by, told_cells
from covey.protocols.peel.record_word import Domain, RecordWord
from covey.protocols.peel.sizes import BITS
from covey.protocols.peel.terms import Terms
from covey.protocols.shared.columns.meeting import keys_of
from covey.study import Study
from covey.table import Table

CHANCE = 20
"""Bits of each half of a hash beyond those that number the records."""
FEW, UNLIKE = 0, 1
"""What parties outside are told in place of the number of common people, which is k or more."""


class Part(NamedTuple):
    """A part of a record: a quasi column's digits, or a published cell."""

    kind: str
    column: str
    width: int


@dataclass(frozen=True)
class Columns:
    """The intake of columns. Numbers of parties are places in their order; the three who compute come first."""

    study: Study
    terms: Terms
    parties: Sequence[str]
    holders: Sequence[int]
    checked: bool
    """True if cells that no table has end the run."""
    key: Secret | None
    """The session's key for hashes; None at a party without columns."""

    async def take(self, box: Box, tables: Mapping[int, Table]) -> Base:
        """Returns the people whom all holders have. Raises Unmet for fewer than k, or where all must be common."""
        outside, once = range(3, len(self.parties)), dict.fromkeys(self.holders, 1)
        cells = await agreed_cells(box, self.study, self.holders, tables, outside)
        numbers = {place: np.array([[table.rows]], np.uint64) for place, table in tables.items()}
        shared = await shared_by(box, self.holders, numbers, dict.fromkeys(self.holders, BITS), once)
        sizes = await self._sizes(box, shared)
        most = max(sizes.values())
        await box.tell(outside, np.array([most], np.uint64), says=LARGEST)
        half = self._half(most)
        words = {place: self._words(place, table, cells, sizes[place], half) for place, table in tables.items()}
        widths = {place: 2 * half + _width(self._parts(place, cells)) for place in self.holders}
        columns, word = await shared_by(box, self.holders, words, widths, sizes), RecordWord(self.terms, cells)
        if self.checked:
            domains = [self._domains(place, word, 2 * half) for place in self.holders]
            await require_range(box, columns, domains, [self.parties[place] for place in self.holders])
        people, complete = await self._met(box, columns, 2 * half)
        number = await self._common(box, complete, shared)
        if number < self.study.privacy.k:
            await box.tell(outside, np.array([number], np.uint64), says=common(self.study.privacy.k))
            raise self._refusal(number)
        mixed, _ = await box.shuffle(joined(complete, people))
        stays = np.flatnonzero(await box.open_bit(mixed.bits([0]), says=common(self.study.privacy.k)))
        await box.tell(outside, np.array([len(stays)], np.uint64), says=common(self.study.privacy.k))
        return Base(word.spread(box, mixed.at(stays).bits(1 + self._order(cells))), cells)

    async def give(self, outside: Outside, place: int, table: Table | None) -> tuple[int, Cells]:
        """Returns the number of common people and the cells' coding. Raises Unmet as `take` does."""
        cells = await told_cells(outside, self.study, table)
        if table is not None:
            await outside.share(np.array([[table.rows]], np.uint64), BITS)
        most = int((await outside.told(1))[0])
        if table is not None:
            half, size = self._half(most), most if self.study.sizes == "private" else table.rows
            width = 2 * half + _width(self._parts(place, cells))
            await outside.share(self._words(place, table, cells, size, half), width)
        number = int((await outside.told(1))[0])
        if number < self.study.privacy.k:
            raise self._refusal(number)
        return number, cells

    async def _sizes(self, box: Box, shared: Sequence[Shared]) -> dict[int, int]:
        """Returns how many records each holder shares: with private sizes as many as the largest has."""
        if self.study.sizes == "public":
            opened = await box.open(stacked(*shared), says=LARGEST)
            return dict(zip(self.holders, opened.astype(np.int64).tolist(), strict=True))
        most = shared[0]
        for number in shared[1:]:
            most = await box.select(await (most < number), number, most)
        return dict.fromkeys(self.holders, int((await box.open(most, says=LARGEST))[0]))

    async def _met(self, box: Box, parts: Sequence[Shared], size: int) -> tuple[Shared, Shared]:
        """Returns all holders' columns beside each record, and a bit: is it a common person's first one?

        The order is that of the hashes, so nothing may be opened of it before a shuffle.
        """
        count, widest = width_of(len(parts) - 1), max(part.width for part in parts)
        stack = []
        for number, part in enumerate(parts):
            filled = joined(part, box.zeros(widest - part.width, part.records))
            owner = box.constant(number, count, part.records)
            stack.append(joined(filled.bits(slice(0, size)), owner, filled.bits(slice(size, None))))
        records = stacked(*stack)
        run = await box.sort(records.bits(slice(0, size)), records.bits(slice(size, None)))
        owner, columns = run.rows.bits(slice(0, count)), run.rows.bits(slice(count, None))
        same = (await box.equal(run.key, run.key.ahead(1))).where(np.arange(records.records) < records.records - 1)
        turns = range(len(parts))
        alike = [same.ahead(turn) for turn in turns[:-1]]
        # a holder that enters a key twice stands in no row for another
        owners = [~(owner.ahead(turn) ^ box.constant(turn, count, records.records)) for turn in turns]
        people = joined(*(columns.bits(slice(0, part.width - size)).ahead(turn) for turn, part in enumerate(parts)))
        return people, await box.all(joined(*alike, *owners))

    async def _common(self, box: Box, complete: Shared, sizes: Sequence[Shared]) -> int:
        """Returns k, or what parties outside are told where there are fewer or all must be common; opens no more."""
        number, says = (await box.count(complete)).padded(BITS), common(self.study.privacy.k)
        few = await (number < box.constant(self.study.privacy.k, BITS, 1))
        if (await box.open_bit(few, says=says))[0]:
            return FEW
        if self.study.mismatch == "abort":
            alike = [await box.equal(number, size) for size in sizes]
            if not (await box.open_bit(await box.all(joined(*alike)), says=says))[0]:
                return UNLIKE
        return self.study.privacy.k

    def _refusal(self, number: int) -> Unmet:
        if number == FEW:
            return Unmet(
                f"the holders have fewer than k = {self.study.privacy.k} people in common; nothing can be released: do "
                "their key columns spell the same ids alike?"
            )
        return Unmet(
            'the holders do not have the same people, and the study says mismatch = "abort"; compare the key columns, '
            'or let mismatch = "intersect" leave out those whom not all have'
        )

    def _half(self, most: int) -> int:
        """Returns the bits of half a hash, where each holder shares so many records at most."""
        return width_of(max(len(self.holders) * most - 1, 1)) + CHANCE

    def _parts(self, place: int, cells: Cells) -> list[Part]:
        """Returns the parts of a holder's records, in their order."""
        own = {column.name for column in self.study.held_by(self.parties[place])}
        return [part for part in self._record(cells) if part.column in own]

    def _domains(self, place: int, word: RecordWord, size: int) -> list[Domain]:
        """Returns what the parts of a holder's words may be: a hash of that size anything."""
        domains = word.domains()
        return [(np.zeros(0, np.uint64), size), *(domains[part.column] for part in self._parts(place, word.cells))]

    def _record(self, cells: Cells) -> list[Part]:
        """Returns the parts of a whole record, as the terms have them."""
        quasi = zip(self.study.quasi, self.terms.coding.columns, strict=True)
        return [
            *(Part("digits", column.name, coding.width) for column, coding in quasi),
            *(Part("cell", column.name, width) for column, width in zip(cells.columns, cells.widths, strict=True)),
        ]

    def _order(self, cells: Cells) -> Longs:
        """Returns where each bit of a whole record stands in the holders' columns side by side."""
        starts, start = dict[Part, int](), 0
        for place in self.holders:
            for part in self._parts(place, cells):
                starts[part] = start
                start += part.width
        spans = [np.arange(starts[part], starts[part] + part.width) for part in self._record(cells)]
        return np.concatenate([np.zeros(0, np.int64), *spans])

    def _words(self, place: int, table: Table, cells: Cells, size: int, half: int) -> Words:
        """Returns a holder's records as words, and empty ones up to a size, with hashes that nobody else has."""
        if self.key is None:
            raise TypeError(f"party {self.parties[place]!r} shares columns, so it has the key for hashes")
        codes = dict(zip((column.name for column in table.quasi), table.codes, strict=True))
        digits = dict(zip((column.name for column in self.study.quasi), self.terms.coding.columns, strict=True))
        parts, nobody = self._parts(place, cells), [str(number) for number in range(size - table.rows)]
        columns: list[Words] = []
        for part in parts:
            if part.kind == "digits":
                columns.append(digits[part.column].leaves[codes[part.column]])
            else:
                columns.append(cells.only(part.column).words(table))
        filled = [np.pad(np.atleast_2d(words), ((0, 0), (0, len(nobody)))) for words in columns]
        keys = hashed(keys_of(table, f"party {self.parties[place]!r}"), derive(self.key, "keys"), half)
        others = hashed(nobody, derive(self.key, "nobody", place), half)
        hashes = [np.concatenate(halves) for halves in zip(keys, others, strict=True)]
        return side_by_side([*hashes, *filled], [half, half, *(part.width for part in parts)])


def hashed(keys: Sequence[str], key: Secret, half: int) -> tuple[Words, Words]:
    """Returns a hash of each key, as two halves of so many bits."""
    raw = [hashlib.blake2b(text.encode(), key=key.reveal(), digest_size=16).digest() for text in keys]
    words = np.frombuffer(b"".join(raw), ">u8").astype(np.uint64).reshape(-1, 2) >> np.uint64(64 - half)
    return words[:, 0], words[:, 1]


def _width(parts: Sequence[Part]) -> int:
    return sum(part.width for part in parts)
