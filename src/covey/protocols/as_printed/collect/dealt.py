"""Positions under a dealt Paillier key, as in the paper: the other scheme for the index, its retrieval and its opening.

A respondent that is no trustee deals: it makes the key, cuts it for the trustees by Shamir, or by Asmuth and Bloom, and
forgets it. Any party
that learns what the dealer knows can open every position; so this scheme is not the default. Marks and rows are under
the key that nobody dealt, as in the other scheme. The collector has no part of the dealt key: here a majority of the
trustees, if they colluded, could open positions without it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import accumulate

import numpy as np

from covey.arrays import Longs
from covey.crypto.paillier import Ciphertexts, PublicKey
from covey.crypto.residues import Residues
from covey.crypto.rng import Stream
from covey.errors import InputError
from covey.protocols.as_printed.collect import dealt_committee, post
from covey.protocols.as_printed.collect.dealt_committee import Key, Trustee
from covey.protocols.as_printed.collect.index import block
from covey.protocols.as_printed.collect.keys import Enrolment, Membership
from covey.protocols.as_printed.collect.parameters import Parameters
from covey.secure import ciphers
from covey.secure.ciphers import Ciphers
from covey.wire import Channel, Message, gather, while_sending


class DealtKey(Message, tag="collect.dealt-key"):
    """The dealt key, for everyone."""

    key: PublicKey


class DealtNumbers(Ciphers, tag="collect.dealt-numbers"):
    """A respondent's random numbers, and its part of those before the first cell."""


class Position(Ciphers, tag="collect.position"):
    """A respondent's position, re-randomised."""


async def join(
    channel: Channel, parameters: Parameters, hub: str, membership: Membership
) -> tuple[PublicKey, Trustee | None]:
    """A respondent's part in the dealing: the key, and our share of it if we are a trustee."""
    trustees, trustee = membership.trustees, None
    threshold = parameters.threshold(len(trustees))
    if trustees:
        private = post.private_channel(channel, hub, membership.letters, membership.company)
        if channel.me == membership.dealer:
            await dealt_committee.deal(
                private, trustees, threshold, opener=hub, cut=parameters.shares, bits=parameters.bits
            )
        else:
            trustee = await dealt_committee.accept(
                private, membership.dealer, trustees, threshold, opener=hub, cut=parameters.shares
            )
    key = (await channel.at("told").receive(hub, DealtKey)).key
    if key.bits != parameters.bits or (trustee is not None and trustee.key.public != key):
        raise channel.refusal(hub, "it names another key than the dealer made")
    return key, trustee


async def found(channel: Channel, parameters: Parameters, enrolment: Enrolment) -> Key:
    """The collector's part: carries the dealer's letters, and tells everyone the key."""
    dealer, trustees = enrolment.dealer, enrolment.trustees
    own = post.hub_channel(channel, (dealer, *trustees))
    key = await while_sending(
        post.carry(channel, [(dealer, name) for name in trustees], 1),
        dealt_committee.learn(own, dealer, trustees, parameters.threshold(len(trustees)), cut=parameters.shares),
    )
    await channel.at("told").broadcast(DealtKey(key.public))
    return key


async def contribute(channel: Channel, hub: str, key: PublicKey, numbers: Sequence[int]) -> None:
    """A respondent's numbers for the index."""
    made = await asyncio.to_thread(key.encrypt, numbers, channel.rng.stream("dealt"))
    await ciphers.send(channel, hub, DealtNumbers, made)


async def make_index(
    channel: Channel, parameters: Parameters, key: PublicKey, handles: Sequence[str], own: Longs
) -> bytes:
    """The collector's index, from everyone's numbers and its own: an entry after the other."""
    count = len(handles)

    async def read(number: int, name: str) -> Ciphertexts:
        first, last = block(parameters.grid.cells, count, number)
        return await ciphers.receive(channel, name, DealtNumbers, key, last - first + 1)

    theirs = await gather(*(read(number, name) for number, name in enumerate(handles)))
    made = await asyncio.to_thread(build, parameters, key, theirs, own, channel.rng.stream("fresh"))
    return made.residues().data


def build(
    parameters: Parameters, key: PublicKey, theirs: Sequence[Ciphertexts], own: Longs, fresh: Stream
) -> Ciphertexts:
    """The sums up to each cell, with the collector's own numbers encrypted on top, so that no sum is as it was given.

    Encryptions hide them from all but the dealer, who could open them anyway.
    """
    beginning = Ciphertexts.join(key, [part.slice(len(part) - 1, len(part)) for part in theirs]).total().values[0]
    steps = [value for part in theirs for value in part.values[:-1]]
    sums = list(accumulate([steps[0] * beginning % key.square, *steps[1:]], lambda a, b: a * b % key.square))
    mine = np.cumsum(own[parameters.b :]) + int(own[: parameters.b].sum())
    return Ciphertexts(key, sums).plus(key.encrypt(mine.tolist(), fresh))


async def answer(channel: Channel, hub: str, key: PublicKey, entry: bytes, jitter: int) -> None:
    """A respondent's position, from its entry of the index."""
    try:
        read = key.accept(Residues(entry, key.width))
    except InputError as error:
        raise channel.refusal(hub, f"our entry of the index is no ciphertext: {error}") from None
    hidden = read.plus_numbers([jitter]).rerandomised(channel.rng.stream("dealt"))
    await ciphers.send(channel, hub, Position, hidden)


async def receive(channel: Channel, handle: str, key: PublicKey) -> Ciphertexts:
    """One respondent's position, as the collector reads it."""
    return await ciphers.receive(channel, handle, Position, key, 1)


async def open_positions(channel: Channel, key: Key, enrolment: Enrolment, given: Sequence[Ciphertexts]) -> Longs:
    """Everyone's position, by as many trustees as open."""
    hidden = Ciphertexts.join(key.public, given)
    numbers = await dealt_committee.unlock(channel, key, enrolment.opening.helpers, hidden)
    return np.array([number if number < 1 << 62 else -1 for number in numbers], dtype=np.int64)


async def help_open(
    channel: Channel, parameters: Parameters, hub: str, membership: Membership, trustee: Trustee
) -> None:
    """A helper's part in that: every position once, and nothing else."""
    helpers = range(1, parameters.threshold(len(membership.trustees)) + 1)
    await dealt_committee.serve(channel, trustee, hub, membership.respondents, list(helpers))
