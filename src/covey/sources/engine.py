"""A table whose rows stay in DuckDB, out of core: the engine counts, Covey decides, the engine writes.

Nothing here holds a row in memory. Each column's distinct texts are counted and read by the study's rules, as they are
in memory; a small table of the engine maps each text to its code. Rows are grouped by codes, and only the groups and
their numbers come out. To write, the engine joins each row with its group's class, replaces every text by the one that
is published, sorts by content and writes a Parquet file. What does not fit into memory lies in a private folder on the
disk that is removed at the end.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import duckdb
import numpy as np
import pyarrow as pa
from pyarrow import parquet

from covey.arrays import Ints, Longs
from covey.cells import clean, guarded
from covey.errors import InputError
from covey.sources.csvfile import LONGEST_LINE, look
from covey.sources.folders import PARQUET, is_many, parquet_files, refuse_patterns
from covey.sources.memory import limit
from covey.sources.source import explain

T = TypeVar("T")

MOST_SPELLINGS = 1_000_000
"""Distinct texts of a plain column that are mapped by a table; where there are more, each cell is read in turn."""
_SHARE = 0.6  # of the limit of memory that the engine may take; the rest is for the tuples
_BATCH = 200_000
_PACKED = 2**62


@dataclass(frozen=True)
class Spellings:
    """The distinct texts of one column, and the number of rows that have each."""

    texts: list[str]
    counts: Longs


@dataclass(frozen=True)
class ReleasedColumns:
    """The columns of a release, and where the engine finds what is published in each."""

    released: Sequence[str]
    """All of them, in their order."""
    grouped: Sequence[str]
    """The columns whose codes make a tuple."""
    classes: Mapping[str, tuple[Sequence[str], Ints | Longs]]
    """Of each quasi column the labels, and each class's place among them."""
    mapped: Sequence[str]
    """Columns whose texts the engine has a table of."""
    read: Mapping[str, Callable[[str | None], str]]
    """Columns with too many texts for that, and how a cell of them is read."""
    dropping: Mapping[str, int]
    """Columns without whose value a row is dropped, and the code that stands for none."""


@dataclass(frozen=True)
class Dealt:
    """Items whose rows all go to one class, and items whose rows are dealt to classes by their place in the table."""

    whole: Mapping[str, Longs]
    split: Mapping[str, Longs]

    @classmethod
    def of(cls, item: Longs, group: Longs, records: Longs, counts: Longs) -> Dealt:
        """From pieces (an item's records in a class) and each item's number of records; what is left is withheld."""
        order = np.lexsort((group, item))
        item, group, records = item[order], group[order], records[order]
        whole = records == counts[item]
        own = {"item": item[~whole], "class": group[~whole]}
        upto = np.cumsum(records[~whole])
        begins = np.flatnonzero(np.concatenate([[True], own["item"][1:] != own["item"][:-1]])[: len(upto)])
        skipped = np.repeat((upto - records[~whole])[begins], np.diff(np.append(begins, len(upto))))
        split = {**own, "above": upto - records[~whole] - skipped, "upto": upto - skipped}
        return cls({"item": item[whole], "class": group[whole]}, split)


