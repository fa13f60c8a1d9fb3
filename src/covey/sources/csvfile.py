"""A CSV file looked at before an engine reads it: its separator, its header, and that it is text.

The engine reads UTF-8. A file in another encoding, which the user names, is read here.
"""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import pyarrow as pa

from covey.cells import clean
from covey.errors import InputError
from covey.plain import listed
from covey.sources.memory import refuse_above

SEPARATORS = (",", ";", "\t", "|")
LONGEST_LINE = 2 * 2**20
_SAMPLE = 256 * 2**10
_CHUNK = 4 * 2**20
NOT_UTF8 = "not UTF-8; name its encoding (--encoding cp1252 for Western European Windows), or save the file as UTF-8"
OTHER_WIDTH = "has another number of cells than the header; check separators and quotes"


@dataclass(frozen=True)
class Look:
    """The format of a CSV file, found by looking at it."""

    separator: str
    header: tuple[str, ...]


def look(path: Path, *, read: bool = True) -> Look:
    """The file's separator and column names. Raises InputError that names the file and the line.

    One that is to be `read` into memory must not be larger than memory may be.
    """
    with _readable(path), _opened(path) as stream:
        sample = _sample(stream)
        _refuse_binary(path, sample, stream, read=read)
    if not sample.strip():
        raise InputError(f"{path}: is empty; a table has a header and at least one row")
    if sample.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError(f"{path}: is UTF-16; add --encoding utf-16, or save it as UTF-8")
    return _format(path, _decoded(path, sample))


def read_encoded(path: Path, encoding: str) -> pa.Table:
    """The cells of a file in that encoding, as text. Raises InputError that names the file and the line."""
    with _readable(path), _opened(path) as stream:
        content = _whole(path, stream)
    try:
        text = content.decode(encoding).removeprefix("\ufeff")
    except LookupError:
        raise InputError(f"{path}: {encoding!r} is no encoding; try cp1252, latin-1 or utf-16") from None
    except UnicodeError as error:
        line = content.count(b"\n", 0, getattr(error, "start", 0)) + 1
        raise InputError(f"{path}, line {line}: is not {encoding}; name its encoding with --encoding") from None
    if (at := text.find("\0")) >= 0:
        raise InputError(f"{path}, line {text.count(chr(10), 0, at) + 1}: has a NUL; is it {encoding}?")
    found = _format(path, text)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=found.separator, strict=True)
    columns: list[list[str]] = [[] for _ in found.header]
    try:
        next(reader)
        for row in reader:
            if len(row) != len(columns) and row:
                raise InputError(f"{path}, line {reader.line_num}: {OTHER_WIDTH}")
            for column, cell in zip(columns, row, strict=bool(row)):
                column.append(cell)
    except csv.Error:
        raise InputError(f"{path}, line {reader.line_num}: cannot be read; check its quotes") from None
    return pa.table(dict(zip(found.header, (pa.array(column, pa.string()) for column in columns), strict=True)))


def _whole(path: Path, stream: IO[bytes]) -> bytes:
    parts, size = [], 0
    while chunk := stream.read(_CHUNK):
        size += len(chunk)
        refuse_above(str(path), size)
        parts.append(chunk)
    return b"".join(parts)


def _format(path: Path, text: str) -> Look:
    separator = _separator(text[:_SAMPLE])
    header = _header(path, text, separator)
    names = tuple(clean(name) for name in header)
    _judge_names(path, names)
    return Look(separator, names)


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Says in one sentence why a file cannot be read."""
    try:
        yield
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or "it is damaged"
        raise InputError(f"{path}: cannot be read ({reason}); check the path and its permissions") from None


def _opened(path: Path) -> IO[bytes]:
    return gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")  # type: ignore[return-value]


def _sample(stream: IO[bytes]) -> bytes:
    """The first lines, whole."""
    sample = stream.read(_SAMPLE)
    end = sample.rfind(b"\n")
    return sample if len(sample) < _SAMPLE or end < 0 else sample[: end + 1]


def _refuse_binary(path: Path, sample: bytes, stream: IO[bytes], *, read: bool) -> None:
    if sample.startswith((b"\xff\xfe", b"\xfe\xff")):
        return
    stream.seek(0)
    lines, size = 1, 0
    while chunk := stream.read(_CHUNK):
        size += len(chunk) if read else 0
        refuse_above(str(path), size)  # a few compressed bytes may unpack to any number
        if (at := chunk.find(b"\0")) >= 0:
            line = lines + chunk.count(b"\n", 0, at)
            raise InputError(f"{path}, line {line}: has a NUL byte; the file is damaged or not text")
        lines += chunk.count(b"\n")


def _decoded(path: Path, sample: bytes) -> str:
    try:
        return sample.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if error.reason == "unexpected end of data":
            return sample[: error.start].decode("utf-8-sig")
        line = sample[: error.start].count(b"\n") + 1
        raise InputError(f"{path}, line {line}: {NOT_UTF8}") from None


def _separator(text: str) -> str:
    """The separator under which most lines have as many cells as the header, and more than one."""
    best, score = ",", 0.0
    for separator in SEPARATORS:
        try:
            rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator) if row][:200]
        except csv.Error:
            continue
        width = len(rows[0]) if rows else 0
        if width < 2:
            continue
        agree = Counter(len(row) for row in rows)[width] / len(rows)
        if agree + width / 10_000 > score:
            best, score = separator, agree + width / 10_000
    return best


def _header(path: Path, text: str, separator: str) -> list[str]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    try:
        if row := next(reader):
            return row
        raise InputError(f"{path}, line 1: is empty; the first line names the columns: remove the empty lines above it")
    except (csv.Error, StopIteration):
        raise InputError(f"{path}, line 1: has no readable header; the first line names the columns") from None


def _judge_names(path: Path, names: tuple[str, ...]) -> None:
    for position, name in enumerate(names, start=1):
        if not name:
            raise InputError(f"{path}, line 1: column {position} has no name; every column needs one")
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        places = [str(place) for place, name in enumerate(names, start=1) if name == repeated[0]]
        raise InputError(
            f"{path}, line 1: two columns are named {repeated[0]!r}, in the places {listed(places)}; rename one"
        )
    alike: dict[str, str] = {}
    for name in names:
        if (other := alike.setdefault(name.casefold(), name)) != name:
            raise InputError(f"{path}, line 1: columns {other!r} and {name!r} differ only in capitals; rename one")
