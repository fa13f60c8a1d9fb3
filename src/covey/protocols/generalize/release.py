"""Figures of the release before it is open: its loss, and the number of people who are left over."""

from __future__ import annotations

import numpy as np

from covey import measures
from covey.protocols.generalize.leakage import PREVIEW
from covey.protocols.generalize.local import Generalization
from covey.protocols.generalize.parameters import Parameters
from covey.protocols.protocol import Seat
from covey.wire import Channel, Count, Message

UNIT = 1 << 20
"""The parts of a cell in which losses are told."""


class Lost(Message, tag="generalize.lost"):
    """The loss of the sender's own columns, all people together, withheld ones wholly; in 2^20ths of a cell."""

    parts: Count


class LeftOver(Message, tag="generalize.left"):
    """The number of people who are left over, and not in the release."""

    people: Count


async def preview(seat: Seat, channel: Channel, local: Generalization) -> None:
    """Writes the release's loss into the ledger, which a person reads before approving."""
    [peer] = channel.peers
    mine = lost_parts(local)
    theirs = (await channel.exchange(Lost(mine)))[peer].parts
    cells = local.codes.shape[1] * len(seat.study.quasi)
    if theirs > cells * UNIT:
        raise channel.refusal(peer, "it says that it loses more than there is")
    seat.ledger.learns(PREVIEW, loss=f"{(mine + theirs) / (cells * UNIT):.4f}")


def lost_parts(local: Generalization) -> int:
    """The loss of our own columns by LM."""
    total = 0.0
    for tree, nodes in zip(local.trees, local.nodes, strict=True):
        total += float(np.where(local.pool, 1.0, measures.lm(tree)[nodes]).sum())
    return round(total * UNIT)


async def receive_left(channel: Channel, parameters: Parameters) -> int:
    """The number of people left over, as both owners tell the recipient. Raises PeerError where they differ."""
    told = {name: (await channel.receive(name, LeftOver)).people for name in parameters.owners}
    left = told[parameters.observer]
    if left != told[parameters.partner] or left >= parameters.k:
        reason = (
            f"the owners leave out {left} and {told[parameters.partner]} people; it is one number below {parameters.k}"
        )
        raise channel.refusal(parameters.partner, reason)
    return left
