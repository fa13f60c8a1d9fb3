"""The rounds of a run: compare, and where the parties' groups do not fit together, generalize and compare again.

Termination, whose proof the paper leaves out: when a party is at its roots it has one group, every pair of groups is
one of the other party's, and those have k people or more. So a run has at most one more round than the party that is
nearer to its roots has steps left. With finished cells, groups of the rest may be small: there both may have to go up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from covey.errors import Aborted, PeerError
from covey.protocols.generalize import compare, hidden
from covey.protocols.generalize.compare import Found, Hand
from covey.protocols.generalize.local import Local
from covey.protocols.generalize.terms import Leaking, Terms
from covey.wire import Channel, Count, Message


class Shape(Message, tag="generalize.shape"):
    """How many people the sender compares, and in how many groups."""

    people: Count
    groups: Count


class Distinct(Message, tag="generalize.distinct"):
    """How many distinct values the sender's most varied column has, in 1,024ths of its weight; 0 at the roots."""

    score: Count


@dataclass(frozen=True)
class Round:
    """What both parties know of a round: the people compared, each party's groups, and how it was compared."""

    people: int
    groups: tuple[int, int]
    """The observer's, the partner's."""
    leaking: Leaking | None
    """None where one party has a single group, so that nothing needs to be compared."""


@dataclass
class Course:
    """The rounds so far."""

    rounds: list[Round] = field(default_factory=list)


async def agree(
    channel: Channel, terms: Terms, local: Local, ids: Sequence[bytes], reach: Callable[[int], None]
) -> Course:
    """Generalizes with the other party until their groups fit together; who is left in the pool then is withheld."""
    course = Course()
    for number in range(1, terms.cap + 1):
        at = channel.at("round", number)
        found = await _compare(at, terms, local, ids, course)
        reach(number)
        if found.done is not None:
            local.settle(found.done)
            if int(local.pool.sum()) < terms.k:
                return course
        elif found.compatible:
            local.pool[:] = False
            return course
        await _move(at.at("distinct"), terms, local)
    raise endless(terms)


def endless(terms: Terms) -> Aborted:
    """More rounds than there are steps to the roots: no honest run has so many."""
    return Aborted(f"no agreement after {terms.cap} rounds: a party did not keep to the protocol", resumable=False)


async def _compare(channel: Channel, terms: Terms, local: Local, ids: Sequence[bytes], course: Course) -> Found:
    [peer] = channel.peers
    label = local.groups()
    groups, people = int(label.max()) + 1, len(label)
    finishing = terms.variant == "finished-cells"
    least = 1 if finishing and course.rounds else terms.k
    theirs = await _shape(channel.at("shape"), peer, people, groups, least)
    both = (groups, theirs) if channel.me == terms.observer else (theirs, groups)
    single = min(both) == 1 and not finishing
    leaking = None if single else terms.leaking(people, min(both))
    course.rounds.append(Round(people, both, leaking))
    hand = Hand([ids[place] for place in np.flatnonzero(local.pool).tolist()], label, groups, theirs, least)
    match leaking:
        case None:
            return Found(compatible=True)
        case "matrix":
            return await compare.matrix(channel, peer, hand, terms.k, finishing=finishing)
        case "one-sided":
            if channel.me == terms.observer:
                return await compare.observe(channel, peer, hand, terms.k)
            return await compare.answer(channel, peer, hand)
        case "threshold":
            side = hidden.encryptor if channel.me == encryptor_of(terms, both) else hidden.adder
            return await side(channel, peer, hand, terms.k)


def encryptor_of(terms: Terms, groups: tuple[int, int]) -> str:
    """The party with fewer groups; the observer, if both have as many."""
    return terms.observer if groups[0] <= groups[1] else terms.partner


async def _shape(channel: Channel, peer: str, people: int, groups: int, least: int) -> int:
    """The number of the other party's groups. Raises `PeerError` for other people, or groups of too few."""
    theirs = (await channel.exchange(Shape(people, groups)))[peer]
    if theirs.people != people:
        reason = f"it compares {theirs.people} people, and we {people}"
        raise PeerError(party=peer, step=channel.step, reason=reason)
    if not 1 <= theirs.groups <= people // least:
        reason = f"{theirs.groups} groups of {people} people; each is to have {least} or more"
        raise PeerError(party=peer, step=channel.step, reason=reason)
    return theirs.groups


async def _move(channel: Channel, terms: Terms, local: Local) -> None:
    """One step more general: both parties, or in the variant `datafly` the one with the most distinct column."""
    if terms.variant != "datafly":
        local.step()
        return
    [peer] = channel.peers
    mine = local.most_distinct()[1]
    theirs = (await channel.exchange(Distinct(mine)))[peer].score
    first, second = (mine, theirs) if channel.me == terms.observer else (theirs, mine)
    if first_moves(terms, first, second) == (channel.me == terms.observer):
        local.step()


def first_moves(terms: Terms, first: int, second: int) -> bool:
    """Whether the observer has the most distinct column; a tie goes to the first party, or to the last."""
    return first > second or (first == second and terms.ties == "first")
