"""A table whose rows stay on an engine: the engine counts, Covey decides, the engine writes (`writing`).

Nothing here holds a row in memory. Each column's distinct texts are counted and read by the study's rules, as they are
in memory; a small table of the engine maps each text to its code. Rows are grouped by codes, and only the groups and
their numbers come out.

The queries are the same on every engine; `duck`, `postgres` and `spark` say how an engine is asked, how it spells a
cell as text, and how it is given a table of ours.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Self, TypeVar

import numpy as np
import pyarrow as pa

from covey.arrays import Ints, Longs
from covey.cells import clean
from covey.errors import InputError
from covey.sources.folders import as_name, refuse_repeated, require_columns

T = TypeVar("T")

MOST_SPELLINGS = 1_000_000
"""Distinct texts of a plain column that are mapped by a table; where there are more, each cell is read in turn."""
_PACKED = 2**62
_APART = "chr(31)"


@dataclass(frozen=True)
class Spellings:
    """The distinct texts of one column, and the number of rows that have each."""

    texts: list[str]
    counts: Longs


@dataclass(frozen=True)
class GroupedColumns:
    """The columns whose codes make a tuple, and those in which a row needs a value."""

    names: Sequence[str]
    dropping: Mapping[str, int]
    """Columns, and the code that stands for no value."""


class EngineRows(ABC):
    """The rows of one table on an engine, for as long as the context lasts."""

    TEXT: ClassVar[str] = "VARCHAR"
    """The engine's type of a text,"""
    NAN: ClassVar[str] = "isnan({})"
    """how it knows a NaN,"""
    DISTINCT: ClassVar[str] = "approx_count_distinct({})"
    """how it counts different texts, about,"""
    BYTES: ClassVar[str] = "octet_length({})"
    """the length of a text in bytes,"""
    HASH: ClassVar[str]
    """a number that a text is hashed to, of which sums are exact,"""
    ENGINE: ClassVar[str]
    """and the engine's name."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.columns: tuple[str, ...] = ()
        self.numeric: frozenset[str] = frozenset()
        self._raw: dict[str, str] = {}
        self._reasons: Mapping[str, str] = {}  # why columns are lacking
        self._prefix = ""
        self._groups = "groups"
        self._coded: set[str] = set()
        self._grouped_by = GroupedColumns((), {})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @abstractmethod
    def close(self) -> None:
        """Leaves the engine, and removes what was ours there and on the disk."""

    @abstractmethod
    def _arrow(self, query: str, texts: Collection[str] = ()) -> pa.Table:
        """The answer to a query; columns of `texts` are texts, the others whole numbers."""

    @abstractmethod
    def _give(self, name: str, columns: Mapping[str, pa.Array]) -> None:
        """Makes a table of the engine from our columns, in place of an earlier one."""

    @abstractmethod
    def _keep(self, name: str, query: str) -> None:
        """Makes a table of the engine from a query, so that it is answered once."""

    def _hold(self, header: Sequence[str], floating: Collection[str], numeric: Collection[str]) -> None:
        """Notes the columns of the table, which the engine has under the name `given`."""
        self.columns = tuple(clean(name) for name in header)
        refuse_repeated(self.name, self.columns)
        self._raw = {clean(name): self._as_text(name, name in floating) for name in header}
        self.numeric = frozenset(clean(name) for name in numeric)

    def _as_text(self, name: str, floating: bool) -> str:
        """The expression of a column's cell as text. What has no value, and a floating NaN, is the empty text."""
        column = f"given.{self.quoted(name)}"
        if floating:
            column = f"CASE WHEN {self.NAN.format(column)} THEN NULL ELSE {column} END"
        return f"coalesce(CAST({column} AS {self.TEXT}), '')"

    @staticmethod
    def quoted(column: str) -> str:
        """A column's name in a query."""
        return as_name(column)

    def require(self, columns: Sequence[str], *, empty: bool = False) -> None:
        """Raises InputError where a column is lacking, or where there is no row."""
        require_columns(self.name, columns, self.columns, self._reasons)
        if not empty and self.count() == 0:
            raise InputError(f"{self.name}: has a header but no rows")

    def count(self) -> int:
        """The number of rows."""
        return self._number(f"SELECT count(*) AS n FROM {self._from('given')}")

    def fingerprint(self, columns: Sequence[str]) -> bytes:
        """A hash of the rows' cells in these columns, whatever the order of the rows."""
        hashed = self.HASH.format(self._together(columns))
        row = self._arrow(
            f"SELECT count(*) AS n, CAST(coalesce(sum(h), 0) AS {self.TEXT}) AS total "
            f"FROM (SELECT {hashed} AS h FROM {self._from('given')}) AS hashed",
            ("total",),
        ).to_pylist()[0]
        return hashlib.sha256(f"{sorted(columns)} {row['n']} {row['total']}".encode()).digest()

    @property
    def stamped(self) -> bool:
        """True if a change of the table is known without reading it."""
        return False

    def state(self, columns: Sequence[str]) -> bytes:
        """A hash that differs after any change of the table. It may be another on another machine."""
        return self.fingerprint(columns)

    def many_spellings(self, columns: Sequence[str]) -> list[str]:
        """The columns with too many distinct texts for a table, by the engine's estimate."""
        if not columns:
            return []
        counted = (f"{self.DISTINCT.format(self._raw[name])} AS n{index}" for index, name in enumerate(columns))
        estimates = self._arrow(f"SELECT {', '.join(counted)} FROM {self._from('given')}")
        return [name for index, name in enumerate(columns) if _longs(estimates, f"n{index}")[0] > MOST_SPELLINGS]

    def longest(self, column: str) -> int:
        """The length of the column's longest text, in bytes."""
        length = self.BYTES.format(self._raw[column])
        return self._number(f"SELECT coalesce(max({length}), 0) AS n FROM {self._from('given')}")

    def spellings(self, column: str) -> Spellings:
        """The distinct texts of a column, in order. A cell without value is the empty text."""
        cells = f"SELECT {self._raw[column]} AS cell FROM {self._from('given')}"
        answer = self._arrow(f"SELECT cell, count(*) AS n FROM ({cells}) AS cells GROUP BY cell", ("cell",))
        texts, counts = answer.column("cell").to_pylist(), _longs(answer, "n")
        order = sorted(range(len(texts)), key=texts.__getitem__)
        return Spellings([texts[index] for index in order], counts[order])

    def map_texts(self, column: str, texts: Sequence[str], codes: Ints) -> None:
        """Gives the engine each text's code."""
        index = self.columns.index(column)
        self._coded.add(column)
        self._give(f"m{index}", {"raw": pa.array(texts, pa.string()), "code": pa.array(codes, pa.int32())})

    def group(self, grouped: GroupedColumns) -> int:
        """Counts the distinct tuples of codes on the engine, which keeps them. Returns how many there are.

        Rows to be dropped are left out.
        """
        codes = {f"c{index}": self._code(column) for index, column in enumerate(grouped.names)}
        self._groups, self._grouped_by = "groups", grouped
        self._keep(self._groups, self._counted(grouped, {*grouped.names}, "", codes))
        return self._number(f"SELECT count(*) AS n FROM {self._counted_groups}")

    def fewer(self, columns: int, index: int, parents: Ints) -> int:
        """The number of distinct tuples if each code of one column were its parent."""
        return self._number(f"SELECT count(*) AS n FROM ({self._lifted(columns, index, parents)}) AS tuples")

    def lift(self, columns: int, index: int, parents: Ints) -> None:
        """Replaces each code of one column by its parent in the tuples."""
        query = self._lifted(columns, index, parents)
        self._groups = "groups" if self._groups != "groups" else "groups_above"
        self._keep(self._groups, query)

    def often(self, index: int, codes: int) -> Longs:
        """The number of rows of each code of a column, without dropped rows."""
        total = f"SELECT c{index} AS code, CAST(sum(n) AS BIGINT) AS n FROM {self._counted_groups} GROUP BY c{index}"
        answer = self._arrow(total)
        counts = np.zeros(codes, dtype=np.int64)
        counts[_longs(answer, "code")] = _longs(answer, "n")
        return counts

    def group_sizes(self, columns: Sequence[str], dropping: Mapping[str, int] | None = None) -> tuple[Longs, Longs]:
        """The different sizes of groups of rows with equal cells, and how many groups have each.

        Left out are rows to be dropped, which are those that `group` left out unless others are named; what it has kept
        is not counted again. Of a column that has no codes texts are compared, without spaces around them.
        """
        default = self._grouped_by
        dropping = default.dropping if dropping is None else dropping
        if {*columns} <= {*default.names} and dropping == default.dropping:
            names = ", ".join(f"c{default.names.index(column)}" for column in columns)
            counted = f"SELECT CAST(sum(n) AS BIGINT) AS n FROM {self._counted_groups} GROUP BY {names}"
        else:
            coded = self._coded & {*columns}
            cells = {
                f"c{index}": self._code(column) if column in coded else f"trim({self._raw[column]})"
                for index, column in enumerate(columns)
            }
            counted = self._counted(GroupedColumns(columns, dropping), coded, "", cells)
        answer = self._arrow(f"SELECT sizes.n AS size, count(*) AS often FROM ({counted}) AS sizes GROUP BY sizes.n")
        return _longs(answer, "size"), _longs(answer, "often")

    def having(self, column: str, texts: Sequence[str]) -> tuple[int, int]:
        """The number of rows with one of these texts in the column, and of texts that occur."""
        self._give("texts", {"raw": pa.array(texts, pa.string())})
        joined_rows = f"{self._from('given')} JOIN {self._from('texts')} ON texts.raw = trim({self._raw[column]})"
        answer = self._arrow(f"SELECT count(*) AS n, count(DISTINCT texts.raw) AS kinds FROM {joined_rows}")
        return int(_longs(answer, "n")[0]), int(_longs(answer, "kinds")[0])

    def some_texts(self, column: str) -> list[str]:
        """The first texts of the column that the engine comes upon, a thousand at most."""
        query = f"SELECT {self._raw[column]} AS cell FROM {self._from('given')} LIMIT 1000"
        texts: list[str] = self._arrow(query, ("cell",)).column("cell").to_pylist()
        return texts

    def grouped(self, columns: int) -> tuple[list[Ints], Longs]:
        """The distinct tuples that were counted, in order, and how many rows have each."""
        names = [f"c{index}" for index in range(columns)]
        answer = self._arrow(f"SELECT {', '.join(names)}, n FROM {self._counted_groups}")
        tuples = [_longs(answer, name).astype(np.int32) for name in names]
        order = np.lexsort(tuples[::-1])
        return [codes[order] for codes in tuples], _longs(answer, "n")[order]

    @property
    def _counted_groups(self) -> str:
        return f"{self._prefix}{self._groups} AS groups"

    def _lifted(self, columns: int, index: int, parents: Ints) -> str:
        """The query of the distinct tuples with each code of one column replaced by its parent."""
        self._give("lifted", {"code": pa.array(np.arange(len(parents))), "above": pa.array(parents.astype(np.int64))})
        names = [f"c{number}" for number in range(columns)]
        cells = ", ".join(f"lifted.above AS {name}" if name == f"c{index}" else f"groups.{name}" for name in names)
        lifted = (
            f"SELECT {cells}, groups.n AS n FROM {self._counted_groups} "
            f"JOIN {self._from('lifted')} ON lifted.code = groups.c{index}"
        )
        columns_text = ", ".join(names)
        return f"SELECT {columns_text}, CAST(sum(n) AS BIGINT) AS n FROM ({lifted}) AS lifted GROUP BY {columns_text}"

    def carried(
        self,
        grouped: GroupedColumns,
        tuples: Sequence[Ints],
        klass: Longs,
        mapped: Sequence[str],
        read: Sequence[str],
    ) -> tuple[Longs, list[Longs], list[list[str]], Longs]:
        """The different carried cells of each class: classes, codes of mapped columns, texts of the others.

        The last are the numbers of rows that have them. Tuples of class -1 are left out.
        """
        joins = self._give_tuples("released", grouped, tuples, {"class": klass}) + " AND released.class >= 0"
        cells = {"c": "released.class"}
        cells |= {f"p{index}": self._code(column) for index, column in enumerate(mapped)}
        texts = {f"t{index}": self._raw[column] for index, column in enumerate(read)}
        query = self._counted(grouped, {*grouped.names, *mapped}, joins, {**cells, **texts})
        answer = self._arrow(query, tuple(texts))
        codes = [_longs(answer, name) for name in cells]
        return codes[0], codes[1:], [answer.column(name).to_pylist() for name in texts], _longs(answer, "n")

    def _counted(self, grouped: GroupedColumns, used: set[str], joins: str, cells: Mapping[str, str]) -> str:
        """The query of the distinct cells of the rows, and how many rows have each."""
        selection = ", ".join(f"{cell} AS {name}" for name, cell in cells.items())
        rows = (
            f"SELECT {selection} FROM {self._mapped(sorted(used | {*grouped.dropping}))}{joins} "
            f"WHERE {self._with_value(grouped.dropping)}"
        )
        names = ", ".join(cells)
        return f"SELECT {names}, count(*) AS n FROM ({rows}) AS cells GROUP BY {names}"

    def _give_tuples(
        self, name: str, grouped: GroupedColumns, tuples: Sequence[Ints], columns: Mapping[str, Longs]
    ) -> str:
        """Gives the engine tuples of codes with something of each. How a row beside its codes is joined with it."""
        spans = [int(codes.max(initial=0)) + 1 for codes in tuples]
        self._give(name, {**_packed_codes(tuples, spans), **{key: pa.array(values) for key, values in columns.items()}})
        keys = enumerate(_packed([self._code(column) for column in grouped.names], spans))
        return f" JOIN {self._from(name)} ON " + " AND ".join(f"{name}.k{number} = {key}" for number, key in keys)

    def _code(self, column: str) -> str:
        return f"m{self.columns.index(column)}.code"

    def _from(self, name: str) -> str:
        return f"{self._prefix}{name} AS {name}"

    def _together(self, columns: Sequence[str]) -> str:
        """The cells of some columns as one text."""
        return f"concat_ws({_APART}, '', {', '.join(self._raw[column] for column in sorted(columns))})"

    def _with_value(self, dropping: Mapping[str, int]) -> str:
        """The condition that rows have another code than this in each of these columns."""
        return " AND ".join(f"{self._code(column)} <> {code}" for column, code in dropping.items()) or "true"

    def _mapped(self, columns: Sequence[str]) -> str:
        """The rows, each beside the codes of its texts in these columns."""
        tables = {name: f"m{self.columns.index(name)}" for name in columns}
        joins = [f"JOIN {self._from(table)} ON {table}.raw = {self._raw[name]}" for name, table in tables.items()]
        return " ".join([self._from("given"), *joins])

    def _number(self, query: str) -> int:
        return int(self._arrow(query).column("n")[0].as_py())


def _longs(answer: pa.Table, name: str) -> Longs:
    numbers: Longs = np.asarray(answer.column(name)).astype(np.int64)
    return numbers


def _packed(codes: Sequence[str], spans: Sequence[int]) -> list[str]:
    """Expressions of as few numbers as hold all codes."""
    return [" + ".join(f"CAST({code} AS BIGINT) * {weight}" for code, weight in part) for part in _parts(codes, spans)]


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
