"""The relay beside direct TLS, in one run: bytes a second, round trips, and whole studies at two latencies.

`lines` measures one pair of parties on the loopback address, each a process: 200 frames of a mebibyte one way, then 500
small frames there and back. `study` runs the sample hospitals as processes, directly and at a broker that is started
here; the latency is that of every connection between two parties. The broker is the nats-server of this machine.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
from tests.harness.relay import Hamlet
from tests.harness.town import Town

from benchmarks._measuring import Row, apart, load_roster, run_parts, save_roster
from covey import samples
from covey.party.simulate.deal import seed_of
from covey.party.simulate.processes import SimulationSetting, simulate
from covey.study import Study
from covey.wire import Contact, connect, on_own_thread
from covey.wire.relay import RelaySite

FRAMES, FRAME, TURNS = 200, 1 << 20, 500
SCHEMES = ("direct", "nats", "tls", "ws", "wss")
LATENCIES = (0.0, 0.03)


def run(arguments: list[str]) -> None:
    """`lines [SCHEME…]`, `study [MILLISECONDS…]`, or both; keeps the rows in results/relay.json."""
    run_parts("relay", {"lines": _lines, "study": _study}, ("carrier", "latency_ms"), arguments)


def _lines(named: list[str]) -> Iterator[Row]:
    for scheme in named or SCHEMES:
        with tempfile.TemporaryDirectory() as folder:
            if scheme == "direct":
                save_roster(Town.found("ab", Path(folder)).roster, Path(folder))
                yield _pair(scheme, folder, "", "")
                continue
            with Hamlet.found("ab", Path(folder), scheme).broker() as hamlet:
                yield _pair(scheme, folder, hamlet.site.url, hamlet.site.topic.hex())


def _pair(scheme: str, folder: str, url: str, topic: str) -> Row:
    with ThreadPoolExecutor(2) as pool:
        ends = [pool.submit(apart, party, name, folder, url, topic) for name in "ab"]
        sender, reader = (end.result() for end in ends)
    extra = max(float(str(end["extra_mb"])) for end in (sender, reader))
    return {"carrier": scheme, "latency_ms": 0, "mb_s": sender["mb_s"], "round_trip_ms": sender["round_trip_ms"],
            "extra_memory_mb": extra}  # fmt: skip


def party(name: str, folder: str, url: str, topic: str) -> Row:
    """Plays one of two parties in a process of its own."""
    return asyncio.run(_party(name, Path(folder), url, topic))


async def _party(name: str, folder: Path, url: str, topic: str) -> Row:
    certificate, key = folder / f"{name}.pem", folder / f"{name}.key"
    relay, roster = None, {}
    if url:
        roster = {each: Contact.from_pem(each, (folder / f"{each}.pem").read_bytes()) for each in "ab"}
        pinned = Contact.from_pem("relay", (folder / "relay.pem").read_bytes()).certificate
        relay = RelaySite(url, bytes.fromhex(topic), pinned if url.startswith(("tls", "wss")) else None)
    else:
        roster = load_roster(folder)
    other = "b" if name == "a" else "a"
    meeting = on_own_thread(lambda: connect(name, roster, certificate=certificate, key=key, wait=120, relay=relay))
    async with meeting as link:
        before = psutil.Process().memory_info().rss
        block, extra, begun = bytes(FRAME), 0, time.perf_counter()
        for place in range(FRAMES):
            if name == "a":
                await link.send(other, block)
            else:
                await link.receive(other)
            if place % 10 == 0:
                extra = max(extra, psutil.Process().memory_info().rss - before)
        await link.send(other, b"done")
        await link.receive(other)
        seconds, begun = time.perf_counter() - begun, time.perf_counter()
        for _ in range(TURNS):
            if name == "a":
                await link.send(other, b"there")
                await link.receive(other)
            else:
                await link.receive(other)
                await link.send(other, b"back")
        trip = (time.perf_counter() - begun) / TURNS
    return {"mb_s": round(FRAMES * FRAME / seconds / 1e6), "round_trip_ms": round(1000 * trip, 2),
            "extra_mb": round(extra / 1e6)}  # fmt: skip


def _study(named: list[str]) -> Iterator[Row]:
    for latency in [float(each) / 1000 for each in named] or LATENCIES:
        for relay in (False, True):
            with tempfile.TemporaryDirectory() as scratch:
                folder = samples.copy("hospitals", Path(scratch) / "hospitals")
                study = Study.load(folder / "study.toml")
                data = {each.name: str(folder / f"{each.name}.csv") for each in study.parties}
                out = Path(scratch) / "out"
                begun = time.perf_counter()
                made = simulate(study, data, out, SimulationSetting(seed_of(1), latency, relay=relay)).describe()
                yield {
                    "carrier": "relay" if relay else "direct",
                    "latency_ms": round(1000 * latency),
                    "protocol": study.protocol,
                    "seconds": made["seconds"],
                    "from_call_to_files": round(time.perf_counter() - begun, 1),
                    "rounds": made["rounds"],
                    "megabytes": round(float(str(made["bytes"])) / 1e6, 1),
                    "release": str(made["release_sha256"])[:16],
                }
