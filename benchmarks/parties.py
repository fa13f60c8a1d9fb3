"""Whole parties: how long a study takes by number of parties, in one process and as processes over TLS.

The study is `count` on generated rows: what is measured is the runtime itself (start, keys, TLS, handshake, approval,
one secure sum, farewell, files), not a protocol's computing.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import covey
from covey.party.simulate.processes import SimulationSetting, simulate
from covey.protocols import count
from covey.study import Study

ROWS = 1000
SIZES = (2, 4, 8, 16)

_HEAD = """
[study]
name = "benchmark"
protocol = "count"
[privacy]
k = 5
[protocol]
column = "age"
level = 1
[columns.age]
role = "quasi"
hierarchy = { min = 0, max = 99, steps = [10] }
"""


def run(arguments: list[str]) -> None:
    """Measures everything and prints it, a line for each run."""
    for size in map(int, arguments or SIZES):
        for row in _measure(size):
            print("; ".join(f"{name}: {figure}" for name, figure in row.items()), flush=True)


def _measure(size: int) -> Iterator[dict[str, str]]:
    with tempfile.TemporaryDirectory(prefix="covey-benchmark-") as scratch:
        study, data = _study(Path(scratch), size)
        start = time.perf_counter()
        summary = covey.simulate(study, data).summary
        yield _row(study, size, "one process", time.perf_counter() - start, summary)
        start = time.perf_counter()
        summary = simulate(study, data, Path(scratch, "out"), SimulationSetting()).describe()
        yield _row(study, size, "processes over TLS", time.perf_counter() - start, summary)


def _study(folder: Path, size: int) -> tuple[Study, dict[str, str]]:
    names = [f"p{index:02}" for index in range(size)]
    path = folder / "study.toml"
    path.write_text(_HEAD + "".join(f"[parties.{name}]\n" for name in names))
    data = {}
    for shift, name in enumerate(names):
        file = folder / f"{name}.csv"
        file.write_text("age\n" + "".join(f"{(row * 7 + shift) % 100}\n" for row in range(ROWS)))
        data[name] = str(file)
    return Study.load(path), data


def _row(study: Study, size: int, carrier: str, seconds: float, summary: dict[str, object]) -> dict[str, str]:
    bands = len(count.Bands.of(study).nodes)
    declared = (count.COST.rounds(size, bands), count.COST.messages(size, bands), count.COST.bytes(size, bands))
    measured = (summary["rounds"], summary["messages"], summary["bytes"])
    return {
        "parties": str(size),
        "how": carrier,
        "from call to files": f"{seconds:.2f} s",
        "from handshake to release": f"{summary['seconds']} s",
        "rounds": f"{measured[0]} ({declared[0]})",
        "messages (declared)": f"{measured[1]} ({declared[1]})",
        "bytes (declared)": f"{measured[2]} ({declared[2]})",
    }
