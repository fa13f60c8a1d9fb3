"""The last phase of the collector's role: from the classes to the released table."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from covey.arrays import Ints, Longs
from covey.crypto.elgamal import Ciphertexts
from covey.errors import Unmet
from covey.hierarchy import Hierarchy
from covey.protocols.as_printed.collect import answers, attack, diversity, keys, leakage, submit
from covey.protocols.as_printed.collect.answers import Layout
from covey.protocols.as_printed.collect.parameters import Parameters
from covey.protocols.as_printed.collect.zero_test import Tester
from covey.protocols.protocol import Figures, Proposal, Result, Seat
from covey.protocols.shared.peeling.classes import PublishedClasses
from covey.protocols.shared.rows import Rows, carried
from covey.wire import gather


@dataclass(frozen=True)
class RespondentOrder:
    """The respondents in the order of their positions, with their positions and their classes."""

    order: Longs
    places: Longs
    group: Longs

    @property
    def sizes(self) -> Longs:
        """The number of respondents in each class."""
        return np.bincount(self.group).astype(np.int64)


@dataclass(frozen=True)
class ReleasePhase:
    """The last phase: every respondent is told its class, approves, and hands in its row."""

    seat: Seat
    parameters: Parameters
    layout: Layout
    trees: Sequence[Hierarchy]
    enrolment: keys.Enrolment
    tester: Tester
    given: Sequence[Ciphertexts]

    async def make(self, line: RespondentOrder, nodes: Ints, respondents: int) -> Result:
        """The released table. Raises Unmet if no class has k members left."""
        seat, trees, study = self.seat, tuple(self.trees), self.seat.study
        assembly = submit.Assembly(seat.channel.at("release"), self.parameters, study, self.enrolment, seat.attendance)
        known = self._figures(line.sizes.tolist(), nodes, range(len(nodes)), len(line.order))
        seat.note(leakage.chance(await asyncio.to_thread(expect, self.parameters, trees, nodes, line.sizes)))
        members = [named(self.enrolment, own) for own in answers.members_of(line.order, line.group)]
        companies = [(number, names, await assembly.join(names)) for number, names in enumerate(members)]
        await seat.propose(Proposal(leakage.ROWS, figures=known[1]))
        rows, withheld = await self._gather(assembly, companies)
        left = respondents - sum(len(part) for part in rows.values()) - withheld
        if left:
            seat.ledger.learns(leakage.LEFT, left=left)
        if not rows:
            raise Unmet(f"no class has k = {self.parameters.k} members left who handed in; nothing can be released")
        order = sorted(rows)
        published, final = self._figures([len(rows[own]) for own in order], nodes, order, len(line.order))
        cells = [row for own in order for row in rows[own]]
        number = np.repeat(published.number, [len(rows[own]) for own in order])
        columns = {column.name: [row[place] for row in cells] for place, column in enumerate(carried(study))}
        return published.result(study, trees, final, Rows(number, columns))

    async def _gather(
        self, assembly: submit.Assembly, companies: list[tuple[int, list[str], submit.Class]]
    ) -> tuple[dict[int, list[list[str]]], int]:
        """Each class's rows, and how many members stayed whose class was withheld.

        A class that loses members goes on without them while it can.
        """
        rows: dict[int, list[list[str]]] = {}
        withheld = 0
        while companies:
            got = await gather(*(assembly.collect(names, own) for _, names, own in companies))
            smaller: dict[int, list[str]] = {}
            for (number, names, _), gathered in zip(companies, got, strict=True):
                if gathered.rows is None:
                    smaller[number] = list(gathered.left)
                    await assembly.end([name for name in names if name not in gathered.left], released=False)
                else:
                    rows[number] = gathered.rows
                    await assembly.end(names, released=True)
            kept = await self._kept(smaller)
            for number in sorted(smaller.keys() - kept):
                await assembly.end(smaller[number], released=False)
                withheld += len(smaller[number])
            companies = [(number, smaller[number], await assembly.join(smaller[number])) for number in sorted(kept)]
        return rows, withheld

    async def _kept(self, smaller: Mapping[int, list[str]]) -> set[int]:
        """The classes that lost members and still keep what the study asks for."""
        large = [number for number in sorted(smaller) if len(smaller[number]) >= self.parameters.k]
        if not large or not self.parameters.watched:
            return set(large)
        self.seat.ledger.learns(leakage.SMALLER)
        place = {name: place for place, name in enumerate(self.enrolment.handles)}
        members = [[place[name] for name in smaller[number]] for number in large]
        sums = await asyncio.to_thread(answers.add_up, self.given, members)
        try:
            failed = await diversity.failed_of(
                self.tester, self.parameters, self.layout, sums, [len(own) for own in members]
            )
        except Unmet:  # too few trustees are left to tell
            return set()
        return {number for own, number in enumerate(large) if own not in failed}

    def _figures(
        self, sizes: Sequence[int], nodes: Ints, classes: Sequence[int], records: int
    ) -> tuple[PublishedClasses, Figures]:
        published = PublishedClasses.of(len(self.trees), [nodes[own] for own in classes], list(sizes))
        return published, published.figures(self.seat.study, self.trees, records)


def named(enrolment: keys.Enrolment, members: Sequence[int]) -> list[str]:
    """A class's members in the order in which they are told of each other: by their random keys."""
    return sorted((enrolment.handles[number] for number in members), key=lambda name: enrolment.letters[name].data)


def expect(parameters: Parameters, trees: Sequence[Hierarchy], nodes: Ints, sizes: Longs) -> attack.Success:
    """The success of the attack on positions, simulated on people drawn from the released classes."""
    people = attack.people_of(trees, nodes, sizes)
    number = attack.sample_size(parameters, people.shape[1])
    start = (people.shape[1] - number) // 2  # neighbours stay neighbours
    return attack.simulate(parameters, trees, people[:, start : start + number])
