"""Parquet files: judged before they are read, and a release written as several of them.

A file is judged by what it says of itself, and by the lengths of its cells. The files of a release lie in one folder.
Read in the order of their names they are the release, whose hash is the one of a single file; each has nearly as many
rows as the others, so that their number says nothing about the rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import duckdb
import pyarrow as pa
from pyarrow import parquet

from covey import bounds, sizes
from covey.files import PART
from covey.sources.folders import as_literal, as_name

_TAIL = 8
"""Bytes at the end: the length of the footer, and a mark."""


def examine(name: str, files: Sequence[Path]) -> int:
    """The memory that the rows of some files need, by their footers. No cell is read.

    Raises InputError where these say that no file of a table is like this.
    """
    memory = rows = 0
    for file in files:
        if _footer(file) > bounds.footer():
            raise bounds.above(name, f"has a footer of more than {sizes.spell(bounds.footer())}")
        file_rows, columns, largest, unpacked = _said(file)
        if columns > bounds.columns():
            raise bounds.above(name, f"has more than {bounds.columns():,} columns")
        if largest > bounds.chunk():
            raise bounds.above(name, f"has a column of more than {sizes.spell(bounds.chunk())} in a group of rows")
        memory += max(unpacked, file_rows * columns * bounds.CELL)
        rows += file_rows
    if rows > bounds.rows():
        raise bounds.above(name, f"has more than {bounds.rows():,} rows")
    return memory


def _said(file: Path) -> tuple[int, int, int, int]:
    """Rows, columns, and the bytes of the largest column, by group and in all, by the footer.

    Arrow would end this process at some damaged footers; the engine raises an error.
    """
    literal = as_literal(file.as_posix())
    with duckdb.connect(config={"memory_limit": f"{bounds.chunk()}B", "threads": 1}) as engine:
        (rows,) = engine.execute(f"SELECT sum(num_rows) FROM parquet_file_metadata({literal})").fetchone() or (0,)
        (columns,) = engine.execute(f"SELECT count(type) FROM parquet_schema({literal})").fetchone() or (0,)
        size = "total_uncompressed_size"
        query = f"SELECT max({size}), sum({size}) FROM parquet_metadata({literal})"
        largest, unpacked = engine.execute(query).fetchone() or (0, 0)
    return int(rows or 0), int(columns), int(largest or 0), int(unpacked or 0)


def _footer(file: Path) -> int:
    """The bytes that a file says of itself."""
    with file.open("rb") as stream:
        stream.seek(max(0, stream.seek(0, 2) - _TAIL))
        return int.from_bytes(stream.read(4), "little")


def refuse_long(name: str, file: Path, memory: int) -> None:
    """Refuses cells that are too long, as an engine with little memory adds them up.

    Raises InputError for a table that memory cannot hold, and for a cell that is too long.
    """
    bounds.refuse_above(name, memory)
    with duckdb.connect(config={"memory_limit": f"{bounds.chunk()}B", "threads": 2}) as engine:
        engine.execute("SET enable_progress_bar = false")
        table = f"read_parquet({as_literal(file.as_posix())}, hive_partitioning = false)"
        described = engine.execute(f"DESCRIBE SELECT * FROM {table}").fetchall()
        lengths = {row[0]: _LENGTH.get(str(row[1])) for row in described}
        expressions = []
        for column, length in lengths.items():
            spelled = (length or "").format(as_name(column))
            expressions.append(f"max({spelled}), sum({spelled})" if length else f"count({as_name(column)}), 0")
        try:
            answer = engine.execute(f"SELECT {', '.join(expressions)} FROM {table}").fetchone() or ()
        except duckdb.OutOfMemoryException:
            raise bounds.above(name, f"has pages of more than {sizes.spell(bounds.chunk())}") from None
    for column, length, longest in zip(lengths, lengths.values(), answer[::2], strict=True):
        if length is not None and (longest or 0) > bounds.cell():
            raise bounds.above(name, f"has a cell of more than {bounds.cell():,} bytes in {column!r}")
    bounds.refuse_above(name, sum(int(total or 0) for total in answer[1::2]))


_LENGTH = {"VARCHAR": "strlen({})", "BLOB": "(4 * octet_length({}))"}
"""The length of a cell as text, for those types of which a cell may be long."""


_BATCH = 200_000


class PartsWriter:
    """A new folder that takes so many rows, in their order. Fewer files than asked for where there are fewer rows."""

    def __init__(self, folder: Path, rows: int, parts: int) -> None:
        number = max(1, min(parts, rows))
        self._folder = folder
        self._ends = [rows * (part + 1) // number for part in range(number)]
        self._part = self._taken = 0
        self._open: parquet.ParquetWriter | None = None
        folder.mkdir()

    def take(self, rows: pa.Table) -> None:
        """Writes the next rows. Raises OSError where the disk is full."""
        while True:
            room = self._ends[self._part] - self._taken
            piece = rows.slice(0, room)
            if self._open is None:
                path = self._folder / PART.format(self._part)
                self._open = parquet.ParquetWriter(path, rows.schema, compression="zstd", store_schema=False)
            self._open.write_table(piece)
            self._taken += piece.num_rows
            rows = rows.slice(room)
            if self._taken < self._ends[self._part] or self._part + 1 == len(self._ends):
                return
            self.close()
            self._part += 1
            if not rows.num_rows:
                return

    def close(self) -> None:
        """Ends the file that is being written. Raises OSError where the disk is full."""
        if self._open is not None:
            ended, self._open = self._open, None
            ended.close()


def read_back(files: Iterable[Path]) -> Iterator[pa.Table]:
    """The rows of Parquet files, some at a time, its columns dictionary-encoded texts."""
    for path in files:
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=_BATCH):
                columns = zip(batch.schema.names, batch.columns, strict=True)
                yield pa.table({name: _encoded(column) for name, column in columns})


def rows_in(files: Iterable[Path]) -> int:
    """The number of rows of Parquet files, as they say of themselves."""
    total = 0
    for path in files:
        with parquet.ParquetFile(path) as file:
            total += int(file.metadata.num_rows)
    return total


def _encoded(column: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        return column
    texts = column.cast(pa.string())
    return (texts.fill_null("") if texts.null_count else texts).dictionary_encode()
