"""A release written by the engine that has the rows: it joins each row with its tuple's class.

Rows of a tuple whose records went to several classes are ranked, and dealt to the classes by their rank. The rows then
get their classes' labels, and are sorted and written by DuckDB.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from covey.arrays import Ints, Longs
from covey.sources.engine import EngineRows, GroupedColumns

POSTGRES = ("postgres://", "postgresql://")
SPARK = ("spark://", "sc://")
"""How the addresses of tables on these engines begin."""
SPLIT, WITHHELD = -1, -2
"""In the place of a class: the rows of a tuple go to several, or to none."""


@dataclass(frozen=True)
class ReleasedColumns:
    """The columns of a release, and where the engine finds what is published in each."""

    released: Sequence[str]
    """All of them, in their order."""
    classes: Mapping[str, tuple[Sequence[str], Ints | Longs]]
    """Of each quasi column the labels, and each class's place among them."""
    mapped: Mapping[str, Sequence[str]]
    """Columns whose texts the engine has a table of, and the label of each code."""
    read: Mapping[str, Callable[[str | None], str]]
    """Columns with too many texts for that, and how a cell of them is read."""


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


@dataclass(frozen=True)
class ReleasedRows:
    """The rows of a release: what is published of them, and which class each goes to."""

    columns: ReleasedColumns
    grouped: GroupedColumns
    tuples: Sequence[Ints]
    """Codes of the grouped columns,"""
    item: Longs
    """the item of each tuple,"""
    dealt: Dealt
    """and the classes of each item."""

    @property
    def carried(self) -> list[str]:
        """The columns that are released as they are: those with a table of texts first."""
        return [*self.columns.mapped, *self.columns.read]

    def class_of_tuple(self) -> Longs:
        """The class that all rows of a tuple go to, `SPLIT` where they go to several, `WITHHELD` where to none."""
        found = np.full(int(self.item.max(initial=-1)) + 1, WITHHELD, dtype=np.int64)
        found[self.dealt.split["item"]] = SPLIT
        found[self.dealt.whole["item"]] = self.dealt.whole["class"]
        return found[self.item]


class WritableRows(EngineRows):
    """The rows of one table on an engine, of which a release can be written."""

    @abstractmethod
    def write(self, target: Path, released: ReleasedRows, *, drawn: bool) -> None:
        """Writes the released columns of all rows that have a class, sorted by content, as one Parquet file.

        With `drawn` they are in an order that is drawn instead.
        """

    def _dealing_order(self, carried: Sequence[str]) -> Sequence[str]:
        """The keys by whose order rows of a tuple go to several classes; here a hash of the cells in these columns."""
        return (f"md5({self._together(carried)})",) if carried else ("1",)

    def _dealt(self, released: ReleasedRows) -> str:
        """The query of all rows that have a class: the class as `class`, codes or texts of carried columns as p0, p1.

        Rows of a tuple that goes to several classes are ranked in an order, and dealt by their rank.
        """
        columns, grouped, dealt = released.columns, released.grouped, released.dealt
        own = {"item": released.item, "class": released.class_of_tuple()}
        joined = self._give_tuples("tuples", grouped, released.tuples, own)
        self._give("split_items", {name: pa.array(each) for name, each in dealt.split.items()})
        cells = [*map(self._code, columns.mapped), *(self._raw[column] for column in columns.read)]
        carried = {f"p{place}": cell for place, cell in enumerate(cells)}
        order = {f"o{place}": key for place, key in enumerate(self._dealing_order(released.carried))}
        rows = self._mapped(sorted({*grouped.names, *grouped.dropping, *columns.mapped})) + joined
        kept = self._with_value(grouped.dropping)

        def chosen(first: str, cells: Mapping[str, str]) -> str:
            return ", ".join([first, *(f"{cell} AS {name}" for name, cell in cells.items())])

        several, one = f"{kept} AND tuples.class = {SPLIT}", f"{kept} AND tuples.class >= 0"
        matched = f"SELECT {chosen('tuples.item AS item', carried | order)} FROM {rows} WHERE {several}"
        names = "".join(f", {name}" for name in carried)
        rank = f"row_number() OVER (PARTITION BY item ORDER BY {', '.join(order)})"
        ranked = f"SELECT item{names}, {rank} AS place FROM ({matched}) AS matched"
        return (
            f"SELECT {chosen('tuples.class AS class', carried)} FROM {rows} WHERE {one} UNION ALL "
            f"SELECT split_items.class AS class{names} FROM ({ranked}) AS ranked JOIN {self._from('split_items')} "
            "ON ranked.item = split_items.item AND place > above AND place <= upto"
        )


def open_rows(data: str | Path, scratch: Path) -> WritableRows:
    """The rows of a table on the engine that has them, or in DuckDB; `scratch` is a folder for what memory cannot hold.

    Raises InputError that names it.
    """
    if isinstance(data, str) and data.startswith(POSTGRES):
        from covey.sources.postgres import PostgresRows

        return PostgresRows(data, scratch)
    if isinstance(data, str) and data.startswith(SPARK):
        from covey.sources.spark import SparkRows

        return SparkRows(data, scratch)
    from covey.sources.duck import DuckRows

    return DuckRows(data, scratch)
