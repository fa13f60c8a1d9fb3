"""The relay beside direct TLS, in one run: bytes a second, round trips, and whole studies with and without a latency.

`lines` measures one pair of parties on the loopback address, each a process: 200 frames of a mebibyte one way (50 with
a latency), then small frames there and back. With a latency, the bytes of every connection are held back on their way:
30 ms from one party to the other, or 15 ms from each to the broker, so that the way is as long with it as without.
`study` runs the sample hospitals, and `protocols` a dozen people under every protocol, all parties as processes,
directly and at a broker that is started here; there the latency is that of every message between two parties. The
broker is the nats-server of this machine. Rows have the load of the machine before they were measured.
"""

from __future__ import annotations

import asyncio
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

import psutil
from tests.harness.relay import Hamlet
from tests.harness.town import Town
from tests.protocols.small_studies import EVERY, PEOPLE, RESPONDENTS, data_of, study_of

from benchmarks._measuring import Row, apart, load, load_roster, run_parts, save_roster
from covey import samples
from covey.party.simulate.deal import seed_of, write_hands
from covey.party.simulate.processes import SimulationSetting, simulate
from covey.study import Study
from covey.wire import Address, Contact, Meeting, on_own_thread
from covey.wire.relay import RelaySite

FRAMES, FEW_FRAMES, FRAME, TURNS = 200, 50, 1 << 20, 500
SCHEMES = ("direct", "nats", "tls", "ws", "wss")
LATENCY = 0.03
_UNDER_WAY = 1 << 16


def run(arguments: list[str]) -> None:
    """`lines [SCHEME…]`, `study [MILLISECONDS…]`, `protocols [NAME…]`, or all; keeps the rows in results/relay.json."""
    parts = {"lines": _lines, "study": _study, "protocols": _protocols}
    run_parts("relay", parts, ("carrier", "latency_ms", "protocol"), arguments)


def _lines(choices: list[str]) -> Iterator[Row]:
    for latency in (0.0, LATENCY):
        for scheme in choices or SCHEMES:
            with tempfile.TemporaryDirectory() as folder:
                if scheme == "direct":
                    roster = Town.found("ab", Path(folder)).roster
                    listen = roster["a"].address or Address("", 0)
                    with _far(listen, latency) as target:
                        save_roster({**roster, "a": replace(roster["a"], address=target)}, Path(folder))
                        yield _pair(scheme, latency, folder, "", str(listen))
                else:
                    hamlet_plan = Hamlet.found("ab", Path(folder), scheme)
                    with hamlet_plan.broker() as hamlet, _far(hamlet.site.address, latency / 2) as target:
                        yield _pair(scheme, latency, folder, f"{scheme}://{target}", hamlet.site.topic.hex())


@contextmanager
def _far(address: Address, latency: float) -> Iterator[Address]:
    """An address from which everything comes to another, and back, so many seconds later."""
    if not latency:
        yield address
        return
    addresses: list[Address] = []
    ready, over = threading.Event(), threading.Event()

    async def live() -> None:
        async with _delaying(address, latency) as target:
            addresses.append(target)
            ready.set()
            await asyncio.to_thread(over.wait)

    with ThreadPoolExecutor(1) as pool:
        living = pool.submit(asyncio.run, live())
        ready.wait(10)
        try:
            yield addresses[0]
        finally:
            over.set()
            living.result()


