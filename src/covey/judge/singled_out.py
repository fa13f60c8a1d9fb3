"""Rows that one published cell singles out, or two: values, or pairs of values, that one row alone bears.

Counted is the release as it is written, cell by cell: a label, a text as it stands, a missing cell.
Nothing of this comes from the draft of a study or from an anonymizer. A published cell that one row alone bears leads
everybody who knows it of a person to all that the row says of the person; so does a pair of cells.
"""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from covey.arrays import Bits, Ints
from covey.bounds import limit
from covey.judge.released import Released
from covey.judge.tuples import Tuples, aligned, alike
from covey.judge.verdict import Requirement
from covey.schema import Role
from covey.sources import Source
from covey.study import Study
from covey.summary import SingledOut, SingledPair

NAME = "rows singled out by one published cell"
ADVICE = "; group rare values, code those at the ends, or allow the column with a reason: singles_out"
MOST_ROWS = 10_000_000
MOST_PAIRS = 200
"""Above these only pairs with an exact column are counted."""
_LISTED = 10  # pairs of columns that are named
_DENSE, _LEAST_DENSE = 4, 2**20
"""The most cells of a table of counts: so many for a row, or so many; where there would be more, pairs are sorted."""


@dataclass(frozen=True)
class CountedCells:
    """The count, and the exact columns that have one value."""

    singled_out: SingledOut
    constant: tuple[str, ...]


def count_cells(source: Source, study: Study) -> CountedCells:
    """Counts the rows that one cell, or two cells, of a release single out. Reads the rows once, some at a time."""
    names = [column.name for column in study.released]
    exact = [column.name for column in study.released if column.role is not Role.QUASI]
    codes, spans = _codes(source, names)
    singles, columns = np.zeros(source.rows, dtype=bool), {}
    for name, column, span in zip(names, codes, spans, strict=True):
        unique = (np.bincount(column, minlength=span) == 1)[column]
        singles |= unique
        if unique.any():
            columns[name] = int(unique.sum())
    pairs = list(combinations(range(len(names)), 2))
    only_exact = len(pairs) > MOST_PAIRS or source.rows > MOST_ROWS
    two, by_pair = singles.copy() if len(names) > 1 else np.zeros_like(singles), []
    for first, second in pairs:
        if only_exact and names[first] not in exact and names[second] not in exact:
            continue
        unique = _alone(codes[first], codes[second], spans[first], spans[second])
        two |= unique
        if rows := int(unique.sum()):
            by_pair.append(SingledPair([names[first], names[second]], rows))
    by_pair.sort(key=lambda pair: (-pair.rows, pair.columns))
    constant = tuple(name for name, span in zip(names, spans, strict=True) if span == 1 and name in exact)
    counted = SingledOut(
        one=int(singles.sum()), two=int(two.sum()), columns=columns, pairs=by_pair[:_LISTED], only_exact=only_exact
    )
    return CountedCells(counted, constant)


def _codes(source: Source, names: Sequence[str]) -> tuple[Ints, list[int]]:
    """The cells as codes of each column's texts, and the number of texts of each column.

    Codes that would take much memory lie in a file.
    """
    shape = (len(names), source.rows)
    if shape[0] * shape[1] * 4 > limit() // 4:
        with tempfile.TemporaryFile() as file:  # lives as long as the array does
            codes: Ints = np.memmap(file, dtype=np.int32, mode="w+", shape=shape)
    else:
        codes = np.empty(shape, dtype=np.int32)
    codes_of: list[dict[str, int]] = [{} for _ in names]
    start = 0
    for batch in source.batches(names):
        stop = start + batch.num_rows
        for index, code_of in enumerate(codes_of):
            texts = batch.column(index).fill_null("").dictionary_encode()
            lookup = [code_of.setdefault(text, len(code_of)) for text in texts.dictionary.to_pylist()]
            codes[index, start:stop] = np.array(lookup, dtype=np.int32)[np.asarray(texts.indices)]
        start = stop
    return codes, [len(code_of) for code_of in codes_of]


def _alone(first: Ints, second: Ints, span: int, second_span: int) -> Bits:
    """The rows whose pair of cells no other row has."""
    pair = first.astype(np.int64) * second_span + second
    if span * second_span <= max(_DENSE * len(pair), _LEAST_DENSE):
        return np.asarray((np.bincount(pair, minlength=1) == 1)[pair])
    _, index, counts = np.unique(pair, return_inverse=True, return_counts=True)
    return np.asarray((counts == 1)[index.reshape(-1)])


def not_allowed(study: Study, columns: Collection[str]) -> list[str]:
    """Those of these columns that may not single anybody out: the study gives no reason."""
    return [column.name for column in study.released if column.name in columns and column.singles_out is None]


def require_nobody(study: Study, counted: SingledOut) -> Iterator[Requirement]:
    """Requires that no published cell singles out a row, but in columns that the study allows."""
    refused = not_allowed(study, counted.columns)
    for name in refused:
        yield Requirement(NAME, name, "at most", 0, counted.columns[name], met=False, detail=ADVICE)
    if not refused:
        reasons = [
            f"{column.name!r}: {column.singles_out}" for column in study.released if column.name in counted.columns
        ]
        detail = f" of columns without a reason for it ({'; '.join(reasons)})" if reasons else ""
        yield Requirement(NAME, None, "at most", 0, 0, met=True, detail=detail)


def refusal(study: Study, counted: SingledOut) -> str | None:
    """The sentence for a release that may not be published, with the columns' names. None where it may."""
    refused = not_allowed(study, counted.columns)
    if not refused:
        return None
    columns = ", ".join(f"{name!r} (rows: {counted.columns[name]:,})" for name in refused)
    return f"one published cell singles out people, by the column {columns}{ADVICE}"


def kept(study: Study, lm: float, constant: Collection[str]) -> float:
    """The mean over published columns: 1 - LM of a quasi column, 1 of an exact one.

    A column that waits for an answer counts, and is 0.
    """
    exact = sum(column.role is not Role.QUASI and column.name not in constant for column in study.released)
    waiting = sum(column.role == "ask" for column in study.columns)
    columns = len(study.quasi) + exact + waiting
    return (len(study.quasi) * (1 - lm) + exact) / columns if columns else 0.0


def linked(released: Released, original: Tuples) -> float:
    """The part of the original's rows that one or two exact published cells link to one row."""
    originals = original.of([cells.column for cells in released.carried])
    columns = [aligned(cells, origin) for cells, origin in zip(released.carried, originals, strict=True)]
    rows = len(released.table.counts)
    mask = np.zeros(len(original.counts), dtype=bool)
    for subset in [*((column,) for column in columns), *combinations(columns, 2)]:
        group, first = alike(subset, rows + len(original.counts))
        borne = np.bincount(group[:rows], weights=released.table.counts, minlength=len(first))
        mask |= (borne == 1)[group[rows:]]
    return float(original.counts[mask].sum() / original.rows)
