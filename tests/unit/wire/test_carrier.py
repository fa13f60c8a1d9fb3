"""Bytes over a broker that loses, repeats, reorders and changes what it carries: all of them, in order, or none."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.harness.certificates import make_identity
from tests.harness.clock import run_jumping
from tests.harness.tiers import examples

from covey.wire.relay import carrier as carriers
from covey.wire.relay.carrier import ANSWERING, DATA, HEAD, RESET, WINDOW, Carrier
from covey.wire.trust import contexts, over_tls

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass
class Weather:
    """What a broker does to the packets of both directions, by a seed."""

    seed: int = 0
    lose: float = 0.0
    repeat: float = 0.0
    delay: float = 0.0
    """The longest time that a packet takes; later ones may overtake it."""
    change: float = 0.0
    most: int = 1 << 20
    closed: bool = False
    sizes: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._random = np.random.default_rng(self.seed)

    def send(self, deliver: Callable[[bytes], None], head: bytes, content: bytes | memoryview) -> bool:
        """Takes a packet, as the broker does."""
        if self.closed:
            return False
        packet = bytearray(head + bytes(content))
        self.sizes.append(len(packet))
        if self._random.random() < self.lose:
            return True
        if self._random.random() < self.change:
            packet[self._random.integers(len(packet))] ^= 1 << int(self._random.integers(8))
        for _ in range(2 if self._random.random() < self.repeat else 1):
            asyncio.get_running_loop().call_later(self._random.random() * self.delay, deliver, bytes(packet))
        return True


def pair(weather: Weather) -> tuple[Carrier, Carrier]:
    """Both ends of one connection."""
    ends: dict[int, Carrier] = {}

    def end(side: int) -> Carrier:
        other = side ^ ANSWERING

        def deliver(packet: bytes) -> None:
            said, _, place, received, room = HEAD.unpack_from(packet)
            if said & ANSWERING == side and other in ends:
                ends[other].take(said & ~ANSWERING, place, received, room, packet[HEAD.size :])

        def send(head: bytes, content: bytes | memoryview) -> bool:
            return weather.send(deliver, head, content)

        return Carrier(bytes(16), side, send, lambda: 0 if weather.closed else weather.most, lambda: None)

    ends[0], ends[ANSWERING] = end(0), end(ANSWERING)
    return ends[0], ends[ANSWERING]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """The settings of a caller and of whoever answers it."""
    folder = tmp_path_factory.mktemp("keys")
    one, other = make_identity("one", folder), make_identity("other", folder)
    dialing, _ = contexts(one.certificate, one.key, [other.contact()])
    _, answering = contexts(other.certificate, other.key, [one.contact()])
    return dialing, answering


async def streams(weather: Weather, both: tuple[ssl.SSLContext, ssl.SSLContext]) -> tuple[Streams, Streams]:
    caller, answerer = pair(weather)
    async with asyncio.TaskGroup() as group:
        calling = group.create_task(over_tls(caller, both[0], 1 << 16, seconds=1000))
        answering = group.create_task(over_tls(answerer, both[1], 1 << 16, seconds=1000, server_side=True))
    return calling.result(), answering.result()


def content(size: int, seed: int) -> bytes:
    return np.random.default_rng(seed).bytes(size)


async def swap(one: Streams, other: Streams, size: int) -> None:
    """Each side sends so many bytes while it reads as many."""

    async def write(writer: asyncio.StreamWriter, sent: bytes) -> None:
        for start in range(0, len(sent), 50_000):
            writer.write(sent[start : start + 50_000])
            await writer.drain()

    there, back = content(size, 1), content(size, 2)
    async with asyncio.TaskGroup() as group:
        group.create_task(write(one[1], there))
        group.create_task(write(other[1], back))
        came = group.create_task(other[0].readexactly(size))
        returned = group.create_task(one[0].readexactly(size))
    assert came.result() == there
    assert returned.result() == back


async def leave(*ends: Streams) -> None:
    for _, writer in ends:
        writer.close()
    await asyncio.sleep(100)


def run(work: Callable[[], Awaitable[None]]) -> None:
    run_jumping(work())


@settings(max_examples=examples(60))
@given(
    seed=st.integers(0, 10**6),
    lose=st.sampled_from([0.0, 0.05, 0.3]),
    repeat=st.sampled_from([0.0, 0.3]),
    delay=st.sampled_from([0.0, 0.1, 3.0]),
    most=st.sampled_from([600, 5000, 1 << 20]),
)
def test_all_bytes_come_once_and_in_order_whatever_the_broker_loses_repeats_and_reorders(
    both: tuple[ssl.SSLContext, ssl.SSLContext], seed: int, lose: float, repeat: float, delay: float, most: int
) -> None:
    async def work() -> None:
        weather = Weather(seed, lose=lose, repeat=repeat, delay=delay, most=most)
        ends = await streams(weather, both)
        await swap(*ends, 100_000)
        assert max(weather.sizes) <= most
        await leave(*ends)

    run(work)


@settings(max_examples=examples(60))
@given(seed=st.integers(0, 10**6))
def test_changed_bytes_end_the_connection_and_are_never_read(
    both: tuple[ssl.SSLContext, ssl.SSLContext], seed: int
) -> None:
    async def work() -> None:
        weather = Weather(seed)
        one, other = await streams(weather, both)
        weather.change = 0.2
        sent = content(200_000, 3)
        one[1].write(sent)
        came = bytearray()
        try:
            async with asyncio.timeout(300):
                while len(came) < len(sent) and (part := await other[0].read(1 << 16)):
                    came += part
        except (OSError, TimeoutError):
            pass
        assert bytes(came) == sent[: len(came)]
        await leave(one, other)

    run(work)


def test_a_reader_that_takes_nothing_stops_the_writer_and_costs_no_more_than_a_window(
    both: tuple[ssl.SSLContext, ssl.SSLContext],
) -> None:
    async def work() -> None:
        weather = Weather()
        one, other = await streams(weather, both)
        sent = content(3 * WINDOW, 4)
        writing = asyncio.ensure_future(_write(one[1], sent))
        await asyncio.sleep(60)
        assert not writing.done()
        assert sum(weather.sizes) < 1.5 * WINDOW
        assert await other[0].readexactly(len(sent)) == sent
        await writing
        await leave(one, other)

    run(work)


async def _write(writer: asyncio.StreamWriter, sent: bytes) -> None:
    for start in range(0, len(sent), 1 << 16):
        writer.write(sent[start : start + (1 << 16)])
        await writer.drain()


def test_a_broker_that_is_away_for_half_a_minute_costs_nothing_but_time(
    both: tuple[ssl.SSLContext, ssl.SSLContext],
) -> None:
    async def work() -> None:
        weather = Weather()
        ends = await streams(weather, both)
        weather.closed = True
        asyncio.get_running_loop().call_later(30, lambda: setattr(weather, "closed", False))
        await swap(*ends, 300_000)
        assert asyncio.get_running_loop().time() >= 30
        await leave(*ends)

    run(work)


def test_a_connection_whose_other_side_is_gone_for_good_is_given_up(
    both: tuple[ssl.SSLContext, ssl.SSLContext],
) -> None:
    async def work() -> None:
        weather = Weather()
        one, other = await streams(weather, both)
        weather.lose = 1.0
        one[1].write(b"is anybody there?")
        with pytest.raises(TimeoutError, match="nothing came"):
            await one[0].read(1)
        assert asyncio.get_running_loop().time() > carriers.GIVE_UP_SECONDS
        await leave(one, other)

    run(work)


def test_bytes_that_come_before_tls_is_attached_wait_for_it(both: tuple[ssl.SSLContext, ssl.SSLContext]) -> None:
    async def work() -> None:
        caller, answerer = pair(Weather())
        calling = asyncio.ensure_future(over_tls(caller, both[0], 1 << 16, seconds=100))
        await asyncio.sleep(5)
        other = await over_tls(answerer, both[1], 1 << 16, seconds=100, server_side=True)
        one = await calling
        await swap(one, other, 1000)
        await leave(one, other)

    run(work)


def test_the_end_of_one_side_is_seen_by_the_other_and_a_forgotten_connection_is_reset(
    both: tuple[ssl.SSLContext, ssl.SSLContext],
) -> None:
    async def work() -> None:
        one, other = await streams(Weather(), both)
        one[1].write(b"the last word")
        one[1].close()
        assert await other[0].read() == b"the last word"
        await leave(one, other)
        one, other = await streams(Weather(), both)
        carrier = one[1].transport.get_extra_info("relay")
        assert carrier is not None
        carrier.take(RESET, 0, 0, 0, b"")
        with pytest.raises(ConnectionResetError):
            await one[0].read(1)
        await leave(one, other)

    run(work)


@pytest.mark.parametrize("place", [1 << 30, 1 << 40, (1 << 64) - 1])
def test_packets_with_senseless_places_change_nothing(both: tuple[ssl.SSLContext, ssl.SSLContext], place: int) -> None:
    async def work() -> None:
        one, other = await streams(Weather(), both)
        carrier = one[1].transport.get_extra_info("relay")
        for kind in (DATA, carriers.GAP, carriers.HAD, carriers.ASK, 77):
            carrier.take(kind, place, place, place, b"nonsense")
        await swap(one, other, 50_000)
        await leave(one, other)

    run(work)
