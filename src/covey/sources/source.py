"""One table of text cells, wherever it lives; counting happens in the engine that has it.

Everything is read as text: the study decides what is a number. A floating NaN of a typed source is missing.
"""

from __future__ import annotations

import re
import shutil
import stat
import tempfile
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import parse_qs

import duckdb
import ibis
import numpy as np
import pyarrow as pa

from covey import bounds
from covey.arrays import Longs
from covey.cells import clean
from covey.errors import InputError
from covey.sources import packages, parquetfile, server
from covey.sources.csvfile import NOT_UTF8, OTHER_WIDTH, look, read_encoded
from covey.sources.folders import (
    columns_of_folders,
    is_many,
    parquet_files,
    refuse_repeated,
    require_columns,
    rows_of_files,
)
from covey.sources.packages import Frame, to_arrow

if TYPE_CHECKING:
    Expression = Any  # Ibis ships no types
    Backend = Any

Data = str | Path | Frame
T = TypeVar("T")

_LINE = re.compile(r"Line: (\d+)")
_PATTERN_CHARACTERS = set("*?[]{}")
_BATCH = 100_000
_CSV_CELLS = 8  # times the size of a CSV file with short cells that the engine may need for it
_NESTED = "holds lists or structures, which are no cells; write each part of them into a column of its own"
_REASONS = (
    ("Maximum line size", "a line is longer than may be read; if it is one table, set COVEY_MEMORY=16GB"),
    ("Expected Number of Columns", OTHER_WIDTH),
    ("Invalid unicode", NOT_UTF8),
    ("not utf-8", NOT_UTF8),
    ("No space left", "the disk is full; free some of it, or work in a folder on another one"),
    ("File too large", "a file may not grow so large here; raise the limit (ulimit -f), or free some of the disk"),
    ("max_temp_directory_size", "the disk is full; free some of it, or work in a folder on another one"),
    ("unterminated quote", "a quoted cell is not closed; double the quotes inside a cell"),
)


