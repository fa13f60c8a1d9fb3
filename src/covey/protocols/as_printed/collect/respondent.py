"""A respondent: one record, which nobody else ever sees as a whole."""

from __future__ import annotations

import asyncio

from covey.crypto.elgamal import Ciphertexts, encrypt
from covey.crypto.group import Scalars
from covey.crypto.paillier import PublicKey
from covey.errors import InputError, PeerError
from covey.protocols.as_printed.collect import answers, dealt, fetch, index, keys, leakage, submit
from covey.protocols.as_printed.collect.answers import Answers, Layout
from covey.protocols.as_printed.collect.dealt_committee import Trustee as DealtShare
from covey.protocols.as_printed.collect.keys import Membership
from covey.protocols.as_printed.collect.parameters import Parameters, hub_of, on_trees
from covey.protocols.as_printed.collect.zero_test import Helper
from covey.protocols.protocol import Proposal, Result, Seat
from covey.wire import gather


async def respondent(seat: Seat) -> Result:
    """A respondent's role; one that is a trustee helps the collector in between."""
    parameters, hub, channel = Parameters.of(seat.study), hub_of(seat.study), seat.channel
    if seat.records.rows != 1:
        raise InputError(f"a respondent answers one row; {seat.party!r} has {seat.records.rows}")
    row = submit.spell_row(parameters, seat.study, seat.records)
    seat.progress.phase("keys")
    membership = await keys.join(channel.at("keys"), parameters, hub)
    seat.note(leakage.enrolment(parameters, membership.respondents))
    key = share = None
    if parameters.dealt:
        seat.ledger.learns(leakage.DEALT)
        key, share = await dealt.join(channel.at("dealt"), parameters, hub, membership)

    seat.progress.phase("index")
    await contribute(seat, parameters, hub, membership, key)

    seat.progress.phase("positions")
    await answer(seat, parameters, hub, membership, key)
    seat.note(leakage.positions(parameters))

    seat.progress.phase("classes")
    await gather(help_out(seat, parameters, hub, membership, share), hand_in(seat, parameters, hub, membership, row))
    return Result()


async def contribute(
    seat: Seat, parameters: Parameters, hub: str, membership: Membership, key: PublicKey | None
) -> None:
    """Sends our random numbers for the index."""
    channel = seat.channel.at("numbers")
    if key is None:
        await index.contribute(channel, parameters, hub, membership)
        return
    numbers = index.drawn(parameters, membership.respondents, membership.number, channel.rng.stream("numbers"))
    cells, _ = index.blocks(parameters, membership.respondents, membership.number)
    await dealt.contribute(channel, hub, key, [*numbers[:cells], sum(numbers[cells:])])


async def answer(seat: Seat, parameters: Parameters, hub: str, membership: Membership, key: PublicKey | None) -> None:
    """Sends our entry of the index, re-randomised, and our marks; with a dealt key the position goes separately."""
    channel, table = seat.channel.at("answers"), on_trees(seat.study, seat.records)
    cell = int(parameters.grid.rank(table.codes)[0])
    raw = await fetch.read(seat.channel.at("fetch"), parameters, hub, membership.lot, cell)
    jitter = answers.jitter_of(parameters, channel.rng.stream("jitter"))
    if key is not None:
        await dealt.answer(channel.at("position"), hub, key, raw, jitter)
    entry = read_entry(seat, hub, raw) if key is None else encrypt([0], membership.key, channel.rng.stream("nothing"))
    marks, layout = answers.marks(parameters, table), Layout.of(parameters, table.trees)
    if len(marks) + 1 != layout.size:
        raise InputError("a record that does not fit the study's columns")
    hide, fresh = channel.rng.stream("hide"), Scalars.draw(channel.rng.stream("fresh"), len(marks))
    given = await asyncio.to_thread(answers.answer, entry, jitter, marks, membership.key, hide, fresh)
    proof = await asyncio.to_thread(answers.prove, channel, layout, given, marks, membership.key, fresh)
    await channel.send(hub, Answers(given.first, given.second, proof))


def read_entry(seat: Seat, hub: str, raw: bytes) -> Ciphertexts:
    """The ciphertext in our entry. Raises PeerError if there is none."""
    try:
        return index.entry(raw, 0)
    except InputError as error:
        reason = f"our entry of the index is no ciphertext: {error}"
        raise PeerError(party=hub, step="fetch", reason=reason) from None


async def help_out(
    seat: Seat, parameters: Parameters, hub: str, membership: Membership, share: DealtShare | None
) -> None:
    """Blinds and opens for the collector, at once or as a spare, if we are one of the trustees."""
    trustee = membership.trustee
    if trustee is None:
        return
    asked = trustee.place <= trustee.key.threshold
    if share is not None and asked:
        await dealt.help_open(seat.channel.at("open"), parameters, hub, membership, share)
    positions = range(parameters.k, membership.respondents + 1) if asked and not parameters.dealt else None
    await Helper(trustee, membership.key, hub).serve(seat.channel.at("helper"), positions)


async def hand_in(seat: Seat, parameters: Parameters, hub: str, membership: Membership, row: bytes) -> None:
    """Hands in our row, once we know how many share our class and have approved."""

    async def agree(members: int) -> None:
        seat.ledger.learns(leakage.BOXES)
        await seat.approve(Proposal(leakage.ROWS))
        seat.progress.phase("release")
        seat.ledger.learns(leakage.ROWS)

    member = submit.Member(seat.channel.at("release"), parameters, hub, membership)
    if not await member.serve(row, agree):
        seat.ledger.learns(leakage.WITHHELD)
