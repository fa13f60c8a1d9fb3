"""A star in memory: everyone has a line to the hub, and to nobody else."""

from __future__ import annotations

import asyncio

import pytest

from covey.errors import Aborted, InputError
from covey.wire import StarNetwork


def test_a_spoke_knows_the_hub_alone_and_the_hub_knows_all() -> None:
    network = StarNetwork("hub", ["c", "a", "b"])
    assert network.link("a").peers == ("hub",)
    assert network.link("hub").peers == ("a", "b", "c")


def test_lines_grow_with_the_spokes_and_not_with_their_square() -> None:
    network = StarNetwork("hub", [f"r{number}" for number in range(500)])
    assert len(network._queues) == 1000


def test_frames_go_between_hub_and_spokes_and_end_with_the_line() -> None:
    async def talk() -> None:
        network = StarNetwork("hub", ["a", "b"])
        hub, spoke = network.link("hub"), network.link("a")
        await spoke.send("hub", b"question")
        assert await hub.receive("a") == b"question"
        await hub.send("a", b"answer")
        assert await spoke.receive("hub") == b"answer"
        with pytest.raises(KeyError):
            await spoke.send("b", b"gossip")
        await spoke.close()
        with pytest.raises(Aborted, match="'a' has left"):
            await hub.receive("a")
        await network.link("b").send("hub", b"still here")
        assert await hub.receive("b") == b"still here"

    asyncio.run(talk())


def test_two_of_one_name_are_refused() -> None:
    with pytest.raises(InputError, match="same name"):
        StarNetwork("hub", ["a", "hub"])
    with pytest.raises(InputError, match="same name"):
        StarNetwork("hub", ["a", "a"])
