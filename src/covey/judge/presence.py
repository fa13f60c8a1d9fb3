"""Presence: with what chance a provider finds one of its own users to be in the release, and so all others' too.

Takenouchi, Kawamura & Ohsuga's delta-max-site-presence, as they define it: for every set of a provider's columns and
every combination v of labels there, the released rows with v over the provider's own rows that v stands for. A release
keeps delta if none of these shares is larger, for any provider. Providers that put their tables side by side, all but
one at most, are judged like one provider that has their columns and the users that they have in common.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np

from covey.arrays import Bits
from covey.errors import InputError
from covey.judge.original import read_rows, spans
from covey.judge.released import Released
from covey.judge.tuples import Cells, Tuples, alike
from covey.schema import Role
from covey.sources import Data, connect
from covey.study import Study

_ALL_SETS = 10
"""Columns of which every set is looked at; of more only single ones, pairs, and all together."""


def judge_presence(released: Released, study: Study, providers: Mapping[str, Data]) -> dict[tuple[str, ...], float]:
    """By provider, and by those of them together, the largest share of users behind labels that are released."""
    tables = {name: _original(study, name, data) for name, data in providers.items()}
    most = min(len(tables), len(study.holders) - 1)
    sets = [names for size in range(1, most + 1) for names in combinations(tables, size)]
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
    both = [each for each in rows[0] if all(each in other for other in rows[1:])]
    parts = [
        table.select(np.array([row[each] for each in both], np.int64)) for table, row in zip(tables, rows, strict=True)
    ]
    cells = [cells for part in parts for cells in part.cells if cells.column != study.key]
    return Tuples(tables[0].name, tuple(cells), np.ones(len(both), dtype=np.int64))


def largest_share(released: Released, study: Study, tables: Sequence[Tuples]) -> float:
    """The largest share for providers who have these tables."""
    original = _in_common(study, tables)
    columns = [cells.column for cells in original.cells if cells.column != study.key]
    cells = _as_classes(released, released.table.of(columns))
    covered = [_covered(own, original) for own in cells]
    worst = 0.0
    for chosen in _sets(len(columns)):
        klass, example = alike([cells[place].codes for place in chosen], len(released.table.counts))
        out = np.bincount(klass, weights=released.table.counts).astype(np.int64)
        for number, row in enumerate(example.tolist()):
            behind = np.ones(len(original.counts), dtype=bool)
            for place in chosen:
                behind &= covered[place][cells[place].codes[row]]
            users = int(original.counts[behind].sum())
            worst = max(worst, int(out[number]) / users if users else np.inf)
    return float(worst)


def _as_classes(released: Released, cells: Sequence[Cells]) -> list[Cells]:
    """The cells as they were read for the classes: an interval in one spelling."""
    known = {own.column.name: own for own in released.quasi}
    return [known.get(own.column.name, own) if own.column.role is Role.QUASI else own for own in cells]


def _covered(released: Cells, original: Tuples) -> list[Bits]:
    """For each released label which of the original's distinct rows it stands for."""
    (own,) = original.of([released.column])
    if released.column.role is not Role.QUASI:
        return [np.array([text == label for text in own.labels])[own.codes] for label in released.labels]
    places = spans(released, original)
    row = places.place[own.codes]
    return [(row >= first) & (row <= last) for first, last in zip(places.first, places.last, strict=True)]


def _sets(columns: int) -> Iterator[tuple[int, ...]]:
    sizes = range(1, columns + 1) if columns <= _ALL_SETS else (1, 2, columns)
    for size in sizes:
        yield from combinations(range(columns), size)
