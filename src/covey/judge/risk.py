"""The probability that somebody finds a person in the release, or finds that a person is in it.

The prosecutor knows that the person is in the release and searches its class. The journalist only knows that the
person is in the population, and the marketer wants as many people as possible: both search all people whom a class's
labels could mean. Without the original these are taken to be the released people alone, which is the worst case.

Presence is Takenouchi, Kawamura & Ohsuga's delta-max-site-presence: for every set of a provider's columns and every
combination v of labels there, the released rows with v over the provider's own rows that v stands for. A release keeps
delta if none of these shares is larger, for any provider. Providers that put their tables side by side, all but one at
most, are judged like one provider that has their columns and the users that they have in common.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np

from covey.arrays import Bits, Longs
from covey.errors import InputError
from covey.judge.released import Released
from covey.judge.tuples import Cells, Tuples, alike, read_rows, spans
from covey.judge.verdict import Risk, Risks
from covey.schema import Role
from covey.sources import Data, connect
from covey.study import Study


def judge_risk(sizes: Longs, k: int, meant: Longs | None) -> Risks:
    """The three risks; `meant` says how many originals each class's labels cover."""
    searched = sizes if meant is None else np.maximum(meant, 1)
    journalist = _risk(sizes, searched, k)
    return Risks(
        prosecutor=_risk(sizes, sizes, k),
        journalist=journalist,
        marketer=journalist.average,
        population="the release" if meant is None else "the original",
    )


def _risk(sizes: Longs, searched: Longs, k: int) -> Risk:
    rows = int(sizes.sum())
    return Risk(
        highest=1 / int(searched.min()),
        average=float((sizes / searched).sum() / rows),
        at_risk=int(sizes[searched < k].sum()) / rows,
    )


_ALL_SETS = 10
"""Columns of which every set is looked at; of more only single ones, pairs, and all together."""


def judge_presence(released: Released, study: Study, providers: Mapping[str, Data]) -> dict[tuple[str, ...], float]:
    """The largest share of users behind released labels, by provider and by several of them together."""
    tables = {name: _original(study, name, data) for name, data in providers.items()}
    limit = min(len(tables), len(study.holders) - 1)
    sets = [names for size in range(1, limit + 1) for names in combinations(tables, size)]
    return {names: largest_share(released, study, [tables[name] for name in names]) for names in sets}


def _original(study: Study, provider: str, data: Data) -> Tuples:
    """A provider's users with their ids. Raises InputError for a party that holds no columns of the release."""
    exact = (Role.SENSITIVE, Role.PLAIN) if study.options.get("presence") == "sensitive" else ()
    columns = [column for column in study.held_by(provider) if column.role in (Role.QUASI, *exact)]
    if not columns or not study.party(provider).holds_data:
        raise InputError(f"party {provider!r} holds no columns of the release; give the providers' tables")
    key = [study.key] if study.key is not None and len(study.holders) > 2 else []
    return read_rows(connect(data), [*key, *columns]).table


def _in_common(study: Study, tables: Sequence[Tuples]) -> Tuples:
    """The users that all of these tables have, with the columns of all."""
    if len(tables) == 1 or study.key is None:
        return tables[0]
    rows = []
    for table in tables:
        (ids,) = table.of([study.key])
        rows.append({ids.labels[code]: row for row, code in enumerate(ids.codes.tolist())})
    common = [key for key in rows[0] if all(key in table_keys for table_keys in rows[1:])]
    parts = [
        table.select(np.array([row[key] for key in common], np.int64)) for table, row in zip(tables, rows, strict=True)
    ]
    cells = [cells for part in parts for cells in part.cells if cells.column != study.key]
    return Tuples(tables[0].name, tuple(cells), np.ones(len(common), dtype=np.int64))


def largest_share(released: Released, study: Study, tables: Sequence[Tuples]) -> float:
    """The largest share for providers who have these tables."""
    original = _in_common(study, tables)
    columns = [cells.column for cells in original.cells if cells.column != study.key]
    cells = _as_classes(released, released.table.of(columns))
    covered = [_covered(cell_column, original) for cell_column in cells]
    worst = 0.0
    for subset in _sets(len(columns)):
        klass, example = alike([cells[index].codes for index in subset], len(released.table.counts))
        counts = np.bincount(klass, weights=released.table.counts).astype(np.int64)
        for number, row in enumerate(example.tolist()):
            behind = np.ones(len(original.counts), dtype=bool)
            for index in subset:
                behind &= covered[index][cells[index].codes[row]]
            users = int(original.counts[behind].sum())
            worst = max(worst, int(counts[number]) / users if users else np.inf)
    return float(worst)


def _as_classes(released: Released, cells: Sequence[Cells]) -> list[Cells]:
    """The cells as they were read for the classes: an interval in one spelling."""
    quasi = {column.column.name: column for column in released.quasi}
    return [quasi.get(column.column.name, column) if column.column.role is Role.QUASI else column for column in cells]


def _covered(released: Cells, original: Tuples) -> list[Bits]:
    """For each released label which of the original's distinct rows it stands for."""
    (cells,) = original.of([released.column])
    if released.column.role is not Role.QUASI:
        return [np.array([text == label for text in cells.labels])[cells.codes] for label in released.labels]
    stretches = spans(released, original)
    row = stretches.place[cells.codes]
    return [(row >= first) & (row <= last) for first, last in zip(stretches.first, stretches.last, strict=True)]


def _sets(columns: int) -> Iterator[tuple[int, ...]]:
    sizes = range(1, columns + 1) if columns <= _ALL_SETS else (1, 2, columns)
    for size in sizes:
        yield from combinations(range(columns), size)
