"""A respondent's answers, all of them encrypted: its position, and its values as marks that can be added up.

The position is the index's entry for its cell, re-randomised; otherwise the collector, who knows the index, would find
the cell by comparing (the paper forgets this). With jitter a random number below twice rho's lower bound is added. It
changes no order, and hides who shares a cell.

A value of a quasi column is marked at every code from its own on (a *thermometer*). So the sum over a class is, at each
code, the number of members with that value or a lower one. A sensitive value is marked once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from covey.arrays import Longs
from covey.crypto.elgamal import Ciphertexts, encrypt, rerandomise
from covey.crypto.group import Points
from covey.crypto.rng import Stream
from covey.hierarchy import Hierarchy
from covey.protocols.collect.index import Encrypted, receive_ciphertexts
from covey.protocols.collect.parameters import Parameters
from covey.protocols.shared.rows import domain
from covey.table import Table
from covey.wire import Channel


class Answers(Encrypted, tag="collect.answers"):
    """A respondent's position and marks."""


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
    entry: Ciphertexts, jitter: int, own: Sequence[int], key: Points, hide: Stream, fresh: Stream
) -> Ciphertexts:
    """A respondent's whole answer, from the index's entry for its cell."""
    position = rerandomise(entry.plus_numbers([jitter]) if jitter else entry, key, hide)
    return Ciphertexts.join([position, encrypt(own, key, fresh)]) if own else position


def jitter_of(parameters: Parameters, stream: Stream) -> int:
    """The number that is added to the position: 0, or less than the smallest distance of two cells."""
    return stream.below(2 * parameters.low) if parameters.jitter else 0


async def receive(channel: Channel, handle: str, layout: Layout) -> Ciphertexts:
    """One respondent's answer, as the collector reads it."""
    return await receive_ciphertexts(channel, handle, Answers, layout.size, "marks")


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
