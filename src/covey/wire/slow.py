"""A link that is as slow as a real one: a latency to every peer, and one line out that all peers share."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from covey.errors import CoveyError, InputError
from covey.wire.depth import beside
from covey.wire.link import Link

_UNDER_WAY = 1024

_TIMES = {"us": 1e-6, "ms": 1e-3, "s": 1.0}
_RATES = {"gbit": 1e9 / 8, "mbit": 1e6 / 8, "kbit": 1e3 / 8}


def parse_latency(text: str) -> float:
    """Seconds in `30ms`, `2s` or `500us`."""
    return _parse(text, _TIMES, "a latency", "30ms")


def parse_bandwidth(text: str) -> float:
    """Bytes a second in `10mbit`, `1gbit` or `512kbit`."""
    rate = _parse(text, _RATES, "a bandwidth", "10mbit")
    if rate <= 0:
        raise InputError("a bandwidth of zero carries nothing: give for instance 10mbit")
    return rate


@asynccontextmanager
async def slowed(link: Link, *, latency: float = 0.0, bandwidth: float = float("inf")) -> AsyncIterator[Link]:
    """The link with that many seconds on the way to each peer, and that many bytes a second to all of them together.

    An office has one line: what it sends to one peer waits for what it sends to another. Receiving is slowed by the
    senders alone. A link that is not to be slowed stays as it is.
    """
    if not latency and bandwidth == float("inf"):
        yield link
        return
    slow = _Slowed(link, latency, bandwidth)
    async with beside(*(slow.deliver(peer) for peer in link.peers)):
        yield slow
        await slow.settle()


class _Slowed:
    def __init__(self, link: Link, latency: float, bandwidth: float) -> None:
        self.me, self.peers = link.me, link.peers
        self._link, self._latency, self._bandwidth = link, latency, bandwidth
        self._free = 0.0
        self._road = {peer: asyncio.Queue[tuple[float, bytes]](_UNDER_WAY) for peer in link.peers}
        self._failures: dict[str, CoveyError] = {}

    async def send(self, peer: str, frame: bytes) -> None:
        """Waits while the frame is put on the line, not while it is on its way."""
        if peer in self._failures:
            raise self._failures[peer]
        loop = asyncio.get_running_loop()
        self._free = gone = max(self._free, loop.time()) + len(frame) / self._bandwidth
        await self._road[peer].put((gone + self._latency, frame))
        await asyncio.sleep(max(0.0, gone - loop.time()))

    async def receive(self, peer: str) -> bytes:
        """The peer's next frame: its own side slowed it."""
        return await self._link.receive(peer)

    def heard(self, peer: str) -> float:
        """The time of the line's last sign of life."""
        return self._link.heard(peer)

    async def close(self) -> None:
        """Lets everything arrive, then closes."""
        await self.settle()
        await self._link.close()

    async def settle(self) -> None:
        """Returns when everything has arrived."""
        for road in self._road.values():
            await road.join()

    async def deliver(self, peer: str) -> None:
        """Hands frames over when they are due; a failure is told to the next sender."""
        loop = asyncio.get_running_loop()
        while True:
            due, frame = await self._road[peer].get()
            await asyncio.sleep(max(0.0, due - loop.time()))
            try:
                await self._link.send(peer, frame)
            except CoveyError as failure:
                self._failures[peer] = failure
            finally:
                self._road[peer].task_done()


def _parse(text: str, units: dict[str, float], what: str, example: str) -> float:
    for unit, factor in units.items():
        number = text.strip().lower().removesuffix(unit)
        if number != text.strip().lower() and number.replace(".", "", 1).isdecimal():
            return float(number) * factor
    raise InputError(f"{text!r} is not {what}: write it like {example}")
