"""One owner's table whose rows stay on an engine: seconds, peak memory and disk as it grows, beside reading it.

DuckDB generates the table into a folder of Parquet files, five million rows each: eight columns, five of them quasi,
2.9 million distinct tuples at most. Each run is a process of its own. Up to `IN_MEMORY` rows the same table is also
anonymized in memory, and the two releases are compared byte for byte.

    python -m benchmarks engine [ROWS…]          on DuckDB; COVEY_MEMORY is the limit
    python -m benchmarks engine spark [ROWS…]    on a Spark cluster of a master and two workers, begun here
    python -m benchmarks engine coarse [ROWS…]   with room for fewer tuples: coarser levels, and their loss

The table, the release and what does not fit into memory lie in COVEY_BENCH_FOLDER, or in the system's folder for
temporary files, and are removed at the end: 30 GB at most for 10^8 rows, which must be free.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
from pyarrow import parquet
from tests.harness.engines import spark_cluster

import covey
from benchmarks._measuring import Row, apart, keep, load, peak_megabytes
from covey import counting
from covey.bounds import VARIABLE
from covey.sources.folders import parquet_files
from covey.study import Study

ROWS = (1_000_000, 10_000_000, 100_000_000)
FEW_ROWS = (1_000_000,)
IN_MEMORY = 10_000_000
PART = 5_000_000
BYTES_OF_ROW = 300
"""Room on the disk that a row takes at most: in the table, while rows are sorted, and in the release."""
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
    "cost": "(hash(8 * i + 8) % 200000)::VARCHAR",
}
"""Each column's cell in the i-th row; texts and small numbers, of the types that every engine has."""


def generate(rows: int, folder: Path) -> None:
    """Has DuckDB write the table, some million rows a file."""
    folder.mkdir()
    cells = {**CELLS, **{name: f"({CELLS[name]})::INTEGER" for name in ("age", "children")}}
    select = ", ".join(f"{cell} AS {name}" for name, cell in cells.items())
    with duckdb.connect(config={"memory_limit": "1GB", "temp_directory": str(folder.parent)}) as engine:
        for number, first in enumerate(range(0, rows, PART)):
            numbers = f"range({first}, {min(first + PART, rows)}) AS numbers(i)"
            engine.execute(f"COPY (SELECT {select} FROM {numbers}) TO '{folder}/part-{number:04d}.parquet'")  # noqa: S608


def on_engine(data: str, out: str, room: int | None = None) -> Row:
    """Anonymizes a table with its rows on the engine, and says on the way where it is; room is for so many tuples."""
    if room is not None:
        counting.most_tuples = lambda tuple_bytes: room  # the engine's own memory stays as it is
    began, cpu = time.perf_counter(), time.process_time()
    stages: dict[str, float] = {}

    def progress(stage: str, part: float) -> None:
        if stage not in stages:
            stages[stage] = round(time.perf_counter() - began, 1)
            print(f"  {stages[stage]:8.1f} s  {stage}; {peak_megabytes():,} MB so far", file=sys.stderr, flush=True)

    summary = covey.anonymize_on_engine(data, Study.parse(STUDY), Path(out), written="parquet", progress=progress)
    levels = re.search(r"levels on \((.*?)\)", " ".join(summary.warnings))
    return {
        "seconds": round(time.perf_counter() - began, 1),
        "cpu": round(time.process_time() - cpu, 1),
        "megabytes": peak_megabytes(),
        "lm": round(summary.loss["lm"] or 0.0, 4),
        "classes": summary.classes,
        "search": summary.seconds,
        "begins": {stage: seconds for stage, seconds in stages.items() if stage.endswith(_STAGES)},
        "levels": None if levels is None else levels[1],
        "sha256": summary.release_sha256,
    }


_STAGES = ("on DuckDB", "on Spark", "judging the release")


def in_memory(folder: str) -> Row:
    """The same in memory, with as much of it as it takes."""
    os.environ[VARIABLE] = "32GB"
    began, cpu = time.perf_counter(), time.process_time()
    table = pa.concat_tables([parquet.read_table(file) for file in parquet_files(folder)])
    release = covey.anonymize(table, Study.parse(STUDY))
    return {
        "seconds": round(time.perf_counter() - began, 1),
        "cpu": round(time.process_time() - cpu, 1),
        "megabytes": peak_megabytes(),
        "sha256": hashlib.sha256(release.content).hexdigest(),
    }


