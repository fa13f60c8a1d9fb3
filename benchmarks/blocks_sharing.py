"""Fields, shares and what is built on them: AND of 300,000 bits, common ancestors, the paper's rings, MPyC beside us.

All parties share this process and speak over memory, framing and hashing included, so that the seconds are the CPU of
all of them together; `wall` is what passed meanwhile. MPyC (its own Python, made once; honest majority too) multiplies
the bits as shared field elements, a process per party over loopback sockets: its CPU is that of all its processes.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np
from tests.harness.network import seed_of
from tests.harness.parties import Role

from benchmarks._measuring import measured, peer_python, print_figures
from covey.arrays import Bits, Ints
from covey.crypto import sharing
from covey.crypto.field import F31, F61
from covey.crypto.rng import Rng
from covey.hierarchy import Flat, Hierarchy, numbers
from covey.protocols.as_printed.cluster_rows import ancestor, rings
from covey.secure import conjunction
from covey.wire import Channel

MPYC = ("mpyc==0.11", "numpy", "gmpy2")
WIDTH = 300_000
SMALL = 30_000
PAIR = 10_000
PATIENCE = 300.0
CLUSTERS = 1200

MPYC_SCRIPT = """
import functools, operator, pathlib, sys, time
import numpy as np
from mpyc.runtime import mpc

async def main():
    field = mpc.SecFld(2**61 - 1)
    bits = np.random.default_rng(mpc.pid).random({width}) < 0.8
    await mpc.start()
    began, cpu = time.perf_counter(), time.process_time()
    shares = mpc.input(field.array(field.field.array(bits.astype(int))))
    await mpc.output(functools.reduce(operator.mul, shares))
    text = f"{{time.process_time() - cpu}} {{time.perf_counter() - began}}"
    pathlib.Path({folder!r}, str(mpc.pid)).write_text(text)
    await mpc.shutdown()

mpc.run(main())
"""


def run(arguments: list[str]) -> None:
    """Measures everything and prints a table."""
    print_figures(chain(_fields(), _shares(), _ands(), _rings(), _pairs(), _ancestors(), _mpyc()))


def _best(work: Callable[[], object], repeat: int = 7) -> float:
    """Seconds of the quickest run after one to warm up."""
    work()
    times = []
    for _ in range(repeat):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return min(times)


def _fields() -> Iterator[tuple[str, str]]:
    for field in (F31, F61):
        stream = Rng(seed_of(1)).stream("bench", field.bits)
        a, b = field.draw(stream, WIDTH), field.elements([1, 2, 3]).repeat(WIDTH // 3)
        works: dict[str, Callable[[], object]] = {
            "sums": partial(field.add, a, b),
            "products": partial(field.multiply, a, b),
            "inverses": partial(field.inverse, b),
            "draws": partial(field.draw, stream, WIDTH),
        }
        for name, work in works.items():
            seconds = _best(work)
            figure = f"{1000 * seconds:.2f} ms, {WIDTH / seconds / 1e6:,.0f} M/s"
            yield f"{WIDTH:,} {name} modulo 2^{field.bits} - 1", figure


def _shares() -> Iterator[tuple[str, str]]:
    stream = Rng(seed_of(2)).stream("bench")
    secrets = F61.draw(stream, WIDTH)
    for parties in (3, 5, 9):
        degree = sharing.threshold(parties)
        seconds = _best(partial(sharing.share, secrets, degree, parties, stream), 3)
        yield f"sharing {WIDTH:,} secrets among {parties}", f"{1000 * seconds:.1f} ms"


def _bits(width: int) -> Callable[[Channel], Bits]:
    return lambda channel: np.random.default_rng(ord(channel.me)).random(width) < 0.8


def _ands() -> Iterator[tuple[str, str]]:
    def role(width: int) -> Role[object]:
        return lambda channel: conjunction.conjoin(channel, _bits(width)(channel))

    for width in (WIDTH, SMALL):
        for parties in (3, 5, 9):
            figure = measured(dict.fromkeys("abcdefghi"[:parties], role(width)))
            yield f"AND of {width:,} bits among {parties}", figure


def _rings() -> Iterator[tuple[str, str]]:
    async def role(channel: Channel) -> object:
        return await rings.conjoin(channel, _bits(SMALL)(channel))

    for parties in (3, 5, 9):
        figure = measured(dict.fromkeys("abcdefghi"[:parties], role))
        yield f"AND of {SMALL:,} bits among {parties}, the paper's ring", figure


def _pairs() -> Iterator[tuple[str, str]]:
    async def role(channel: Channel) -> object:
        return await conjunction.conjoin(channel, _bits(PAIR)(channel))

    yield f"AND of {PAIR:,} bits between 2", measured(dict.fromkeys("ab", role))


def _ancestors() -> Iterator[tuple[str, str]]:
    trees = _trees()
    generator = np.random.default_rng(4)
    closures = {name: _closures(trees, generator) for name in "abcde"}
    bounds = ancestor.roots(trees, CLUSTERS)

    async def role(channel: Channel) -> object:
        return await ancestor.common(channel, trees, closures[channel.me])

    for parties in (2, 3, 5):
        places = ancestor.places(trees, bounds, parties)
        what = f"ancestors of {CLUSTERS:,} clusters x {len(trees)} columns ({places:,} places) among {parties}"
        yield what, measured(dict.fromkeys("abcde"[:parties], role))


def _trees() -> list[Hierarchy]:
    """Seven columns of Adult's sizes: 198 nodes or so."""
    age = numbers(Decimal(17), Decimal(90), [Decimal(5), Decimal(10), Decimal(20)])
    return [age, *(Flat().close([f"{size}.{i}" for i in range(size)]) for size in (7, 16, 7, 5, 2, 41))]


def _closures(trees: list[Hierarchy], generator: np.random.Generator) -> Ints:
    """Each cluster's closure over three records of one party."""
    columns = []
    for tree in trees:
        codes = generator.integers(0, tree.leaves, (3, CLUSTERS)).astype(np.int32)
        columns.append(tree.common_ancestor(tree.common_ancestor(codes[0], codes[1]), codes[2]))
    return np.stack(columns, axis=1)


def _mpyc() -> Iterator[tuple[str, str]]:
    python = peer_python("mpyc", MPYC)
    if isinstance(python, str):
        yield "MPyC", python
        return
    for parties in (3, 5, 9):
        what = f"MPyC, AND of {SMALL:,} bits among {parties}"
        with tempfile.TemporaryDirectory(prefix="covey-bench-") as folder:
            script = Path(folder, "conjoin.py")
            script.write_text(MPYC_SCRIPT.format(width=SMALL, folder=folder))
            reports = _played([str(python), str(script), f"-M{parties}", "--no-log"], Path(folder), parties)
        if len(reports) < parties:
            yield what, "did not end well"
            return
        cpu, wall = sum(cpu for cpu, _ in reports), max(wall for _, wall in reports)
        yield what, f"{cpu:.2f} CPU s, {wall:.2f} s wall"


def _played(command: list[str], folder: Path, parties: int) -> list[tuple[float, float]]:
    """Returns what each party's process wrote; the first starts the others, and all end with their group."""
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, start_new_session=True) as first:
        names = [folder / str(party) for party in range(parties)]
        deadline = time.monotonic() + PATIENCE
        while not all(name.exists() for name in names) and time.monotonic() < deadline:
            time.sleep(0.1)
        with contextlib.suppress(subprocess.TimeoutExpired):
            first.wait(timeout=5)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(first.pid, signal.SIGKILL)
    found = [name.read_text().split() for name in names if name.exists()]
    return [(float(cpu), float(wall)) for cpu, wall in found]
