"""Tables of spreadsheets and statistics packages: Excel, SPSS, Stata and SAS, as text cells.

Their libraries are the extra `covey[files]`. A number without decimals is spelled without: `37`, never `37.0`.
"""

from __future__ import annotations

import math
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from datetime import date, datetime, time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from covey.cells import clean
from covey.errors import InputError
from covey.sources.memory import refuse_above

if TYPE_CHECKING:
    from openpyxl import Workbook

EXCEL = (".xlsx", ".xlsm")
STATISTICS = {
    ".sav": "read_sav", ".zsav": "read_sav", ".por": "read_por", ".dta": "read_dta", ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}  # fmt: skip
ENDINGS = (*EXCEL, *STATISTICS)
_MIDNIGHT = time()


class Typed(NamedTuple):
    """A table as text, and the columns that are numbers in the file."""

    table: pa.Table
    numeric: frozenset[str]


def read(path: Path, sheet: str | None = None, *, labels: bool = True) -> Typed:
    """The table in a file. Raises InputError that names it, also where the extra is not installed."""
    try:
        names, rows = _sheet(path, sheet) if path.suffix.lower() in EXCEL else _statistics(path, labels)
    except ImportError:
        raise InputError(f"{path}: reading such a file needs an extra: pip install 'covey[files]'") from None
    return _typed(path, names, rows)


def _typed(path: Path, names: Sequence[object], rows: Iterator[Sequence[object]]) -> Typed:
    header = [clean(_text(name) or "") for name in names]
    while header and not header[-1]:
        header.pop()
    if not header or not all(header) or len(set(header)) < len(header):
        raise InputError(f"{path}: the first row must name the columns, each once and none of them empty")
    columns: list[list[str | None]] = [[] for _ in header]
    numeric = set()
    for row in rows:
        if all(cell is None for cell in row):
            continue
        for name, column, cell in zip(header, columns, row, strict=False):
            column.append(_text(cell))
            if isinstance(cell, int | float) and not isinstance(cell, bool):
                numeric.add(name)
        for column in columns[len(row) :]:
            column.append(None)
    table = pa.table({name: pa.array(cells, pa.string()) for name, cells in zip(header, columns, strict=True)})
    return Typed(table, frozenset(numeric))


def _text(cell: object) -> str | None:
    """The cell as text; what the file has no value for is missing."""
    if cell is None or (isinstance(cell, float) and math.isnan(cell)) or cell != cell:  # noqa: PLR0124 - NaT too
        return None
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() else repr(float(cell))
    if isinstance(cell, datetime):
        return cell.date().isoformat() if cell.time() == _MIDNIGHT else cell.isoformat(sep=" ")
    return cell.isoformat() if isinstance(cell, date) else str(cell)


def sheet_names(path: Path) -> list[str]:
    """The names of the sheets of an Excel file. Raises InputError for a file that is none."""
    with closing(_book(path)) as book:
        return list(book.sheetnames)


def _book(path: Path) -> Workbook:
    import openpyxl

    try:
        with zipfile.ZipFile(path) as packed:
            refuse_above(str(path), sum(part.file_size for part in packed.infolist()))
        return openpyxl.load_workbook(path, read_only=True, data_only=True)
    except (zipfile.BadZipFile, KeyError, ValueError, OSError) as error:
        raise InputError(
            f"{path}: is no readable Excel file ({type(error).__name__}); save it as .xlsx again"
        ) from None


def _sheet(path: Path, sheet: str | None) -> tuple[Sequence[object], Iterator[Sequence[object]]]:
    with closing(_book(path)) as book:
        filled = [each.title for each in book.worksheets if each.calculate_dimension(force=True) != "A1:A1"]
        if sheet is None and len(filled) > 1:
            named = ", ".join(map(repr, filled))
            raise InputError(f"{path}: has several sheets, {named}; say which one: {path}?sheet={filled[0]}")
        wanted = sheet or next(iter(filled), None)
        if wanted not in book.sheetnames:
            raise InputError(f"{path}: has no sheet {wanted!r}; it has {', '.join(map(repr, book.sheetnames))}")
        rows = list(book[wanted].iter_rows(values_only=True))
    return next(iter(rows), ()), iter(rows[1:])


def _statistics(path: Path, labels: bool) -> tuple[Sequence[object], Iterator[Sequence[object]]]:
    import pyreadstat

    refuse_above(str(path), path.stat().st_size)
    try:
        columns, meta = getattr(pyreadstat, STATISTICS[path.suffix.lower()])(str(path), output_format="dict")
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, ValueError, UnicodeError) as error:
        raise InputError(f"{path}: is no readable {path.suffix} file ({type(error).__name__}); save it again") from None
    said = meta.variable_value_labels if labels else {}
    return list(columns), zip(*(_labelled(cells, said.get(name, {})) for name, cells in columns.items()), strict=True)


def _labelled(cells: Sequence[object], labels: Mapping[object, str]) -> list[object]:
    """The cells with the labels that the file gives their codes."""
    return [labels.get(cell, cell) for cell in cells]


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
