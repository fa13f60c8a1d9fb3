"""Tables of spreadsheets and statistics packages: Excel, SPSS, Stata and SAS, as text cells.

Their libraries are the extra `covey[files]`, and run in a process of their own (`foreign`), whose memory and time the
operating system bounds. A number without decimals is spelled without: `37`, never `37.0`.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from covey import bounds
from covey.errors import InputError
from covey.sources import foreign
from covey.sources.foreign import EXCEL, STATISTICS

ENDINGS = (*EXCEL, *STATISTICS)
_SOURCE = Path(__file__).parents[2]


class Typed(NamedTuple):
    """A table as text, and the columns that are numbers in the file."""

    table: pa.Table
    numeric: frozenset[str]


def read(path: Path, sheet: str | None = None, *, labels: bool = True) -> Typed:
    """The table in a file. Raises InputError that names it, also where the extra is not installed."""
    asked = {"labels": "yes" if labels else "no"} | ({"sheet": sheet} if sheet is not None else {})
    table, numeric = _asked(path, asked)
    return Typed(table, frozenset(numeric))


def sheet_names(path: Path) -> list[str]:
    """The names of the sheets of an Excel file. Raises InputError for a file that is none."""
    return _asked(path, {"sheets": "yes"})[1]


def _asked(path: Path, asked: dict[str, str]) -> tuple[pa.Table, list[str]]:
    """The words of a process of its own on a file, and the table that it sends."""
    place = os.pathsep.join(filter(None, [str(_SOURCE), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": place, "ARROW_DEFAULT_MEMORY_POOL": "system"}
    command = [sys.executable, "-P", foreign.__file__, str(path), json.dumps(asked)]
    with (
        tempfile.TemporaryFile() as said,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=said, env=environment) as process,
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
        said.seek(0)
        answer = _answer(said.read())
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


def _answer(said: bytes) -> dict[str, object]:
    """The last line that the process wrote, if it came to its end."""
    try:
        answer = json.loads(said.rstrip().rpartition(b"\n")[2])
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
