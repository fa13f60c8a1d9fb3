"""A respondent's answers, all of them encrypted: its position, and its values as marks that can be added up.

The position is the index's entry for its cell, re-randomised; otherwise the collector, who knows the index, would find
the cell by comparing (the paper forgets this). With jitter a random number below twice rho's lower bound is added. It
changes no order, and hides who shares a cell.

A value of a quasi column is marked at every code from its own on (a *thermometer*). So the sum over a class is, at each
code, the number of members with that value or a lower one. A sensitive value is marked once.

A respondent proves that its marks are such: each thermometer rises once, from 0 to 1, and each sensitive column has one
mark. With numbers for marks it could make a class's box as narrow as it likes, or any value look rare.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from covey.arrays import Longs
from covey.crypto import unit_vector
from covey.crypto.elgamal import Ciphertexts, encrypt_with, rerandomise
from covey.crypto.group import Points, Scalars, powers
from covey.crypto.rng import Label, Stream
from covey.crypto.unit_vector import Marked
from covey.hierarchy import Hierarchy
from covey.protocols.as_printed.collect.index import Encrypted, ciphertexts_of
from covey.protocols.as_printed.collect.parameters import Parameters
from covey.protocols.shared.rows import domain
from covey.table import Table
from covey.wire import Channel


class Answers(Encrypted, tag="collect.answers"):
    """A respondent's position and marks, and the proof that they are marks."""


@dataclass(frozen=True)
class Layout:
    """The layout of an answer: the position first, then the thermometers, then the sensitive values."""

    thermometers: tuple[int, ...]
    """Each quasi column's first mark; the column has one fewer than it has codes."""
    values: tuple[tuple[int, int], ...]
    """Each watched column's first mark, and how many it has."""
    size: int

    @classmethod
    def of(cls, parameters: Parameters, trees: Sequence[Hierarchy]) -> Layout:
        """The layout for a study."""
        starts, place = [], 1
        for tree in trees:
            starts.append(place)
            place += tree.codes - 1
        values = []
        for column in parameters.watched:
            values.append((place, len(domain(column))))
            place += len(domain(column))
        return cls(tuple(starts), tuple(values), place)

    def rising(self) -> list[tuple[int, int]]:
        """Each thermometer's first mark, and the one after its last; those of columns with one code have none."""
        ends = [*self.thermometers, *(first for first, _ in self.values[:1]), self.size]
        return [(first, last) for first, last in pairwise(ends[: len(self.thermometers) + 1]) if first < last]

    def lists(self, given: Ciphertexts) -> list[Ciphertexts]:
        """The lists of an answer that have one mark each: the steps of every thermometer, and sensitive values."""
        top = Ciphertexts(powers([0]), powers([1]))
        found = []
        for first, last in self.rising():
            part = Ciphertexts.join([given.slice(first, last), top])
            found.append(
                Ciphertexts.join([part.slice(0, 1), part.slice(1, len(part)).minus(part.slice(0, last - first))])
            )
        return found + [given.slice(first, first + values) for first, values in self.values]

    def plain_lists(self, own: Sequence[int], top: int) -> list[list[int]]:
        """The same of plain numbers, or of the ciphertexts' randomness, which is zero at the top."""
        found = []
        for first, last in self.rising():
            part = [0, *own[first - 1 : last - 1], top]
            found.append([after - before for before, after in pairwise(part)])
        return found + [list(own[first - 1 : first - 1 + values]) for first, values in self.values]


def marks(parameters: Parameters, table: Table, row: int = 0) -> list[int]:
    """A record's marks, as the layout has them, without the position."""
    found: list[int] = []
    for place, tree in enumerate(table.trees):
        code = int(table.codes[place, row])
        found += [int(code <= mark) for mark in range(tree.codes - 1)]
    for column in parameters.watched:
        values = table.values(column.name)
        own = values.labels[values.codes[row]]
        found += [int(value == own) for value in domain(column)]
    return found


def answer(
    entry: Ciphertexts, jitter: int, own: Sequence[int], key: Points, hide: Stream, fresh: Scalars
) -> Ciphertexts:
    """A respondent's whole answer, from the index's entry for its cell."""
    position = rerandomise(entry.plus_numbers([jitter]) if jitter else entry, key, hide)
    return Ciphertexts.join([position, encrypt_with(own, key, fresh)]) if own else position


def prove(
    channel: Channel, layout: Layout, given: Ciphertexts, own: Sequence[int], key: Points, fresh: Scalars
) -> bytes:
    """The proof that the marks of this answer, encrypted with that randomness, are marks."""
    hidden, plain = layout.lists(given), layout.plain_lists(own, 1)
    randomness = layout.plain_lists(fresh.numbers(), 0)
    lists = [
        Marked(marks, places.index(1), logarithms)
        for marks, places, logarithms in zip(hidden, plain, randomness, strict=True)
    ]
    return unit_vector.prove(lists, key, channel.rng.stream("proof"), *_context(channel, channel.me, given))


def jitter_of(parameters: Parameters, stream: Stream) -> int:
    """The number that is added to the position: 0, or less than the smallest distance of two cells."""
    return stream.below(2 * parameters.low) if parameters.jitter else 0


async def receive(channel: Channel, handle: str, layout: Layout, key: Points) -> Ciphertexts:
    """One respondent's answer, as the collector reads it. Raises PeerError unless its marks are proved to be marks."""
    message = await channel.receive(handle, Answers)
    given = ciphertexts_of(channel, handle, message, layout.size, "marks")
    lists, context = layout.lists(given), _context(channel, handle, given)
    if not await asyncio.to_thread(unit_vector.holds, message.proof, lists, key, *context):
        raise channel.refusal(handle, "it does not prove that its marks are one for each column")
    return given


def _context(channel: Channel, prover: str, given: Ciphertexts) -> tuple[Label, ...]:
    position = given.slice(0, 1)
    return ("collect answer", channel.session, channel.step, prover, position.first.data, position.second.data)


def add_up(answers: Sequence[Ciphertexts], members: Sequence[Sequence[int]]) -> list[Ciphertexts]:
    """The sum over each class's members of all marks, the position left out.

    All classes' first members are added to all second members, and so on: one long addition for each place is much
    faster than one for each member. The largest classes come first, so that those that go on stand together.
    """
    width = len(answers[0]) - 1
    order = sorted(range(len(members)), key=lambda own: -len(members[own]))
    total = Ciphertexts.join([answers[members[own][0]].slice(1, width + 1) for own in order])
    for place in range(1, len(members[order[0]])):
        longer = [own for own in order if len(members[own]) > place]
        more = Ciphertexts.join([answers[members[own][place]].slice(1, width + 1) for own in longer])
        total = Ciphertexts.join([
            total.slice(0, len(more)).plus(more), total.slice(len(more), len(total))
        ])  # fmt: skip
    rank = {own: place for place, own in enumerate(order)}
    return [total.slice(rank[own] * width, (rank[own] + 1) * width) for own in range(len(members))]


def members_of(order: Longs, group: Longs) -> list[list[int]]:
    """Each class's members, in the order of their numbers and not of their positions."""
    found: list[list[int]] = [[] for _ in range(int(group.max()) + 1)]
    for respondent, own in zip(order.tolist(), group.tolist(), strict=True):
        found[own].append(respondent)
    return [sorted(own) for own in found]
