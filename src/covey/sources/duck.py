"""DuckDB, out of core: the engine for files, and the one that sorts and writes a release wherever its rows come from.

What does not fit into memory lies in a private folder on the disk that is removed at the end.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import tempfile
import weakref
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import duckdb
import numpy as np
import pyarrow as pa

from covey import bounds
from covey.arrays import Ints, Longs
from covey.cells import guarded
from covey.errors import InputError
from covey.sources import parquetfile
from covey.sources.csvfile import look
from covey.sources.folders import (
    PARQUET,
    as_literal,
    columns_of_folders,
    is_many,
    parquet_files,
    refuse_patterns,
    rows_of_files,
)
from covey.sources.source import explain
from covey.sources.writing import ReleasedColumns, ReleasedRows, WritableRows

T = TypeVar("T")

_NUMBERS = re.compile(r"(U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|REAL|DECIMAL.*)$")


class Duck:
    """An engine of our own on this machine, with its private folder. Both go when nobody holds it any more."""

    def __init__(self, name: str, scratch: Path) -> None:
        self.name = name
        folder = tempfile.mkdtemp(prefix=".covey-engine-", dir=scratch)
        config: dict[str, str | bool | int | float | list[str]] = {
            "memory_limit": f"{int(bounds.SHARE * bounds.limit())}B",
            "temp_directory": folder,
            "preserve_insertion_order": True,
        }
        self.connection = duckdb.connect(config=config)
        self.connection.execute("SET enable_progress_bar = false")
        self._end = weakref.finalize(self, _end, self.connection, folder)

    def close(self) -> None:
        """Ends the engine and removes what it left on the disk."""
        self._end()

    def run(self, statement: str) -> None:
        """Runs a statement that has no answer."""
        self.explained(lambda: self.connection.execute(statement))

    def arrow(self, query: str) -> pa.Table:
        """The answer to a query."""
        return self.explained(lambda: self.connection.execute(query).to_arrow_table())

    def give(self, name: str, columns: Mapping[str, pa.Array], kinds: Mapping[str, str] | None = None) -> None:
        """A table from columns of ours, some of them of the types that are named."""
        self.connection.register("ours", pa.table(dict(columns)))
        cast = [f"{column}::{kinds[column]} AS {column}" if column in (kinds or {}) else column for column in columns]  # type: ignore[index]
        try:
            self.run(f"CREATE OR REPLACE TABLE {name} AS SELECT {', '.join(cast)} FROM ours")
        finally:
            self.connection.unregister("ours")

    def write(self, target: Path, columns: ReleasedColumns, source: str, *, shuffled: bool) -> None:
        """Writes the rows of `source` with the labels of their classes and cells, sorted by content.

        With `shuffled` each row gets a random key, and they are sorted by that.
        """
        names = self._give_classes(columns.classes)
        joins = ["JOIN classes ON dealt.class = classes.class"]
        for index, (column, labels) in enumerate(columns.mapped.items()):
            self._give_labels(f"n{index}", {"label": [guarded(label) for label in labels]}, len(labels), "code")
            joins.append(f"JOIN n{index} ON dealt.p{index} = n{index}.code")
            names[column] = f"n{index}.label"
        for number, (column, function) in enumerate(columns.read.items()):
            self._register(f"read{number}", function)
            names[column] = f"read{number}(dealt.p{number + len(columns.mapped)})"
        fields = ", ".join(f"{names[column]} AS {DuckRows.quoted(column)}" for column in columns.released)
        query = (
            f"SELECT {fields} FROM ({source}) AS dealt {' '.join(joins)} ORDER BY {'random()' if shuffled else 'ALL'}"
        )
        self.run(
            f"COPY ({query}) TO {as_literal(str(target))} (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 200000)"
        )

    def _give_classes(self, classes: Mapping[str, tuple[Sequence[str], Ints | Longs]]) -> dict[str, str]:
        """Takes each class's labels; the expression of each quasi column's label."""
        texts = {
            f"l{index}": [guarded(labels[node]) for node in code.tolist()]
            for index, (labels, code) in enumerate(classes.values())
        }
        self._give_labels("classes", texts, max(map(len, texts.values()), default=0), "class")
        return {column: f"classes.l{index}" for index, column in enumerate(classes)}

    def _give_labels(self, name: str, texts: Mapping[str, list[str]], number: int, key: str) -> None:
        """A table of labels by number, of types that sort as the labels' bytes do."""
        kinds = {}
        for column, labels in texts.items():
            kinds[column] = f"{name}_{column}"
            ordered = sorted(set(labels), key=lambda text: text.encode("utf-8", "surrogatepass")) or [""]
            self.give("listed", {"place": pa.array(np.arange(len(ordered))), "label": pa.array(ordered, pa.string())})
            self.run(f"CREATE TYPE {kinds[column]} AS ENUM (SELECT label FROM listed ORDER BY place)")
        columns = {column: pa.array(labels, pa.string()) for column, labels in texts.items()}
        self.give(name, {key: pa.array(np.arange(number)), **columns}, kinds)

    def _register(self, name: str, read: Callable[[str | None], str]) -> None:
        """A function of the engine that reads the cells of a batch."""

        def of_batch(cells: pa.ChunkedArray) -> pa.Array:
            encoded = cells.combine_chunks().dictionary_encode()
            texts = pa.array([guarded(read(text)) for text in encoded.dictionary.to_pylist()], pa.string())
            return texts.take(encoded.indices)

        self.connection.create_function(name, of_batch, ["VARCHAR"], "VARCHAR", type="arrow")  # type: ignore[call-overload]

    def explained(self, work: Callable[[], T]) -> T:
        """The outcome of some work, or its error as a sentence of ours."""
        return explain(self.name, work)


