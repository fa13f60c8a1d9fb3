"""Tests of k and delta: numbers that must be zero or more in a group, of which no provider sees one.

The asker adds up the other's encrypted bits; comparisons say, for each group, if all its numbers are zero or more, and
both providers learn that one bit.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from covey.arrays import Bits, Longs
from covey.crypto.paillier import Ciphertexts
from covey.errors import InputError
from covey.protocols.as_printed.federate import comparison
from covey.protocols.as_printed.federate.groups import Group
from covey.protocols.as_printed.federate.meeting import CountingPair
from covey.protocols.as_printed.federate.parameters import Parameters
from covey.protocols.as_printed.federate.users import OwnUsers
from covey.wire import Channel


def tests_of(params: Parameters) -> int:
    """The number of tests of a group."""
    return 1 if params.delta is None else 1 + len(params.providers)


def width_of(params: Parameters, size: int) -> int:
    """Bits of the largest number that is tested in a group of so many members."""
    factor = 1 if params.delta is None else params.delta.denominator
    return int(max(factor * size, params.k) + 1).bit_length()


async def is_feasible(channel: Channel, pair: CountingPair, everyone: Group) -> bool:
    """True if the whole population as one group keeps k and delta; the first provider asks, and both learn it."""
    together = tests_of(pair.params)
    widths = [width_of(pair.params, len(everyone.members))] * together
    if pair.is_first:
        numbers = [group_tests(pair, everyone.members, pair.theirs.total())]
        return bool((await ask_tests(channel, pair, numbers, widths, together))[0])
    return bool((await answer_tests(channel, pair, widths, together))[0])


async def keep_exactly(channel: Channel, pair: CountingPair, leaves: Sequence[Group]) -> Bits:
    """The groups that keep delta for each exact value in them; both providers learn which."""
    width = pair.params.width
    widths = [width_of(pair.params, len(group.members)) for group in leaves for _ in range(width)]
    if pair.is_first:
        return await answer_tests(channel, pair, widths, width)
    return await ask_tests(channel, pair, [exact_tests(pair, group) for group in leaves], widths, width)


async def ask_tests(
    channel: Channel, pair: CountingPair, numbers: Sequence[Ciphertexts], widths: Sequence[int], together: int
) -> Bits:
    """True for each `together` numbers that are all zero or more."""
    joined, lengths = Ciphertexts.join(pair.theirs.key, numbers), np.array(widths, dtype=np.int64)
    shares = await comparison.ask_signs(channel.at("signs"), pair.peer, pair.their_bits, joined, lengths)
    return await comparison.ask_verdicts(channel.at("verdict"), pair.peer, pair.their_bits, shares, together)


async def answer_tests(channel: Channel, pair: CountingPair, widths: Sequence[int], together: int) -> Bits:
    """The other side of `ask_tests`."""
    lengths = np.array(widths, dtype=np.int64)
    shares = await comparison.answer_signs(channel.at("signs"), pair.peer, pair.secret, pair.reading, lengths)
    return await comparison.answer_verdicts(channel.at("verdict"), pair.peer, pair.reading, shares, together)


def group_tests(pair: CountingPair, members: Longs, users: Ciphertexts) -> Ciphertexts:
    """The numbers that must be zero or more in a group of which the other provider has so many users."""
    own, delta = pair.users.holding(members), pair.params.delta
    common = pair.theirs_among(own)
    found = [common.plus_numbers([-pair.params.k])]
    if delta is not None:
        part = common.scaled([-delta.denominator])
        found.append(part.plus_numbers([delta.numerator * len(own)]))
        found.append(part.plus(users.scaled([delta.numerator])))
    return Ciphertexts.join(pair.theirs.key, found)


def exact_tests(pair: CountingPair, group: Group) -> Ciphertexts:
    """For each exact value, a number that must be zero or more: delta times our users that have it, less the common."""
    delta = pair.params.delta
    if delta is None:
        raise InputError("presence of exact values is tested only where the study has a delta")
    cells = by_value(pair.users, group)
    common = pair.theirs.totals(cells).scaled([-delta.denominator] * len(cells))
    return common.plus_numbers([delta.numerator * len(cell) for cell in cells])


def by_value(own: OwnUsers, group: Group) -> list[list[int]]:
    """The members of a group that this provider has, by their exact values."""
    cells: list[list[int]] = [[] for _ in range(own.params.width)]
    mine = own.holding(group.members)
    for member, value in zip(mine.tolist(), own.exact[own.row[mine]].tolist(), strict=True):
        cells[value].append(member)
    return cells
