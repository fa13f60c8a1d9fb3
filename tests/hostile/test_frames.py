"""Hostile frames: whatever a peer puts on the line ends in `PeerError`, quickly and in bounded memory."""

from __future__ import annotations

import asyncio
import tracemalloc

import pytest
from tests.harness.clock import run_jumping
from tests.harness.network import seed_of

from covey.crypto.rng import Rng
from covey.errors import CoveyError, PeerError
from covey.wire import Channel, MemoryNetwork, Message, Nothing, Session, frame
from covey.wire.frame import MAX_FRAME, Header
from covey.wire.inbox import Stopped
from covey.wire.message import encode

SESSION = b"s" * 16


class Question(Message, tag="test.question"):
    """What the honest party waits for."""

    values: list[int]


GOOD = encode(Question([1, 2, 3]))


def forge(payload: bytes = GOOD, sequence: int = 0, **changes: object) -> bytes:
    """A frame as the peer should send it, with some of its header changed."""
    fields: dict[str, object] = {
        "version": frame.VERSION,
        "session": SESSION,
        "sender": "mallory",
        "recipient": "alice",
        "step": "turn/1",
        "tag": "test.question",
        "number": 0,
        "depth": 1,
    }
    header = Header(**{**fields, **changes})  # type: ignore[arg-type]
    return frame.place(sequence, frame.write(header, b"x" * 16, payload).raw)


async def listen(*hostile: bytes) -> Question:
    """Alice waits for a question while mallory's frames are on the line."""
    network = MemoryNetwork(["alice", "mallory"])
    session = Session(network.link("alice"), SESSION, Rng(seed_of(1)), Nothing())
    for piece in hostile:
        network.deliver("mallory", "alice", piece)
    with Channel(session).at("turn", 1) as turn:
        await turn.receive("mallory", Question)
        return await turn.receive("mallory", Question)


ATTACKS = {
    "nothing": [b""],
    "one byte": [b"\x00"],
    "noise": [bytes(range(256)) * 4],
    "zeros": [bytes(400)],
    "a frame cut in its header": [forge()[:60]],
    "a frame cut in its payload": [forge()[:-2]],
    "a frame with something behind it": [forge() + b"x"],
    "a frame over the limit": [bytes(MAX_FRAME + 1)],
    "a payload nested deeply": [forge(b"\x91" * 1_000_000)],
    "a payload of maps nested deeply": [forge(b"\x81\xa1a" * 300_000)],
    "four billion integers announced": [forge(b"\x82\xa4type\xadtest.question\xa6values\xdd\xff\xff\xff\xff")],
    "a wrong type in the header": [forge(tag="test.answer")],
    "a wrong type in the payload": [forge(b"\x82\xa4type\xabtest.answer\xa6values\x90")],
    "a field of the wrong type": [forge(b"\x82\xa4type\xadtest.question\xa6values\xa1x")],
    "another session": [forge(session=b"t" * 16)],
    "another version": [forge(version=1)],
    "a claimed name": [forge(sender="bob")],
    "addressed to another": [forge(recipient="bob")],
    "addressed to itself": [forge(sender="alice", recipient="mallory")],
    "an unknown control message": [forge(step="!")],
    "a stop under another tag": [forge(encode(Stopped(why="failed", resumable=True)), step="!")],
    "a malformed control message": [forge(b"\x80", step="!", tag="covey.stopped")],
    "a repeated frame": [forge(), forge()],
    "a second frame in the same place": [forge(), forge(number=1)],
    "a repeated message in a new frame": [forge(), forge(sequence=1)],
    "a message out of place": [forge(), forge(sequence=1, number=5)],
    "a step label of impossible length": [forge(step="x" * 161)],
    "a name of impossible length": [forge(sender="m" * 65)],
    "a depth of zero": [forge(depth=0)],
    "a negative number": [forge(number=-1)],
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_hostile_frame_ends_in_a_peer_error_that_names_the_peer(attack: str) -> None:
    with pytest.raises(PeerError) as refusal:
        run_jumping(listen(*ATTACKS[attack]))
    assert refusal.value.party == "mallory"


def test_the_forged_frames_differ_from_good_ones_in_one_thing_only() -> None:
    assert run_jumping(listen(forge(), forge(sequence=1, number=1))) == Question([1, 2, 3])


def test_a_refusal_quotes_nothing_of_the_frame() -> None:
    secret = "diagnosis"
    for attack in (forge(secret.encode() * 9), forge(b"\x82\xa4type\xa9diagnosis\xa6values\x90")):
        with pytest.raises(PeerError) as refusal:
            run_jumping(listen(attack))
        assert secret not in str(refusal.value)


@pytest.mark.parametrize(
    "attack", ["a payload nested deeply", "four billion integers announced", "a frame over the limit"]
)
def test_refusing_takes_no_more_memory_than_the_frame_itself(attack: str) -> None:
    frames = ATTACKS[attack]
    tracemalloc.start()
    try:
        with pytest.raises(PeerError):
            run_jumping(listen(*frames))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 3 * sum(map(len, frames)) + 2_000_000


def test_a_flood_at_steps_that_nobody_reads_is_refused_in_bounded_memory() -> None:
    async def flooded() -> None:
        network = MemoryNetwork(["alice", "mallory"])
        session = Session(network.link("alice"), SESSION, Rng(seed_of(1)), Nothing())
        load = bytes(1 << 20)

        async def flood() -> None:
            for index in range(200):
                await network.carry("mallory", "alice", forge(load, index, step=f"x/{index}"))

        async with asyncio.TaskGroup() as group:
            task = group.create_task(flood())
            try:
                await Channel(session).at("turn").receive("mallory", Question)
            finally:
                task.cancel()

    tracemalloc.start()
    try:
        with pytest.raises(ExceptionGroup) as refusal:
            run_jumping(flooded())
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert refusal.group_contains(PeerError, match="nobody asked for")
    assert peak < 160 << 20


def test_after_one_bad_frame_nothing_of_that_peer_is_believed() -> None:
    async def insist() -> list[CoveyError]:
        network = MemoryNetwork(["alice", "mallory"])
        session = Session(network.link("alice"), SESSION, Rng(seed_of(1)), Nothing())
        for piece in (forge(session=b"t" * 16), forge(), forge(sequence=1, number=1)):
            network.deliver("mallory", "alice", piece)
        errors = []
        for _ in range(3):
            try:
                await Channel(session).at("turn", 1).receive("mallory", Question)
            except CoveyError as error:
                errors.append(error)
        return errors

    assert [type(error) for error in run_jumping(insist())] == [PeerError] * 3
