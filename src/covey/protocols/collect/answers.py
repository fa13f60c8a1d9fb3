"""What a respondent answers, all of it encrypted: its position, and its values as marks that can be added up.

The position is the index's entry for its cell, re-randomised: else the collector, who knows the index, would find the
cell by comparing (the paper forgets this). With jitter a random number below twice rho's lower bound is added, which
changes no order and hides who shares a cell.

A value of a quasi column is marked at every code from its own on (a *thermometer*): so the sum over a class is, at each
code, how many members have that value or a lower one. A sensitive value is marked once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from covey.arrays import Longs
from covey.crypto.elgamal import Ciphertexts, encrypt, rerandomise
from covey.crypto.group import Points
from covey.crypto.rng import Stream
from covey.errors import PeerError
from covey.hierarchy import Hierarchy
from covey.protocols.collect.terms import Terms
from covey.protocols.shared.rows import domain
from covey.table import Table
from covey.wire import Channel, Message


class Answers(Message, tag="collect.answers"):
    """A respondent's position and marks, encrypted."""

    first: Points
    second: Points


@dataclass(frozen=True)
class Layout:
    """Where what stands in an answer: the position first, then the thermometers, then the sensitive values."""

    thermometers: tuple[int, ...]
    """Each quasi column's first mark; the column has one fewer than it has codes."""
    values: tuple[tuple[int, int], ...]
    """Each watched column's first mark, and how many it has."""
    size: int

    @classmethod
    def of(cls, terms: Terms, trees: Sequence[Hierarchy]) -> Layout:
        """The layout for a study."""
        starts, place = [], 1
        for tree in trees:
            starts.append(place)
            place += tree.codes - 1
        values = []
        for column in terms.watched:
            values.append((place, len(domain(column))))
            place += len(domain(column))
        return cls(tuple(starts), tuple(values), place)


def marks(terms: Terms, table: Table, row: int = 0) -> list[int]:
    """A record's marks, as the layout has them, without the position."""
    found: list[int] = []
    for place, tree in enumerate(table.trees):
        code = int(table.codes[place, row])
        found += [int(code <= mark) for mark in range(tree.codes - 1)]
    for column in terms.watched:
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


def jitter_of(terms: Terms, stream: Stream) -> int:
    """What is added to the position: nothing, or less than two numbers are apart at least."""
    return stream.below(2 * terms.low) if terms.jitter else 0


async def receive(channel: Channel, handle: str, layout: Layout) -> Ciphertexts:
    """One respondent's answer, as the collector reads it."""
    message = await channel.receive(handle, Answers)
    if len(message.first) != layout.size or len(message.second) != layout.size:
        reason = f"{len(message.first)} and {len(message.second)} halves of marks, expected {layout.size}"
        raise PeerError(party=handle, step=channel.step, reason=reason)
    return Ciphertexts(message.first, message.second)


def add_up(answers: Sequence[Ciphertexts], members: Sequence[Sequence[int]]) -> list[Ciphertexts]:
    """The sum over each class's members of all marks, the position left out."""
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
