"""Sums of squares: everyone learns the sum of squares of joint numbers, and none of the numbers.

Source    Shamir's sharing, and products of shares (Ben-Or, Goldwasser and Wigderson 1988) opened as a sum.
Roles     every party alike, three or more.
Security  semi-honest, up to the sharing's threshold of colluders: each party deals shares of its vector, adds up the
          shares that it got, squares them and adds up the squares of a group. What it then shows is under masks that
          add up to nothing, so that only the groups' sums come out.
Not       a party that lies changes a sum unnoticed; one group of one number would show that number.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from covey.arrays import Longs, Words
from covey.crypto.dealing import Dealing
from covey.crypto.field import F61, FieldElements
from covey.crypto.rng import Rng
from covey.secure.declare import Cost, Traffic
from covey.secure.shares import hand_out, open_total, refuse_two, summand, total
from covey.wire import Channel, Chunk, chunks

MOST = F61.prime - 1
"""The largest sum that can be told from others."""


class DealtNumbers(Chunk[FieldElements], tag="squares.dealt"):
    """Shares of the sender's numbers."""

    values: FieldElements


class MaskedSquares(Chunk[FieldElements], tag="squares.masked"):
    """The sender's part of each sum of squares, under its masks."""

    values: FieldElements


COST = Cost(
    lambda n, width, groups: (
        Traffic(1, _dealt(n) * chunks.messages(width), _dealt(n) * chunks.size(width))
        + Traffic.exchange(n, chunks.size(groups), chunks.messages(groups))
    )
)


async def sums(channel: Channel, mine: Longs, groups: int) -> Longs:
    """For each of `groups` equal parts of the vector: the sum of squares of the totals of all parties' numbers.

    Numbers may be negative. The caller sees to it that no sum exceeds `MOST`.
    """
    refuse_two(channel)
    at = channel.at("deal")
    dealing = Dealing(channel.me, at.pairwise_seeds(), "numbers")
    secret = np.where(mine < 0, F61.prime + mine, mine).astype(np.uint64)
    (dealt,) = await hand_out(at, DealtNumbers, FieldElements, [(dealing, *dealing.deal(secret))])
    joint = total(dealt, F61)
    squared = F61.multiply(joint, joint).reshape(groups, -1)
    added = total(np.ascontiguousarray(squared.T), F61)
    at = channel.at("open")
    streams = {peer: Rng(seed).stream("mask") for peer, seed in at.pairwise_seeds().items()}
    opened: Words = await open_total(at, MaskedSquares, FieldElements, summand(at, added, streams, F61))
    return opened.astype(np.int64)


def ideal(inputs: Mapping[str, Longs], groups: int) -> Longs:
    """A trusted party's answer."""
    joint = np.sum(list(inputs.values()), axis=0)
    answer: Longs = (joint**2).reshape(groups, -1).sum(axis=1)
    return answer


def _dealt(parties: int) -> int:
    """Messages with shares: those who derive theirs are sent none."""
    return parties * (parties - 1 - (parties - 1) // 2)
