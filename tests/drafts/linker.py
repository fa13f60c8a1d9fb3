"""A stranger with the released file and nothing else: the standard library alone, no code of Covey."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path


@dataclass(frozen=True)
class Published:
    """A released file: its columns by name."""

    columns: dict[str, list[str]]

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(next(iter(self.columns.values()), []))


def read(path: Path) -> Published:
    """Returns the cells of a released file."""
    with path.open(encoding="utf-8", newline="") as file:
        header, *rows = list(csv.reader(file))
    return Published({name: [row[place] for row in rows] for place, name in enumerate(header)})


def alone(columns: Sequence[Sequence[str]]) -> set[int]:
    """Returns the rows that nobody shares their cells in these columns with."""
    cells = list(zip(*columns, strict=True))
    often = Counter(cells)
    return {row for row, cell in enumerate(cells) if often[cell] == 1}


def singled_out(release: Published, cells: int) -> set[int]:
    """Returns the rows that some so many of their cells single out."""
    chosen = combinations(release.columns.values(), cells)
    return set().union(*(alone(columns) for columns in chosen))


def alive(release: Published, name: str) -> bool:
    """True if at least half of the rows have a label below the root, and there are two such labels or more."""
    labels = [label for label in release.columns.get(name, []) if label != "*"]
    return 2 * len(labels) >= release.rows > 0 and len(set(labels)) >= 2


def recognized(release: Published, raw: Published, names: Iterable[str]) -> dict[str, str]:
    """Returns released columns in which a raw value of these columns can be read, with that raw column's name."""
    parts = {name: {part for cell in cells for part in _parts(cell)} for name, cells in release.columns.items()}
    found = {}
    for secret in names:
        values = {value for value in raw.columns[secret] if len(value) >= 5}
        found.update({name: secret for name, cells in parts.items() if name == secret or cells & values})
    return found


def _parts(cell: str) -> Iterable[str]:
    yield cell
    yield from (part.strip() for part in cell.split("|"))
    yield cell.split(" or ", maxsplit=1)[0]
