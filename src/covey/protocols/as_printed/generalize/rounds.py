"""The rounds of a run: compare; where the parties' groups do not fit together, generalize and compare again.

Termination, whose proof the paper leaves out: when a party is at its roots it has one group, every pair of groups is
one of the other party's, and those have k people or more. So a run has at most one more round than the party that is
nearer to its roots has steps left. With finished cells, groups of the rest may be small: there both may have to go up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from covey.errors import Aborted
from covey.protocols.as_printed.generalize import matrix, threshold
from covey.protocols.as_printed.generalize.local import Generalization
from covey.protocols.as_printed.generalize.matrix import RoundInput, RoundOutcome
from covey.protocols.as_printed.generalize.parameters import Mode, Parameters
from covey.wire import Channel, Count, Message


class GroupNumbers(Message, tag="generalize.shape"):
    """The numbers of people and of groups that the sender compares."""

    people: Count
    groups: Count


class Distinct(Message, tag="generalize.distinct"):
    """The number of distinct values in the sender's most varied column, in 1,024ths of its weight; 0 at the roots."""

    score: Count


@dataclass(frozen=True)
class Round:
    """A round as both parties know it: the people compared, each party's number of groups, and the comparison."""

    people: int
    groups: tuple[int, int]
    """The observer's, the partner's."""
    mode: Mode | None
    """None where one party has a single group, so that nothing needs to be compared."""


async def agree(
    channel: Channel, parameters: Parameters, local: Generalization, ids: Sequence[bytes], reach: Callable[[int], None]
) -> list[Round]:
    """Generalizes with the other party until their groups fit together; people left in the pool then are withheld."""
    played: list[Round] = []
    for number in range(1, parameters.cap + 1):
        at = channel.at("round", number)
        found = await _compare(at, parameters, local, ids, played)
        reach(number)
        if found.done is not None:
            local.settle(found.done)
            if int(local.pool.sum()) < parameters.k:
                return played
        elif found.compatible:
            local.pool[:] = False
            return played
        await _move(at.at("distinct"), parameters, local)
    raise endless(parameters)


def endless(parameters: Parameters) -> Aborted:
    """More rounds than there are steps to the roots: no honest run has so many."""
    return Aborted(f"no agreement after {parameters.cap} rounds: a party did not keep to the protocol", resumable=False)


async def _compare(
    channel: Channel, parameters: Parameters, local: Generalization, ids: Sequence[bytes], played: list[Round]
) -> RoundOutcome:
    [peer] = channel.peers
    label = local.groups()
    groups, people = int(label.max()) + 1, len(label)
    finishing = parameters.variant == "finished-cells"
    least = 1 if finishing and played else parameters.k
    theirs = await _shape(channel.at("shape"), peer, people, groups, least)
    both = (groups, theirs) if channel.me == parameters.observer else (theirs, groups)
    mode = parameters.mode_of(both)
    played.append(Round(people, both, mode))
    mine = RoundInput([ids[place] for place in np.flatnonzero(local.pool).tolist()], label, groups, theirs, least)
    match mode:
        case None:
            return RoundOutcome(compatible=True)
        case "matrix":
            return await matrix.compare(channel, peer, mine, parameters.k, finishing=finishing)
        case "threshold":
            side = threshold.encryptor if channel.me == encryptor_of(parameters, both) else threshold.adder
            return await side(channel, peer, mine, parameters.k)


def encryptor_of(parameters: Parameters, groups: tuple[int, int]) -> str:
    """The party with fewer groups; the observer, if both have as many."""
    return parameters.observer if groups[0] <= groups[1] else parameters.partner


async def _shape(channel: Channel, peer: str, people: int, groups: int, least: int) -> int:
    """The number of the other party's groups. Raises `PeerError` for other people, or groups of too few."""
    theirs = (await channel.exchange(GroupNumbers(people, groups)))[peer]
    if theirs.people != people:
        raise channel.refusal(peer, f"it compares {theirs.people} people, and we {people}")
    if not 1 <= theirs.groups <= people // least:
        raise channel.refusal(peer, f"{theirs.groups} groups of {people} people; each is to have {least} or more")
    return theirs.groups


async def _move(channel: Channel, parameters: Parameters, local: Generalization) -> None:
    """One step more general: both parties, or in the variant `datafly` the one with the most distinct column."""
    if parameters.variant != "datafly":
        local.step()
        return
    [peer] = channel.peers
    mine = local.most_distinct()[1]
    theirs = (await channel.exchange(Distinct(mine)))[peer].score
    first, second = (mine, theirs) if channel.me == parameters.observer else (theirs, mine)
    if observer_moves(first, second) == (channel.me == parameters.observer):
        local.step()


def observer_moves(first: int, second: int) -> bool:
    """Returns True if the observer has the most distinct column; a tie goes to the partner."""
    return first > second
