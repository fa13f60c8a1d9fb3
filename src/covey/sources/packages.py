"""Tables of other software: pandas, Polars and Arrow frames in and out; Excel, SPSS, Stata and SAS files as text.

The libraries for files are the extra `covey[files]`, and run in a process of their own (`foreign`), whose memory and
time the operating system bounds. A number without decimals is spelled without: `37`, never `37.0`.
"""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from numbers import Real
from pathlib import Path
from typing import Any, NamedTuple

import narwhals as nw
import pyarrow as pa
from narwhals.typing import IntoDataFrame

from covey import bounds
from covey.errors import InputError
from covey.sources import foreign
from covey.sources.foreign import EXCEL, STATISTICS

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
    """The table as plain text, in the kind of frame that `data` is. An Arrow table where that was no frame."""
    text = pa.table({name: table.column(name).cast(pa.string()) for name in table.column_names})
    return text if data is None or isinstance(data, str | Path) else like(text, data)


def like(table: pa.Table, original: Frame) -> Frame:
    """An Arrow table as the kind of frame that the original is."""
    if isinstance(original, pa.Table):
        return table  # type: ignore[no-any-return]
    backend = nw.from_native(original, eager_only=True).implementation
    return nw.from_arrow(table, backend=backend).to_native()  # type: ignore[no-any-return]


ENDINGS = (*EXCEL, *STATISTICS)
_SOURCE = Path(__file__).parents[2]


class Typed(NamedTuple):
    """A table as text, and the columns that are numbers in the file."""

    table: pa.Table
    numeric: frozenset[str]


def read(path: Path, sheet: str | None = None, *, labels: bool = True) -> Typed:
    """The table in a file. Raises InputError that names it, also where the extra is not installed."""
    request = {"labels": "yes" if labels else "no"} | ({"sheet": sheet} if sheet is not None else {})
    table, numeric = _asked(path, request)
    return Typed(table, frozenset(numeric))


def sheet_names(path: Path) -> list[str]:
    """The names of the sheets of an Excel file. Raises InputError for a file that is none."""
    return _asked(path, {"sheets": "yes"})[1]


def _asked(path: Path, request: dict[str, str]) -> tuple[pa.Table, list[str]]:
    """The table and the words that a process of its own sends about a file."""
    python_path = os.pathsep.join(filter(None, [str(_SOURCE), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": python_path, "ARROW_DEFAULT_MEMORY_POOL": "system"}
    command = [sys.executable, "-P", foreign.__file__, str(path), json.dumps(request)]
    with (
        tempfile.TemporaryFile() as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, env=environment) as process,
    ):
        try:
            try:
                table = pa.ipc.open_stream(process.stdout).read_all()
            except (pa.ArrowException, OSError):  # no table came, or a part of one: the process says why
                table = None
        except BaseException:
            process.kill()
            raise
        ended = process.wait()
        errors.seek(0)
        answer = _answer(errors.read())
    if foreign.LACKING in answer:
        raise InputError(f"{path}: reading such a file needs an extra: pip install 'covey[files]'")
    if foreign.REFUSED in answer:
        raise InputError(str(answer[foreign.REFUSED]))
    if ended == -getattr(signal, "SIGXCPU", 0):
        raise bounds.above(str(path), f"takes more than {bounds.seconds(path.stat().st_size)} s to read")
    names = answer.get(foreign.DONE)
    if not isinstance(names, list) or ended:
        raise InputError(f"{path}: is no readable {path.suffix} file; save it again")
    return table, names


def _answer(output: bytes) -> dict[str, object]:
    """The last line that the process wrote, if it came to its end."""
    try:
        answer = json.loads(output.rstrip().rpartition(b"\n")[2])
    except ValueError:
        return {}
    return answer if isinstance(answer, dict) else {}


def write_sheet(table: pa.Table, path: Path) -> None:
    """Writes text cells as the one sheet of a workbook. Raises InputError where the extra is not installed."""
    try:
        import openpyxl
    except ImportError:
        raise InputError(f"{path}: writing Excel needs an extra: pip install 'covey[files]'") from None
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("release")
    sheet.append(table.column_names)
    for row in zip(*(column.cast(pa.string()).to_pylist() for column in table.columns), strict=True):
        sheet.append(row)
    book.save(path)
