"""The box among three: a sort and ANDs, by bytes, rounds and CPU. `python -m benchmarks box [RECORDS]`; 30,162 without.

All three share this process and speak over memory, framing and hashing included; CPU is a third of what all take.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

import numpy as np
from tests.harness.parties import run_parties
from tests.harness.spent import spent

from covey.mpc import Box, Disclosure, Sealed, Shared
from covey.mpc.quicksort import PIVOTS
from covey.wire import Channel

PARTIES = ("a", "b", "c")
RECORDS, WIDTH = 30_162, 39
MEGABYTE = 1_000_000

Work = Callable[[Box, Shared], Awaitable[object]]


async def sort(box: Box, words: Shared) -> None:
    """Sorts the words."""
    await box.sort(words)


async def group(box: Box, words: Shared) -> None:
    """Finds which words ten records or more share."""
    await box.grouped(words, 10)


async def multiply(box: Box, words: Shared) -> None:
    """ANDs the words with themselves a hundred times."""
    for _ in range(100):
        words = await (words & words)


def once(work: Work, records: int, pivots: int) -> tuple[float, float, int, int]:
    """Returns CPU seconds and megabytes a party, rounds and messages of one run."""
    words = np.random.default_rng(1).integers(0, 1 << WIDTH, records, dtype=np.uint64)

    async def role(channel: Channel) -> int:
        box = Sealed.among(channel.at("box"), PARTIES, pivots=pivots)
        await work(box, await box.share(words if box.number == 0 else None, WIDTH, records, 0))
        await box.open(box.zeros(1, 1), says=Disclosure("end"))
        return box.rounds

    start = time.process_time()
    outcomes = run_parties(dict.fromkeys(PARTIES, role), patience=600.0)
    seconds = (time.process_time() - start) / 3
    cost = spent(outcomes)
    return seconds, cost.bytes / 3 / MEGABYTE, outcomes["a"].unwrap(), cost.messages


def run(arguments: list[str]) -> None:
    """Prints a line for each kind of work, the best of three runs."""
    records = int(arguments[0]) if arguments else RECORDS
    works: list[tuple[str, Work, int]] = [(f"sort, {pivots} pivots", sort, pivots) for pivots in (1, PIVOTS, 4, 8)]
    works += [("k test", group, PIVOTS), ("100 ANDs", multiply, PIVOTS)]
    print(f"{records:,} records of {WIDTH} bits\n{'':<18}{'CPU s':>8}{'MB':>8}{'rounds':>8}{'messages':>10}")
    for name, work, pivots in works:
        once(work, 100, pivots)  # compiles
        seconds, megabytes, rounds, messages = min(once(work, records, pivots) for _ in range(3))
        print(f"{name:<18}{seconds:>8.3f}{megabytes:>8.2f}{rounds:>8}{messages:>10}")
