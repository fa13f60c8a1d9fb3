"""The roles: two owners of columns, observer and partner, and a recipient without columns."""

from __future__ import annotations

import numpy as np

from covey import measures
from covey.protocols.as_printed.generalize import leakage, rounds
from covey.protocols.as_printed.generalize.local import Generalization
from covey.protocols.as_printed.generalize.parameters import Parameters
from covey.protocols.protocol import Result, Seat
from covey.protocols.shared.columns import joining, meeting, release
from covey.wire import Channel, Count, Message

UNIT = 1 << 20
"""The parts of a cell in which losses are told."""


async def owner(seat: Seat) -> Result:
    """A party with columns: the observer and the partner alike."""
    channel, parameters = seat.channel, Parameters.of(seat.study)
    among = channel.among(*parameters.owners)
    seat.progress.phase("alignment")
    common = await meeting.meet(seat, channel.at("meet"), *leakage.OWNERS)
    if common is None:
        raise TypeError("an owner has columns")

    seat.progress.phase("own columns")
    local = Generalization.of(common.table, parameters)

    seat.progress.phase("rounds", parameters.cap)
    seat.note(*leakage.before(parameters))
    played = await rounds.agree(among, parameters, local, [own.encode() for own in common.ids], seat.progress.reach)
    withheld = int(local.pool.sum())

    seat.progress.phase("release")
    if parameters.recipient is None:
        seat.note(leakage.after(parameters, played, withheld))
        await preview(seat, among.at("lost"), local)
    elif parameters.variant == "finished-cells":
        seat.note(leakage.left(withheld))
        await channel.at("left").send(parameters.recipient, LeftOver(withheld))
    kept = np.flatnonzero(~local.pool)
    rows = await joining.join_rows(
        seat,
        channel.at("rows"),
        [common.ids[row] for row in kept.tolist()],
        np.ascontiguousarray(local.nodes[:, kept]),
        common.table.select(kept),
        [local.finished[kept]],
        recipient=parameters.recipient,
    )
    return Result() if rows is None else release.result(seat.study, rows, withheld=withheld)


async def recipient(seat: Seat) -> Result:
    """A party without columns, who alone gets the release."""
    channel, parameters = seat.channel, Parameters.of(seat.study)
    seat.progress.phase("alignment")
    await meeting.meet(seat, channel.at("meet"), *leakage.OWNERS)
    seat.progress.phase("rounds")
    seat.note(*leakage.before(parameters))
    withheld = 0
    if parameters.variant == "finished-cells":
        withheld = await receive_left(channel.at("left"), parameters)
        seat.note(leakage.left(withheld))
    seat.progress.phase("release")
    nothing = np.zeros((0, 0), dtype=np.int32)
    rows = await joining.join_rows(seat, channel.at("rows"), [], nothing, None, recipient=parameters.recipient)
    if rows is None:
        raise TypeError("the recipient gets the rows")
    return release.result(seat.study, rows, withheld=withheld)


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
    seat.ledger.learns(leakage.PREVIEW, loss=f"{(mine + theirs) / (cells * UNIT):.4f}")


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
