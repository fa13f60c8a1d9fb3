"""The trustees' computation: from shares of everyone's record to classes, and to the values of published records.

Every step is played by all trustees alike over a channel of their own. From the first shuffle on records have numbers
and no names. A step's outcome is a `TrusteeState`.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from covey.arrays import Bits, Ints, Longs, Words
from covey.crypto import sharing
from covey.crypto.rng import Rng
from covey.crypto.scalar_field import FQ, ScalarElements, numbers
from covey.errors import Aborted
from covey.protocols.collect_peel.layout import RecordLayout
from covey.protocols.collect_peel.parameters import Parameters
from covey.protocols.shared.peeling.nodes import list_nodes
from covey.secure import coin
from covey.secure.equals.counting import Counter, Groups
from covey.secure.equals.shuffling import Shuffler
from covey.secure.equals.supply import TripleSupply
from covey.secure.equals.trustees import OpenedShares, Trustees
from covey.wire import Channel, Chunk

RESERVE = 64
"""For each record, the products that are made before the visits."""
BATCH = 100_000
"""Products that are made at once, at most."""


class OpenedLetters(Chunk[bytes], tag="collect.opened"):
    """For each respondent whether the sender could open its letter."""

    bits: bytes


@dataclass(frozen=True)
class TrusteeState:
    """The findings of the trustees so far, the same at each."""

    nodes: Ints
    """The generalizations to visit."""
    visited: int = 0
    klass: Longs = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """Each record's class; -1 while it is in play, -2 where its group could not be named."""
    boxes: tuple[Ints, ...] = ()
    sizes: tuple[int, ...] = ()


