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
    """Items whose rows all go to one class, and items whose rows are dealt to several."""

    complete: Mapping[str, Longs]
    split: Mapping[str, Longs]

    @classmethod
    def of(cls, item: Longs, group: Longs, records: Longs, counts: Longs) -> Dealt:
        """From pieces (an item's records in a class) and each item's number of records. What is left is withheld."""
        order = np.lexsort((group, item))
        item, group, records = item[order], group[order], records[order]
        complete = records == counts[item]
        rows = {"item": item[~complete], "class": group[~complete]}
        upto = np.cumsum(records[~complete])
        begins = np.flatnonzero(np.concatenate([[True], rows["item"][1:] != rows["item"][:-1]])[: len(upto)])
        skipped = np.repeat((upto - records[~complete])[begins], np.diff(np.append(begins, len(upto))))
        split = {**rows, "above": upto - records[~complete] - skipped, "upto": upto - skipped}
        return cls({"item": item[complete], "class": group[complete]}, split)


@dataclass(frozen=True)
class ReleasedRows:
    """The rows of a release: what is published of them, and their classes."""

    columns: ReleasedColumns
    grouped: GroupedColumns
    tuples: Sequence[Ints]
    """Codes of the grouped columns,"""
    item: Longs
    """the item of each tuple,"""
    deal: Dealt
    """and the classes of each item."""

    @property
    def carried(self) -> list[str]:
        """The columns that are released as they are: those with a table of texts first."""
        return [*self.columns.mapped, *self.columns.read]

    def class_of_tuple(self) -> Longs:
        """The class of all rows of a tuple, or `SPLIT` for several, or `WITHHELD` for none."""
        classes = np.full(int(self.item.max(initial=-1)) + 1, WITHHELD, dtype=np.int64)
        classes[self.deal.split["item"]] = SPLIT
        classes[self.deal.complete["item"]] = self.deal.complete["class"]
        return classes[self.item]


class WritableRows(EngineRows):
    """The rows of one table on an engine, of which a release can be written."""

    @abstractmethod
    def write(self, target: Path, released: ReleasedRows, *, shuffled: bool) -> None:
        """Writes the released columns of all rows with a class, sorted, as one Parquet file.

        With `shuffled` they are in an order that is drawn instead.
        """

    def _dealing_order(self, cells: Sequence[str]) -> Sequence[str]:
        """The keys by whose order rows of a tuple go to several classes. Here a hash of the cells in these columns."""
        return (f"md5({self._together(cells)})",) if cells else ("1",)

    def _dealt(self, released: ReleasedRows) -> str:
        """The query of all rows with a class: `class`, and carried columns as p0, p1 ….

        Rows of a tuple that goes to several classes are ranked in an order, and dealt by their rank.
        """
        columns, grouped, deal = released.columns, released.grouped, released.deal
        columns_of_tuples = {"item": released.item, "class": released.class_of_tuple()}
        joins = self._give_tuples("tuples", grouped, released.tuples, columns_of_tuples)
        self._give("split_items", {name: pa.array(values) for name, values in deal.split.items()})
        cells = [*map(self._code, columns.mapped), *(self._raw[column] for column in columns.read)]
        cells_by_name = {f"p{index}": cell for index, cell in enumerate(cells)}
        order = {f"o{index}": key for index, key in enumerate(self._dealing_order(released.carried))}
        rows = self._mapped(sorted({*grouped.names, *grouped.dropping, *columns.mapped})) + joins
        condition = self._with_value(grouped.dropping)

        def chosen(first: str, cells: Mapping[str, str]) -> str:
            return ", ".join([first, *(f"{cell} AS {name}" for name, cell in cells.items())])

        several, complete = f"{condition} AND tuples.class = {SPLIT}", f"{condition} AND tuples.class >= 0"
        matched = f"SELECT {chosen('tuples.item AS item', cells_by_name | order)} FROM {rows} WHERE {several}"
        names = "".join(f", {name}" for name in cells_by_name)
        rank = f"row_number() OVER (PARTITION BY item ORDER BY {', '.join(order)})"
        ranked = f"SELECT item{names}, {rank} AS place FROM ({matched}) AS matched"
        return (
            f"SELECT {chosen('tuples.class AS class', cells_by_name)} FROM {rows} WHERE {complete} UNION ALL "
            f"SELECT split_items.class AS class{names} FROM ({ranked}) AS ranked JOIN {self._from('split_items')} "
            "ON ranked.item = split_items.item AND place > above AND place <= upto"
        )


def open_rows(data: str | Path, scratch: Path) -> WritableRows:
    """The rows of a table on the engine that has them, or in DuckDB. `scratch` is a folder for what memory cannot hold.

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
