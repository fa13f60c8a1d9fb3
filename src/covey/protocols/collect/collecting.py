"""The collector: enrols, makes the index, has positions opened, cuts the line, and gets the release."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from covey.arrays import Ints, Longs
from covey.crypto.elgamal import Ciphertexts, Logarithms
from covey.crypto.paillier import Ciphertexts as DealtCiphertexts
from covey.errors import PeerError, Unmet
from covey.hierarchy import Hierarchy
from covey.protocols.collect import answers, attack, bounds, dealt, diverse, fetch, index, keys, leaks, roll, submit
from covey.protocols.collect.answers import Layout
from covey.protocols.collect.dealt_committee import Key as DealtKey
from covey.protocols.collect.divide import cut_line
from covey.protocols.collect.terms import Terms, trees_of
from covey.protocols.collect.zeros import Tester
from covey.protocols.protocol import Attendance, Figures, Proposal, Result, Seat
from covey.protocols.shared.peeling.classes import PublishedClasses
from covey.protocols.shared.rows import Rows, carried
from covey.secure.declare import Leakage
from covey.wire import gather


@dataclass(frozen=True)
class Line:
    """Everyone on the line: who, in the order of positions, where, and in which class."""

    order: Longs
    places: Longs
    group: Longs

    @property
    def sizes(self) -> Longs:
        """How many respondents each class has."""
        return np.bincount(self.group).astype(np.int64)


@dataclass(frozen=True)
class Answered:
    """What the collector holds before anything is opened: keys, and the answers of those who gave one."""

    enrolment: keys.Enrolment
    """Its handles are those who answered."""
    given: list[Ciphertexts]
    hidden: list[DealtCiphertexts]
    """Their positions, where these are under a dealt key."""
    key: DealtKey | None


async def collector(seat: Seat) -> Result:
    """The collector's role: each phase needs only what the one before has left.

    Raises Left if somebody leaves, before anything is opened, without whom this attempt cannot go on; later nobody is
    needed by name, and Unmet says what there are too few of.
    """
    terms, trees = Terms.of(seat.study), trees_of(seat.study)
    layout = Layout.of(terms, trees)
    respondents = len(seat.channel.peers)
    if respondents < terms.k:
        raise Unmet(f"fewer than k = {terms.k} respondents took part; nothing can be released")

    try:
        found = await prepare(seat, terms, layout)
    except PeerError as error:
        raise roll.gone(seat.attendance, error) from None
    tester = Tester(seat.channel.at("helper"), found.enrolment.opening, seat.attendance)
    _note(seat, leaks.positions(terms))
    if found.key is None:
        positions = await open_positions(tester, terms, found.enrolment, found.given)
    else:
        positions = await dealt.open_positions(seat.channel.at("open"), found.key, found.enrolment, found.hidden)
    sound = check_positions(seat.attendance, terms, found.enrolment, positions)
    enrolment = replace(found.enrolment, handles=tuple(found.enrolment.handles[place] for place in sound))
    given, positions = [found.given[place] for place in sound], positions[sound]

    seat.pace.phase("classes")
    line, sums = await divide(seat, terms, layout, tester, positions, given)
    seat.book.learns(leaks.BOXES)
    nodes = await bounds.find(tester, layout, trees, sums, line.sizes.tolist())

    seat.pace.phase("release")
    release = Release(seat, terms, layout, trees, enrolment, tester, given)
    made = await release.make(line, nodes, respondents)
    await tester.dismiss()
    return made


async def prepare(seat: Seat, terms: Terms, layout: Layout) -> Answered:
    """Everything up to the answers: nothing of anyone has been opened when this returns, or fails."""
    respondents = len(seat.channel.peers)
    seat.pace.phase("keys")
    _note(seat, leaks.enrolment(terms, respondents))
    enrolment = await keys.enrol(
        seat.channel.at("keys"), terms.committee, least=terms.k, attendance=seat.attendance, deals=terms.dealt
    )
    if terms.dealt:
        seat.book.learns(leaks.DEALT)
    key = await dealt.found(seat.channel.at("dealt"), enrolment) if terms.dealt else None

    seat.pace.phase("index")
    made = await make_index(seat, terms, enrolment, key)

    seat.pace.phase("positions", respondents)
    both = await read_answers(seat, terms, layout, enrolment, made, key)
    if len(both) < terms.k:
        raise Unmet(f"fewer than k = {terms.k} respondents answered; nothing can be released")
    return Answered(
        replace(enrolment, handles=tuple(both)),
        [given for given, _ in both.values()],
        [position for _, position in both.values() if position is not None],
        key,
    )


async def make_index(seat: Seat, terms: Terms, enrolment: keys.Enrolment, key: DealtKey | None) -> bytes:
    """The encrypted index, from everyone's random numbers and our own, an entry after the other."""
    channel, count = seat.channel.at("numbers"), len(enrolment.handles)
    own = index.draw(terms, channel.rng.stream("own"), terms.b + terms.grid.cells)
    if key is not None:
        return await dealt.make_index(channel, terms, key.public, enrolment.handles, own)
    theirs = await gather(
        *(index.receive(channel, terms, name, count, number) for number, name in enumerate(enrolment.handles))
    )
    fresh = channel.rng.stream("fresh")
    return index.spell(await asyncio.to_thread(index.build, terms, enrolment.opening.key, theirs, own, fresh))