@contextlib.contextmanager
def table_of(rows: int) -> Iterator[Path]:
    """A folder with the table in `table`, which is removed with all that is put beside it."""
    root = Path(os.environ.get("COVEY_BENCH_FOLDER") or tempfile.gettempdir())
    if shutil.disk_usage(root).free < rows * BYTES_OF_ROW:
        raise SystemExit(
            f"{root}: has less than {rows * BYTES_OF_ROW / 1e9:.0f} GB free; name another COVEY_BENCH_FOLDER"
        )
    folder = Path(tempfile.mkdtemp(prefix="covey-bench-", dir=root))
    try:
        began = time.perf_counter()
        generate(rows, folder / "table")
        took = time.perf_counter() - began
        print(f"{rows:,} rows generated in {took:.0f} s, {_size(folder) / 1e6:,.0f} MB", file=sys.stderr, flush=True)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def measured(data: str, folder: Path, room: int | None = None) -> Row:
    """Anonymizes on the engine, in a process of its own, and looks at the disk meanwhile."""
    ended, peak = threading.Event(), [0]

    def look() -> None:
        while not ended.wait(2.0):
            peak[0] = max(peak[0], _size(folder))

    looking = threading.Thread(target=look, daemon=True)
    looking.start()
    try:
        row = apart(on_engine, data, str(folder / "out"), room, verbose=True)
    finally:
        ended.set()
        looking.join()
        shutil.rmtree(folder / "out", ignore_errors=True)
    return {"disk_megabytes": round(peak[0] / 1e6), **row}


def on_duckdb(arguments: list[str]) -> Iterator[Row]:
    """The table in DuckDB, beside memory."""
    for rows in map(int, arguments or ROWS):
        with table_of(rows) as folder:
            row = {"rows": rows, "limit": os.environ.get(VARIABLE, "4GB"), "load": load()}
            yield _compared(row | measured(str(folder / "table"), folder), folder)


def on_spark(arguments: list[str]) -> Iterator[Row]:
    """The table on a cluster; its workers read the files, and write the rows of the release."""
    for rows in map(int, arguments or FEW_ROWS):
        with table_of(rows) as folder, spark_cluster(folder / "spark") as cluster:
            row = {"rows": rows, "limit": os.environ.get(VARIABLE, "4GB"), "load": load()}
            yield _compared(row | measured(f"{cluster.url}?parquet={folder / 'table'}", folder), folder)


def coarse(arguments: list[str]) -> Iterator[Row]:
    """The table in DuckDB with room for fewer tuples than it has."""
    for rows in map(int, arguments or FEW_ROWS):
        with table_of(rows) as folder:
            tuples = _tuples(folder / "table")
            for part in (1.0, 0.5, 0.1, 0.02):
                row = measured(str(folder / "table"), folder, round(tuples * part))
                row.pop("sha256")
                yield {"rows": rows, "room": part, "tuples": tuples, **row}


PARTS = {"duckdb": on_duckdb, "spark": on_spark, "coarse": coarse}


def run(arguments: list[str]) -> None:
    """Measures one part, or DuckDB, for each number of rows; prints, and writes results/engine.json."""
    part = arguments.pop(0) if arguments and arguments[0] in PARTS else "duckdb"
    for row in PARTS[part](arguments):
        keep("engine", part, row, ("rows", "room"))


def _compared(row: Row, folder: Path) -> Row:
    """The row with the figures of memory, where the table is small enough, and whether the release is equal."""
    digest, rows = row.pop("sha256"), row["rows"]
    if isinstance(rows, int) and rows <= IN_MEMORY:
        memory_row = apart(in_memory, str(folder / "table"))
        row |= {f"memory_{name}": value for name, value in memory_row.items() if name != "sha256"}
        row["equal"] = memory_row["sha256"] == digest
    return row


def _tuples(folder: Path) -> int:
    names = ", ".join(column.name for column in Study.parse(STUDY).quasi)
    counted = f"SELECT count(*) FROM (SELECT DISTINCT {names} FROM read_parquet('{folder}/*.parquet'))"  # noqa: S608
    with duckdb.connect() as engine:
        return int((engine.execute(counted).fetchone() or (0,))[0])


def _size(folder: Path) -> int:
    total = 0
    for file in folder.rglob("*"):
        with contextlib.suppress(OSError):  # it may have gone meanwhile
            total += file.stat().st_blocks * 512
    return total
