"""One question to the evaluator: who is alike? Holders send masked numbers, the evaluator answers with groups.

A question is about some visits at once, each of the same people (or classes) in an order of its own; each visit has a
layer of tags for tuples, and one for each sensitive column where the study asks for l.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from covey.arrays import Ints
from covey.crypto.group import SCALAR_BYTES, Points
from covey.crypto.rng import derive
from covey.crypto.secret import Secret
from covey.errors import Aborted
from covey.protocols.peel_columns import groups, tags
from covey.protocols.peel_columns.groups import Groups
from covey.protocols.peel_columns.parameters import Parameters
from covey.wire import Announced, Channel, Chunk, Count, Message, gather


class Due(Message, tag="peel.due"):
    """The leader tells the evaluator how many people the next visits are about, and how many visits; 0 at the end."""

    people: Count
    visits: Count


class MaskedPositions(Chunk[bytes], tag="peel.masked"):
    """The sender's numbers for each position, blinded and masked: uniform but for their sum over holders."""

    numbers: bytes


class Blinds(Chunk[Points], tag="peel.blinds"):
    """The random number of each position in the exponent."""

    points: Points


class Alike(Announced[bytes], tag="peel.alike"):
    """The positions of each group of enough people whose tags are equal."""

    members: bytes


@dataclass(frozen=True)
class HolderVisit:
    """One visit as a holder brings it."""

    seed: Secret
    """All holders have it."""
    own: Secret
    """This holder's alone: with it, it hashes its part of every tuple."""
    layers: Sequence[Sequence[Ints]]
    """Its part of every tuple in each layer (columns x people), with sensitive values at their owner."""


async def ask(
    channel: Channel, params: Parameters, visits: Sequence[HolderVisit], people: int, least: int, turn: int
) -> list[Groups]:
    """A holder's part: for each visit the groups of `least` or more people who are alike, in the order of people.

    Raises PeerError for an answer that is none.
    """
    evaluator, me = params.evaluator, params.holders.index(channel.me)
    speaks = channel.me == params.speaker(turn)
    sent, points, orders = [], [], []
    for visit in visits:
        disguise = tags.Disguise(visit.seed, len(params.holders), people)
        orders.append(disguise.order())
        for number, parts in enumerate(visit.layers):
            worth = tags.pseudorandom(derive(visit.own, "worth", number), parts, people)
            sent.append(disguise.masked(number, me, worth, orders[-1]))
            if speaks:
                points.append(disguise.points(number))
    if channel.me == params.leader:
        await channel.send(evaluator, Due(people, len(visits)))
    await channel.send_all(evaluator, MaskedPositions, b"".join(sent))
    if speaks:
        await channel.send_all(evaluator, Blinds, Points.join(points))
    raw = await channel.receive_all(evaluator, Alike, None)
    try:
        answers = groups.unpack(raw, len(visits), people, least)
    except ValueError as error:
        raise channel.refusal(evaluator, f"its answer has {error}") from None
    found = []
    for order, positions in zip(orders, answers, strict=True):
        named = [np.sort(order[members]) for members in positions]
        found.append(sorted(named, key=lambda members: int(members[0])))
    return found


async def receive_due(channel: Channel, params: Parameters, most: Due) -> Due:
    """The visits that the leader says are due. Raises PeerError for more people or visits than there can be."""
    due = await channel.receive(params.leader, Due)
    if due.people > most.people or due.visits > most.visits:
        raise channel.refusal(
            params.leader,
            f"{due.visits} visits of {due.people} people, expected at most {most.visits} of {most.people}",
        )
    return due


async def answer(channel: Channel, params: Parameters, due: Due, least: int, turn: int, layers: int = 1) -> None:
    """The evaluator's part: tells every holder the groups that are large enough, and diverse where that is asked."""
    total = due.people * due.visits * layers
    points: list[Points] = []

    async def receive(holder: str) -> list[int]:
        raw = await channel.receive_all(holder, MaskedPositions, SCALAR_BYTES * total)
        if holder == params.speaker(turn):
            points.append(await channel.receive_all(holder, Blinds, total))
        try:
            return tags.read(raw)
        except ValueError as error:
            raise channel.refusal(holder, str(error)) from None

    parts = await gather(*(receive(holder) for holder in params.holders))
    try:
        answers = judged(params, tags.add_up(parts), points[0], due, least, layers)
    except ValueError:
        reason = "the holders' numbers add up to zero, which chance never does: one of the holders did not keep to the"
        raise Aborted(f"{reason} protocol", resumable=False) from None
    raw = groups.pack(answers)
    await gather(*(channel.send_all(holder, Alike, raw) for holder in params.holders))


def judged(params: Parameters, sums: Sequence[int], points: Points, due: Due, least: int, layers: int) -> list[Groups]:
    """The groups of each visit, from the sums of all holders' numbers. Raises ValueError where a sum is zero."""
    answers = []
    for visit in range(due.visits):
        first = visit * layers * due.people
        last = first + due.people
        heavy = groups.of_numbers(tags.alike(tags.tags(sums[first:last], points.slice(first, last))), least)
        for layer in range(1, layers if heavy else 1):  # only of people in large groups
            members = np.concatenate(heavy)
            own = np.repeat(np.arange(len(heavy)), [len(each) for each in heavy])
            places = first + layer * due.people + members
            seen = tags.alike(tags.tags([sums[place] for place in places.tolist()], points.take(places)))
            kept = params.rule.kept(own, seen, len(heavy)) if params.rule is not None else np.ones(len(heavy), bool)
            heavy = [each for each, keeps in zip(heavy, kept.tolist(), strict=True) if keeps]
            if not heavy:
                break
        answers.append(heavy)
    return answers


async def answer_classes(channel: Channel, params: Parameters, people: int) -> None:
    """The evaluator's part where classes are compared: no class has fewer than k people, and one has none."""
    due = await receive_due(channel, params, Due(people // params.k + 1, 1))
    await answer(channel, params, due, 2, 0)