async def read_answers(
    seat: Seat, terms: Terms, layout: Layout, enrolment: keys.Enrolment, made: bytes, key: DealtKey | None
) -> dict[str, tuple[Ciphertexts, DealtCiphertexts | None]]:
    """Everyone reads its entry of the index, and answers; with a dealt key, positions come by themselves."""
    channel, done = seat.channel.at("answers"), iter(range(1, len(enrolment.handles) + 1))

    async def answer(name: str) -> tuple[Ciphertexts, DealtCiphertexts | None]:
        position = None if key is None else await dealt.receive(channel.at("position"), name, key.public)
        given = await answers.receive(channel, name, layout)
        seat.pace.reach(next(done))
        return given, position

    return await fetch.serve(seat.channel.at("fetch"), terms, made, enrolment, answer, attendance=seat.attendance)


async def open_positions(
    tester: Tester, terms: Terms, enrolment: keys.Enrolment, given: Sequence[Ciphertexts]
) -> Longs:
    """Everyone's position, with the committee's help and our own key."""
    points = await tester.open(Ciphertexts.join([own.slice(0, 1) for own in given]))
    logarithms = await asyncio.to_thread(Logarithms.for_many, terms.largest_image + 1, len(given))
    return await asyncio.to_thread(logarithms.of, points)


def check_positions(attendance: Attendance, terms: Terms, enrolment: keys.Enrolment, positions: Longs) -> list[int]:
    """The places of those whose position some cell can have; whoever has another is excused, or ends the run."""
    least, sound = 2 * terms.low * (terms.b + 1), []
    for place, (name, position) in enumerate(zip(enrolment.handles, positions.tolist(), strict=True)):
        if least <= position <= terms.largest_image:
            sound.append(place)
        else:
            attendance.excuse(PeerError(party=name, step="positions", reason="it answered a position that no cell has"))
    return sound


async def divide(
    seat: Seat, terms: Terms, layout: Layout, tester: Tester, positions: Longs, given: Sequence[Ciphertexts]
) -> tuple[Line, list[Ciphertexts]]:
    """The classes, diverse if the study asks for it, and the sums of their members' marks."""
    order = np.argsort(positions, kind="stable").astype(np.int64)
    places = positions[order]
    group = cut_line(places, terms.class_size(len(places)), terms.cut)
    sums = await asyncio.to_thread(answers.add_up, given, answers.members_of(order, group))
    if terms.watched:
        seat.book.learns(leaks.DISTINCT if terms.diversity == "distinct" else leaks.DIVERSE)
        group, sums, short = await diverse.settle(tester, terms, layout, places, group, sums)
        seat.book.learns(leaks.MERGED, short=short)
    return Line(order, places, group), sums


@dataclass(frozen=True)
class Release:
    """The last phase: everyone is told its class, approves, and hands in its row."""

    seat: Seat
    terms: Terms
    layout: Layout
    trees: Sequence[Hierarchy]
    enrolment: keys.Enrolment
    tester: Tester
    given: Sequence[Ciphertexts]

    async def make(self, line: Line, nodes: Ints, respondents: int) -> Result:
        """The released table. Raises Unmet if no class has k members left."""
        seat, trees, study = self.seat, tuple(self.trees), self.seat.study
        assembly = submit.Assembly(seat.channel.at("release"), self.terms, study, self.enrolment, seat.attendance)
        known = self._figures(line.sizes.tolist(), nodes, range(len(nodes)), len(line.order))
        _note(seat, leaks.chance(await asyncio.to_thread(expect, self.terms, self.trees, nodes, line.sizes)))
        members = [named(self.enrolment, own) for own in answers.members_of(line.order, line.group)]
        companies = [(number, names, await assembly.join(names)) for number, names in enumerate(members)]
        await seat.approve(Proposal(opens=tuple(leaks.ROWS.sentences("collector")), figures=known[1]))
        seat.book.learns(leaks.ROWS)
        rows, withheld = await self._gather(assembly, companies)
        left = respondents - sum(len(part) for part in rows.values()) - withheld
        if left:
            seat.book.learns(leaks.LEFT, left=left)
        if not rows:
            raise Unmet(f"no class has k = {self.terms.k} members left who handed in; nothing can be released")
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
        """Which of the classes that lost members still keep what the study asks for."""
        large = [number for number in sorted(smaller) if len(smaller[number]) >= self.terms.k]
        if not large or not self.terms.watched:
            return set(large)
        self.seat.book.learns(leaks.SMALLER)
        place = {name: place for place, name in enumerate(self.enrolment.handles)}
        members = [[place[name] for name in smaller[number]] for number in large]
        sums = await asyncio.to_thread(answers.add_up, self.given, members)
        try:
            failed = await diverse.failed_of(self.tester, self.terms, self.layout, sums, [len(own) for own in members])
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


def expect(terms: Terms, trees: Sequence[Hierarchy], nodes: Ints, sizes: Longs) -> attack.Success:
    """How well the positions give cells away, on people drawn from the released classes."""
    people = attack.people_of(trees, nodes, sizes)
    number = attack.sample_size(terms, people.shape[1])
    start = (people.shape[1] - number) // 2  # neighbours stay neighbours
    return attack.simulate(terms, trees, people[:, start : start + number])


def _note(seat: Seat, line: tuple[Leakage, dict[str, object]]) -> None:
    leakage, numbers = line
    seat.book.learns(leakage, **numbers)
