"""The memory that one party takes, beside what `covey plan` says: every protocol, on its sample and on larger tables.

    python -m benchmarks memory [PROTOCOL[:ROWS]…]

ROWS are of all parties together (people, where columns are split), drawn from the sample with replacement; without
them the sample is taken as it is. What is measured is the largest process of any party, with those that it started.
A collection is left out: its simulation has everyone in one process.
"""

from __future__ import annotations

import os
import re
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa

from benchmarks._measuring import Row, apart, load, over_tls, print_figures
from covey.party.plan import make_plan
from covey.party.simulate.demo import Demo, prepare
from covey.sources.source import connect
from covey.study import Study, document

CASES = (
    "count", "count:200000", "suppress", "suppress:10000", "peel", "peel:30000", "cluster", "cluster:10000",
    "generalize", "generalize:20000", "cluster-columns", "cluster-columns:10000", "peel-columns", "peel-columns:20000",
    "federate", "federate:20000",
)  # fmt: skip
LINE = 10**7
"""Bytes a second of the plan's line; it does not matter here."""


def run(arguments: list[str]) -> None:
    """Measures each case in a process of its own, and prints its figures."""
    print_figures((case, _spelled(apart(measure, case))) for case in arguments or CASES)


def measure(case: str) -> Row:
    """The largest party's memory in megabytes, and the plan's."""
    protocol, _, rows = case.partition(":")
    with tempfile.TemporaryDirectory(prefix="covey-memory-") as folder:
        demo = prepare(protocol, Path(folder, "demo"))
        data = enlarged(demo, int(rows), Path(folder, "demo", "sample")) if rows else demo.data
        study = Study.load(Path(folder, "demo", "sample", "study.toml"))
        numbers = {name: connect(path).rows for name, path in data.items()}
        load_before = load()
        with watched() as peaks:
            outcome = over_tls(study, data, Path(folder, "out"))
        planned = make_plan(study, numbers, 0.0, LINE).memory
    largest = max(peaks.values())
    return {"run": round(largest / 1e6), "plan": round(planned / 1e6), "seconds": outcome.seconds, "load": load_before}


def enlarged(demo: Demo, rows: int, folder: Path) -> dict[str, pa.Table]:
    """Tables of so many rows in all, or of so many people, like the sample's; the study is made to allow them."""
    study, random = demo.study, np.random.default_rng(1)
    frames = {}
    for party in study.holders:
        names = [column.name for column in study.held_by(party.name)]
        frames[party.name] = pa.Table.from_batches(connect(demo.data[party.name]).batches(names)).rename_columns(names)
    content = document.read(folder / "study.toml")
    head = document.table(content, "study")
    if "rows_at_most" in head:
        head["rows_at_most"] = rows
    (folder / "study.toml").write_text(document.spell(content), encoding="utf-8")
    if study.key is None:
        total = sum(frame.num_rows for frame in frames.values())
        return {name: _drawn(frame, rows * frame.num_rows // total, random) for name, frame in frames.items()}
    key = study.key.name
    people = sorted(set.intersection(*(set(frame[key].to_pylist()) for frame in frames.values())))
    whom = [people[index] for index in random.integers(0, len(people), rows)]
    ids = pa.array([f"person {index}" for index in range(rows)])
    if (folder / "population.csv").exists():
        (folder / "population.csv").write_text("".join(f"{identity}\n" for identity in ids.to_pylist()))
    tables = {}
    for name, frame in frames.items():
        row_of = {identity: row for row, identity in enumerate(frame[key].to_pylist())}
        sample = frame.take(pa.array([row_of[identity] for identity in whom]))
        sample = sample.set_column(sample.schema.get_field_index(key), key, ids)
        part = random.random(rows) < 0.6 if study.protocol == "federate" else np.ones(rows, dtype=bool)
        tables[name] = sample.filter(pa.array(part))
    return tables


@contextmanager
def watched() -> Iterator[dict[int, int]]:
    """Notes the most memory of each party's process while the block runs, by its number."""
    peaks: dict[int, int] = {}
    over = threading.Event()

    def look() -> None:
        while not over.wait(0.1):
            for number, size in _parties():
                peaks[number] = max(peaks.get(number, 0), size)

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield peaks
    finally:
        over.set()
        thread.join()


def _parties() -> Iterator[tuple[int, int]]:
    """The parties' processes, which a process forks that this one started: the most that each held, with workers."""
    with suppress(psutil.Error):
        for starter in psutil.Process(os.getpid()).children():
            for party in starter.children():
                yield party.pid, _most(party) + sum(_own(child) for child in party.children())


def _most(process: psutil.Process) -> int:
    """The most memory that a process has held."""
    try:
        match = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{process.pid}/status").read_text())
    except OSError:
        return 0
    return int(match[1]) * 1024 if match else int(process.memory_info().rss)


def _own(process: psutil.Process) -> int:
    """The memory of a process that it shares with no other."""
    try:
        return int(process.memory_full_info().uss)
    except psutil.Error:
        return 0


def _drawn(frame: pa.Table, rows: int, random: np.random.Generator) -> pa.Table:
    return frame.take(pa.array(random.integers(0, frame.num_rows, rows)))


def _spelled(row: Mapping[str, object]) -> str:
    part = float(str(row["plan"])) / float(str(row["run"]))
    duration = f"{row['seconds']:.0f} s at load {row['load']}"
    return f"run {row['run']} MB, plan {row['plan']} MB ({part:.2f} times the run); {duration}"
