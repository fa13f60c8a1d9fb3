"""pandas, Polars and Arrow tables in, and the same kind out."""

from __future__ import annotations

from pathlib import Path

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
        return nw.maybe_reset_index(nw.from_native(frame, eager_only=True)).to_arrow()
    except TypeError:
        kind = type(frame).__name__
        raise InputError(f"data must be a path, a URL, or a pandas, Polars or Arrow table, not {kind}") from None


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