class DuckRows(WritableRows):
    """The rows of files: CSV or Parquet, or Parquet in a folder."""

    ENGINE = "DuckDB"
    BYTES = "strlen({})"
    HASH = "md5_number_lower({})"

    def __init__(self, data: str | Path, scratch: Path) -> None:
        super().__init__(str(data))
        self._files: list[Path] = []
        self._order: tuple[str, ...] = ()
        self._duck = Duck(self.name, scratch)
        try:
            self._open(data)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self._duck.close()

    def _open(self, data: str | Path) -> None:
        path = Path(data)
        if is_many(data) or path.suffix.lower() in PARQUET:
            if not is_many(data) and not path.is_file():
                raise InputError(f"{path}: there is no such file")
            self._files = parquet_files(data) if is_many(data) else [path]
            refuse_patterns(self._files)
            self._duck.explained(lambda: parquetfile.examine(str(data), self._files))
            columns = self._duck.explained(lambda: columns_of_folders(data, self._files))
            self._reasons = columns.refused
            self._duck.run(f"CREATE VIEW given AS {rows_of_files(self._files, columns, ', file_row_number = true')}")
            self._order = ("given.filename", "given.file_row_number")
            described = self._duck.explained(lambda: self._duck.connection.execute("DESCRIBE given").fetchall())
            kinds = {str(row[0]): str(row[1]) for row in described}
            for column in ("filename", "file_row_number"):
                kinds.pop(column)
        elif path.suffix.lower() in (".csv", ".gz", ".tsv", ".txt") and path.is_file():
            self._files = [path]
            dialect = look(path, read=False)
            refuse_patterns(self._files)
            self._hold(dialect.header, (), ())  # refuses two columns of one name, before the engine renames one
            cells = ", ".join(f"{as_literal(name)}: 'VARCHAR'" for name in dialect.header)
            self._duck.run(
                "CREATE VIEW given AS SELECT *, row_number() OVER () AS file_row_number "
                f"FROM read_csv({as_literal(str(path))}, "
                f"auto_detect = false, header = true, delim = {as_literal(dialect.separator)}, quote = '\"', "
                f"escape = '\"', columns = {{{cells}}}, max_line_size = {bounds.cell()}, hive_partitioning = false)"
            )
            self._order = ("given.file_row_number",)
            kinds = dict.fromkeys(dialect.header, "VARCHAR")
        else:
            raise InputError(f"{path}: rows can stay in the engine for CSV and Parquet; give one of these")
        floating = [name for name, kind in kinds.items() if kind in ("FLOAT", "DOUBLE", "REAL")]
        self._hold(tuple(kinds), floating, [name for name, kind in kinds.items() if _NUMBERS.match(kind)])

    @property
    def stamped(self) -> bool:
        return True

    def state(self, columns: Sequence[str]) -> bytes:
        """A hash of the files' sizes and times of change."""
        try:
            facts = [
                (str(file), (status := file.stat()).st_size, status.st_mtime_ns, status.st_ino) for file in self._files
            ]
        except OSError as error:
            raise InputError(f"{self.name}: has changed while it was read ({error.strerror}); run it again") from None
        return hashlib.sha256(repr(facts).encode()).digest()

    def _arrow(self, query: str, texts: Collection[str] = ()) -> pa.Table:
        return self._duck.arrow(query)

    def _give(self, name: str, columns: Mapping[str, pa.Array]) -> None:
        self._duck.give(name, columns)

    def _keep(self, name: str, query: str) -> None:
        self._duck.run(f"CREATE OR REPLACE TABLE {name} AS {query}")

    def _dealing_order(self, cells: Sequence[str]) -> Sequence[str]:
        return self._order

    def write(self, target: Path, released: ReleasedRows, *, shuffled: bool) -> None:
        self._duck.write(target, released.columns, self._dealt(released), shuffled=shuffled)


def _end(connection: duckdb.DuckDBPyConnection, folder: str) -> None:
    connection.close()
    shutil.rmtree(folder, ignore_errors=True)
