"""What is published, and what the parties can say of it before it is open."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from covey import measures
from covey.errors import PeerError, Unmet
from covey.protocols.generalize import leaks
from covey.protocols.generalize.local import Local
from covey.protocols.generalize.terms import Terms
from covey.protocols.protocol import Result, Seat
from covey.protocols.shared import columns
from covey.protocols.shared.columns import Opened
from covey.study import Study
from covey.wire import Channel, Count, Message

UNIT = 1 << 20
"""In how many parts a cell's loss is told."""


class Lost(Message, tag="generalize.lost"):
    """What the sender's own columns lose, all people together, withheld ones wholly; in 2^20ths of a cell."""

    parts: Count


class Left(Message, tag="generalize.left"):
    """How many people are left over, and not in the release."""

    people: Count


async def preview(seat: Seat, channel: Channel, local: Local) -> None:
    """Writes what will be lost into the ledger, which a person reads before approving."""
    [peer] = channel.peers
    mine = lost_parts(local)
    theirs = (await channel.exchange(Lost(mine)))[peer].parts
    cells = local.codes.shape[1] * len(seat.study.quasi)
    if theirs > cells * UNIT:
        raise PeerError(party=peer, step=channel.step, reason="it says that it loses more than there is")
    seat.book.learns(leaks.PREVIEW, loss=f"{(mine + theirs) / (cells * UNIT):.4f}")


def lost_parts(local: Local) -> int:
    """The loss of our own columns by LM."""
    total = 0.0
    for tree, nodes in zip(local.trees, local.nodes, strict=True):
        total += float(np.where(local.pool, 1.0, measures.lm(tree)[nodes]).sum())
    return round(total * UNIT)


async def hear_of_left(channel: Channel, terms: Terms) -> int:
    """How many people the owners say are left over: the recipient's side."""
    told = {name: (await channel.receive(name, Left)).people for name in terms.owners}
    left = told[terms.observer]
    if left != told[terms.partner] or left >= terms.k:
        reason = f"the owners leave out {left} and {told[terms.partner]} people; it is one number below {terms.k}"
        raise PeerError(party=terms.partner, step=channel.step, reason=reason)
    return left


def result(study: Study, opened: Opened, withheld: int) -> Result:
    """The release and its figures. Raises Unmet where more is suppressed than the study allows."""
    trees = [column.tree() for column in study.quasi]
    known = columns.figures(study, trees, opened)
    records = known.rows + withheld
    roots = np.array([tree.root for tree in trees])
    suppressed = int(opened.sizes[(opened.nodes == roots).all(axis=1)].sum()) + withheld
    if suppressed > study.suppression * records:
        raise Unmet(
            f"{suppressed:,} of {records:,} records would be suppressed, more than suppression = "
            f"{study.suppression:g} allows; {math.ceil(suppressed / records * 1000) / 1000:g} would do, or a smaller k"
        )
    if withheld:
        lm = ((known.loss["lm"] or 0.0) * known.rows + withheld) / records
        dm = float(measures.discernibility(opened.sizes, withheld))
        known = replace(known, withheld=withheld, loss={**known.loss, "lm": lm, "dm": dm})
    return Result(opened.table(study, trees), known)
