"""One owner's table that is too large for memory: the rows stay in the engine, and only tuples are looked at.

The study's rules hold as they do in memory, because the same functions read each distinct text and build the same
problem from tuples and their numbers; so the classes are those that `covey.publish` finds, and release.csv has the same
bytes. The engine joins, sorts and writes the rows; the judge counts the written rows on the engine.
"""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Literal

import msgspec
import pyarrow as pa

from covey import counting
from covey import report as reporting
from covey.anonymizers import DEFAULT
from covey.anonymizers import anonymize as search
from covey.anonymizers.build import Built, build, class_labels, figures
from covey.anonymizers.problem import Cancel, Partition, Progress, never, report, silent
from covey.arrays import Ints
from covey.coarsening import StartLevels
from covey.counting import CountedRows, changed
from covey.errors import InputError
from covey.files import ReleaseFormat, as_json, write_atomically
from covey.option import Value
from covey.publish import judged, move, require_quasi, require_room, staged, study_files, summarize, with_effort
from covey.schema import Role
from covey.sources.parquetfile import PartsWriter, read_back, rows_in
from covey.sources.release import csv_pieces
from covey.sources.source import on_disk
from covey.sources.writing import Dealt, ReleasedColumns, ReleasedRows, open_rows
from covey.study import Study
from covey.summary import FILE as SUMMARY
from covey.summary import Summary

Format = Literal["csv", "parquet"]
Order = Literal["content", "random"]
BYTES_OF_TUPLE = {"hilbert": 153, "mondrian": 128}
"""The memory that an algorithm takes for a tuple, where that is less than peel's."""
REFUSED = {"sequential": "it moves single records between classes and needs them all in memory; take peel"}


def anonymize_on_engine(
    data: str | Path,
    study: Study,
    out: Path,
    algorithm: str = DEFAULT,
    *,
    written: Format = "csv",
    parts: int = 1,
    order: Order = "content",
    seed: int = 0,
    budget: int | None = None,
    threads: int | None = None,
    options: Mapping[str, Value] | None = None,
    progress: Progress = silent,
    cancel: Cancel = never,
    force: bool = False,
) -> Summary:
    """Anonymizes a table whose rows stay in the engine, and writes the release into `out`.

    The rows are sorted by content, or in an order that is drawn anew, which only `parquet` may have. Several parts are
    Parquet files in a folder release.parquet. The report shows the release alone.
    Raises InputError for data that does not fit, Unmet with what would be feasible; then nothing is written.
    """
    require_quasi(study)
    options = with_effort(study, algorithm, options or {})
    if algorithm in REFUSED:
        raise InputError(f"algorithm {algorithm} cannot leave the rows in the engine: {REFUSED[algorithm]}")
    if order == "random" and written == "csv":
        raise InputError("release.csv is sorted by content; a random order needs the format parquet")
    release_format = ReleaseFormat(written, parts)
    require_room(out, force=force)
    with staged(out) as stage:
        with open_rows(data, stage) as rows:
            report(f"counting on {rows.ENGINE}", 0.0, progress, cancel)
            tuple_bytes = BYTES_OF_TUPLE.get(algorithm, counting.BYTES_OF_TUPLE)
            columns = study.of_role(Role.QUASI, Role.SENSITIVE, Role.PLAIN)
            counted = CountedRows.of(rows, study, columns, owner=True, tuple_bytes=tuple_bytes)
            built, start = build(counted.table), counted.counts.start
            if start is not None:
                built = _priced(built, start)
                coarser = start.sentence(counting.limit_for(start.before, tuple_bytes))
                report(coarser, 0.0, progress, cancel)
            began = time.perf_counter()
            partition = search(
                built.problem, algorithm, seed=seed, budget=budget, threads=threads, progress=progress, cancel=cancel,
                options=options,
            )  # fmt: skip
            seconds = time.perf_counter() - began
            partition = partition if start is None else _lifted(built, start, partition)
            report(f"writing on {rows.ENGINE}", 0.0, progress, cancel)
            target = stage / "rows" / "sorted.parquet"
            target.parent.mkdir()
            split = Dealt.of(partition.item, partition.group, partition.count, built.problem.counts)
            columns_released = _released(counted, built, partition)
            released = ReleasedRows(columns_released, counted.grouped, counted.tuples, built.item_of_row, split)
            rows.write(target, released, shuffled=order == "random")
            counted.require_unchanged()
            if rows_in([target]) != int(partition.count.sum()):
                raise changed(rows.name)
        report("judging the release", 0.0, progress, cancel)
        verdict = judged(on_disk(target, [target]), study)
        digest = _stream(target, stage, release_format)
        summary = summarize(
            study, built, partition, figures(built, partition), verdict, algorithm, seed, seconds, digest
        )
        if start is not None:
            summary = msgspec.structs.replace(summary, warnings=[*summary.warnings, coarser])
        material = reporting.Material(summary=summary, study=study, release=target.parent, file=release_format.name)
        page = reporting.render(material, verdict)
        files = {**study_files(study), SUMMARY: as_json(summary.describe()), reporting.FILE: page.encode()}
        if not (stage / release_format.name).exists():
            target.rename(stage / release_format.name)
        shutil.rmtree(target.parent)
        for name, content in files.items():
            write_atomically(stage / name, content)
        move(stage, out)
        return summary


