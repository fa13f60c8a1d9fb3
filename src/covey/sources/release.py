"""A released table: rows sorted by content, so that their order carries nothing, and written atomically."""

from __future__ import annotations

import csv
import io
import os
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from covey.cells import guarded
from covey.errors import InputError


def arrange(table: pa.Table, exempt: frozenset[str] = frozenset()) -> pa.Table:
    """The table as it is written: formulas guarded (hierarchy labels are exempt), rows in order of their bytes."""
    columns = []
    keys = []
    for name in table.column_names:
        column = table.column(name).combine_chunks()
        if not pa.types.is_dictionary(column.type):
            column = column.cast(pa.string()).fill_null("").dictionary_encode()
        texts = column.dictionary.to_pylist()
        written = [text if name in exempt else guarded(text) for text in texts]
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
    cells = [pc.cast(column, pa.string()) for column in arranged.columns]
    head = io.StringIO(newline="")
    csv.writer(head, lineterminator="\n").writerow(arranged.column_names)
    needs_quotes = any(_odd(column) for column in arranged.columns)
    if needs_quotes or len(cells) == 1:
        writer = csv.writer(head, lineterminator="\n")
        for batch in pa.table(cells, names=arranged.column_names).to_batches(max_chunksize=50_000):
            writer.writerows(zip(*(column.to_pylist() for column in batch.columns), strict=True))
        return head.getvalue().encode()
    joined = pc.binary_join_element_wise(*cells, ",")
    body = "\n".join(joined.to_pylist())
    return (head.getvalue() + body + "\n" * bool(body)).encode()


def _odd(column: pa.ChunkedArray) -> bool:
    values = column.combine_chunks().dictionary.to_pylist()
    return any(mark in text for text in values for mark in ',"\n\r')


def write_release(arranged: pa.Table, path: Path) -> None:
    """Write the release as CSV or Parquet, by the file's ending; a reader never sees half a file."""
    if path.suffix.lower() in (".parquet", ".pq"):
        sink = io.BytesIO()
        plain = pa.table({name: arranged.column(name).cast(pa.string()) for name in arranged.column_names})
        pa.parquet.write_table(plain, sink)
        write_atomically(path, sink.getvalue())
    else:
        write_atomically(path, canonical_csv(arranged))


def write_atomically(path: Path, content: bytes, mode: int = 0o644) -> None:
    """Write a file so that it is there whole or not at all. Raises InputError that names it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror}); check the folder's permissions") from None
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        Path(temporary).chmod(mode)
        Path(temporary).replace(path)
        _sync_folder(path.parent)
    except BaseException as error:
        Path(temporary).unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise InputError(f"{path}: cannot be written ({error.strerror}); is the disk full?") from None
        raise


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
