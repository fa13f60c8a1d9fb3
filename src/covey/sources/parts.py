"""A release in several Parquet files, which other tools read side by side.

The files lie in one folder. Read in the order of their names they are the release, whose hash is the one of a single
file; each has nearly as many rows as the others, so that their number says nothing about the rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

from covey.release_file import PART

_BATCH = 200_000


class PartsWriter:
    """A new folder that takes so many rows, in their order; fewer files than asked for where there are fewer rows."""

    def __init__(self, folder: Path, rows: int, parts: int) -> None:
        number = max(1, min(parts, rows))
        self._folder = folder
        self._ends = [rows * (place + 1) // number for place in range(number)]
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
