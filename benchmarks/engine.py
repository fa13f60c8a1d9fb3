"""One owner's table whose rows stay in the engine: seconds and peak memory as it grows, beside reading it into memory.

DuckDB generates the table into a folder of Parquet files, five million rows each: eight columns, five of them quasi,
2.9 million distinct tuples at most. Each run is a process of its own. Up to `IN_MEMORY` rows the same table is also
anonymized in memory, and the two releases are compared byte for byte. `python -m benchmarks engine 1000000 10000000`
takes other numbers of rows; `COVEY_MEMORY` is the limit.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
import time
from pathlib import Path

import duckdb
import pyarrow as pa
from pyarrow import parquet

import covey
from benchmarks._measuring import Row, apart, keep, load, peak_megabytes
from covey.sources.folders import parquet_files
from covey.study import Study

ROWS = (1_000_000, 10_000_000, 100_000_000)
IN_MEMORY = 10_000_000
PART = 5_000_000
STUDY = """[study]
name = "register"
[privacy]
k = 10
[columns.age]
role = "quasi"
hierarchy = { min = 0, max = 99, steps = [5, 10, 20] }
[columns.sex]
role = "quasi"
hierarchy = "flat"
values = ["F", "M", "X"]
[columns.code]
role = "quasi"
hierarchy = { prefix = [3, 2, 1] }
[columns.ward]
role = "quasi"
hierarchy = "flat"
[columns.children]
role = "quasi"
hierarchy = { min = 0, max = 7, steps = [2, 4] }
[columns.illness]
role = "sensitive"
[columns.note]
role = "plain"
[columns.cost]
role = "plain"
"""


CELLS = {
    "age": "hash(8 * i + 1) % 100",
    "sex": "['F', 'M', 'X'][(hash(8 * i + 2) % 3)::BIGINT + 1]",
    "code": "(10000 + floor(ln(1 - (hash(8 * i + 3) % 1000003) / 1000003.0) / ln(0.99))::BIGINT % 300 * 7)::VARCHAR",
    "ward": "chr((97 + hash(8 * i + 4) % 8)::INTEGER)",
    "children": "hash(8 * i + 5) % 4",
    "illness": "CASE WHEN hash(8 * i + 6) % 20 < 16 THEN 'none' WHEN hash(8 * i + 6) % 20 < 18 THEN 'flu' "
    "WHEN hash(8 * i + 6) % 20 < 19 THEN 'ulcer' ELSE 'asthma' END",
    "note": "'note ' || hash(8 * i + 7) % 1000",
    "cost": "hash(8 * i + 8) % 1000000",
}
"""Each column's cell in the i-th row."""


def generate(rows: int, folder: Path) -> None:
    """Has DuckDB write the table, some million rows a file."""
    chosen = ", ".join(f"{cell} AS {name}" for name, cell in CELLS.items())
    with duckdb.connect(config={"memory_limit": "1GB"}) as engine:
        for number, first in enumerate(range(0, rows, PART)):
            numbers = f"range({first}, {min(first + PART, rows)}) AS numbers(i)"
            engine.execute(f"COPY (SELECT {chosen} FROM {numbers}) TO '{folder}/part-{number:04d}.parquet'")  # noqa: S608


def on_engine(folder: str, out: str) -> Row:
    """Anonymizes the folder with its rows in the engine."""
    began, cpu = time.perf_counter(), time.process_time()
    found = covey.anonymize_on_engine(folder, Study.parse(STUDY), Path(out), written="parquet")
    return {
        "seconds": round(time.perf_counter() - began, 1),
        "cpu": round(time.process_time() - cpu, 1),
        "megabytes": peak_megabytes(),
        "lm": round(found.loss["lm"] or 0.0, 4),
        "search": found.seconds,
        "sha256": found.release_sha256,
    }


def in_memory(folder: str) -> Row:
    """The same in memory."""
    began, cpu = time.perf_counter(), time.process_time()
    whole = pa.concat_tables([parquet.read_table(file) for file in parquet_files(folder)])
    found = covey.anonymize(whole, Study.parse(STUDY))
    return {
        "seconds": round(time.perf_counter() - began, 1),
        "cpu": round(time.process_time() - cpu, 1),
        "megabytes": peak_megabytes(),
        "sha256": hashlib.sha256(found.content).hexdigest(),
    }


def run(arguments: list[str]) -> None:
    """Measures for each number of rows, prints, writes results/engine.json."""
    for rows in map(int, arguments or ROWS):
        place = Path(tempfile.mkdtemp(prefix="covey-bench-"))
        try:
            (place / "table").mkdir()
            generate(rows, place / "table")
            found = {"rows": rows, "load": load(), **apart(on_engine, str(place / "table"), str(place / "out"))}
            digest = found.pop("sha256")
            if rows <= IN_MEMORY:
                other = apart(in_memory, str(place / "table"))
                found |= {f"memory_{name}": value for name, value in other.items() if name != "sha256"}
                found["equal"] = other["sha256"] == digest
            print(found, flush=True)
            keep("engine", "engine", found, ("rows",))
        finally:
            shutil.rmtree(place, ignore_errors=True)
