"""pandas, Polars and Arrow tables in, and the same kind out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from numbers import Real
from pathlib import Path
from typing import Any

import narwhals as nw
import pyarrow as pa
from narwhals.typing import IntoDataFrame

from covey.errors import InputError

Frame = IntoDataFrame


def to_arrow(frame: Frame) -> pa.Table:
    """The frame as an Arrow table, an index dropped. Raises InputError for anything else."""
    if isinstance(frame, pa.Table):
        return frame
    try:
        table = nw.maybe_reset_index(nw.from_native(frame, eager_only=True))
    except TypeError:
        kind = type(frame).__name__
        raise InputError(f"data must be a path, a URL, or a pandas, Polars or Arrow table, not {kind}") from None
    try:
        return table.to_arrow()
    except (pa.ArrowException, TypeError, OverflowError):  # a column of several types; Arrow's message quotes a cell
        return pa.table({name: _column(name, table[name]) for name in table.columns})


def _column(name: str, column: nw.Series[Any]) -> pa.Array | pa.ChunkedArray:
    """The column in Arrow, as text if its cells are of several types. Raises InputError that names the column."""
    try:
        return column.to_arrow()
    except (pa.ArrowException, TypeError, OverflowError):
        return pa.array(_texts(name, column.to_list()), pa.string())


def _texts(name: str, cells: Sequence[object]) -> list[str | None]:
    strange = {type(cell).__name__ for cell in cells if not isinstance(cell, str | Real | Decimal | date | None)}
    if strange:
        kinds = ", ".join(sorted(strange))
        raise InputError(f"the given table: column {name!r} has cells of type {kinds}: make them text or numbers")
    return [None if cell is None or (isinstance(cell, float) and math.isnan(cell)) else str(cell) for cell in cells]


def as_given(table: pa.Table, data: Frame | str | Path | None) -> Frame:
    """The table as plain text, in the kind of frame that `data` is; an Arrow table where that was no frame."""
    text = pa.table({name: table.column(name).cast(pa.string()) for name in table.column_names})
    return text if data is None or isinstance(data, str | Path) else like(text, data)


def like(table: pa.Table, original: Frame) -> Frame:
    """An Arrow table as the kind of frame that the original is."""
    if isinstance(original, pa.Table):
        return table  # type: ignore[no-any-return]
    backend = nw.from_native(original, eager_only=True).implementation
    return nw.from_arrow(table, backend=backend).to_native()  # type: ignore[no-any-return]