@asynccontextmanager
async def _delaying(address: Address, latency: float) -> AsyncIterator[Address]:
    """The same, in this event loop."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.CancelledError):  # it may be cut off at the end
            far_reader, far_writer = await asyncio.open_connection(address.host, address.port)
            async with asyncio.TaskGroup() as group:
                group.create_task(_delay(reader, far_writer, latency))
                group.create_task(_delay(far_reader, writer, latency))

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield Address("127.0.0.1", server.sockets[0].getsockname()[1])


async def _delay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, latency: float) -> None:
    """Passes bytes on when they are due, as many as come, until either side ends."""
    loop = asyncio.get_running_loop()
    road: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(_UNDER_WAY)

    async def deliver() -> None:
        while True:
            moment, content = await road.get()
            await asyncio.sleep(max(0.0, moment - loop.time()))
            if not content:
                writer.close()
                return
            writer.write(content)
            await writer.drain()

    async def take() -> None:
        content = b"first"
        while content:
            try:
                content = await reader.read(1 << 18)
            except OSError:
                content = b""
            await road.put((loop.time() + latency, content))

    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(deliver())
            group.create_task(take())
    except* OSError:
        writer.close()


def _pair(scheme: str, latency: float, folder: str, url: str, site: str) -> Row:
    load_before = load()
    frames, turns = (FEW_FRAMES, TURNS // 10) if latency else (FRAMES, TURNS)
    with ThreadPoolExecutor(2) as pool:
        ends = [pool.submit(apart, party, name, folder, url, site, frames, turns) for name in "ab"]
        sender, reader = (end.result() for end in ends)
    extra = max(float(str(end["extra_mb"])) for end in (sender, reader))
    return {"carrier": scheme, "latency_ms": round(1000 * latency), "mb_s": sender["mb_s"],
            "round_trip_ms": sender["round_trip_ms"], "sender_cpu_s": sender["cpu_s"], "reader_cpu_s": reader["cpu_s"],
            "extra_memory_mb": extra, "load": load_before}  # fmt: skip


def party(name: str, folder: str, url: str, site: str, frames: int, turns: int) -> Row:
    """Plays one of two parties in a process of its own; `more` is the topic at the relay, or where `a` listens."""
    return asyncio.run(_party(name, Path(folder), url, site, frames, turns))


async def _party(name: str, folder: Path, url: str, site: str, frames: int, turns: int) -> Row:
    relay, listen, roster = None, None, dict[str, Contact]()
    if url:
        roster = {
            party_name: Contact.from_pem(party_name, (folder / f"{party_name}.pem").read_bytes()) for party_name in "ab"
        }
        pinned = Contact.from_pem("relay", (folder / "relay.pem").read_bytes()).certificate
        relay = RelaySite(url, bytes.fromhex(site), pinned if url.startswith(("tls", "wss")) else None)
    else:
        roster, listen = load_roster(folder), Address.parse(site) if name == "a" else None
    peer = "b" if name == "a" else "a"
    meeting = partial(
        Meeting, name, roster, certificate=folder / f"{name}.pem", key=folder / f"{name}.key", listen=listen,
        relay=relay,
    )  # fmt: skip
    async with on_own_thread(lambda: meeting().held(120)) as link:
        memory = psutil.Process().memory_info().rss
        block, extra, start, cpu = bytes(FRAME), 0, time.perf_counter(), time.process_time()
        for number in range(frames):
            if name == "a":
                await link.send(peer, block)
            else:
                await link.receive(peer)
            if number % 10 == 0:
                extra = max(extra, psutil.Process().memory_info().rss - memory)
        await link.send(peer, b"done")
        await link.receive(peer)
        seconds, start, cpu = time.perf_counter() - start, time.perf_counter(), time.process_time() - cpu
        for _ in range(turns):
            if name == "a":
                await link.send(peer, b"there")
                await link.receive(peer)
            else:
                await link.receive(peer)
                await link.send(peer, b"back")
        trip = (time.perf_counter() - start) / turns
    return {"mb_s": round(frames * FRAME / seconds / 1e6), "round_trip_ms": round(1000 * trip, 2),
            "extra_mb": round(extra / 1e6), "cpu_s": round(cpu, 2)}  # fmt: skip


def _study(choices: list[str]) -> Iterator[Row]:
    for latency in [float(text) / 1000 for text in choices] or (0.0, LATENCY):
        with tempfile.TemporaryDirectory() as scratch:
            folder = samples.copy("hospitals", Path(scratch) / "hospitals")
            study = Study.load(folder / "study.toml")
            data = {member.name: str(folder / f"{member.name}.csv") for member in study.parties}
            yield from _both(study, data, Path(scratch), latency, str(study.protocol))


def _protocols(choices: list[str]) -> Iterator[Row]:
    for name in choices or [protocol for protocol in EVERY if protocol not in RESPONDENTS]:
        with tempfile.TemporaryDirectory() as scratch:
            study = study_of(name, Path(scratch) / "study", 3, len(PEOPLE))
            data = write_hands(data_of(name, PEOPLE), Path(scratch) / "data")
            yield from _both(study, data, Path(scratch), LATENCY, name)


def _both(study: Study, data: Mapping[str, str], scratch: Path, latency: float, name: str) -> Iterator[Row]:
    """A row for the direct run, and one for the same run over the relay."""
    direct = 0.0
    for carrier in ("direct", "relay"):
        load_before, target, start = load(), scratch / carrier, time.perf_counter()
        setting = SimulationSetting(seed_of(1), latency, relay=carrier == "relay")
        summary = simulate(study, data, target, setting).describe()
        seconds = float(str(summary["seconds"]))
        direct = direct or seconds
        yield {
            "carrier": carrier,
            "latency_ms": round(1000 * latency),
            "protocol": name,
            "seconds": seconds,
            "times_direct": round(seconds / direct, 2),
            "from_call_to_files": round(time.perf_counter() - start, 1),
            "rounds": summary["rounds"],
            "megabytes": round(float(str(summary["bytes"])) / 1e6, 1),
            "release": str(summary["release_sha256"])[:16],
            "load": load_before,
        }
