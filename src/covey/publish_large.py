"""One owner's table that is too large for memory: the rows stay in the engine, and only tuples are looked at.

The study's rules hold as they do in memory, because the same functions read each distinct text and build the same
problem from tuples and their numbers; so the classes are those that `covey.publish` finds, and release.csv has the same
bytes. The engine joins, sorts and writes the rows; the judge counts the written rows on the engine.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import pyarrow as pa

from covey import table
from covey.anonymizers import DEFAULT, find
from covey.anonymizers import anonymize as search
from covey.anonymizers.build import Built, build, class_labels
from covey.anonymizers.figures import figures
from covey.anonymizers.pace import Cancel, Progress, never, report, silent
from covey.arrays import Ints, Longs
from covey.cells import MISSING
from covey.errors import InputError
from covey.files import SHARED, UMASK, as_json, write_atomically
from covey.option import Value
from covey.publish import judged, require_room, study_files, summarize
from covey.schema import Column, Role
from covey.sources.engine import Dealt, EngineRows, ReleasedColumns, read_back, rows_in
from covey.sources.release import csv_header, csv_lines
from covey.sources.source import on_disk
from covey.study import Study
from covey.summary import Summary
from covey.table import Reading

Format = Literal["csv", "parquet"]
REFUSED = {"sequential": "it moves single records between classes and needs them all in memory; take peel"}
_CARRIED = (Role.QUASI, Role.SENSITIVE, Role.PLAIN)


def anonymize_on_engine(
    data: str | Path,
    study: Study,
    out: Path,
    algorithm: str = DEFAULT,
    *,
    written: Format = "csv",
    seed: int = 0,
    budget: int | None = None,
    threads: int | None = None,
    options: Mapping[str, Value] | None = None,
    progress: Progress = silent,
    cancel: Cancel = never,
    force: bool = False,
) -> Summary:
    """Anonymizes a table whose rows stay in the engine, and writes the release into the folder `out`.

    Raises InputError for data that does not fit, Unmet with what would be feasible; then nothing is written.
    """
    find(algorithm)
    if algorithm in REFUSED:
        raise InputError(f"algorithm {algorithm} cannot leave the rows in the engine: {REFUSED[algorithm]}")
    require_room(out, force=force)
    out.parent.mkdir(parents=True, exist_ok=True)
    staged = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
    try:
        with EngineRows(data, staged) as rows:
            report("counting on the engine", 0.0, progress, cancel)
            counted = CountedTable.of(rows, study)
            began = time.perf_counter()
            found = search(
                counted.built.problem, algorithm, seed=seed, budget=budget, threads=threads, progress=progress,
                cancel=cancel, options=options,
            )  # fmt: skip
            seconds = time.perf_counter() - began
            report("writing on the engine", 0.0, progress, cancel)
            target = staged / "release.parquet"
            shown = dict(zip((column.name for column in study.quasi), class_labels(counted.built, found), strict=True))
            problem = counted.built.problem
            dealt = Dealt.of(found.item, found.group, found.count, problem.counts)
            rows.write(target, counted.columns(shown), counted.tuples, counted.item, dealt)
            if rows.count() != counted.records or rows_in(target) != int(found.count.sum()):
                raise InputError(f"{data}: has changed while it was read; nothing is written. Run it again")
        report("judging the release", 0.0, progress, cancel)
        verdict = judged(on_disk(str(target), [target]), study)
        digest = _stream(target, staged / "release.csv" if written == "csv" else None)
        if written == "csv":
            target.unlink()
        summary = summarize(
            study, counted.built, found, figures(counted.built, found), verdict, algorithm, seed, seconds, digest
        )
        files = {**study_files(study), "summary.json": as_json(summary.describe())}
        for name, content in files.items():
            write_atomically(staged / name, content, SHARED)
        _move(staged, out)
        return summary
    finally:
        shutil.rmtree(staged, ignore_errors=True)


@dataclass(frozen=True)
class CountedTable:
    """The distinct tuples of a table on the engine, as the problem that they are."""

    study: Study
    built: Built
    tuples: list[Ints]
    """Codes of the grouped columns, as the engine has them, without tuples that are dropped."""
    item: Longs
    """The item that each tuple belongs to."""
    grouped: tuple[str, ...]
    dropping: Mapping[str, int]
    read: tuple[Column, ...]
    """Columns whose cells are read one by one."""
    records: int
    """All rows, the dropped ones included."""

    @classmethod
    def of(cls, rows: EngineRows, study: Study) -> CountedTable:
        """Counts a table, and gives the engine the codes of all texts. Raises InputError for what does not fit."""
        columns = study.of_role(*_CARRIED)
        rows.require([column.name for column in columns])
        watched = any(asked is not None for each in study.sensitive for asked in (study.l_of(each), study.t_of(each)))
        tupled = [column for column in columns if column.role is Role.QUASI or (watched and column in study.sensitive)]
        read = tuple(column for column in columns if not _is_judged(column) and not rows.few_spellings(column.name))
        labels, dropping = {}, {}
        for column in columns:
            if column in read:
                continue
            labels[column.name] = _map(rows, study, column)
            if column.missing == "drop" and MISSING in labels[column.name]:
                dropping[column.name] = labels[column.name].index(MISSING)
        names = tuple(column.name for column in tupled)
        codes, counts = rows.group(names, dropping)
        records = rows.count()
        if not len(counts):
            raise InputError(f"{rows.name}: no row is left after dropping those with missing values")
        reading = Reading(
            tuple(tupled), dict(zip(names, codes, strict=True)), {name: labels[name] for name in names}, len(counts),
            rows.name, counts,
        )  # fmt: skip
        made = table.build(reading, study)
        dropped = records - int(counts.sum())
        built = build(replace(made, dropped=dropped))
        return cls(study, built, codes, built.item_of_row, names, dropping, read, records)

    def columns(self, shown: Mapping[str, tuple[object, object]]) -> ReleasedColumns:
        """The columns of the release, and where the engine finds their cells."""
        carried = self.study.of_role(Role.SENSITIVE, Role.PLAIN)
        return ReleasedColumns(
            released=[column.name for column in self.study.released],
            grouped=self.grouped,
            classes=shown,  # type: ignore[arg-type]
            mapped=[column.name for column in carried if column not in self.read],
            read={column.name: column.read for column in self.read},
            dropping=self.dropping,
        )


def _is_judged(column: Column) -> bool:
    """True if each text of the column has to be looked at: the study says what it may have, or it is generalized."""
    return (
        column.role is not Role.PLAIN or column.values is not None or column.missing != "value" or column.kind != "text"
    )


def _map(rows: EngineRows, study: Study, column: Column) -> list[str]:
    """Reads a column's texts, gives the engine their codes, and returns the labels of the codes.

    Raises InputError for what does not fit, as one reading a table in memory would.
    """
    found = rows.spellings(column.name)
    alone = table.read([pa.record_batch({column.name: pa.array(found.texts, pa.string())})], [column], rows.name)
    counted = Reading(alone.columns, alone.codes, alone.labels, alone.rows, alone.name, found.counts)
    table.refuse_exact_ends(counted, column, study.privacy.k)
    table.refuse_unfit(counted, column)
    table.refuse_shortened(counted, column, rows.numeric)
    labels = alone.labels[column.name]
    rows.map_texts(column.name, found.texts, alone.codes[column.name], labels)
    return labels


def _stream(target: Path, csv: Path | None) -> str:
    """The hash of release.csv, which is written where a path is given."""
    digest = hashlib.sha256()
    stream = None if csv is None else csv.open("wb")
    try:
        names: list[str] = []
        for part in read_back(target):
            pieces = [csv_lines(part)] if names else [csv_header(part.column_names), csv_lines(part)]
            names = part.column_names
            for piece in pieces:
                digest.update(piece)
                if stream is not None:
                    stream.write(piece)
    finally:
        if stream is not None:
            stream.close()
    return digest.hexdigest()


def _move(staged: Path, out: Path) -> None:
    """Moves what is whole to its place: a new folder at once, an earlier release's files one by one."""
    if not out.exists():
        staged.chmod(0o777 & ~UMASK)
        for file in staged.iterdir():
            file.chmod(SHARED & ~UMASK)
        staged.rename(out)
        return
    for name in ("release.csv", "release.parquet", "report.html", "explanation.json"):
        (out / name).unlink(missing_ok=True)
    for file in sorted(staged.rglob("*")):
        if file.is_file():
            (out / file.relative_to(staged)).parent.mkdir(parents=True, exist_ok=True)
            file.replace(out / file.relative_to(staged))