@dataclass
class TrusteePeeling:
    """One trustee's part."""

    parameters: Parameters
    layout: RecordLayout
    counter: Counter
    records: Words
    """Our shares of the records (records x numbers), in an order that nobody knows."""

    @classmethod
    async def begin(
        cls,
        channel: Channel,
        trustees: Trustees,
        parameters: Parameters,
        layout: RecordLayout,
        read: Sequence[Words | None],
    ) -> tuple[TrusteePeeling, list[int]]:
        """Leaves out whose letters do not open or whose shares are none, and shuffles the others.

        The second answer is the places of those who stay. Raises Aborted if they are too few of those who answered.
        """
        supply, count = TripleSupply(), len(read)
        await _stock(channel.at("supply"), trustees, supply, count + layout.width + 2 + len(layout.trees) * (count + 1))
        shuffler = await Shuffler.meet(
            channel.at("meet"), trustees, supply, max(layout.width, 2 + len(parameters.watched))
        )
        whole = np.array([each is not None for each in read], dtype=np.bool_)
        told = await channel.at("letters").exchange_all(OpenedLetters, np.packbits(whole).tobytes())
        for bits in told.values():
            whole &= np.unpackbits(np.frombuffer(bits, dtype=np.uint8), count=count).astype(bool)
        kept = [place for place in range(count) if whole[place]]
        width = layout.width
        rows = np.stack([each for place in kept if (each := read[place]) is not None]) if kept else _none(width)
        sound = await _on_polynomials(channel.at("degree"), trustees, rows, supply.take(len(rows)).first)
        rows, kept = rows[sound], [place for place, fits in zip(kept, sound.tolist(), strict=True) if fits]
        parameters.require_most(count, len(kept))
        counter = Counter(trustees, supply, shuffler)
        if len(rows):
            rows = await shuffler.shuffle(channel.at("first"), trustees, rows)
        return cls(parameters, layout, counter, rows), kept

    async def count_values(self, channel: Channel) -> list[Longs]:
        """Counts the records of each value that k or more have, by column."""
        counts = []
        for column, tree in enumerate(self.layout.trees):
            known = np.zeros(tree.codes, dtype=np.int64)
            if tree.height and len(self.records):
                own = np.ascontiguousarray(self.records[:, self.layout.first[column]])
                rows = np.column_stack([own, own])
                found = await self.counter.count(channel.at(column), rows, self.parameters.k, members=1)
                for size, opened in zip(found.large, found.opened, strict=True):
                    code = self.layout.nodes[column].get(opened[0])
                    if code is not None and code < tree.codes:
                        known[code] = size
            elif len(self.records):
                known[0] = len(self.records)
            counts.append(known)
        return counts

    async def prepare(self, channel: Channel, counts: Sequence[Longs]) -> TrusteeState:
        """The list of nodes, and products for the visits."""
        marginals = self.parameters.marginals(len(self.records), counts)
        nodes = list_nodes(self.layout.study, self.layout.trees, marginals, self.parameters.nodes)
        count = len(self.records) * min(len(nodes), RESERVE) * (1 + len(self.parameters.watched))
        await _stock(channel, self.counter.trustees, self.counter.supply, count)
        return TrusteeState(nodes, klass=np.full(len(self.records), -1, dtype=np.int64))

    def done(self, state: TrusteeState) -> bool:
        """True if nothing is left to visit."""
        return state.visited == len(state.nodes) or int((state.klass == -1).sum()) < self.parameters.k

    async def visit(self, channel: Channel, state: TrusteeState) -> TrusteeState:
        """The next node: its groups of k or more become classes and leave."""
        levels = [int(level) for level in state.nodes[state.visited]]
        rest = np.flatnonzero(state.klass == -1)
        places = self.layout.places(levels)
        own = self.records[rest]
        total = own[:, list(places.values())].sum(axis=1) % FQ.prime if places else numbers([0] * len(rest))
        watched = [
            np.ascontiguousarray(own[:, self.layout.cells[column.name][0]]) for column in self.parameters.watched
        ]
        rows = np.column_stack([total, numbers(rest.tolist()), *watched])
        found = await self.counter.count(channel, rows, self.parameters.k, admits=self._admit if watched else None)
        boxes = await self._name(channel.at("name"), found.opened, levels, places, set(rest.tolist()))
        klass, sizes, made = state.klass.copy(), list(state.sizes), list(state.boxes)
        for group, box in zip(found.opened, boxes, strict=True):
            klass[group] = -2 if box is None else len(sizes)
            if box is not None:
                sizes.append(len(group))
                made.append(box)
        return replace(state, visited=state.visited + 1, klass=klass, boxes=tuple(made), sizes=tuple(sizes))

    async def _admit(self, channel: Channel, counter: Counter, mixed: Words, large: Groups) -> Groups:
        """The groups that are diverse: before anything of a group is opened, its sensitive values are counted."""
        for number in range(len(self.parameters.watched)):
            if not large:
                break
            at = channel.at(number)
            await counter.require(at.at("stock"), sum(map(len, large)) + len(large))
            equal = await counter.groups(at, np.ascontiguousarray(mixed[:, 2 + number]), among=large)
            owner = {place: own for own, group in enumerate(large) for place in group}
            counts: dict[int, list[int]] = {}
            for group in equal:
                counts.setdefault(owner[group[0]], []).append(len(group))
            large = [group for own, group in enumerate(large) if self.parameters.is_diverse(counts[own])]
        return large

    async def _name(
        self, channel: Channel, groups: list[list[int]], levels: Sequence[int], places: dict[int, int], rest: set[int]
    ) -> list[Ints | None]:
        """The labels of each group, from a member's numbers; the next member's where a member's are no labels."""
        listed = [record for group in groups for record in group]
        if len(set(listed)) != len(listed) or not set(listed) <= rest:
            raise Aborted("the opened records are not those in play: a trustee did not keep to it", resumable=False)
        boxes: list[Ints | None] = [None] * len(groups)
        for turn in range(max(map(len, groups), default=0)):
            due = [number for number, group in enumerate(groups) if boxes[number] is None and turn < len(group)]
            if not due:
                break
            chosen = [sorted(groups[number])[turn] for number in due]
            shares = self.records[np.ix_(chosen, list(places.values()))].ravel()
            shown = iter((await self.counter.trustees.open(channel.at(turn), shares)).tolist() if len(shares) else [])
            for number in due:
                boxes[number] = self.layout.box(levels, {column: next(shown) for column in places})
        return boxes

    async def open_cells(self, channel: Channel, state: TrusteeState) -> tuple[Longs, dict[str, list[str]]]:
        """The values of all published records; whose values are none is left out.

        So is a class that is then too small, or not diverse any more. The first answer is each row's class.
        """
        out = np.flatnonzero(state.klass >= 0)
        first = sum(tree.height for tree in self.layout.trees)
        shares = self.records[out, first:]
        shown = (
            (await self.counter.trustees.open(channel, shares.ravel())).reshape(shares.shape) if shares.size else shares
        )
        cells: dict[str, list[str | None]] = {
            name: [self.layout.read(name, row[places.start - first : places.stop - first]) for row in shown.tolist()]
            for name, places in self.layout.cells.items()
        }
        klass, sound = state.klass[out], np.ones(len(out), dtype=np.bool_)
        for column in cells.values():
            sound &= np.array([cell is not None for cell in column], dtype=np.bool_)
        touched = {own: np.flatnonzero(sound & (klass == own)) for own in set(klass[~sound].tolist())}
        broken = {own for own, rows in touched.items() if not self._keeps(cells, rows)}
        sound &= np.array([own not in broken for own in klass.tolist()], dtype=np.bool_)
        kept = {
            name: [cell for cell, fits in zip(column, sound.tolist(), strict=True) if fits and cell is not None]
            for name, column in cells.items()
        }
        return klass[sound], kept

    def _keeps(self, cells: Mapping[str, Sequence[str | None]], rows: Longs) -> bool:
        """True if a class of these rows is large and diverse enough."""
        return len(rows) >= self.parameters.k and all(
            self.parameters.is_diverse([*Tally(cells[column.name][row] for row in rows.tolist()).values()])
            for column in self.parameters.watched
        )


async def _stock(channel: Channel, trustees: Trustees, supply: TripleSupply, count: int) -> None:
    for number, at in enumerate(range(0, count, BATCH)):
        await supply.make(channel.at(number), trustees, min(BATCH, count - at))


async def _on_polynomials(channel: Channel, trustees: Trustees, rows: Words, masks: Words) -> Bits:
    """Tells for each row if the trustees' shares of it lie on polynomials of the degree t.

    A random combination of the row's numbers, under a mask, is opened; whose shares do not fit is left out.
    """
    if not len(rows):
        return np.ones(0, dtype=np.bool_)
    weights = FQ.draw(Rng(await coin.toss(channel.at("coin"))).stream("weights"), rows.shape[1])
    mine = FQ.add(np.asarray(FQ.combine(weights[np.newaxis], np.ascontiguousarray(rows.T))[0]), masks)
    theirs = await channel.at("open").exchange_all(OpenedShares, ScalarElements(mine))
    shares = {trustees.places[name]: own.words for name, own in theirs.items()} | {trustees.places[trustees.me]: mine}
    ordered = dict(sorted(shares.items()))
    enough = dict(list(ordered.items())[: trustees.degree + 1])
    rest = [place for place in ordered if place not in enough]
    sound = np.ones(len(rows), dtype=np.bool_)
    for place, due in zip(rest, sharing.extend(enough, rest, FQ) if rest else [], strict=True):
        sound &= np.asarray(due == ordered[place], dtype=np.bool_)
    return sound


def _none(width: int) -> Words:
    return np.asarray(numbers([])).reshape(0, width)
