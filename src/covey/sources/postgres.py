"""A table of a PostgreSQL server whose rows stay there: the server counts and joins; its answers come as CSV streams.

What is ours on the server are temporary tables, which end with the connection. A release of one owner is sorted and
written on this machine, by DuckDB, from a stream of the server's rows.
"""

from __future__ import annotations

import io
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa
from pyarrow import csv

from covey.errors import InputError
from covey.sources.duck import Duck
from covey.sources.server import connected, named_there
from covey.sources.writing import ReleasedRows, WritableRows

if TYPE_CHECKING:
    Cursor = Any  # the driver is an extra

T = TypeVar("T")

_KINDS = {pa.string(): 'text COLLATE "C"', pa.int32(): "integer", pa.int64(): "bigint"}
_BLOCK = 1 << 22  # bytes of a stream that are read at a time


class PostgresRows(WritableRows):
    """The rows of a table or query of a PostgreSQL server."""

    ENGINE = "PostgreSQL"
    NAN = "{} = 'NaN'"
    DISTINCT = "count(DISTINCT {})"
    HASH = "('x' || substr(md5({}), 1, 15))::bit(60)::bigint"

    def __init__(self, url: str, scratch: Path) -> None:
        address, options, backend = connected(url)
        super().__init__(address)
        self._scratch = scratch
        self._connection = backend.con
        self._end = weakref.finalize(self, backend.disconnect)
        try:
            self.name, query = named_there(address, options)
            self._prefix = "pg_temp.covey_"
            self._run(f"CREATE TEMPORARY VIEW covey_given AS {query}")
            kinds = self._explained(lambda: dict(backend.table("covey_given").schema().items()))
            floating = [name for name, kind in kinds.items() if kind.is_floating()]
            self._hold(tuple(kinds), floating, [name for name, kind in kinds.items() if kind.is_numeric()])
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self._end()

    def _as_text(self, name: str, floating: bool) -> str:
        return super()._as_text(name, floating) + ' COLLATE "C"'

    def write(self, target: Path, released: ReleasedRows, *, shuffled: bool) -> None:
        columns, query = released.columns, self._dealt(released)
        texts = [f"p{index + len(columns.mapped)}" for index in range(len(columns.read))]
        duck = Duck(self.name, self._scratch)
        try:
            with self._copied(query) as stream:
                reader = self._explained(lambda: self._opened(stream, texts))
                duck.connection.register("streamed", reader)
                duck.write(target, columns, "SELECT * FROM streamed", shuffled=shuffled)
        finally:
            duck.close()

    def _arrow(self, query: str, texts: Collection[str] = ()) -> pa.Table:
        with self._copied(query) as stream:
            return self._explained(lambda: self._opened(stream, texts).read_all())

    def _give(self, name: str, columns: Mapping[str, pa.Array]) -> None:
        kinds = ", ".join(f"{column} {_KINDS[cells.type]}" for column, cells in columns.items())
        self._run(f"DROP TABLE IF EXISTS {self._prefix}{name}")
        self._run(f"CREATE TEMPORARY TABLE covey_{name} ({kinds})")

        def copy() -> None:
            sink = io.BytesIO()
            with self._connection.cursor() as cursor:
                with cursor.copy(f"COPY {self._prefix}{name} FROM STDIN (FORMAT csv)") as stream:
                    options = csv.WriteOptions(include_header=False, quoting_style="needed")
                    for batch in pa.table(dict(columns)).to_batches(max_chunksize=100_000):
                        csv.write_csv(batch, sink, options)
                        stream.write(sink.getvalue())
                        sink.seek(0)
                        sink.truncate()
                cursor.execute(f"ANALYZE {self._prefix}{name}")

        self._explained(copy)

    def _keep(self, name: str, query: str) -> None:
        self._run(f"DROP TABLE IF EXISTS {self._prefix}{name}")
        self._run(f"CREATE TEMPORARY TABLE covey_{name} AS {query}")

    def _run(self, statement: str) -> None:
        def run() -> None:
            with self._connection.cursor() as cursor:
                cursor.execute(statement)

        self._explained(run)

    def _copied(self, query: str) -> _CopyStream:
        return _CopyStream(self._connection.cursor(), f"COPY ({query}) TO STDOUT (FORMAT csv, HEADER)", self._explained)

    def _opened(self, stream: _CopyStream, texts: Collection[str]) -> csv.CSVStreamingReader:
        """The rows of an answer, as they come."""
        names = stream.header()
        types = {name: pa.string() if name in texts else pa.int64() for name in names}
        return csv.open_csv(
            stream,
            csv.ReadOptions(column_names=names, block_size=_BLOCK, use_threads=False),
            csv.ParseOptions(newlines_in_values=True),
            csv.ConvertOptions(column_types=types, strings_can_be_null=False, quoted_strings_can_be_null=False),
        )

    def _explained(self, work: Callable[[], T]) -> T:
        try:
            return work()
        except InputError:
            raise
        except Exception as error:  # the driver's own words quote cells
            raise InputError(
                f"{self.name}: the server failed ({type(error).__name__}); is the table there, may you "
                "read it and create temporary tables, and has the server room on its disk?"
            ) from None


class _CopyStream(io.RawIOBase):
    """The bytes of a copy from the server, as a file that is read once."""

    def __init__(self, cursor: Cursor, statement: str, explained: Callable[[Callable[[], None]], None]) -> None:
        super().__init__()
        self._cursor, self._explained = cursor, explained
        self._copy = cursor.copy(statement)
        self._left = b""
        self._parts: Iterator[bytes] = iter(())

    def __enter__(self) -> _CopyStream:
        self._explained(self._begin)
        return self

    def _begin(self) -> None:
        self._parts = iter(map(bytes, self._copy.__enter__()))

    def __exit__(self, *error: Any) -> None:
        try:
            self._copy.__exit__(*error)
        finally:
            self._cursor.close()
            self.close()

    def header(self) -> list[str]:
        """The names in the first line; what follows is read afterwards."""
        while b"\n" not in self._left:
            self._left += next(self._parts)
        line, _, self._left = self._left.partition(b"\n")
        return line.decode().split(",")

    def readable(self) -> bool:
        """True: it is there to be read."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Up to so many bytes, fewer only at the end."""
        pieces, got = [self._left], len(self._left)
        while size < 0 or got < size:
            part = next(self._parts, None)
            if part is None:
                break
            pieces.append(part)
            got += len(part)
        content = b"".join(pieces)
        end = len(content) if size < 0 else size
        self._left = content[end:]
        return content[:end]