class EngineRows(AbstractContextManager["EngineRows"]):
    """The rows of one table in an engine of their own, for as long as the context lasts."""

    def __init__(self, data: str | Path, scratch: Path) -> None:
        self.name = str(data)
        self._scratch = tempfile.TemporaryDirectory(prefix=".covey-engine-", dir=scratch)
        memory = int(_SHARE * limit())
        self._engine = duckdb.connect(
            config={
                "memory_limit": f"{memory}B",
                "temp_directory": self._scratch.name,
                "preserve_insertion_order": True,
            }
        )
        self._engine.execute("SET enable_progress_bar = false")
        self.columns: tuple[str, ...] = ()
        self.numeric: frozenset[str] = frozenset()
        self._raw: dict[str, str] = {}
        try:
            self._open(data)
        except BaseException:
            self.close()
            raise

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the engine and removes what it left on the disk."""
        self._engine.close()
        self._scratch.cleanup()

    def _open(self, data: str | Path) -> None:
        path = Path(data)
        if is_many(data) or path.suffix.lower() in PARQUET:
            if not is_many(data) and not path.is_file():
                raise InputError(f"{path}: there is no such file")
            files = parquet_files(data) if is_many(data) else [path]
            refuse_patterns(files)
            named = ", ".join(_text(str(file)) for file in files)
            options = "hive_partitioning = false, union_by_name = false, file_row_number = true, filename = true"
            self._explained(lambda: self._engine.execute(
                f"CREATE VIEW given AS SELECT * FROM read_parquet([{named}], {options})"
            ))  # fmt: skip
            self._order = "filename, file_row_number"
            kinds = self._kinds("given")
            for own in ("filename", "file_row_number"):
                kinds.pop(own)
        elif path.suffix.lower() in (".csv", ".gz", ".tsv", ".txt") and path.is_file():
            found = look(path)
            refuse_patterns([path])
            self._refuse_repeated(found.header)
            cells = ", ".join(f"{_text(name)}: 'VARCHAR'" for name in found.header)
            self._explained(lambda: self._engine.execute(
                "CREATE VIEW given AS SELECT *, row_number() OVER () AS file_row_number "
                f"FROM read_csv({_text(str(path))}, "
                f"auto_detect = false, header = true, delim = {_text(found.separator)}, quote = '\"', escape = '\"', "
                f"columns = {{{cells}}}, max_line_size = {LONGEST_LINE}, hive_partitioning = false)"
            ))  # fmt: skip
            self._order = "file_row_number"
            kinds = dict.fromkeys(found.header, "VARCHAR")
        else:
            raise InputError(f"{path}: rows can stay in the engine for CSV and Parquet; give one of these")
        self.columns = tuple(clean(name) for name in kinds)
        self._refuse_repeated(tuple(kinds))
        self._raw = {clean(name): _as_text(name, kind) for name, kind in kinds.items()}
        numbers = re.compile(r"(U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|REAL|DECIMAL.*)$")
        self.numeric = frozenset(clean(name) for name, kind in kinds.items() if numbers.match(kind))

    def _refuse_repeated(self, header: Sequence[str]) -> None:
        names = [clean(name) for name in header]
        for name in names:
            if names.count(name) > 1:
                raise InputError(f"{self.name}: two columns are named {name!r}; rename one")

    def _kinds(self, view: str) -> dict[str, str]:
        described = self._explained(lambda: self._engine.execute(f"DESCRIBE {view}").fetchall())
        return {str(row[0]): str(row[1]) for row in described}

    def require(self, columns: Sequence[str]) -> None:
        """Raises InputError where a column is lacking or there is no row."""
        lacking = [column for column in columns if column not in self.columns]
        if lacking:
            named = ", ".join(map(repr, lacking))
            raise InputError(f"{self.name}: has no column {named}; it has {', '.join(map(repr, self.columns))}")
        if self.count() == 0:
            raise InputError(f"{self.name}: has a header but no rows")

    def count(self) -> int:
        """The number of rows."""
        return self._number("SELECT count(*) FROM given")

    def few_spellings(self, column: str) -> bool:
        """True if a table of the column's distinct texts is small enough, by the engine's estimate."""
        return self._number(f"SELECT approx_count_distinct({self._raw[column]}) FROM given") <= MOST_SPELLINGS

    def spellings(self, column: str) -> Spellings:
        """The distinct texts of a column; a cell without value is the empty text."""
        query = f"SELECT {self._raw[column]} AS cell, count(*) AS n FROM given GROUP BY cell ORDER BY cell"
        found = self._arrow(query)
        return Spellings(found.column("cell").to_pylist(), np.asarray(found.column("n")).astype(np.int64))

    def map_texts(self, column: str, texts: Sequence[str], codes: Ints, labels: Sequence[str]) -> None:
        """Gives the engine each text's code, and of each code the label that is published for it."""
        place = self.columns.index(column)
        written = [guarded(label) for label in labels]
        self._enumerate(f"e{place}", written)
        self._table(
            f"m{place}",
            {"raw": pa.array(texts, pa.string()), "code": pa.array(codes, pa.int32())},
            {"label": (f"e{place}", [written[code] for code in codes.tolist()])},
        )

    def group(self, columns: Sequence[str], dropping: Mapping[str, int]) -> tuple[list[Ints], Longs]:
        """The distinct tuples of codes of these columns, and how many rows have each.

        Rows with this code in one of the columns of `dropping` are left out.
        """
        codes = {f"c{place}": f"m{self.columns.index(column)}.code" for place, column in enumerate(columns)}
        chosen = ", ".join(f"{code} AS {name}" for name, code in codes.items())
        rows = f"SELECT {chosen} FROM {self._mapped(sorted({*columns, *dropping}))} WHERE {self._with_value(dropping)}"
        found = self._arrow(f"SELECT {', '.join(codes)}, count(*) AS n FROM ({rows}) GROUP BY {', '.join(codes)}")
        tuples = [np.asarray(found.column(name)).astype(np.int32) for name in codes]
        return tuples, np.asarray(found.column("n")).astype(np.int64)

    def write(self, target: Path, columns: ReleasedColumns, tuples: Sequence[Ints], item: Longs, dealt: Dealt) -> None:
        """Writes the released columns of all rows that have a class, sorted by content, as one Parquet file.

        `tuples` (codes of the grouped columns) and `item` say which tuple is which item.
        """
        spans = [int(codes.max(initial=0)) + 1 for codes in tuples]
        self._table("tuples", {**_packed_codes(tuples, spans), "item": pa.array(item)})
        self._table("whole_items", {name: pa.array(own) for name, own in dealt.whole.items()})
        self._table("split_items", {name: pa.array(own) for name, own in dealt.split.items()})
        quasi = self._give_classes(columns.classes)
        cells = {column: f"m{self.columns.index(column)}.label" for column in columns.mapped}
        for number, (column, function) in enumerate(columns.read.items()):
            self._register(f"read{number}", function)
            cells[column] = f"read{number}({self._raw[column]})"
        names = {column: f"p{number}" for number, column in enumerate(cells)}
        rows = self._matched(columns, spans, {names[column]: cell for column, cell in cells.items()})
        carried = "".join(f", {name}" for name in names.values())
        ranked = f"SELECT *, row_number() OVER (PARTITION BY item ORDER BY {self._order}) AS place FROM matched"
        ranked = f"({ranked} WHERE item IN (SELECT item FROM split_items)) AS ranked"
        shown = {**quasi, **{column: f"dealt.{name}" for column, name in names.items()}}
        query = (
            f"WITH matched AS ({rows}), dealt AS ("
            f"SELECT whole_items.class{carried} FROM matched JOIN whole_items USING (item) UNION ALL "
            f"SELECT split_items.class{carried} FROM {ranked} "
            "JOIN split_items ON ranked.item = split_items.item AND place > above AND place <= upto) "
            f"SELECT {', '.join(f'{shown[column]} AS {_name(column)}' for column in columns.released)} "
            f"FROM dealt JOIN classes ON dealt.class = classes.class ORDER BY ALL"
        )
        self._explained(lambda: self._engine.execute(
            f"COPY ({query}) TO {_text(str(target))} (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 200000)"
        ))  # fmt: skip

    def _matched(self, columns: ReleasedColumns, spans: Sequence[int], cells: Mapping[str, str]) -> str:
        """The rows that are not dropped: the item of each, its place in the table, and its other cells."""
        places = [self.columns.index(column) for column in columns.grouped]
        keys = _packed([f"m{place}.code" for place in places], spans)
        used = {*columns.grouped, *columns.dropping, *columns.mapped}
        chosen = "".join(f", {cell} AS {name}" for name, cell in cells.items())
        joined = " AND ".join(f"tuples.k{number} = {key}" for number, key in enumerate(keys))
        return (
            f"SELECT tuples.item AS item, {self._order}{chosen} FROM {self._mapped(sorted(used))} "
            f"JOIN tuples ON {joined} WHERE {self._with_value(columns.dropping)}"
        )

    def _give_classes(self, classes: Mapping[str, tuple[Sequence[str], Ints | Longs]]) -> dict[str, str]:
        """Gives the engine each class's labels; the expression of each quasi column's label."""
        found, listed, number = {}, {}, 0
        for place, (column, (labels, code)) in enumerate(classes.items()):
            written = [guarded(label) for label in labels]
            self._enumerate(f"q{place}", [written[each] for each in np.unique(code).tolist()])
            listed[f"l{place}"] = (f"q{place}", [written[each] for each in code.tolist()])
            found[column], number = f"classes.l{place}", len(code)
        self._table("classes", {"class": pa.array(np.arange(number))}, listed)
        return found

    def _with_value(self, dropping: Mapping[str, int]) -> str:
        """The condition that rows have another code than this in each of these columns."""
        parts = [f"m{self.columns.index(column)}.code <> {code}" for column, code in dropping.items()]
        return " AND ".join(parts) or "true"

    def _mapped(self, columns: Sequence[str]) -> str:
        """The rows, each beside the codes of its texts in these columns."""
        joins = [f"JOIN m{(place := self.columns.index(name))} ON m{place}.raw = {self._raw[name]}" for name in columns]
        return " ".join(["given", *joins])

    def _enumerate(self, name: str, labels: Sequence[str]) -> None:
        """A type of the engine for these labels, which sorts as their bytes do and takes a few bytes a cell."""
        ordered = sorted(set(labels), key=lambda text: text.encode("utf-8", "surrogatepass")) or [""]
        self._engine.register("listed", pa.table({"label": pa.array(ordered, pa.string())}))
        self._explained(lambda: self._engine.execute(f"CREATE TYPE {name} AS ENUM (SELECT label FROM listed)"))
        self._engine.unregister("listed")

    def _table(
        self, name: str, columns: Mapping[str, pa.Array], listed: Mapping[str, tuple[str, list[str]]] | None = None
    ) -> None:
        """A table of the engine from columns of ours; those of `listed` are of the type that is named."""
        texts = {column: pa.array(labels, pa.string()) for column, (_, labels) in (listed or {}).items()}
        self._engine.register("ours", pa.table({**columns, **texts}))
        cast = [f"{column}::{kind} AS {column}" for column, (kind, _) in (listed or {}).items()]
        self._explained(lambda: self._engine.execute(
            f"CREATE TABLE {name} AS SELECT {', '.join([*columns, *cast])} FROM ours"
        ))  # fmt: skip
        self._engine.unregister("ours")

    def _register(self, name: str, read: Callable[[str | None], str]) -> None:
        """A function of the engine that reads the cells of a batch, each distinct text once."""

        def of_batch(cells: pa.ChunkedArray) -> pa.Array:
            whole = cells.combine_chunks().dictionary_encode()
            texts = pa.array([guarded(read(text)) for text in whole.dictionary.to_pylist()], pa.string())
            return texts.take(whole.indices)

        self._engine.create_function(name, of_batch, ["VARCHAR"], "VARCHAR", type="arrow")  # type: ignore[arg-type, list-item]

    def _number(self, query: str) -> int:
        return int(self._arrow(query).column(0)[0].as_py())

    def _arrow(self, query: str) -> pa.Table:
        return self._explained(lambda: self._engine.execute(query).fetch_arrow_table())

    def _explained(self, work: Callable[[], T]) -> T:
        return explain(self.name, work)