def _lifts(built: Built, start: StartLevels) -> list[tuple[int, Ints]]:
    """The columns that begin above their values, and the node that stands for each node."""
    quasi = zip(built.table.quasi, built.table.trees, strict=True)
    return [
        (index, tree.lifted(start.levels[column.name]))
        for index, (column, tree) in enumerate(quasi)
        if column.name in start.levels
    ]


def _priced(built: Built, start: StartLevels) -> Built:
    """The problem in which a node costs no less than its ancestor on the first level."""
    costs = list(built.problem.costs)
    for index, lift in _lifts(built, start):
        costs[index] = costs[index][lift]
    return replace(built, problem=replace(built.problem, costs=tuple(costs)))


def _lifted(built: Built, start: StartLevels, partition: Partition) -> Partition:
    """The classes with every label on or above its column's first level."""
    nodes = partition.nodes.copy()
    for index, lift in _lifts(built, start):
        nodes[:, index] = lift[nodes[:, index]]
    return replace(partition, nodes=nodes)


def _released(counted: CountedRows, built: Built, partition: Partition) -> ReleasedColumns:
    """The columns of the release, and where the engine finds their cells."""
    study = built.table.study
    names = [column.name for column in study.quasi]
    return ReleasedColumns(
        released=[column.name for column in study.released],
        classes=dict(zip(names, class_labels(built, partition), strict=True)),
        mapped={
            column.name: counted.labels[column.name] for column in counted.carried_columns if column not in counted.read
        },
        read={column.name: column.read for column in counted.read},
    )


def _stream(target: Path, stage: Path, release_format: ReleaseFormat) -> str:
    """The hash of release.csv from the sorted rows. Writes that, or the parts of release.parquet, as is wanted."""
    digest = hashlib.sha256()
    path = stage / release_format.name
    stream = writer = None
    try:
        stream = path.open("wb") if release_format.kind == "csv" else None
        writer = PartsWriter(path, rows_in([target]), release_format.parts) if release_format.parts > 1 else None

        def taken() -> Iterator[pa.Table]:
            for table in read_back([target]):
                if writer is not None:
                    writer.take(table)
                yield table

        for piece in csv_pieces(taken()):
            digest.update(piece)
            if stream is not None:
                stream.write(piece)
        if stream is not None:
            stream.flush()
        if writer is not None:
            writer.close()
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror}); is the disk full?") from None
    finally:
        for sink in (stream, writer):
            if sink is not None:
                with contextlib.suppress(OSError):  # what the full disk did not take
                    sink.close()
    return digest.hexdigest()
