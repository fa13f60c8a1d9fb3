"""Slow links: a latency delays, a bandwidth limits, and nothing is lost or reordered."""

from __future__ import annotations

import asyncio

import pytest
from tests.harness.clock import run_jumping

from covey.errors import InputError
from covey.wire import MemoryNetwork, gather, parse_bandwidth, parse_latency, slowed


async def _carry(frames: list[bytes], latency: float, bandwidth: float) -> tuple[list[bytes], list[float], float]:
    network = MemoryNetwork("ab")
    loop = asyncio.get_running_loop()
    found: list[bytes] = []
    times: list[float] = []
    freed: list[float] = []

    async def send() -> None:
        async with slowed(network.link("a"), latency=latency, bandwidth=bandwidth) as link:
            for frame in frames:
                await link.send("b", frame)
            freed.append(loop.time())

    async def receive() -> None:
        for _ in frames:
            found.append(await network.link("b").receive("a"))
            times.append(loop.time())

    await gather(send(), receive())
    return found, times, freed[0]


def test_a_latency_delays_frames_but_not_their_sender() -> None:
    frames = [bytes([index]) for index in range(5)]
    found, times, freed = run_jumping(_carry(frames, latency=0.03, bandwidth=float("inf")))
    assert found == frames
    assert times == pytest.approx([0.03] * 5)
    assert freed < 0.001


def test_a_bandwidth_spreads_frames_and_holds_their_sender() -> None:
    found, times, freed = run_jumping(_carry([bytes(1000)] * 5, latency=0.1, bandwidth=10_000))
    assert times == pytest.approx([0.2, 0.3, 0.4, 0.5, 0.6])
    assert freed == pytest.approx(0.5)
    assert len(found) == 5


def test_a_party_has_one_line_to_all_its_peers() -> None:
    async def carry() -> dict[str, float]:
        network, loop = MemoryNetwork("abc"), asyncio.get_running_loop()
        times: dict[str, float] = {}

        async def receive(name: str) -> None:
            await network.link(name).receive("a")
            times[name] = loop.time()

        async with slowed(network.link("a"), latency=0.1, bandwidth=10_000) as link:
            await gather(link.send("b", bytes(1000)), link.send("c", bytes(3000)), receive("b"), receive("c"))
        return times

    assert run_jumping(carry()) == pytest.approx({"b": 0.2, "c": 0.5})


def test_latencies_and_bandwidths_are_read_with_their_units() -> None:
    assert parse_latency("30ms") == pytest.approx(0.03)
    assert parse_latency("1.5s") == 1.5
    assert parse_bandwidth("10mbit") == 1_250_000
    for text in ("30", "ms", "fast", "10 parsec"):
        with pytest.raises(InputError):
            parse_latency(text)
    with pytest.raises(InputError, match="zero"):
        parse_bandwidth("0mbit")
