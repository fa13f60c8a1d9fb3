"""Holders who do not compute, and openings to one party alone."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest
from tests.harness.parties import Outcome, run_parties
from tests.harness.spent import heard, spent
from tests.unit.mpc.boxes import EVERYBODY, PARTIES, among_three, holds, seeds_of

from covey.arrays import Words
from covey.errors import Aborted, InputError, PeerError
from covey.mpc import Box, Checked, Clear, Disclosure, Outside, Sealed
from covey.mpc.parcels import Part
from covey.mpc.rounds import send
from covey.wire import Channel

TEST = Disclosure("test")
ALL = (*PARTIES, "east", "west")


async def adds(box: Box, place: int, values: Words) -> list[Words | None]:
    """Adds the columns of two holders outside, opens the sum to a computing party and to one outside, tells them it."""
    columns = [await box.share(holds(place, holder, values), 9, len(values), holder) for holder in (3, 4)]
    total = await box.add(*columns)
    opened = [await box.open_to(party, total, says=TEST) for party in (1, 4)]
    await box.tell([3, 4], 2 * values, says=TEST)
    return opened


def played(values: Words, backend: type[Sealed] = Sealed) -> dict[str, Outcome[list[Words | None]]]:
    async def play(channel: Channel) -> list[Words | None]:
        if channel.me in PARTIES:
            box = backend.among(channel.at("box"), ALL)
            return await adds(box, box.number, values)
        outside = Outside(channel.at("box"), ALL, checked=backend is Checked)
        await outside.share(values, 9)
        opened = await outside.open(10, len(values)) if channel.me == "west" else None
        np.testing.assert_array_equal(await outside.told(len(values)), 2 * values)
        return [None, opened]

    return run_parties(dict.fromkeys(ALL, play))


@pytest.mark.parametrize("backend", [Sealed, Checked])
@pytest.mark.parametrize("records", [0, 1, 64, 65, 300])
def test_holders_outside_share_their_columns_and_one_party_alone_reads_the_sum(
    records: int, backend: type[Sealed]
) -> None:
    values = np.random.default_rng(records).integers(0, 512, records).astype(np.uint64)
    outcomes = played(values, backend)
    for party, outcome in outcomes.items():
        first, second = outcome.unwrap()
        assert (first is None) == (party != "south")
        assert (second is None) == (party != "west")
    for party, number in (("south", 0), ("west", 1)):
        np.testing.assert_array_equal(outcomes[party].unwrap()[number], 2 * values)
    clear = Clear(seeds_of(0), checked=backend is Checked)
    for opened in asyncio.run(adds(clear, EVERYBODY, values)):
        np.testing.assert_array_equal(opened, 2 * values)
    cost = spent(outcomes)
    assert (cost.messages, cost.bytes) == (clear.messages, clear.bytes)
    assert [entry.to for entry in clear.ledger] == [1, 4, 3, 4][: 4 if records else 2]


@pytest.mark.parametrize("liar", PARTIES)
def test_parties_who_tell_differently_are_found_out(liar: str) -> None:
    async def play(channel: Channel) -> None:
        if channel.me == "east":
            await Outside(channel, (*PARTIES, "east")).told(5)
            return
        box = Sealed.among(channel, (*PARTIES, "east"))
        await box.tell([3], np.arange(5, dtype=np.uint64) + np.uint64(channel.me == liar), says=TEST)

    error = run_parties(dict.fromkeys((*PARTIES, "east"), play))["east"].error
    assert isinstance(error, PeerError)
    assert error.party == liar
    assert "tells us something else than" in str(error)


@pytest.mark.parametrize("share", [0, 1])
@pytest.mark.parametrize("liar", PARTIES)
def test_a_party_that_opens_another_share_to_those_outside_is_found_out(liar: str, share: int) -> None:
    async def play(channel: Channel) -> None:
        if channel.me == "east":
            await Outside(channel, (*PARTIES, "east"), checked=True).open(3, 5)
            return
        box = Checked.among(channel, (*PARTIES, "east"))
        value = box.public(np.arange(5), 3)
        if channel.me == liar:
            value.planes[share, 0, 0] ^= np.uint64(1)
        await box.open_to(3, value, says=TEST)

    error = run_parties(dict.fromkeys((*PARTIES, "east"), play))["east"].error
    assert isinstance(error, PeerError)
    assert "tells us something else than" in str(error)
    assert liar in str(error)


@pytest.mark.parametrize("kept", PARTIES)
def test_a_holder_outside_that_gives_two_parties_different_shares_is_found_out(kept: str) -> None:
    async def play(channel: Channel) -> None:
        parties = (*PARTIES, "east")
        if channel.me == "east":
            seeds, masked = np.arange(8, dtype=np.uint64).reshape(2, 4), np.zeros(1, np.uint64)
            for party, parts in zip(PARTIES, ([*seeds], [seeds[1], masked], [seeds[0], masked]), strict=True):
                await send(channel, party, [part ^ np.uint64(party == kept) for part in parts])
            return
        box = Checked.among(channel, parties)
        await box.share(None, 1, 4, 3)

    outcomes = run_parties(dict.fromkeys((*PARTIES, "east"), play))
    errors = [outcome.error for party, outcome in outcomes.items() if party != "east"]
    assert any(isinstance(error, PeerError) and "'east' gave us another column" in str(error) for error in errors)


def test_what_a_computing_party_is_sent_from_outside_is_random() -> None:
    outcomes = played(np.zeros(6400, np.uint64))
    for party in PARTIES:
        bits = np.concatenate([part.words.words for part in heard(outcomes[party], "east", Part)])
        ones = np.unpackbits(bits.view(np.uint8)).mean()
        assert abs(ones - 0.5) < 4.5 / np.sqrt(4 * 64 * bits.size)


def test_two_columns_of_a_holder_outside_do_not_come_in_one_round() -> None:
    async def play(channel: Channel) -> None:
        if channel.me == "east":
            await Outside(channel, (*PARTIES, "east")).share(np.arange(4, dtype=np.uint64), 2)
            return
        box = Sealed.among(channel, (*PARTIES, "east"))
        await box.together(*(box.share(None, 2, 4, 3) for _ in range(2)))

    outcomes = run_parties(dict.fromkeys((*PARTIES, "east"), play))
    assert isinstance(outcomes["north"].error, InputError | Aborted)
    assert any("join them" in str(outcome.error) for outcome in outcomes.values())


def test_a_party_without_a_place_is_refused() -> None:
    async def play(channel: Channel) -> None:
        if channel.me == "east":
            Sealed(channel, ALL, (seeds_of(0)[0], seeds_of(0)[1]))
        else:
            Outside(channel, ALL)

    for outcome in run_parties(dict.fromkeys(ALL[:4], play)).values():
        assert isinstance(outcome.error, InputError)


def test_a_holder_without_values_is_refused() -> None:
    async def role(box: Box, place: int) -> None:
        await box.share(None, 2, 4, 0)

    outcomes, _ = among_three(role)
    assert "4 records are due from 'north'" in str(outcomes["north"].error)
