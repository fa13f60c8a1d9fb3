"""The group and what is built on it: operations a second, cardinality beside openmined.psi, shuffle, align, join.

All parties share this process and speak over memory, framing and hashing included, so that the seconds are the CPU of
all of them together; `wall` is what passed meanwhile, with every core at work. openmined.psi (in a Python of its own,
made once) runs client and server in one process, exact (`RAW`), for the size alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import chain

from tests.harness.network import seed_of
from tests.harness.parties import Role

from benchmarks._measuring import MEGABYTE, ask_peer, measured, print_figures
from covey.crypto.elgamal import KeyShare, encrypt
from covey.crypto.group import Points, Scalars, generator_times, hash_to_group
from covey.crypto.rng import Rng
from covey.crypto.sodium import cores
from covey.protocols.as_printed.federate import cardinality
from covey.secure import align, join, shuffle
from covey.wire import Channel

PEER = ("openmined.psi==2.0.6",)
BATCH = 10_000
SET = 100_000
ROWS = 30_000
ROW_BYTES = 100

PEER_SCRIPT = """
import json, sys, time
import private_set_intersection.python as psi

size = int(sys.argv[1])
wall, cpu = time.perf_counter(), time.process_time()
client, server = psi.client.CreateWithNewKey(False), psi.server.CreateWithNewKey(False)
mine = [f"id {i}" for i in range(size)]
theirs = [f"id {i}" for i in range(size // 2, size // 2 + size)]
setup = server.CreateSetupMessage(1e-9, size, theirs, psi.DataStructure.RAW)
request = client.CreateRequest(mine)
response = server.ProcessRequest(request)
number = client.GetIntersectionSize(setup, response)
volume = sum(len(message.SerializeToString()) for message in (setup, request, response))
times = {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}
print(json.dumps({**times, "bytes": volume, "number": number}))
"""


def run(arguments: list[str]) -> None:
    """Measures everything and prints a table."""
    print_figures(chain(_operations(), _cardinality(), _peer(), _shuffles(), _alignments(), _joins()))


def _operations() -> Iterator[tuple[str, str]]:
    stream = Rng(seed_of(1)).stream("bench")
    texts = [f"id {number}".encode() for number in range(BATCH)]
    points, factors = hash_to_group(texts, "bench"), Scalars.draw(stream, BATCH)
    key = KeyShare(stream).public
    works: dict[str, Callable[[], object]] = {
        "hashes to the group": lambda: hash_to_group(texts, "bench"),
        "multiplications": lambda: points.times(factors),
        "multiples of the generator": lambda: generator_times(factors),
        "sums": lambda: points.plus(points),
        "points read and checked": lambda: Points(points.data),
        "encryptions": lambda: encrypt([5] * BATCH, key, stream),
    }
    for name, work in works.items():
        wall, cpu = time.perf_counter(), time.process_time()
        work()
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        figure = f"{1e6 * cpu / BATCH:.1f} us of one core; {BATCH / wall:,.0f} a second on {cores()}"
        yield f"{BATCH:,} {name}", figure


def _ids(first: int, size: int) -> list[str]:
    return [f"id {number}" for number in range(first, first + size)]


def _cardinality() -> Iterator[tuple[str, str]]:
    sets = {"a": _ids(0, SET), "b": _ids(SET // 2, SET)}

    async def role(channel: Channel) -> object:
        number = await cardinality.count_common(channel, sets[channel.me])
        assert number == SET // 2
        return number

    yield f"cardinality of {SET:,} x {SET:,}", measured(dict.fromkeys("ab", role))


def _peer() -> Iterator[tuple[str, str]]:
    what = f"openmined.psi, cardinality of {SET:,} x {SET:,}"
    answer = ask_peer("psi", PEER, PEER_SCRIPT, str(SET))
    if isinstance(answer, str):
        yield what, answer
        return
    found = {name: float(str(value)) for name, value in answer[0].items()}
    assert found["number"] == SET // 2
    figure = f"{found['cpu']:.1f} CPU s, {found['wall']:.1f} s wall, {found['bytes'] / MEGABYTE:,.1f} MB"
    yield what, figure


def _shuffles() -> Iterator[tuple[str, str]]:
    own = ROWS // 3

    def rows(party: str) -> Sequence[bytes]:
        return [f"{party} {number}".encode() for number in range(own)]

    def role(each: int) -> Role[object]:
        async def play(channel: Channel) -> object:
            counts = dict.fromkeys(channel.parties, each)
            mixed = await shuffle.mix(channel, rows(channel.me), counts=counts, length=ROW_BYTES)
            opened = await shuffle.open_rows(channel.at("open"), mixed, approved=True)
            assert len(opened) == ROWS
            return len(opened)

        return play

    plain = measured(dict.fromkeys("abc", role(own)))
    yield f"shuffle of {ROWS:,} rows of {ROW_BYTES} bytes among 3, sizes public", plain
    padded = measured(dict.fromkeys("abc", role(ROWS)))
    yield f"shuffle of {ROWS:,} rows of {ROW_BYTES} bytes among 3, each submits {ROWS:,}", padded


def _alignments() -> Iterator[tuple[str, str]]:
    for names in ("ab", "abc"):
        sets = {name: _ids(1000 * place, ROWS) for place, name in enumerate(names)}

        async def role(channel: Channel, sets: dict[str, list[str]] = sets) -> object:
            return await align.align(channel, sets[channel.me])

        yield f"alignment of {ROWS:,} ids each among {len(names)}", measured(dict.fromkeys(names, role))


def _joins() -> Iterator[tuple[str, str]]:
    ids = _ids(0, ROWS)
    rows = {name: [f"{name}: class {number % 500}".encode() for number in range(ROWS)] for name in "ab"}

    async def role(channel: Channel) -> object:
        table = rows.get(channel.me, [])
        blended = await join.blend(channel, ids if table else [], table, recipient="c")
        return await join.open_rows(channel.at("open"), blended, approved=True)

    yield f"join of {ROWS:,} rows of 2 owners at a recipient", measured(dict.fromkeys("abc", role))