def rows_in(path: Path) -> int:
    """The number of rows of a Parquet file, as it says of itself."""
    with parquet.ParquetFile(path) as file:
        return int(file.metadata.num_rows)


def read_back(path: Path) -> Iterator[pa.Table]:
    """The rows of a written release, some at a time, its columns dictionary-encoded."""
    with parquet.ParquetFile(path) as file:
        for batch in file.iter_batches(batch_size=_BATCH):
            yield pa.table(
                {
                    name: column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
                    for name, column in zip(batch.schema.names, batch.columns, strict=True)
                }
            )


def _as_text(name: str, kind: str) -> str:
    """The expression of a column's cell as text; what has no value, and a floating NaN, is the empty text."""
    column = f"given.{_name(name)}"
    if kind in ("FLOAT", "DOUBLE", "REAL"):
        column = f"CASE WHEN isnan({column}) THEN NULL ELSE {column} END"
    return f"coalesce(CAST({column} AS VARCHAR), '')"


def _packed(codes: Sequence[str], spans: Sequence[int]) -> list[str]:
    """Expressions of as few numbers as hold all codes."""
    return [" + ".join(f"{code}::BIGINT * {weight}" for code, weight in part) for part in _parts(codes, spans)]


def _packed_codes(codes: Sequence[Ints], spans: Sequence[int]) -> dict[str, pa.Array]:
    packed = {}
    for number, part in enumerate(_parts(codes, spans)):
        total = np.zeros(len(codes[0]), dtype=np.int64)
        for code, weight in part:
            total += code.astype(np.int64) * weight
        packed[f"k{number}"] = pa.array(total)
    return packed


def _parts(codes: Sequence[T], spans: Sequence[int]) -> list[list[tuple[T, int]]]:
    parts: list[list[tuple[T, int]]] = []
    size = _PACKED
    for code, span in zip(codes, spans, strict=True):
        if size * span >= _PACKED:
            parts.append([])
            size = 1
        parts[-1].append((code, size))
        size *= span
    return parts


def _name(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
