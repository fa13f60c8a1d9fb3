"""The collector's role: it enrols, makes the index, has positions opened, cuts the line, and gets the release."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from covey.arrays import Longs
from covey.crypto.elgamal import Ciphertexts, Logarithms
from covey.crypto.paillier import Ciphertexts as DealtCiphertexts
from covey.errors import PeerError, Unmet
from covey.protocols.as_printed.collect import answers, bounds, dealt, diversity, fetch, index, keys, leakage
from covey.protocols.as_printed.collect.answers import Layout
from covey.protocols.as_printed.collect.dealt_committee import Key as DealtKey
from covey.protocols.as_printed.collect.line import cut_line
from covey.protocols.as_printed.collect.parameters import Parameters, trees_of
from covey.protocols.as_printed.collect.release import ReleasePhase, RespondentOrder
from covey.protocols.as_printed.collect.zero_test import Tester
from covey.protocols.protocol import Attendance, Result, Seat
from covey.protocols.shared import roll
from covey.wire import gather


@dataclass(frozen=True)
class CollectedAnswers:
    """The collector's state before anything is opened: keys, and the answers of those who gave one."""

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
    parameters, trees = Parameters.of(seat.study), trees_of(seat.study)
    layout = Layout.of(parameters, trees)
    respondents = len(seat.channel.peers)
    if respondents < parameters.k:
        raise Unmet(f"fewer than k = {parameters.k} respondents took part; nothing can be released")

    try:
        found = await prepare(seat, parameters, layout)
    except PeerError as error:
        raise roll.gone(seat.attendance, error) from None
    tester = Tester(seat.channel.at("helper"), found.enrolment.opening, seat.attendance)
    seat.note(leakage.positions(parameters))
    if found.key is None:
        positions = await open_positions(tester, parameters, found.enrolment, found.given)
    else:
        positions = await dealt.open_positions(seat.channel.at("open"), found.key, found.enrolment, found.hidden)
    sound = check_positions(seat.attendance, parameters, found.enrolment, positions)
    enrolment = replace(found.enrolment, handles=tuple(found.enrolment.handles[place] for place in sound))
    given, positions = [found.given[place] for place in sound], positions[sound]

    seat.progress.phase("classes")
    line, sums = await divide(seat, parameters, layout, tester, positions, given)
    seat.ledger.learns(leakage.BOXES)
    nodes = await bounds.find(tester, layout, trees, sums, line.sizes.tolist())

    seat.progress.phase("release")
    release = ReleasePhase(seat, parameters, layout, trees, enrolment, tester, given)
    made = await release.make(line, nodes, respondents)
    await tester.dismiss()
    return made


async def prepare(seat: Seat, parameters: Parameters, layout: Layout) -> CollectedAnswers:
    """Runs everything up to the answers. Nothing has been opened when this returns, or fails."""
    respondents = len(seat.channel.peers)
    seat.progress.phase("keys")
    seat.note(leakage.enrolment(parameters, respondents))
    enrolment = await keys.enrol(seat.channel.at("keys"), parameters, attendance=seat.attendance)
    if parameters.dealt:
        seat.ledger.learns(leakage.DEALT)
    key = await dealt.found(seat.channel.at("dealt"), parameters, enrolment) if parameters.dealt else None

    seat.progress.phase("index")
    made = await make_index(seat, parameters, enrolment, key)

    seat.progress.phase("positions", respondents)
    both = await read_answers(seat, parameters, layout, enrolment, made, key)
    if len(both) < parameters.k:
        raise Unmet(f"fewer than k = {parameters.k} respondents answered; nothing can be released")
    return CollectedAnswers(
        replace(enrolment, handles=tuple(both)),
        [given for given, _ in both.values()],
        [position for _, position in both.values() if position is not None],
        key,
    )


