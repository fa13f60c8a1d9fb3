"""The roles: two owners of columns, observer and partner, and a recipient without columns."""

from __future__ import annotations

import numpy as np

from covey.protocols.generalize import leakage, release, rounds
from covey.protocols.generalize.local import Generalization
from covey.protocols.generalize.parameters import Parameters
from covey.protocols.protocol import Result, Seat
from covey.protocols.shared import columns


async def owner(seat: Seat) -> Result:
    """A party with columns: the observer and the partner alike."""
    channel, parameters = seat.channel, Parameters.of(seat.study)
    among = channel.among(*parameters.owners)
    seat.progress.phase("alignment")
    common = await columns.meet(seat, channel.at("meet"), *leakage.OWNERS)
    if common is None:
        raise TypeError("an owner has columns")

    seat.progress.phase("own columns")
    local = Generalization.of(common.table, parameters)

    seat.progress.phase("rounds", parameters.cap)
    for learned, numbers in leakage.before(parameters):
        seat.ledger.learns(learned, **numbers)
    played = await rounds.agree(among, parameters, local, [own.encode() for own in common.ids], seat.progress.reach)
    withheld = int(local.pool.sum())

    seat.progress.phase("release")
    if parameters.recipient is None:
        learned, numbers = leakage.after(parameters, played, withheld)
        seat.ledger.learns(learned, **numbers)
        await release.preview(seat, among.at("lost"), local)
    elif parameters.variant == "finished-cells":
        learned, numbers = leakage.left(withheld)
        seat.ledger.learns(learned, **numbers)
        await channel.at("left").send(parameters.recipient, release.LeftOver(withheld))
    kept = np.flatnonzero(~local.pool)
    rows = await columns.join_rows(
        seat,
        channel.at("rows"),
        [common.ids[row] for row in kept.tolist()],
        np.ascontiguousarray(local.nodes[:, kept]),
        common.table.select(kept),
        recipient=parameters.recipient,
    )
    return Result() if rows is None else columns.result(seat.study, rows, withheld=withheld)


async def recipient(seat: Seat) -> Result:
    """A party without columns, who alone gets the release."""
    channel, parameters = seat.channel, Parameters.of(seat.study)
    seat.progress.phase("alignment")
    await columns.meet(seat, channel.at("meet"), *leakage.OWNERS)
    seat.progress.phase("rounds")
    for learned, numbers in leakage.before(parameters):
        seat.ledger.learns(learned, **numbers)
    withheld = 0
    if parameters.variant == "finished-cells":
        withheld = await release.receive_left(channel.at("left"), parameters)
        learned, numbers = leakage.left(withheld)
        seat.ledger.learns(learned, **numbers)
    seat.progress.phase("release")
    nothing = np.zeros((0, 0), dtype=np.int32)
    rows = await columns.join_rows(seat, channel.at("rows"), [], nothing, None, recipient=parameters.recipient)
    if rows is None:
        raise TypeError("the recipient gets the rows")
    return columns.result(seat.study, rows, withheld=withheld)
