"""The holders align their keys: each learns which of its own ids all of them have, and keeps those rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from covey.cells import MISSING
from covey.errors import InputError, Unmet
from covey.protocols.protocol import Seat
from covey.protocols.shared.columns.ownership import holders
from covey.protocols.shared.cost import SMALL_BYTES, CostEstimate
from covey.secure import align
from covey.secure.declare import TOTALS, Leakage, Lesson
from covey.study import Study
from covey.table import Table
from covey.wire import Channel, Count, Message

MEETING = (
    "which of its own ids all {holders} holders of columns have, and nothing about the other ids",
    "how many ids {leader} has ({leader} itself: how many each other holder has)",
)
MET = Leakage(everyone=("that all holders of columns have {common} records in common",), about=TOTALS)


class HasAllIds(Message, tag="columns.complete"):
    """True if every holder has all of the sender's ids."""

    complete: bool


class Met(Message, tag="columns.met"):
    """The number of common records, for a party without columns: its ledger says the same as everyone's."""

    common: Count


@dataclass(frozen=True)
class Common:
    """A holder's rows whose ids every holder has, in an order that is the same for everyone."""

    ids: tuple[str, ...]
    table: Table

    def __len__(self) -> int:
        return len(self.ids)


async def meet(seat: Seat, channel: Channel, *roles: str) -> Common | None:
    """Our rows that all holders have; None at a party without columns, which takes no part.

    `roles` are the protocol's names for holders of columns (default: holder). Raises InputError for a key that
    repeats or is missing. Raises Unmet for fewer than k common records, or where the study wants all records and one
    holder lacks some.
    """
    study, names = seat.study, holders(seat.study)
    if seat.party not in names:
        await hear_common(seat, channel, *roles)
        return None
    seat.note(meeting_leakage(study, roles))
    ids = keys_of(seat.records, f"party {seat.party!r}")
    among = channel.among(*names)
    aligned = await align.align(among.at("align"), ids)
    seat.ledger.learns(MET, common=len(aligned))
    for other in channel.peers:
        if other not in names:
            await channel.at("met").send(other, Met(len(aligned)))
    if study.mismatch == "abort":
        await _require_all(among.at("complete"), len(aligned) == len(ids))
    if len(aligned) < study.privacy.k:
        raise Unmet(
            f"the holders have {len(aligned):,} records in common, fewer than k = {study.privacy.k}; "
            "nothing can be released: do their key columns spell the same ids alike?"
        )
    return Common(tuple(ids[row] for row in aligned.rows.tolist()), seat.records.select(aligned.rows))


def add_cost(estimate: CostEstimate, study: Study, sizes: Mapping[str, int], common: int) -> None:
    """Adds what `meet` costs where the holders have so many ids each, and so many in common."""
    leader, *members = holders(study)
    ids = [sizes[leader], *(sizes[name] for name in members)]
    for place, member in enumerate(members):
        first = place == 0  # the cost is of all members together
        estimate.send(leader, member, align.COST.messages(ids, common) * first, align.COST.bytes(ids, common) * first)
    for sender, to in [*((name, leader) for name in members), *((leader, name) for name in members)]:
        estimate.send(sender, to, 0, 0)
    for other in (party.name for party in study.parties if not party.holds_data):
        for name in (leader, *members):
            estimate.send(name, other, 1, SMALL_BYTES)
    if study.mismatch == "abort":
        estimate.broadcast_each((leader, *members), SMALL_BYTES)


async def hear_common(seat: Seat, channel: Channel, *roles: str) -> int:
    """The number of common records, at a party without columns: its part of `meet`."""
    seat.note(meeting_leakage(seat.study, roles))
    common = await _receive_common(channel.at("met"), holders(seat.study))
    seat.ledger.learns(MET, common=common)
    return common


async def _receive_common(channel: Channel, names: Sequence[str]) -> int:
    """The number of common records as all holders tell it. Raises PeerError where they differ."""
    told = [(await channel.receive(name, Met)).common for name in names]
    if len(set(told)) > 1:
        reason = f"the holders differ in how many records they have in common: {', '.join(map(str, told))}"
        raise channel.refusal(names[-1], reason)
    return told[0]


def meeting_leakage(study: Study, roles: Sequence[str] = ()) -> Lesson:
    """The leakage of meeting to holders in these roles, and the numbers that the sentences mention."""
    names = holders(study)
    sentences = dict.fromkeys(roles or ("holder",), MEETING)
    return Leakage(roles=sentences, about=TOTALS), {"holders": len(names), "leader": names[0]}


def keys_of(table: Table, where: str) -> list[str]:
    """The key of each row. Raises InputError, without quoting one, where a key repeats or is missing."""
    if table.key is None:
        raise InputError(f"{where}: has no key column to join by")
    name, counts = table.key.column.name, table.key.counts()
    lacking = int(counts[[label == MISSING for label in table.key.labels]].sum())
    if lacking:
        raise InputError(f"{where}: column {name!r} has no key in {lacking:,} rows; remove them or fill it in")
    if counts.max(initial=0) > 1:
        repeated = int(counts[counts > 1].sum())
        raise InputError(
            f"{where}: in column {name!r}, {repeated:,} rows share their key with another row; "
            "each person may stand in one row only"
        )
    return [table.key.labels[code] for code in table.key.codes.tolist()]


async def _require_all(channel: Channel, complete: bool) -> None:
    answers = {channel.me: complete}
    answers.update({name: answer.complete for name, answer in (await channel.exchange(HasAllIds(complete))).items()})
    require_all(answers)


def require_all(complete: Mapping[str, bool]) -> None:
    """Raises Unmet if a holder has ids that not all have; `complete` is False for such a holder."""
    more = sorted(name for name, answer in complete.items() if not answer)
    if more:
        raise Unmet(
            f"the record sets differ: {', '.join(map(repr, more))} {'has' if len(more) == 1 else 'have'} ids that not "
            'all holders have, and the study says mismatch = "abort"; compare the key columns, or let '
            'mismatch = "intersect" leave those out'
        )


def common_rows(study: Study, tables: Mapping[str, Table]) -> dict[str, Table]:
    """The rows of each table whose keys all holders have, in one order.

    Raises Unmet where the study wants all records of all, and one holder lacks some.
    """
    place = {name: {own: row for row, own in enumerate(keys_of(tables[name], name))} for name in holders(study)}
    common = sorted(set.intersection(*map(set, place.values())), key=str.encode)
    if study.mismatch == "abort":
        require_all({name: len(rows) == len(common) for name, rows in place.items()})
    return {
        name: tables[name].select(np.array([rows[own] for own in common], np.int64)) for name, rows in place.items()
    }
