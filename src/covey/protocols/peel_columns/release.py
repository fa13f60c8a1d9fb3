"""The release: holders show their parts to each other, or to a recipient; the evaluator gets nothing."""

from __future__ import annotations

import numpy as np

from covey.plain import some
from covey.protocols.peel_columns import leakage
from covey.protocols.peel_columns.classes import LabelledClasses
from covey.protocols.peel_columns.parameters import Parameters
from covey.protocols.protocol import Figures, Proposal, Result, Seat
from covey.protocols.shared import columns
from covey.protocols.shared.columns import parts
from covey.protocols.shared.diversity import require_diverse
from covey.table import Table
from covey.wire import Channel, Count, Message


class Told(Message, tag="peel.told"):
    """The numbers of the run and its release, which a holder tells whoever does not know them: for its ledger too."""

    rows: Count
    classes: Count
    withheld: Count
    visits: Count
    people: Count
    """In play, all visits together."""
    groups: Count
    """That became classes, some of which have the same labels,"""
    unpublished: Count
    """and that did not."""


async def tell(channel: Channel, params: Parameters, told: Told) -> None:
    """A holder tells the evaluator and the recipient."""
    for party in channel.peers:
        if party not in params.holders:
            await channel.send(party, told)


async def hear(channel: Channel, params: Parameters) -> Told:
    """The numbers as all holders tell them. Raises PeerError where they differ."""
    said = {name: await channel.receive(name, Told) for name in params.holders}
    first = said[params.leader]
    for name, told in said.items():
        if told != first:
            raise channel.refusal(name, "it tells other numbers of the run than the other holders")
    return first


async def publish(
    seat: Seat, channel: Channel, params: Parameters, told: Told, mine: parts.Contribution | None, known: Figures | None
) -> Result:
    """Asks for approval, shows our part, if we have one, and puts all parts together, if we get the release."""
    numbers: dict[str, object] = {
        "visits": told.visits, "people": some(told.people, "person", "people"), "groups": some(told.groups, "group"),
        "unpublished": some(told.unpublished, "group"),
    }  # fmt: skip
    seat.ledger.learns(leakage.COUNTED, k=params.k, **numbers)
    seat.ledger.learns(leakage.FIGURES)
    learned, numbers = leakage.of_release(params, told.rows)
    await seat.approve(Proposal(learned, numbers, known if seat.party in params.receivers else None))
    seat.ledger.learns(learned, **numbers)
    rows = await parts.exchange(channel, seat.study, params.leader, mine, told.rows, told.classes, to=params.receivers)
    if rows is None:
        return Result()
    found = columns.result(seat.study, rows, withheld=told.withheld, approved=told.rows)
    require_diverse(seat.study, found.figures)
    return found


def part_of(params: Parameters, party: str, table: Table, found: LabelledClasses) -> parts.Contribution:
    """Our part of the release: of everyone who is in a class."""
    kept = np.flatnonzero(found.label >= 0)
    return parts.contribution_of(found.label[kept], found.boxes, table.select(kept), leads=party == params.leader)
