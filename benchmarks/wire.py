"""The wire: TLS beside memory, sixteen parties in one study, and a 500 MB vector summed among three.

Parties over TLS are processes of their own, with real certificates on the loopback address, except where a
row says that they share one process. The big vector is made, masked, sent, received and added up in chunks:
`extra` is the peak of a party's resident memory above what it held when the parties had met.
"""

from __future__ import annotations

import asyncio
import resource
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path

import numpy as np
import psutil
from tests.harness.network import seed_of
from tests.harness.town import Town

from benchmarks._measuring import Row, apart, load_roster, print_figures, save_roster
from covey.crypto.rng import Rng, derive, fresh_seed
from covey.secure.sum import total
from covey.wire import (
    Channel,
    Link,
    Meeting,
    MemoryNetwork,
    Nothing,
    gather,
    on_own_thread,
    open_channel,
)

SESSION = b"a benchmark's id"
MEGABYTE = 1 << 20
SMALL, TURNS = 1000, 500


def run(arguments: list[str]) -> None:
    """Measures everything and prints a table."""
    print_figures(chain(_carriers(), _many(), _big()))


def _carriers() -> Iterator[tuple[str, str]]:
    """The same role over both carriers, three parties in one process."""

    async def large(channel: Channel) -> None:
        await total(channel, np.zeros(1 << 20, dtype=np.uint64))

    async def small(channel: Channel) -> None:
        for turn in range(TURNS):
            await total(channel.at(turn), np.zeros(SMALL, dtype=np.uint64))

    for description, role in ((f"{TURNS} sums of {SMALL} words among 3", small), ("one sum of 8 MiB among 3", large)):
        memory = asyncio.run(_over_memory(role))
        tls = asyncio.run(_over_tls(role))
        yield f"{description}, one process, memory", f"{memory:.2f} s"
        yield f"{description}, one process, tls", f"{tls:.2f} s, {tls / memory:.1f} times memory"


def _many() -> Iterator[tuple[str, str]]:
    reports = _processes(16, SMALL, turns=20)
    met = max(report["met"] for report in reports)
    seconds = max(report["seconds"] for report in reports)
    yield "16 parties, 16 processes: from start until all have met", f"{met:.1f} s"
    yield f"16 parties, 20 sums of {SMALL} words", f"{seconds:.2f} s, {1000 * seconds / 20:.0f} ms each"


def _big() -> Iterator[tuple[str, str]]:
    words = 500 * 1000 * 1000 // 8
    reports = _processes(3, words, turns=1)
    seconds = max(report["seconds"] for report in reports)
    extra = max(report["extra"] for report in reports) / 1e6
    peak = max(report["peak"] for report in reports) / 1e6
    yield (
        "500 MB vector summed among 3 processes over tls",
        f"{seconds:.1f} s, {2 * 3 * 500 / seconds:.0f} MB/s in all",
    )
    yield "its peak memory per process", f"{peak:.0f} MB, of which {extra:.0f} MB extra"


async def _play(link: Link, role: Callable[[Channel], Awaitable[None]]) -> float:
    rng = Rng(derive(seed_of(1), link.me))
    channel = await open_channel(link, rng, session=SESSION, recorder=Nothing())
    start = time.perf_counter()
    await role(channel)
    seconds = time.perf_counter() - start
    await link.close()
    return seconds


async def _over_memory(role: Callable[[Channel], Awaitable[None]]) -> float:
    network = MemoryNetwork("abc")
    return max(await gather(*(_play(network.link(name), role) for name in network.names)))


async def _over_tls(role: Callable[[Channel], Awaitable[None]]) -> float:
    with tempfile.TemporaryDirectory() as folder:
        town = Town.found("abc", Path(folder))

        async def party(name: str) -> float:
            async with town.connect(name) as link:
                return await _play(link, role)

        return max(await gather(*(party(name) for name in "abc")))


def _processes(parties: int, words: int, turns: int) -> list[dict[str, float]]:
    with tempfile.TemporaryDirectory() as folder:
        names = [f"party-{index:02}" for index in range(parties)]
        town = Town.found(names, Path(folder))
        save_roster(town.roster, Path(folder))
        with ThreadPoolExecutor(parties) as pool:
            started = [pool.submit(apart, party, name, folder, words, turns) for name in names]
            return [{key: float(str(value)) for key, value in future.result().items()} for future in started]


def party(name: str, folder: str, words: int, turns: int) -> Row:
    """Plays one party in a process of its own."""
    return asyncio.run(_party(name, Path(folder), words, turns))


async def _party(name: str, folder: Path, words: int, turns: int) -> Row:
    start = time.perf_counter()
    roster = load_roster(folder)
    certificate, key = folder / f"{name}.pem", folder / f"{name}.key"
    async with on_own_thread(lambda: Meeting(name, roster, certificate=certificate, key=key).held(120)) as link:
        channel = await open_channel(link, Rng(fresh_seed()), session=SESSION, recorder=Nothing())
        met = time.perf_counter() - start
        memory = psutil.Process().memory_info().rss
        start = time.perf_counter()
        for turn in range(turns):
            answer = await total(channel.at(turn), np.arange(words, dtype=np.uint64))
            assert int(answer[-1]) == (words - 1) * len(roster)
        seconds = time.perf_counter() - start
        channel.finish()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"met": met, "seconds": seconds, "peak": peak, "extra": peak - memory}
