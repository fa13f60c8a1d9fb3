"""A respondent: one record, which nobody else ever sees as a whole."""

from __future__ import annotations

import asyncio

from covey.crypto.elgamal import Ciphertexts, encrypt
from covey.crypto.paillier import PublicKey
from covey.errors import InputError, PeerError
from covey.protocols.collect import answers, dealt, fetch, index, keys, leaks, submit
from covey.protocols.collect.answers import Answers, Layout
from covey.protocols.collect.dealt_committee import Trustee as DealtShare
from covey.protocols.collect.keys import Membership
from covey.protocols.collect.terms import Terms, hub_of
from covey.protocols.collect.zeros import Helper
from covey.protocols.protocol import Proposal, Result, Seat
from covey.wire import gather


async def respondent(seat: Seat) -> Result:
    """A respondent's role; one that is a trustee helps the collector in between."""
    terms, hub, channel = Terms.of(seat.study), hub_of(seat.study), seat.channel
    if seat.records.rows != 1:
        raise InputError(f"a respondent answers one row; {seat.party!r} has {seat.records.rows}")
    row = submit.spell_row(terms, seat.study, seat.records)
    seat.pace.phase("keys")
    membership = await keys.join(channel.at("keys"), hub)
    leakage, numbers = leaks.enrolment(terms, membership.respondents)
    seat.book.learns(leakage, **numbers)
    key = share = None
    if terms.dealt:
        seat.book.learns(leaks.DEALT)
        key, share = await dealt.join(channel.at("dealt"), terms, hub, membership)

    seat.pace.phase("index")
    await contribute(seat, terms, hub, membership, key)

    seat.pace.phase("positions")
    await answer(seat, terms, hub, membership, key)
    leakage, numbers = leaks.positions(terms)
    seat.book.learns(leakage, **numbers)

    seat.pace.phase("classes")
    await gather(help_out(seat, terms, hub, membership, share), hand_in(seat, terms, hub, membership, row))
    return Result()


async def contribute(seat: Seat, terms: Terms, hub: str, membership: Membership, key: PublicKey | None) -> None:
    """Our random numbers for the index."""
    channel = seat.channel.at("numbers")
    if key is not None:
        numbers = index.drawn(terms, membership.respondents, membership.number, channel.rng.stream("numbers"))
        await dealt.contribute(channel, hub, key, numbers)
        return
    drawn = await asyncio.to_thread(
        index.contribute,
        terms,
        membership.key,
        membership.respondents,
        membership.number,
        channel.rng.stream("numbers"),
        channel.rng.stream("fresh"),
    )
    await channel.send(hub, index.Numbers(drawn.first, drawn.second))


async def answer(seat: Seat, terms: Terms, hub: str, membership: Membership, key: PublicKey | None) -> None:
    """Our entry of the index, re-randomised, and our marks; with a dealt key the position goes by itself."""
    channel, table = seat.channel.at("answers"), seat.records
    cell = int(terms.grid.rank(table.codes)[0])
    raw = await fetch.read(seat.channel.at("fetch"), terms, hub, membership.lot, cell)
    jitter = answers.jitter_of(terms, channel.rng.stream("jitter"))
    if key is not None:
        await dealt.answer(channel.at("position"), hub, key, raw, jitter)
    entry = read_entry(seat, hub, raw) if key is None else encrypt([0], membership.key, channel.rng.stream("nothing"))
    streams = channel.rng.stream("hide"), channel.rng.stream("fresh")
    marks = answers.marks(terms, table)
    given = await asyncio.to_thread(answers.answer, entry, jitter, marks, membership.key, *streams)
    if len(given) != Layout.of(terms, table.trees).size:
        raise InputError("a record that does not fit the study's columns")
    await channel.send(hub, Answers(given.first, given.second))


def read_entry(seat: Seat, hub: str, raw: bytes) -> Ciphertexts:
    """The ciphertext in our entry. Raises PeerError if there is none."""
    try:
        return index.entry(raw, 0)
    except InputError as error:
        reason = f"our entry of the index is no ciphertext: {error}"
        raise PeerError(party=hub, step="fetch", reason=reason) from None


async def help_out(seat: Seat, terms: Terms, hub: str, membership: Membership, share: DealtShare | None) -> None:
    """If we are one of the trustees: blind and open for the collector, at once or as a spare."""
    trustee = membership.trustee
    if trustee is None:
        return
    asked = trustee.place <= trustee.key.threshold
    if share is not None and asked:
        await dealt.help_open(seat.channel.at("open"), hub, membership, share)
    positions = range(terms.k, membership.respondents + 1) if asked and not terms.dealt else None
    await Helper(trustee, membership.key, hub).serve(seat.channel.at("helper"), positions)


async def hand_in(seat: Seat, terms: Terms, hub: str, membership: Membership, row: bytes) -> None:
    """Our row, once we know how many share our class and have approved."""

    async def agree(members: int) -> None:
        seat.book.learns(leaks.BOXES)
        opens = (f"your answers, as those of one of {members} respondents", *leaks.ROWS.sentences("respondent"))
        await seat.approve(Proposal(opens=opens))
        seat.pace.phase("release")
        seat.book.learns(leaks.ROWS)

    member = submit.Member(seat.channel.at("release"), terms, hub, membership)
    if not await member.serve(row, agree):
        seat.book.learns(leaks.WITHHELD)
