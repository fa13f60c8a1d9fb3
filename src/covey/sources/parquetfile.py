"""Parquet files judged by what they say of themselves, and by the lengths of their cells, before they are read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import duckdb

from covey import bounds, sizes
from covey.sources.folders import as_literal, as_name

_TAIL = 8
"""Bytes at the end: the length of the footer, and a mark."""


def examine(name: str, files: Sequence[Path]) -> int:
    """The memory that the rows of some files need, by their footers; no cell is read.

    Raises InputError where these say that no file of a table is like this.
    """
    needed = rows = 0
    for file in files:
        if _footer(file) > bounds.footer():
            raise bounds.above(name, f"has a footer of more than {sizes.spell(bounds.footer())}")
        held, columns, largest, unpacked = _said(file)
        if columns > bounds.columns():
            raise bounds.above(name, f"has more than {bounds.columns():,} columns")
        if largest > bounds.chunk():
            raise bounds.above(name, f"has a column of more than {sizes.spell(bounds.chunk())} in a group of rows")
        needed += max(unpacked, held * columns * bounds.CELL)
        rows += held
    if rows > bounds.rows():
        raise bounds.above(name, f"has more than {bounds.rows():,} rows")
    return needed


def _said(file: Path) -> tuple[int, int, int, int]:
    """Rows, columns, and the bytes of the largest column in a group of rows and of all, as the footer has them.

    Arrow would end this process at some damaged footers; the engine raises an error.
    """
    named = as_literal(file.as_posix())
    with duckdb.connect(config={"memory_limit": f"{bounds.chunk()}B", "threads": 1}) as engine:
        (rows,) = engine.execute(f"SELECT sum(num_rows) FROM parquet_file_metadata({named})").fetchone() or (0,)
        (columns,) = engine.execute(f"SELECT count(type) FROM parquet_schema({named})").fetchone() or (0,)
        size = "total_uncompressed_size"
        asked = f"SELECT max({size}), sum({size}) FROM parquet_metadata({named})"
        largest, unpacked = engine.execute(asked).fetchone() or (0, 0)
    return int(rows or 0), int(columns), int(largest or 0), int(unpacked or 0)


def _footer(file: Path) -> int:
    """The bytes that a file says of itself."""
    with file.open("rb") as stream:
        stream.seek(max(0, stream.seek(0, 2) - _TAIL))
        return int.from_bytes(stream.read(4), "little")


def refuse_long(name: str, file: Path, needed: int) -> None:
    """Adds up the cells' lengths in an engine with little memory: a text that is stored once may stand in any row.

    Raises InputError for a table that memory cannot hold, and for a cell that is too long.
    """
    bounds.refuse_above(name, needed)
    with duckdb.connect(config={"memory_limit": f"{bounds.chunk()}B", "threads": 2}) as engine:
        engine.execute("SET enable_progress_bar = false")
        table = f"read_parquet({as_literal(file.as_posix())}, hive_partitioning = false)"
        described = engine.execute(f"DESCRIBE SELECT * FROM {table}").fetchall()
        lengths = {row[0]: _LENGTH.get(str(row[1])) for row in described}
        asked = []
        for column, length in lengths.items():
            spelled = (length or "").format(as_name(column))
            asked.append(f"max({spelled}), sum({spelled})" if length else f"count({as_name(column)}), 0")
        try:
            found = engine.execute(f"SELECT {', '.join(asked)} FROM {table}").fetchone() or ()
        except duckdb.OutOfMemoryException:
            raise bounds.above(name, f"has pages of more than {sizes.spell(bounds.chunk())}") from None
    for column, length, longest in zip(lengths, lengths.values(), found[::2], strict=True):
        if length is not None and (longest or 0) > bounds.cell():
            raise bounds.above(name, f"has a cell of more than {bounds.cell():,} bytes in {column!r}")
    bounds.refuse_above(name, sum(int(total or 0) for total in found[1::2]))


_LENGTH = {"VARCHAR": "strlen({})", "BLOB": "(4 * octet_length({}))"}
"""The length of a cell as text, for those types of which a cell may be long."""
