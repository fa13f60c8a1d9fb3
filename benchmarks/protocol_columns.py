"""`cluster` and `peel` on Adult with its columns split: loss, time, rounds and bytes.

`python -m benchmarks columns` runs the parties as processes over TLS on loopback. Set COVEY_BENCH_COLUMNS to choose: a
list like `pivot:10:2,peel:10:3` of form, k and holders (`peel` has a helper where two hold columns). A run of `peel` is
compared with the trusted party's release, and the join alone is counted. COVEY_BENCH_LATENCY=30ms slows every line.
COVEY_BENCH_ROWS takes a part of the table, drawn once; more than there are are resampled.

`COVEY_BENCH_COLUMNS=beside:10,beside:50 python -m benchmarks columns` puts `generalize` on the same split in two, in
the clear (tests hold runs equal to that): losses only.

*Sequential* is the centralized algorithm on the same columns, the mean of seeds 1 to 5. *Calls* are what the paper's
Algorithm 4 would take: one secure sum, 2m messages one after the other, for each record in each sweep.
"""

from __future__ import annotations

import asyncio
import os
import resource
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks import _adult
from benchmarks._adult import QUASI
from benchmarks._measuring import Row, TlsRun, keep, over_tls, peak_megabytes
from benchmarks._measuring import load as load_average
from covey.bench.dataset import load
from covey.crypto.secret import SECRET_BYTES, Secret
from covey.mpc import Clear
from covey.party.simulate.deal import deal
from covey.protocols import of_study
from covey.protocols.peel.parameters import run_of
from covey.sources.release import arrange, canonical_csv
from covey.study import Study
from covey.table import Table
from covey.wire import parse_latency

SPLITS = {
    2: (QUASI[:4], QUASI[4:]),
    3: (QUASI[:3], QUASI[3:6], QUASI[6:]),
    4: (QUASI[:2], QUASI[2:4], QUASI[4:6], QUASI[6:]),
}
SWEEPS = 9
"""Sweeps of the paper's algorithm: it makes n times this many calls."""
BESIDE = {
    "generalize": "",
    "generalize, peel, finished cells": 'local = "peel"\nvariant = "finished-cells"',
    "pivot": "",
}
"""The protocols on the same split, and their options."""
KEYS = ("form", "k", "holders", "latency", "rows")
DEFAULT = ",".join(f"{form}:{k}:{m}" for k in (10, 50) for m in (2, 3, 4) for form in ("pivot", "peel"))


@dataclass(frozen=True)
class Run:
    """One measured run."""

    form: str
    k: int
    holders: int

    @classmethod
    def parse(cls, text: str) -> Run:
        form, k, holders = text.split(":")
        return cls(form, int(k), int(holders))

    @property
    def peels(self) -> bool:
        """True for a run of `peel`."""
        return self.form == "peel"

    def study(self, folder: Path) -> Study:
        """Adult with this run's parameters, in a folder of its own; the first holder has the salary too."""
        parties = "".join(
            f"[parties.p{place}]\ncolumns = {[*own, *(['salary-class'] if not place else [])]}\n"
            for place, own in enumerate(SPLITS[self.holders])
        )
        if self.peels and self.holders == 2:
            parties += '[parties.judge]\nrole = "helper"\n'
        head = _adult.head("cluster", "vertical", self.k)
        if self.peels:
            head = _adult.head("peel", "vertical", self.k)
        key = '[columns.id]\nrole = "key"\n'
        return _adult.save_study(head + key + _adult.quasi_columns() + _adult.SALARY + parties, folder)

    def measure(self, latency: float, rows: int | None) -> Row:
        """Runs the parties and shortens the summary."""
        with tempfile.TemporaryDirectory(prefix="covey-bench-") as folder:
            study = self.study(Path(folder, "study"))
            data = deal(study, people(rows))
            done = over_tls(study, data, Path(folder, "run"), latency)
        if self.peels:
            return {**self.described(latency, done), **self.compared(study, data, done)}
        calls = SWEEPS * int(str(done.summary["rows"]))
        phases = done.summary.get("phases", [])
        return {
            **self.described(latency, done), "calls": calls,
            "calls : rounds": calls // int(str(done.summary["rounds"])),
            "phases": {each["name"]: each["seconds"] for each in phases},  # type: ignore[attr-defined]
        }  # fmt: skip

    def described(self, latency: float, done: TlsRun) -> Row:
        """What any run has."""
        figures = done.figures("rows", "k_reached", "classes", "seconds", "rounds", "messages", "bytes")
        return {"form": self.form, "k": self.k, "holders": self.holders, "latency": latency, "lm": done.lm, **figures}

    def compared(self, study: Study, data: Mapping[str, pa.Table], done: TlsRun) -> Row:
        """A run of `peel` beside the trusted party's release, and its join alone."""
        tables = load(study, data)
        ideal = of_study(study).ideal(study, tables).release
        join = joined(study, tables)
        sent = done.summary["per_party"]
        megabytes = {name: round(each["bytes"] / 1e6, 1) for name, each in sent.items()}  # type: ignore[attr-defined]
        return {
            "as the trusted party's": ideal is not None and canonical_csv(arrange(ideal)) == done.release,
            "join rounds": join.rounds, "join MB a party": round(join.bytes / 3e6, 1), "MB sent by each": megabytes,
            "CPU s, all parties": round(done.cpu, 1),
            "MB of memory, the largest party": peak_megabytes(resource.RUSAGE_CHILDREN), "load after": load_average(),
        }  # fmt: skip


