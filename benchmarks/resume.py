"""Resume beside starting again: a long run cut off near its end, over slow links and over links without delay.

Three parties sum a vector again and again, each round depending on the one before; one of them is killed at nine
tenths. Resuming computes its own part again and waits for nobody until there. `without delay` is the worst case for it:
there is no waiting to be saved, only the peers' messages. The journal lies on this machine's disk and is synced once a
round.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import numpy as np
from tests.harness.doom import Doom
from tests.harness.harness import End, Meet, over_memory, play
from tests.harness.trial import Trial, of_block

from benchmarks._measuring import print_figures
from covey.arrays import Words
from covey.party.record.names import JOURNAL
from covey.secure import sum as secure_sum
from covey.wire import Channel, Link, MemoryNetwork, slowed

NAMES = ("a", "b", "c")
ROUNDS = 300
WIDTH = 2000
LATENCY = 0.015


def run(arguments: list[str]) -> None:
    """Measures everything and prints a table."""
    print_figures([*_rows("15 ms links", LATENCY), *_rows("without delay", 0.0)])


def _rows(description: str, latency: float) -> list[tuple[str, str]]:
    trial = long_run()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        bare = _timed(trial, latency, None, None)
        journaled = _timed(trial, latency, root / "whole", None)
        doom = Doom("b", "after send", int(1.8 * ROUNDS) + 12)
        _timed(trial, latency, root / "cut", doom)
        resumed = _timed(trial, latency, root / "cut", None)
        size = (root / "whole" / "b" / JOURNAL).stat().st_size
    read = 2 * ROUNDS * 8 * WIDTH
    name = f"{ROUNDS} rounds among 3, {description}"
    return [
        (f"{name}: without a journal", f"{bare:.2f} s"),
        (f"{name}: with a journal", f"{journaled:.2f} s ({journaled / bare - 1:+.0%})"),
        (f"{name}: cut at 9/10, resumed", f"{resumed:.2f} s ({resumed / journaled:.0%} of starting again)"),
        (f"{name}: journal", f"{size / 1e6:.1f} MB for {read / 1e6:.1f} MB read ({size / read:.2f})"),
    ]


def long_run() -> Trial:
    """Every round adds up what the round before gave."""
    inputs = {name: np.arange(index, WIDTH + index, dtype=np.uint64) for index, name in enumerate(NAMES)}

    async def role(channel: Channel, vector: Words) -> object:
        for number in range(ROUNDS):
            vector = vector + await secure_sum.total(channel.at(number), vector)
        return int(vector.sum())

    vectors = dict(inputs)
    for _ in range(ROUNDS):
        total = secure_sum.ideal(vectors)
        vectors = {name: vector + total for name, vector in vectors.items()}
    return of_block("long", inputs, role, {name: int(vector.sum()) for name, vector in vectors.items()})


def _timed(trial: Trial, latency: float, folder: Path | None, doom: Doom | None) -> float:
    start = time.perf_counter()
    ends = asyncio.run(play(trial, _slow(trial, latency, doom), 0 if doom or folder is None else 1, folder))
    if doom is None:
        _require(trial, ends)
    elif not doom.dead:
        raise RuntimeError("the party that was to be cut off has finished")
    return time.perf_counter() - start


def _slow(trial: Trial, latency: float, doom: Doom | None) -> Meet:
    meet = over_memory(MemoryNetwork(trial.names), doom)
    if not latency:
        return meet

    @asynccontextmanager
    async def slowly(name: str) -> AsyncIterator[Link]:
        async with meet(name) as link, slowed(link, latency=latency) as slow:
            yield slow

    return slowly


def _require(trial: Trial, ends: dict[str, End]) -> None:
    for name, end in ends.items():
        if end.finished is None or trial.answer(name, end.finished) != trial.ideal[name]:
            raise RuntimeError(f"party {name!r} has another result than the ideal: {end.error}")
