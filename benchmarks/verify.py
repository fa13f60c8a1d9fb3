"""`covey check`, `verify` and `evaluate` on 1,000,000 rows of 10 columns: seconds and peak memory.

Each runs in a process alone; the aim is under 10 s and 2 GB on two cores, a minute for evaluating. The table is
synthetic and seeded; its release takes every quasi column
some levels up and suppresses the rows of classes that are still smaller than k.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

from covey.study import Study
from covey.table import build, group, read

ROWS = 1_000_000
K = 10
SEED = 2026

STUDY = f"""[study]
name = "million"
[privacy]
k = {K}
[columns.age]
role = "quasi"
hierarchy = {{ min = 0, max = 99, steps = [5, 10, 20] }}
[columns.sex]
role = "quasi"
hierarchy = "flat"
values = ["F", "M", "X"]
[columns.postcode]
role = "quasi"
hierarchy = {{ prefix = [4, 3, 2, 1] }}
[columns.work]
role = "quasi"
hierarchy = "work.csv"
[columns.admission]
role = "quasi"
hierarchy = {{ date = ["month", "quarter", "year"], min = 2024-01-01, max = 2025-12-31 }}
[columns.ward]
role = "quasi"
hierarchy = "flat"
[columns.children]
role = "quasi"
hierarchy = {{ min = 0, max = 7, steps = [2, 4] }}
[columns.insurer]
role = "quasi"
hierarchy = "flat"
[columns.diagnosis]
role = "sensitive"
[columns.nights]
role = "plain"
type = "number"
"""
LEVELS = {"age": 3, "sex": 0, "postcode": 3, "work": 1, "admission": 3, "ward": 1, "children": 2, "insurer": 0}


def run(arguments: list[str]) -> None:
    """Print a table of what each command took."""
    with tempfile.TemporaryDirectory(prefix="covey-bench-") as name:
        folder = Path(name)
        classes = _write(folder)
        print(f"{ROWS:,} rows x 10 columns, {classes:,} classes, k = {K}\n")
        print(f"{'command':<34}{'exit':>5}{'seconds':>10}{'peak MB':>10}")
        original, release, study = (str(folder / file) for file in ("original.csv", "release.csv", "study.toml"))
        for title, call in {
            "covey check": ["check", study, "--data", original],
            "covey verify": ["verify", release, "--study", study],
            "covey verify --original": ["verify", release, "--study", study, "--original", original],
            "covey evaluate --original": [
                "evaluate", release, "--study", study, "--original", original, "--population", "0.1",
            ],
        }.items():  # fmt: skip
            code, seconds, megabytes = _measure(call)
            print(f"{title:<34}{code:>5}{seconds:>10.1f}{megabytes:>10,.0f}", flush=True)


def _measure(arguments: list[str]) -> tuple[int, float, float]:
    """The exit code, seconds and peak resident memory of one call of the command line."""
    covey = str(Path(sys.executable).with_name("covey"))
    began = time.perf_counter()
    with subprocess.Popen([covey, *arguments, "--json"], stdout=subprocess.DEVNULL) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, time.perf_counter() - began, used.ru_maxrss / 1024


def _write(folder: Path) -> int:
    """The original, its release and the study; how many classes the release has."""
    work = "".join(f"trade {i};group {i // 5};*\n" for i in range(60))
    (folder / "work.csv").write_text(work)
    (folder / "study.toml").write_text(STUDY)
    study = Study.load(folder / "study.toml")
    original = _people(np.random.default_rng(SEED))
    pa.csv.write_csv(original, folder / "original.csv")
    table = build(read(original.to_batches(), study.columns, "the table"), study)
    nodes = np.stack([
        tree.up[LEVELS[column.name]][codes]
        for column, tree, codes in zip(table.quasi, table.trees, table.codes, strict=True)
    ])  # fmt: skip
    classes, _ = group(list(nodes), table.rows)
    small = np.bincount(classes)[classes] < K
    nodes[:, small] = np.array([tree.root for tree in table.trees])[:, None]
    published = table.published(nodes, np.arange(table.rows))
    columns = {name: published.column(name).cast(pa.string()) for name in published.column_names}
    pa.csv.write_csv(pa.table(columns), folder / "release.csv")
    return len(np.unique(classes[~small])) + bool(small.any())


def _people(rng: np.random.Generator) -> pa.Table:
    age = np.clip(rng.normal(50, 20, ROWS), 0, 99).astype(int)
    day = np.datetime64("2024-01-01") + rng.integers(0, 731, ROWS)
    town = (rng.zipf(1.3, ROWS) % 400) * 31
    columns = {
        "age": age,
        "sex": rng.choice(["F", "M", "X"], ROWS, p=[0.5, 0.49, 0.01]),
        "postcode": np.char.zfill((10_000 + town + rng.integers(0, 20, ROWS)).astype(str), 5),
        "work": np.char.add("trade ", (rng.zipf(1.5, ROWS) % 60).astype(str)),
        "admission": day.astype(str),
        "ward": np.char.add("ward ", rng.integers(0, 12, ROWS).astype(str)),
        "children": np.minimum(rng.poisson(1.4, ROWS), 7),
        "insurer": np.char.add("insurer ", (rng.zipf(1.8, ROWS) % 6).astype(str)),
        "diagnosis": np.char.add("D", (rng.zipf(1.4, ROWS) % 80).astype(str)),
        "nights": rng.poisson(4, ROWS),
    }
    return pa.table({name: pa.array(values.astype(str)) for name, values in columns.items()})
