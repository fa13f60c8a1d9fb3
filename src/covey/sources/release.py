"""A released table: rows sorted by content, so that their order carries nothing, and written atomically."""

from __future__ import annotations

import contextlib
import hashlib
import io
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from covey.cells import guarded
from covey.errors import InputError
from covey.files import remove_release, sync_to_disk, write_atomically
from covey.sources.folders import PARQUET, parquet_files
from covey.sources.foreign import EXCEL
from covey.sources.packages import write_sheet
from covey.sources.parquetfile import PartsWriter, read_back
from covey.sources.server import write_table

_LINES = 500_000  # written at a time
_CHUNK = 1 << 20


def content_hash(path: Path) -> str:
    """SHA-256 of a file, which may be larger than memory, or of a folder's Parquet files."""
    digest = hashlib.sha256()
    for file in parquet_files(path) if path.is_dir() else [path]:
        with file.open("rb") as stream:
            while chunk := stream.read(_CHUNK):
                digest.update(chunk)
    return digest.hexdigest()


def release_digest(path: Path) -> str:
    """SHA-256 of a release's canonical CSV, read from the file or from rows in Parquet.

    Raises InputError if it cannot be read.
    """
    if path.is_file() and path.suffix.lower() not in PARQUET:
        return content_hash(path)
    if not path.exists():
        raise InputError(f"{path}: a certificate vouches for a file; name the released CSV or Parquet file")
    digest = hashlib.sha256()
    try:
        for piece in csv_pieces(read_back(parquet_files(path) if path.is_dir() else [path])):
            digest.update(piece)
    except (pa.ArrowException, OSError):
        raise InputError(f"{path}: cannot be read as Parquet; is the file whole?") from None
    return digest.hexdigest()


def arrange(table: pa.Table) -> pa.Table:
    """The table as it is written: formulas guarded, rows in the order of their bytes.

    `cells.clean` takes the guard off again, so that the judge reads a guarded label as the label.
    """
    columns = []
    keys = []
    for name in table.column_names:
        column = table.column(name).combine_chunks()
        if not pa.types.is_dictionary(column.type):
            column = column.cast(pa.string()).fill_null("").dictionary_encode()
        texts = column.dictionary.to_pylist()
        written = [guarded(text) for text in texts]
        order = sorted(set(written), key=lambda text: text.encode("utf-8", "surrogatepass"))
        rank = {text: position for position, text in enumerate(order)}
        codes = np.array([rank[text] for text in written] or [0], dtype=np.int32)[np.asarray(column.indices)]
        keys.append(codes)
        columns.append((order, codes))
    rows = np.lexsort(keys[::-1]) if keys else np.zeros(0, dtype=np.int64)
    arrays = [
        pa.DictionaryArray.from_arrays(pa.array(codes[rows], pa.int32()), pa.array(order, pa.string()))
        for order, codes in columns
    ]
    return pa.table(dict(zip(table.column_names, arrays, strict=True)))


def canonical_csv(arranged: pa.Table) -> bytes:
    """The bytes of release.csv: RFC 4180, comma, UTF-8, LF, a header, quotes only where needed."""
    parts = (arranged.slice(first, _LINES) for first in range(0, arranged.num_rows, _LINES))
    return csv_header(arranged.column_names) + b"".join(map(csv_lines, parts))


def csv_pieces(tables: Iterable[pa.Table]) -> Iterator[bytes]:
    """The bytes of release.csv from its rows, some at a time. Every column is dictionary-encoded text."""
    for number, table in enumerate(tables):
        if number == 0:
            yield csv_header(table.column_names)
        yield csv_lines(table)


def csv_header(names: Sequence[str]) -> bytes:
    """The first line of release.csv."""
    return (",".join(_quoted(name, len(names) == 1) for name in names) + "\n").encode()


def csv_lines(arranged: pa.Table) -> bytes:
    """The lines of these rows in release.csv; every column is dictionary-encoded text."""
    if not arranged.num_rows:
        return b""
    single_column = arranged.num_columns == 1
    cells = [_cells(column, single_column) for column in arranged.columns]
    lines = pc.binary_join_element_wise(*cells[:-1], pc.binary_join_element_wise(cells[-1], "", "\n"), ",")
    first, last = lines.offset, lines.offset + len(lines)
    ends = np.frombuffer(lines.buffers()[1], dtype=np.int32)
    return bytes(memoryview(lines.buffers()[2])[ends[first] : ends[last]])


def _cells(column: pa.ChunkedArray, single_column: bool) -> pa.Array:
    """The column's cells as they are written; each distinct one is looked at once."""
    combined = column.combine_chunks()
    written = pa.array([_quoted(text, single_column) for text in combined.dictionary.to_pylist()], pa.string())
    return written.take(combined.indices)


def _quoted(text: str, single_column: bool) -> str:
    """A cell with its quotes. An empty one that stands alone on its line would else be a blank line."""
    if any(mark in text for mark in ',"\n\r') or (single_column and not text):
        return '"' + text.replace('"', '""') + '"'
    return text


def write_release(arranged: pa.Table, path: Path, parts: int = 1) -> None:
    """Writes the release as CSV, Parquet or Excel, by the file's ending. A reader never sees half of it.

    Several parts are Parquet files in a folder of that name.
    """
    ending = path.suffix.lower()
    if parts > 1:
        _write_parts(arranged, path, parts)
    elif ending in EXCEL:
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".covey-") as folder:
            write_sheet(arranged, Path(folder) / path.name)
            write_atomically(path, (Path(folder) / path.name).read_bytes())
    elif ending in PARQUET:
        sink = io.BytesIO()
        pa.parquet.write_table(_plain(arranged), sink)
        write_atomically(path, sink.getvalue())
    else:
        write_atomically(path, canonical_csv(arranged))


def _write_parts(arranged: pa.Table, path: Path, parts: int) -> None:
    try:
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".covey-") as folder:
            target = Path(folder) / path.name
            with contextlib.closing(PartsWriter(target, arranged.num_rows, parts)) as writer:
                for first in range(0, max(1, arranged.num_rows), _LINES):
                    writer.take(arranged.slice(first, _LINES))
            for name in (*target.iterdir(), target):
                sync_to_disk(name)  # on the disk before it has its name
            remove_release(path)
            target.rename(path)
            sync_to_disk(path.parent)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror}); is the disk full?") from None


def export(arranged: pa.Table, target: str, *, force: bool = False, parts: int = 1) -> str:
    """Writes a release to a file or into a table of a server. Returns the words for the place, without a password.

    Several parts are Parquet files in a folder. Raises InputError where something is there already, unless `force`.
    """
    if parts > 1 and ("://" in target or Path(target).suffix.lower() not in PARQUET):
        raise InputError(f"{target}: several parts are Parquet files in a folder; name it with .parquet at its end")
    if "://" in target:
        return write_table(_plain(arranged), target, force=force)
    path = Path(target)
    if path.suffix.lower() not in (".csv", *PARQUET, *EXCEL):
        raise InputError(f"{path}: a release is written as .csv, .parquet or .xlsx, or to postgres://…?table=NAME")
    if path.exists() and not force:
        raise InputError(f"{path}: is there already; add --force to replace it")
    if path.is_dir() and parts == 1:
        raise InputError(f"{path}: is a folder; remove it, or choose another name")
    write_release(arranged, path, parts)
    return str(path)


def _plain(arranged: pa.Table) -> pa.Table:
    return pa.table({name: arranged.column(name).cast(pa.string()) for name in arranged.column_names})
