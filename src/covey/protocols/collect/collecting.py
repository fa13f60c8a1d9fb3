"""The collector: enrols, makes the index, has positions opened, cuts the line, and gets the release."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from covey.crypto.elgamal import Ciphertexts, Logarithms
from covey.crypto.paillier import Ciphertexts as DealtCiphertexts
from covey.errors import PeerError, Unmet
from covey.hierarchy import Hierarchy
from covey.protocols.collect import answers, attack, bounds, dealt, diverse, fetch, index, keys, leaks, submit
from covey.protocols.collect.answers import Layout
from covey.protocols.collect.divide import cut_line
from covey.protocols.collect.grid import Ints, Longs
from covey.protocols.collect.terms import Terms, trees_of
from covey.protocols.collect.zeros import Tester
from covey.protocols.peel.release import Published, figures, result
from covey.protocols.protocol import Proposal, Result, Seat
from covey.protocols.rows import Rows, carried
from covey.secure.dealt_committee import Key as DealtKey
from covey.secure.declare import Leakage
from covey.wire import gather

SIMULATED = 600
"""People whose cells the attack that the ledger speaks of is tried on, at most."""


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


async def collector(seat: Seat) -> Result:
    """The collector's role: each phase needs only what the one before has left."""
    terms, trees = Terms.of(seat.study), trees_of(seat.study)
    layout = Layout.of(terms, trees)
    respondents = len(seat.channel.peers)
    if respondents < terms.k:
        raise Unmet(f"fewer than k = {terms.k} respondents took part; nothing can be released")

    seat.pace.phase("keys")
    _note(seat, leaks.enrolment(terms, respondents))
    enrolment = await keys.enrol(seat.channel.at("keys"), terms.committee, deals=terms.dealt)
    if terms.dealt:
        seat.book.learns(leaks.DEALT)
    key = await dealt.found(seat.channel.at("dealt"), enrolment) if terms.dealt else None

    seat.pace.phase("index")
    made = await make_index(seat, terms, enrolment, key)

    seat.pace.phase("positions", respondents)
    given, hidden = await read_answers(seat, terms, layout, enrolment, made, key)
    tester = Tester(seat.channel.at("helper"), enrolment.opening)
    _note(seat, leaks.positions(terms))
    if key is None:
        positions = await open_positions(tester, terms, enrolment, given)
    else:
        positions = await dealt.open_positions(seat.channel.at("open"), key, enrolment, hidden)
    check_positions(terms, enrolment, positions)

    seat.pace.phase("classes")
    line, sums = await divide(seat, terms, layout, tester, positions, given)
    seat.book.learns(leaks.BOXES)
    nodes = await bounds.find(tester, layout, trees, sums, line.sizes.tolist())
    await tester.dismiss()

    seat.pace.phase("release")
    return await release(seat, terms, trees, enrolment, line, nodes)


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
) -> tuple[list[Ciphertexts], list[DealtCiphertexts]]:
    """Everyone reads its entry of the index, and answers; with a dealt key, positions come by themselves."""
    channel, done = seat.channel.at("answers"), iter(range(1, len(enrolment.handles) + 1))

    async def answer(name: str) -> tuple[Ciphertexts, DealtCiphertexts | None]:
        position = None if key is None else await dealt.receive(channel.at("position"), name, key.public)
        given = await answers.receive(channel, name, layout)
        seat.pace.reach(next(done))
        return given, position

    both = await fetch.serve(seat.channel.at("fetch"), terms, made, enrolment.handles, answer)
    return [given for given, _ in both], [position for _, position in both if position is not None]


async def open_positions(
    tester: Tester, terms: Terms, enrolment: keys.Enrolment, given: Sequence[Ciphertexts]
) -> Longs:
    """Everyone's position, with the committee's help and our own key."""
    points = await tester.open(Ciphertexts.join([own.slice(0, 1) for own in given]))
    logarithms = await asyncio.to_thread(Logarithms.for_many, terms.largest_image + 1, len(given))
    return await asyncio.to_thread(logarithms.of, points)


def check_positions(terms: Terms, enrolment: keys.Enrolment, positions: Longs) -> None:
    """Raises PeerError naming a respondent whose position no cell can have."""
    least = 2 * terms.low * (terms.b + 1)
    for name, position in zip(enrolment.handles, positions.tolist(), strict=True):
        if not least <= position <= terms.largest_image:
            raise PeerError(party=name, step="positions", reason="it answered a position that no cell has")


async def divide(
    seat: Seat, terms: Terms, layout: Layout, tester: Tester, positions: Longs, given: Sequence[Ciphertexts]
) -> tuple[Line, list[Ciphertexts]]:
    """The classes, diverse if the study asks for it, and the sums of their members' marks."""
    order = np.argsort(positions, kind="stable").astype(np.int64)
    places = positions[order]
    group = cut_line(places, terms.k, terms.cut)
    sums = await asyncio.to_thread(answers.add_up, given, answers.members_of(order, group))
    if terms.watched:
        seat.book.learns(leaks.DISTINCT if terms.diversity == "distinct" else leaks.DIVERSE)
        group, sums, short = await diverse.settle(tester, terms, layout, places, group, sums)
        seat.book.learns(leaks.MERGED, short=short)
    return Line(order, places, group), sums


async def release(
    seat: Seat, terms: Terms, trees: Sequence[Hierarchy], enrolment: keys.Enrolment, line: Line, nodes: Ints
) -> Result:
    """Everyone is told its class, approves, and hands in its row."""
    study, channel = seat.study, seat.channel.at("release")
    published = Published.of(len(trees), list(nodes), line.sizes.tolist())
    known = figures(study, tuple(trees), published, len(line.order))
    _note(seat, leaks.chance(await asyncio.to_thread(expect, terms, trees, nodes, line.sizes)))
    classes = []
    for members in answers.members_of(line.order, line.group):
        names = named(enrolment, members)
        classes.append((names, submit.Class.of(channel, [enrolment.letters[name] for name in names])))
    for names, _ in classes:
        company = submit.Company([enrolment.letters[name] for name in names])
        await gather(*(channel.at("company").send(name, company) for name in names))
    await seat.approve(Proposal(opens=tuple(leaks.ROWS.sentences("collector")), figures=known))
    seat.book.learns(leaks.ROWS)
    rows = await gather(*(submit.gather_rows(channel, terms, study, enrolment, names, own) for names, own in classes))
    cells = [row for part in rows for row in part]
    number = np.repeat(published.number, [len(part) for part in rows])
    columns = {column.name: [row[place] for row in cells] for place, column in enumerate(carried(study))}
    return result(study, tuple(trees), published, known, Rows(number, columns))


def named(enrolment: keys.Enrolment, members: Sequence[int]) -> list[str]:
    """A class's members in the order in which they are told of each other: by their random keys."""
    return sorted((enrolment.handles[number] for number in members), key=lambda name: enrolment.letters[name].data)


def expect(terms: Terms, trees: Sequence[Hierarchy], nodes: Ints, sizes: Longs) -> attack.Success:
    """How well the positions give cells away, on people drawn from the released classes."""
    people = attack.people_of(trees, nodes, sizes)
    if people.shape[1] > SIMULATED:
        start = (people.shape[1] - SIMULATED) // 2  # neighbours stay neighbours
        people = people[:, start : start + SIMULATED]
    return attack.simulate(terms, trees, people)


def _note(seat: Seat, line: tuple[Leakage, dict[str, object]]) -> None:
    leakage, numbers = line
    seat.book.learns(leakage, **numbers)