class Source:
    """A table of text cells. `name` is what messages call it, never with a password in it."""

    def __init__(
        self,
        name: str,
        table: Expression,
        backend: Backend,
        keep: object = None,
        numeric: frozenset[str] | None = None,
        *,
        persistent: bool = True,
        reasons: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.name = name
        self._table = table
        self._backend = backend
        self._keep = keep  # what must live as long as the table does
        self._kept = persistent  # False if the rows are too many to be parsed once and kept
        weakref.finalize(self, backend.disconnect)
        kinds = {column: kind for column, kind in table.schema().items() if not kind.is_nested()}
        self._reasons = {**reasons, **{clean(column): _NESTED for column in table.columns if column not in kinds}}
        """Why columns are lacking."""
        self._raw = tuple(kinds)
        self.columns = tuple(map(clean, kinds))
        typed = (clean(column) for column, kind in kinds.items() if kind.is_numeric())
        self.numeric = frozenset(typed) if numeric is None else numeric
        """The columns that are numbers where they come from, and so have lost any leading zero."""
        refuse_repeated(name, self.columns)

    @cached_property
    def _text(self) -> Expression:
        """The table with every column as text. Our own engine keeps it, so that a file is parsed once."""
        cells = {name: _as_text(self._table[raw]) for name, raw in zip(self.columns, self._raw, strict=True)}
        table = self._table.select(**cells)
        if self._backend.name != "duckdb" or not self._kept:
            return table
        name = ibis.util.gen_name("covey")
        return self._explained(lambda: self._backend.create_table(name, obj=table, temp=True))

    @cached_property
    def rows(self) -> int:
        counted = self._answer(self._text.aggregate(rows=self._text.count()))
        return int(counted.column("rows")[0].as_py())

    def require(self, columns: Sequence[str], *, empty: bool = False) -> None:
        """Raises InputError for a table that lacks a column, or rows that it must have."""
        require_columns(self.name, columns, self.columns, self._reasons)
        if self.rows == 0 and not empty:
            raise InputError(f"{self.name}: has a header but no rows")

    def batches(self, columns: Sequence[str], *, empty: bool = False) -> Iterator[pa.RecordBatch]:
        """The rows in their order, some at a time, as text."""
        self.require(columns, empty=empty)
        selection = self._text.select(*columns)
        reader = self._explained(lambda: self._reader(selection))
        while True:
            try:
                yield self._explained(reader.read_next_batch)
            except StopIteration:
                return

    def distinct(self, columns: Sequence[str]) -> tuple[pa.Table, Longs]:
        """The distinct tuples of these columns and how often each occurs, grouped in the engine."""
        answer = self._answer(self._grouped(columns))
        counts = answer.column("records").to_numpy().astype(np.int64)
        return answer.drop_columns("records").rename_columns(list(columns)), counts

    def group_sizes(self, columns: Sequence[str]) -> Longs:
        """The number of rows of each distinct tuple of these columns. The tuples stay in the engine."""
        sizes = self._answer(self._grouped(columns).select("records"))
        counted: Longs = sizes.column("records").to_numpy().astype(np.int64)
        return counted

    def _grouped(self, columns: Sequence[str]) -> Expression:
        """The distinct tuples of these columns as c0, c1 …, and the rows of each."""
        self.require(columns)
        position = {f"c{index}": self._text[column] for index, column in enumerate(columns)}
        tuples = self._text.select(**position)
        return tuples.group_by(list(position)).agg(records=tuples.count())

    def _answer(self, expression: Expression) -> pa.Table:
        """The rows of an expression. Those of our own engine without Ibis, which would load pandas."""
        if self._backend.name != "duckdb":
            return self._explained(expression.to_pyarrow)
        return self._explained(lambda: self._backend.con.sql(self._backend.compile(expression)).to_arrow_table())

    def _reader(self, expression: Expression) -> pa.RecordBatchReader:
        if self._backend.name != "duckdb":
            return expression.to_pyarrow_batches(chunk_size=_BATCH)
        return self._backend.con.sql(self._backend.compile(expression)).to_arrow_reader(_BATCH)

    def _explained(self, read: Callable[[], T]) -> T:
        return explain(self.name, read)


def explain(name: str, read: Callable[[], T]) -> T:
    """An engine's complaint about a damaged table, in a sentence without the cells."""
    try:
        return read()
    except duckdb.OutOfMemoryException:
        raise bounds.too_large(name) from None
    except duckdb.Error as error:
        raise InputError(f"{name}{_line(error)}: {_reason(str(error))}") from None
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{name}: cannot be read ({type(error).__name__}); is the file damaged?") from None


def connect(data: Data | Source, *, counted: bool = False) -> Source:
    """The source behind a path, a URL or a frame. A folder or a pattern of Parquet files is one table.

    Where rows are only `counted`, a file that memory cannot hold stays on the disk. Raises InputError that names it.
    """
    if isinstance(data, Source):
        return data
    if isinstance(data, str | Path) and is_many(data):
        return on_disk(data, parquet_files(data))
    if isinstance(data, Path) or (isinstance(data, str) and "://" not in data):
        return _file(*_asked(str(data)), counted=counted)
    if isinstance(data, str):
        return _spark(data) if data.startswith(("spark://", "sc://")) else Source(*server.open_table(data))
    backend = _engine()
    frame = to_arrow(data)
    refuse_repeated("the given table", frame.column_names)
    return Source("the given table", _held(backend, frame), backend)


def on_disk(data: str | Path, files: Sequence[Path]) -> Source:
    """The table in these Parquet files, of which the engine keeps no row. What it cannot hold lies on the disk."""
    backend, keep = _engine_on_disk()
    try:
        parquetfile.examine(str(data), files)
        columns = columns_of_folders(data, files)
        view = ibis.util.gen_name("covey")
        backend.con.execute(f"CREATE VIEW {view} AS {rows_of_files(files, columns)}")
        table = backend.table(view)
    except (duckdb.Error, pa.ArrowException, OSError):
        raise InputError(f"{data}: is no readable Parquet; do all files have the same columns?") from None
    return Source(str(data), table, backend, keep, persistent=False, reasons=columns.refused)


def _engine_on_disk() -> tuple[Backend, _Kept]:
    """An engine that keeps what exceeds memory in a folder, and the folder's keeper."""
    folder = Path(tempfile.mkdtemp(prefix="covey-"))
    keep = _Kept()
    weakref.finalize(keep, shutil.rmtree, folder, ignore_errors=True)
    return _engine(folder), keep


def _asked(data: str) -> tuple[Path, dict[str, str]]:
    """A path, and what stands behind it: `a.csv?encoding=cp1252`, `a.xlsx?sheet=2024`, `a.sav?labels=no`."""
    base, mark, query = data.rpartition("?")
    request = {key: values[0] for key, values in parse_qs(query).items()}
    if not mark or Path(data).exists() or not request or not request.keys() <= {"encoding", "sheet", "labels"}:
        return Path(data), {}
    return Path(base), request


def _file(path: Path, request: Mapping[str, str], *, counted: bool) -> Source:
    if not path.exists():
        raise InputError(f"{path}: there is no such file")
    if not stat.S_ISREG(path.stat().st_mode):
        raise InputError(f"{path}: is a pipe or a device, which might never end; write the table to a file first")
    backend = _engine()
    if path.suffix.lower() in packages.ENDINGS:
        found_there = packages.read(path, request.get("sheet"), labels=request.get("labels", "yes") != "no")
        return Source(str(path), _held(backend, found_there.table), backend, numeric=found_there.numeric)
    if request.get("encoding", "utf-8").lower() not in ("utf-8", "utf8", "utf-8-sig"):
        return Source(str(path), _held(backend, read_encoded(path, request["encoding"])), backend)
    readable, keep = _plain_name(path)
    if path.suffix.lower() in (".parquet", ".pq"):
        try:
            memory = parquetfile.examine(str(path), [path])
            if counted and readable == path and memory > bounds.limit():
                return on_disk(path, [path])
            columns_of_folders(path, [path])  # refuses two columns of one name
            parquetfile.refuse_long(str(path), readable, memory)
            return Source(str(path), backend.read_parquet(str(readable), hive_partitioning=False), backend, keep)
        except (duckdb.Error, pa.ArrowException, OSError):
            raise InputError(f"{path}: is no readable Parquet file; check the path and its permissions") from None
    large = counted and path.stat().st_size > bounds.limit() // _CSV_CELLS
    dialect = look(path, read=not large)
    if large:
        backend, disk = _engine_on_disk()
        keep = (keep, disk)
    schema = {f"c{position}": "VARCHAR" for position in range(len(dialect.header))}
    try:
        table = backend.read_csv(
            str(readable), auto_detect=False, header=True, delim=dialect.separator, quote='"', escape='"',
            columns=schema, max_line_size=bounds.cell(), strict_mode=True,
            hive_partitioning=False,  # a folder named like `age=30` says nothing about the cells
        )  # fmt: skip
    except duckdb.Error as error:
        raise InputError(f"{path}{_line(error)}: {_reason(str(error))}") from None
    renamed = table.rename(dict(zip(dialect.header, schema, strict=True)))
    return Source(str(path), renamed, backend, keep, persistent=not large)


def _engine(folder: Path | None = None) -> Backend:
    """An engine of our own, with the limit of memory. What it cannot hold it writes to the folder, if one is given."""
    if folder is None:
        backend = ibis.duckdb.connect(memory_limit=f"{bounds.limit()}B", max_temp_directory_size="0KB")
    else:
        backend = ibis.duckdb.connect(memory_limit=f"{int(bounds.SHARE * bounds.limit())}B", temp_directory=str(folder))
    backend.con.execute("SET enable_progress_bar = false")  # in `python -c` it would stand among our own output
    return backend


def _held(backend: Backend, table: pa.Table) -> Expression:
    """A table of ours, as the engine sees it."""
    name = ibis.util.gen_name("covey")
    backend.con.register(name, table)
    return backend.table(name)


class _Kept:
    """Lives as long as a source does; a folder is removed with it."""


def _plain_name(path: Path) -> tuple[Path, object]:
    """A name that the engine does not take for a pattern."""
    if not _PATTERN_CHARACTERS & set(str(path)):
        return path, None
    folder = Path(tempfile.mkdtemp(prefix="covey-"))
    link = folder / ("data.csv.gz" if path.suffix == ".gz" else "data" + path.suffix)
    link.symlink_to(path.absolute())
    keep = _Kept()
    weakref.finalize(keep, shutil.rmtree, folder, ignore_errors=True)
    return link, keep


def _spark(url: str) -> Source:
    """A table of Spark: spark://host:port?table=NAME, ?parquet=PATH or ?query=SELECT…"""
    from covey.sources.spark import SparkTable

    table = SparkTable(url)
    try:
        view = ibis.util.gen_name("covey")
        table.explained(lambda: table.frame().createOrReplaceTempView(view))
        backend = ibis.pyspark.connect(table.session)
        backend.disconnect = table.close  # a session that we found is not ours to end
        return Source(table.name, backend.table(view), backend, reasons=table.folders.refused)
    except BaseException:
        table.close()
        raise


def _as_text(column: Expression) -> Expression:
    if column.type().is_string():
        return column
    if column.type().is_floating():
        column = ibis.ifelse(column.isnan(), ibis.null(column.type()), column)
    return column.cast("string")


def _line(error: Exception) -> str:
    match = _LINE.search(str(error))
    return f", line {match[1]}" if match else ""


def _reason(message: str) -> str:
    """The reason that an engine refused a file, in our words, which quote no cell."""
    for sign, reason in _REASONS:
        if sign in message:
            return reason
    return "cannot be read as a table; is the file damaged?"