def joined(study: Study, tables: Mapping[str, Table]) -> Clear:
    """The box after the join, in the open."""
    run, box = (
        replace(run_of(study), key=Secret(bytes(SECRET_BYTES))),
        Clear([Secret(bytes([p]) * 32) for p in range(3)]),
    )
    asyncio.run(run.intake.take(box, {run.parties.index(name): table for name, table in tables.items()}))
    return box


def people(rows: int | None) -> pa.Table:
    """Adult with a running number as the key; a part of the table if so many rows are asked for."""
    table = _adult.people()
    if rows is not None and rows > table.num_rows:
        table = _adult.resampled(table, rows)
    elif rows is not None:
        table = table.take(pa.array(np.random.default_rng(0).permutation(table.num_rows)[:rows]))
    return table.append_column("id", pa.array([f"{number:06d}" for number in range(table.num_rows)]))


def beside(k: int, rows: int | None) -> Iterator[Row]:
    """The loss of `generalize` and of the pivot's form on the split in two, as trusted parties would release."""
    for form, options in BESIDE.items():
        with tempfile.TemporaryDirectory(prefix="covey-bench-") as folder:
            study = Run("pivot", k, 2).study(Path(folder))
            if form != "pivot":
                text = Path(folder, "study.toml").read_text()
                text = text.replace('protocol = "cluster"', 'protocol = "generalize"')
                study = Study.parse(text.replace("as_printed = true\n", f"as_printed = true\n{options}\n"), folder)
        figures = of_study(study).ideal(study, load(study, deal(study, people(rows)))).figures
        if figures is not None:
            lm = round(float(figures.loss["lm"] or 0), 4)
            known = {"form": f"{form}, in the clear", "k": k, "holders": 2, "latency": 0.0}
            yield {**known, "rows": figures.rows, "lm": lm}


def run(arguments: list[str]) -> None:
    """Measures and prints; keeps the figures in results/columns.json."""
    if not _adult.is_here():
        return
    asked = os.environ.get("COVEY_BENCH_ROWS")
    rows = int(asked) if asked else None
    latency = parse_latency(os.environ.get("COVEY_BENCH_LATENCY", "0ms"))
    for text in arguments or os.environ.get("COVEY_BENCH_COLUMNS", DEFAULT).split(","):
        form, k, *_ = text.split(":")
        found = beside(int(k), rows) if form == "beside" else [Run.parse(text).measure(latency, rows)]
        for row in found:
            keep("columns", "runs", row, KEYS)
