"""A program of its own that reads a file with a library of others, and writes its cells as an Arrow stream.

`packages` runs it with bounds on memory and time that the operating system keeps: openpyxl and ReadStat take what a
file asks for. It loads neither an engine nor anything else that takes memory. The stream goes to standard output; the
last line of standard error says what was read, or why nothing was.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import sys
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, time
from pathlib import Path
from typing import IO, TYPE_CHECKING

import pyarrow as pa

from covey import bounds
from covey.cells import clean
from covey.errors import InputError

if TYPE_CHECKING:
    from openpyxl import Workbook

EXCEL = (".xlsx", ".xlsm")
STATISTICS = {
    ".sav": "read_sav", ".zsav": "read_sav", ".por": "read_por", ".dta": "read_dta", ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}  # fmt: skip
DONE, REFUSED, LACKING = "done", "refused", "lacking"
_MIDNIGHT = time()
_MOST_ROWS = 2**20
"""Rows of a sheet, as Excel has them."""
_BATCH = 1 << 24
"""Bytes of cells that are sent at a time."""
_PYTHON = 64
"""Bytes that a cell takes as an object of Python, about."""
Rows = Iterator[Sequence[object]]


def main() -> None:
    """Reads the file of the first argument, as the JSON of the second one asks."""
    path, request = Path(sys.argv[1]), json.loads(sys.argv[2])
    stream = sys.stdout.buffer
    try:
        answer: dict[str, object] = {DONE: _read(path, request, stream)}
    except ImportError:
        answer = {LACKING: True}
    except InputError as error:
        answer = {REFUSED: str(error)}
    except MemoryError:
        answer = {REFUSED: str(too_much(path))}
    sys.stderr.write("\n" + json.dumps(answer) + "\n")


def too_much(path: Path) -> InputError:
    """The error for a file that needs more memory than the library has."""
    return bounds.above(str(path), "takes more memory than a file of its size may")


def _read(path: Path, request: Mapping[str, str], stream: IO[bytes]) -> list[str]:
    if path.suffix.lower() not in EXCEL:
        import pyreadstat  # noqa: F401 - before memory is bounded

        _bound(path)
        return _send(path, *_statistics(path, labels=request.get("labels", "yes") != "no"), stream)
    import openpyxl  # noqa: F401 - before memory is bounded

    _bound(path)
    with contextlib.closing(_book(path)) as book:
        if "sheets" in request:
            return list(book.sheetnames)
        return _send(path, *_sheet(path, book, request.get("sheet")), stream)


def _bound(path: Path) -> None:
    """Bounds the memory and the seconds that the library may take."""
    with contextlib.suppress(ImportError, OSError, ValueError):  # where the system does not count them
        import resource

        pages = int(Path("/proc/self/statm").read_text().split()[0])
        memory, seconds = pages * resource.getpagesize() + bounds.process(), bounds.seconds(path.stat().st_size)
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))


def _send(path: Path, header: Sequence[object], rows: Rows, output: IO[bytes]) -> list[str]:
    """Writes the rows as text, some at a time. Returns the columns that are numbers in the file."""
    names = [clean(_text(name) or "") for name in header]
    while names and not names[-1]:
        names.pop()
    if not names or not all(names) or len(set(names)) < len(names):
        raise InputError(f"{path}: the first row must name the columns, each once and none of them empty")
    if len(names) > bounds.columns():
        raise bounds.above(str(path), f"has more than {bounds.columns():,} columns")
    packed = path.stat().st_size
    numeric: set[str] = set()
    schema = pa.schema([(name, pa.string()) for name in names])
    columns: list[list[str | None]] = [[] for _ in names]
    room, text_room, memory = bounds.cells(packed), bounds.text(packed), 0
    with pa.ipc.new_stream(output, schema) as stream:

        def flush() -> None:
            try:
                arrays = [pa.array(column, pa.string()) for column in columns]
            except (UnicodeError, pa.ArrowInvalid) as error:  # half a character
                raise _unreadable(path, error) from None
            stream.write_batch(pa.record_batch(arrays, schema=schema))
            for column in columns:
                column.clear()

        for row in rows:
            size = bounds.CELL * max(len(row), len(names))
            room -= size
            if room < 0:
                raise bounds.above(str(path), f"holds more than {bounds.cells(packed) / 1e6:,.0f} MB of cells")
            if row.count(None) == len(row):
                continue
            for name, column, cell in zip(names, columns, itertools.chain(row, itertools.repeat(None)), strict=False):
                text = _text(cell)
                column.append(text)
                if isinstance(cell, float | int):
                    if not isinstance(cell, bool):
                        numeric.add(name)
                elif text is not None:
                    size += len(text)
                    text_room -= len(text)
                    if len(text) > bounds.cell():
                        raise bounds.above(
                            str(path), f"has a cell of more than {bounds.cell():,} characters in column {name!r}"
                        )
            if text_room < 0:
                raise bounds.above(str(path), f"holds more than {bounds.text(packed) / 1e6:,.0f} MB of text")
            memory += size
            if memory > _BATCH:
                flush()
                memory = 0
        flush()
    return sorted(numeric)


def _text(cell: object) -> str | None:
    """The cell as text; what the file has no value for is missing."""
    if isinstance(cell, str):
        return cell
    if cell is None or cell != cell:  # noqa: PLR0124 - NaN and NaT
        return None
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() else repr(float(cell))
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, datetime):
        return cell.date().isoformat() if cell.time() == _MIDNIGHT else cell.isoformat(sep=" ")
    return cell.isoformat() if isinstance(cell, date) else str(cell)


def _book(path: Path) -> Workbook:
    import openpyxl
    from openpyxl.worksheet._read_only import ReadOnlyWorksheet

    try:
        with zipfile.ZipFile(path) as packed:
            size, limit = sum(part.file_size for part in packed.infolist()), bounds.unpacked(path.stat().st_size)
        if size > limit:
            raise bounds.above(str(path), f"unpacks to more than {limit / 1e6:,.0f} MB")
        ReadOnlyWorksheet._get_size = lambda _: None  # it would read a sheet that says no size as a whole
        return openpyxl.load_workbook(path, read_only=True, data_only=True, keep_links=False)
    except (InputError, MemoryError):
        raise
    except Exception as error:  # of a damaged file the library raises whatever it comes upon
        raise _unreadable(path, error) from None


def _unreadable(path: Path, error: Exception) -> InputError:
    kind = "Excel" if path.suffix.lower() in EXCEL else path.suffix
    return InputError(f"{path}: is no readable {kind} file ({type(error).__name__}); save it again")


def _sheet(path: Path, book: Workbook, sheet: str | None) -> tuple[Sequence[object], Rows]:
    filled = [worksheet.title for worksheet in book.worksheets if _is_filled(path, worksheet)] if sheet is None else []
    if len(filled) > 1:
        names = ", ".join(map(repr, filled))
        raise InputError(f"{path}: has several sheets, {names}; say which one: {path}?sheet={filled[0]}")
    title = sheet or next(iter(filled), None)
    if title is None:
        raise InputError(f"{path}: has no sheet with more than one cell; is it the right file?")
    if title not in (worksheet.title for worksheet in book.worksheets):
        raise InputError(f"{path}: has no sheet {title!r}; it has {', '.join(map(repr, book.sheetnames))}")
    rows = _rows(path, book[title])
    return next(rows, ()), rows


def _is_filled(path: Path, sheet: object) -> bool:
    """True for a sheet with more than one cell."""
    first = list(itertools.islice(_rows(path, sheet), 2))
    return len(first) > 1 or len(first[0] if first else ()) > 1


def _rows(path: Path, sheet: object) -> Rows:
    """The rows of a sheet, whatever size it says that it has."""
    sheet.reset_dimensions()  # type: ignore[attr-defined]
    try:
        for number, row in enumerate(sheet.iter_rows(values_only=True)):  # type: ignore[attr-defined]
            if number == _MOST_ROWS:
                raise InputError(f"{path}: has a row beyond {_MOST_ROWS:,}, the last that Excel has; save it again")
            yield row
    except (InputError, MemoryError):
        raise
    except Exception as error:
        raise _unreadable(path, error) from None


def _statistics(path: Path, *, labels: bool) -> tuple[Sequence[object], Rows]:
    import pyreadstat

    read = getattr(pyreadstat, STATISTICS[path.suffix.lower()])

    def part(**options: int | bool) -> tuple[Mapping[str, Sequence[object]], object]:
        try:
            columns, meta = read(str(path), output_format="dict", **options)
        except MemoryError:
            raise
        except Exception as error:  # of a damaged file the library raises whatever it comes upon
            if "memory" in str(error):
                raise MemoryError from None
            raise _unreadable(path, error) from None
        return columns, meta

    _, meta = part(metadataonly=True)
    names: list[str] = meta.column_names  # type: ignore[attr-defined]
    if len(names) > bounds.columns():
        raise bounds.above(str(path), f"has more than {bounds.columns():,} columns")
    widths = sum(meta.variable_storage_width.values())  # type: ignore[attr-defined]
    step = max(1, bounds.process() // 8 // (_PYTHON * len(names) + widths + 1))
    value_labels = meta.variable_value_labels if labels else {}  # type: ignore[attr-defined]

    def rows() -> Rows:
        for first in itertools.count(0, step):
            columns, _ = part(row_offset=first, row_limit=step)
            cells = [_labelled(columns[name], value_labels.get(name, {})) for name in names]
            yield from zip(*cells, strict=True)
            if not cells or len(cells[0]) < step:
                return

    return names, rows()


def _labelled(cells: Sequence[object], labels: Mapping[object, str]) -> Sequence[object]:
    """The cells with the labels that the file gives their codes."""
    return [labels.get(cell, cell) for cell in cells] if labels else cells


if __name__ == "__main__":
    main()