async def make_index(seat: Seat, parameters: Parameters, enrolment: keys.Enrolment, key: DealtKey | None) -> bytes:
    """The encrypted index, from everyone's random numbers and our own, an entry after the other."""
    channel, count = seat.channel.at("numbers"), len(enrolment.handles)
    own = index.draw(parameters, channel.rng.stream("own"), parameters.b + parameters.grid.cells)
    if key is not None:
        return await dealt.make_index(channel, parameters, key.public, enrolment.handles, own)
    issuer, issued = await asyncio.to_thread(index.issue, channel, parameters)
    joint = enrolment.opening.key

    async def numbers(number: int, name: str) -> Ciphertexts:
        await channel.send(name, issued)
        due = sum(index.blocks(parameters, count, number))
        return await index.receive(channel, name, issuer, joint, due)

    theirs = await gather(*(numbers(number, name) for number, name in enumerate(enrolment.handles)))
    fresh = channel.rng.stream("fresh")
    return index.spell(await asyncio.to_thread(index.build, parameters, joint, theirs, own, fresh))


async def read_answers(
    seat: Seat, parameters: Parameters, layout: Layout, enrolment: keys.Enrolment, made: bytes, key: DealtKey | None
) -> dict[str, tuple[Ciphertexts, DealtCiphertexts | None]]:
    """Serves the index to everyone, and receives the answers; with a dealt key, positions come separately."""
    channel, done = seat.channel.at("answers"), iter(range(1, len(enrolment.handles) + 1))

    async def answer(name: str) -> tuple[Ciphertexts, DealtCiphertexts | None]:
        position = None if key is None else await dealt.receive(channel.at("position"), name, key.public)
        given = await answers.receive(channel, name, layout, enrolment.opening.key)
        seat.progress.reach(next(done))
        return given, position

    return await fetch.serve(seat.channel.at("fetch"), parameters, made, enrolment, answer, attendance=seat.attendance)


async def open_positions(
    tester: Tester, parameters: Parameters, enrolment: keys.Enrolment, given: Sequence[Ciphertexts]
) -> Longs:
    """Everyone's position, with the committee's help and our own key."""
    points = await tester.open(Ciphertexts.join([own.slice(0, 1) for own in given]))
    logarithms = await asyncio.to_thread(Logarithms.for_many, parameters.largest_image + 1, len(given))
    return await asyncio.to_thread(logarithms.of, points)


def check_positions(
    attendance: Attendance, parameters: Parameters, enrolment: keys.Enrolment, positions: Longs
) -> list[int]:
    """The places of those whose position some cell can have; whoever has another is excused, or ends the run.

    All entries of the index are proved to be such positions, so that it is the respondent who answered another. Under
    a dealt key nothing is proved: raises Unmet, and blames nobody.
    """
    least, sound = 2 * parameters.low * (parameters.b + 1), []
    for place, (name, position) in enumerate(zip(enrolment.handles, positions.tolist(), strict=True)):
        if least <= position <= parameters.largest_image:
            sound.append(place)
        elif parameters.dealt:
            raise Unmet(
                'somebody lied: a position was opened that no cell has. With scheme = "paillier" nobody can tell '
                "whether its owner did or one who drew numbers for the index; nothing was released"
            )
        else:
            attendance.excuse(PeerError(party=name, step="positions", reason="it answered a position that no cell has"))
    return sound


async def divide(
    seat: Seat, parameters: Parameters, layout: Layout, tester: Tester, positions: Longs, given: Sequence[Ciphertexts]
) -> tuple[RespondentOrder, list[Ciphertexts]]:
    """The classes, diverse if the study asks for it, and the sums of their members' marks."""
    order = np.argsort(positions, kind="stable").astype(np.int64)
    places = positions[order]
    group = cut_line(places, parameters.class_size(len(places)), parameters.cut)
    sums = await asyncio.to_thread(answers.add_up, given, answers.members_of(order, group))
    if parameters.watched:
        seat.ledger.learns(leakage.DISTINCT if parameters.diversity == "distinct" else leakage.DIVERSE)
        group, sums, short = await diversity.settle(tester, parameters, layout, places, group, sums)
        seat.note(leakage.merged(short))
    return RespondentOrder(order, places, group), sums
