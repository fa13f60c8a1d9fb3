"""Whatever a trustee or an opener sends in place of elements of the group is refused, with its name, before use."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from tests.harness.parties import Outcome, run_parties

from covey.crypto.elgamal import encrypt
from covey.crypto.group import powers
from covey.errors import PeerError
from covey.protocols.as_printed.collect import committee
from covey.wire import Channel, Count, MemoryNetwork, Message
from covey.wire import frame as frames
from covey.wire.message import encode, tag_of

VECTORS = tomllib.loads((Path(__file__).parent / "elements.toml").read_text())
POINTS = [(vector["why"], bytes.fromhex(vector["hex"])) for vector in VECTORS["points"]]
SCALARS = [(vector["why"], bytes.fromhex(vector["hex"])) for vector in VECTORS["scalars"]]
SOME = [*POINTS[:3], *POINTS[30:60:10]]
MEMBERS, OPENER, LIAR = ("a", "b", "c"), "opener", "b"


class RawDealt(Message, tag="committee.dealt"):
    """The same message without the checks of its type."""

    commitments: bytes
    knows: bytes
    share: bytes


class RawFounded(Message, tag="committee.founded"):
    """The same message without the checks of its type."""

    commitments: bytes


class RawAsked(Message, tag="committee.asked"):
    """The same message without the checks of its type."""

    total: Count
    points: bytes


class RawUnlocked(Message, tag="committee.unlocked"):
    """The same message without the checks of its type."""

    total: Count
    points: bytes


class Swapped(MemoryNetwork):
    """Lines on which every message of one type and sender is another one."""

    def __init__(self, sender: str, message: Message) -> None:
        super().__init__((*MEMBERS, OPENER))
        self._sender, self._message = sender, message

    async def carry(self, sender: str, recipient: str, frame: bytes) -> None:
        sequence, raw = frames.split(frame)
        header = frames.read(raw).header
        if (sender, header.tag) == (self._sender, tag_of(type(self._message))):
            frame = frames.place(sequence, frames.write(header, bytes(16), encode(self._message)).raw)
        await super().carry(sender, recipient, frame)


def run(sender: str, message: Message) -> dict[str, Outcome[object]]:
    """Three trustees of whom two open for a fourth party."""

    async def trustee(channel: Channel) -> object:
        mine = await committee.found(channel.at("found"), MEMBERS, 2, opener=OPENER)
        return await committee.serve(channel.at("open"), mine, OPENER, 1) if channel.me in "ab" else None

    async def opener(channel: Channel) -> object:
        key = await committee.learn(channel.at("found"), MEMBERS, 2)
        hidden = encrypt([3], key.public, channel.rng.stream("x"))
        return await committee.unlock(channel.at("open"), key, {"a": 1, "b": 2}, hidden)

    return run_parties({**dict.fromkeys(MEMBERS, trustee), OPENER: opener}, network=Swapped(sender, message))


def refused(by: str, party: str, outcomes: dict[str, Outcome[object]]) -> str:
    error = outcomes[by].error
    assert isinstance(error, PeerError), error
    assert error.party == party
    return error.reason


@pytest.mark.parametrize(("why", "raw"), POINTS, ids=[why for why, _ in POINTS])
def test_a_bad_commitment_is_refused_by_every_trustee(why: str, raw: bytes) -> None:
    good = powers([5])
    outcomes = run(LIAR, RawDealt(good.data + raw, bytes(64), bytes(32)))
    assert "point" in refused("a", LIAR, outcomes)


@pytest.mark.parametrize(("why", "raw"), SOME, ids=[why for why, _ in SOME])
def test_a_bad_element_in_any_other_message_is_refused(why: str, raw: bytes) -> None:
    assert "point" in refused(OPENER, LIAR, run(LIAR, RawFounded(powers([5]).data + raw)))
    assert "point" in refused("a", OPENER, run(OPENER, RawAsked(1, raw)))
    assert "point" in refused(OPENER, LIAR, run(LIAR, RawUnlocked(1, raw)))


@pytest.mark.parametrize("total", [0, 2, 1 << 27, (1 << 48) - 1])
def test_a_list_that_is_not_as_long_as_it_says_is_refused(total: int) -> None:
    refused("a", OPENER, run(OPENER, RawAsked(total, powers([1]).data)))
    refused(OPENER, LIAR, run(LIAR, RawUnlocked(total, powers([1]).data)))


@pytest.mark.parametrize("size", [0, 31, 33, 64])
def test_a_share_or_a_proof_of_another_length_is_refused(size: int) -> None:
    assert "well-formed" in refused("a", LIAR, run(LIAR, RawDealt(powers([5, 6]).data, bytes(64), bytes(size))))
    assert "well-formed" in refused("a", LIAR, run(LIAR, RawDealt(powers([5, 6]).data, bytes(size + 1), bytes(32))))


@pytest.mark.parametrize(("why", "raw"), SCALARS, ids=[why for why, _ in SCALARS])
def test_a_bad_scalar_as_a_share_never_becomes_one(why: str, raw: bytes) -> None:
    refused("a", LIAR, run(LIAR, RawDealt(powers([5, 6]).data, bytes(64), raw)))
