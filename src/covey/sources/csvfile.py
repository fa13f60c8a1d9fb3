"""A CSV file looked at before an engine reads it: its separator, its header, and that it is text.

The engine reads UTF-8. A file in another encoding, which the user names, is read here.
"""

from __future__ import annotations

import codecs
import contextlib
import csv
import gzip
import io
import itertools
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import pyarrow as pa

from covey import bounds
from covey.cells import clean
from covey.errors import InputError
from covey.plain import listed

SEPARATORS = (",", ";", "\t", "|")
_SAMPLE = 256 * 2**10
_CHUNK = 4 * 2**20
_ROWS = 50_000  # that are kept as objects of Python at a time
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
        cells = _refuse_binary(path, sample, stream, read=read)
    if not sample.strip():
        raise InputError(f"{path}: is empty; a table has a header and at least one row")
    if sample.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError(f"{path}: is UTF-16; add --encoding utf-16, or save it as UTF-8")
    dialect = _format(path, _decoded(path, sample))
    if read:
        _refuse_cells(path, cells[dialect.separator])
    return dialect


def read_encoded(path: Path, encoding: str) -> pa.Table:
    """The cells of a file in that encoding, as text. Raises InputError that names the file and the line."""
    try:
        if not codecs.lookup(encoding)._is_text_encoding:
            raise LookupError
        with _readable(path), _opened(path) as stream, io.TextIOWrapper(stream, encoding, newline="") as text:
            dialect = _format(path, text.read(_SAMPLE).removeprefix("\ufeff"))
        with _readable(path), _opened(path) as stream, io.TextIOWrapper(stream, encoding, newline="") as text:
            return _table(path, dialect, _lines(path, text, encoding))
    except LookupError:
        raise InputError(f"{path}: {encoding!r} is no encoding; try cp1252, latin-1 or utf-16") from None
    except UnicodeError:
        line = _undecodable(path, encoding)
        raise InputError(f"{path}, line {line}: is not {encoding}; name its encoding with --encoding") from None


def _lines(path: Path, text: io.TextIOWrapper, encoding: str) -> Iterator[str]:
    """The lines, none longer than it may be."""
    for number in itertools.count(1):
        line = text.readline(bounds.cell() + 1)
        if not line:
            return
        if len(line) > bounds.cell():
            raise _long_line(path, number)
        if "\0" in line:
            raise InputError(f"{path}, line {number}: has a NUL; is it {encoding}?")
        yield line


def _table(path: Path, dialect: Look, lines: Iterator[str]) -> pa.Table:
    """The cells below the header, taken some at a time."""
    reader = csv.reader(lines, delimiter=dialect.separator, strict=True)
    schema = pa.schema([(name, pa.string()) for name in dialect.header])
    columns: list[list[str]] = [[] for _ in dialect.header]
    parts, size = [], 0
    try:
        next(reader)
        for row in reader:
            if len(row) != len(columns) and row:
                raise InputError(f"{path}, line {reader.line_num}: {OTHER_WIDTH}")
            for column, cell in zip(columns, row, strict=bool(row)):
                column.append(cell)
            size += sum(map(len, row)) + bounds.CELL * len(row)
            _refuse_cells(path, size)
            if len(columns[0]) == _ROWS:
                parts.append(pa.record_batch([pa.array(column) for column in columns], schema=schema))
                columns = [[] for _ in dialect.header]
    except csv.Error:
        raise InputError(f"{path}, line {reader.line_num}: cannot be read; check its quotes") from None
    parts.append(pa.record_batch([pa.array(column, pa.string()) for column in columns], schema=schema))
    return pa.Table.from_batches(parts, schema)


def _undecodable(path: Path, encoding: str) -> int:
    """The first line that is not in this encoding."""
    decoder, line = codecs.getincrementaldecoder(encoding)(), 1
    with _opened(path) as stream:
        try:
            while chunk := stream.read(1 << 10):
                state = decoder.getstate()
                line += decoder.decode(chunk).count("\n")
        except UnicodeError:
            with contextlib.suppress(UnicodeError):
                decoder.setstate(state)
                for byte in chunk:
                    line += decoder.decode(bytes([byte])).count("\n")
    return line


def _refuse_cells(path: Path, size: int) -> None:
    """Raises InputError for cells that take more than memory, or a packed file, may hold."""
    bounds.refuse_above(str(path), size)
    if path.suffix == ".gz" and size > (limit := 2 * bounds.cells(path.stat().st_size)):
        raise bounds.above(str(path), f"holds more than {limit / 1e6:,.0f} MB of cells")


def _long_line(path: Path, line: int) -> InputError:
    return bounds.above(f"{path}, line {line}", f"is longer than {bounds.cell():,} bytes")


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
    if b"\n" not in sample:
        sample += stream.readline(bounds.cell())
    end = sample.rfind(b"\n")
    return sample if len(sample) < _SAMPLE or end < 0 else sample[: end + 1]


def _refuse_binary(path: Path, sample: bytes, stream: IO[bytes], *, read: bool) -> Mapping[str, int]:
    """Looks at every byte; the memory that the cells take, by what separates them."""
    if sample.startswith((b"\xff\xfe", b"\xfe\xff")):
        return Counter()
    stream.seek(0)
    lines, size, line = 1, 0, 0
    packed = path.stat().st_size if path.suffix == ".gz" else None
    separators: Counter[str] = Counter()
    while chunk := stream.read(_CHUNK):
        size += len(chunk)
        if packed is not None and size > bounds.unpacked(packed):  # a few bytes may unpack to any number
            raise bounds.above(str(path), f"unpacks to more than {bounds.unpacked(packed) / 1e6:,.0f} MB")
        if read:
            bounds.refuse_above(str(path), size)
        if (position := chunk.find(b"\0")) >= 0:
            number = lines + chunk.count(b"\n", 0, position)
            raise InputError(f"{path}, line {number}: has a NUL byte; the file is damaged or not text")
        end = max(chunk.rfind(b"\n"), chunk.rfind(b"\r"))
        line = len(chunk) - end - 1 + (line if end < 0 else 0)
        if line > bounds.cell():
            raise _long_line(path, lines + chunk.count(b"\n"))
        lines += chunk.count(b"\n")
        separators.update({mark: chunk.count(mark.encode()) for mark in SEPARATORS})
    return {mark: size + bounds.CELL * (separators[mark] + lines) for mark in SEPARATORS}


def _decoded(path: Path, sample: bytes) -> str:
    try:
        return sample.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if error.reason == "unexpected end of data":
            return sample[: error.start].decode("utf-8-sig")
        line = sample[: error.start].count(b"\n") + 1
        raise InputError(f"{path}, line {line}: {NOT_UTF8}") from None


def _separator(text: str) -> str:
    """The separator with which most lines have as many cells as the header, above one."""
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
    if len(names) > bounds.columns():
        raise bounds.above(f"{path}, line 1", f"has more than {bounds.columns():,} columns")
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        numbers = [str(number) for number, name in enumerate(names, start=1) if name == repeated[0]]
        raise InputError(
            f"{path}, line 1: two columns are named {repeated[0]!r}, in the places {listed(numbers)}; rename one"
        )
    alike: dict[str, str] = {}
    for name in names:
        if (twin := alike.setdefault(name.casefold(), name)) != name:
            raise InputError(f"{path}, line 1: columns {twin!r} and {name!r} differ only in capitals; rename one")
