"""UCI's Adult table as this field uses it: nine columns, the complete rows, and groupings that we made ourselves.

Its study and its hierarchies ship in the folder `adult`; the table is fetched.
"""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Iterable, Sequence
from pathlib import Path

from covey.errors import InputError

# UCI's file has no header; these are its fields, in its order.
FIELDS = (
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship",
    "race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "salary-class",
)  # fmt: skip
COLUMNS = (
    "sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation", "salary-class",
)  # fmt: skip
_UNKNOWN = "?"
_KEPT = tuple(FIELDS.index(column) for column in COLUMNS)
_SHIPPED = Path(__file__).with_suffix("")

Files = dict[str, bytes]
Row = tuple[str, ...]


def parse(raw: bytes) -> list[Row]:
    """Returns the complete rows of UCI's file with our nine columns.

    Raises InputError, naming the line, if a line does not have fifteen fields.
    """
    try:
        text = raw.decode("ascii")
    except UnicodeDecodeError:
        raise InputError("adult.data: not a text file; the archive may have sent an error page") from None
    rows = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.startswith("|"):
            continue
        fields = [field.strip() for field in line.split(",")]
        if len(fields) != len(FIELDS):
            raise InputError(
                f"adult.data, line {number}: {len(fields)} fields, expected {len(FIELDS)}; fetch the file again"
            )
        if _UNKNOWN not in fields:
            rows.append(tuple(fields[index] for index in _KEPT))
    return rows


def digest(rows: Sequence[Row]) -> str:
    """SHA-256 of the sorted rows, with `;` between fields and LF at ends."""
    return hashlib.sha256("".join(f"{';'.join(row)}\n" for row in sorted(rows)).encode()).hexdigest()


def files(rows: Iterable[Row]) -> Files:
    """Returns the files of the data set: the table, its hierarchies, its study."""
    shipped = {path.relative_to(_SHIPPED).as_posix(): path.read_bytes() for path in _SHIPPED.rglob("*.*")}
    return {"adult.csv": sheet(COLUMNS, rows), **shipped}


def sheet(header: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    """Writes a CSV file with a header: commas, LF, UTF-8."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue().encode()
