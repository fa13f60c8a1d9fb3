"""Errors of random COUNT queries over all parties' rows, where a study has `[evaluate] joint = true`.

The queries follow from the classes, which everyone knows; so does the estimate of each answer, in which a class's
records lie evenly over the values of its labels. Each party counts its own records. The squares of the differences
between the joint counts and the estimates are added up unseen, for each kind of query, and only these sums are opened:
one figure of error for all rows, and no party's own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from covey.arrays import Bits, Floats, Ints, Longs
from covey.errors import Aborted
from covey.evaluation.queries import MOST_COLUMNS, QUERIES, SELECTIVITIES, random_values
from covey.hierarchy import Hierarchy
from covey.protocols.protocol import Figures, Seat
from covey.secure import squares
from covey.secure.declare import Leakage, Lesson
from covey.study import Study
from covey.table import Table

LEAKAGE = Leakage(
    everyone=(
        "how far {queries} random COUNT queries on the release are from the truth of all rows: the root mean square "
        "error for each kind of query, {kinds} in all; no query's answer, and no party's part",
    )
)


@dataclass(frozen=True)
class QueryKind:
    """Queries over the same number of columns and of the same selectivity."""

    columns: int
    selectivity: float


@dataclass(frozen=True)
class RandomQueries:
    """The queries of every kind, one kind after the other, and what the classes answer."""

    kinds: tuple[QueryKind, ...]
    queries: tuple[tuple[tuple[int, Bits], ...], ...]
    """Of each query: its columns, and in each the values that it asks for."""
    estimates: Longs

    @classmethod
    def drawn(cls, trees: Sequence[Hierarchy], boxes: Ints, sizes: Longs) -> RandomQueries:
        """The queries that follow from these classes (classes x columns)."""
        public = hashlib.sha256(np.ascontiguousarray(boxes, dtype="<i8").tobytes() + sizes.astype("<i8").tobytes())
        draws = np.random.default_rng(int.from_bytes(public.digest(), "big"))
        spans = [(tree.first[boxes[:, c]], tree.last[boxes[:, c]]) for c, tree in enumerate(trees)]
        weights = [_evenly(span, sizes, tree.codes) for span, tree in zip(spans, trees, strict=True)]
        useful = [c for c, weight in enumerate(weights) if np.count_nonzero(weight) > 1]
        kinds = [
            QueryKind(columns, selectivity)
            for columns in range(1, min(MOST_COLUMNS, len(useful)) + 1)
            for selectivity in SELECTIVITIES
        ]
        queries, estimates = [], []
        for kind in kinds:
            for _ in range(QUERIES):
                part = kind.selectivity ** (1 / kind.columns)
                query = tuple(
                    (c, random_values(weights[c], part, draws, ordered=trees[c].kind != "text"))
                    for c in draws.choice(useful, kind.columns, replace=False).tolist()
                )
                queries.append(query)
                estimates.append(_estimate(query, spans, sizes))
        return cls(tuple(kinds), tuple(queries), np.array(estimates, dtype=np.int64))

    def count(self, codes: Ints, counts: Longs | None = None) -> Longs:
        """The number of records (columns x rows, of `counts` records each) that each query asks for."""
        answers = np.zeros(len(self.queries), dtype=np.int64)
        for place, query in enumerate(self.queries):
            asked = np.ones(codes.shape[1], dtype=bool)
            for column, chosen in query:
                asked &= chosen[codes[column]]
            answers[place] = np.count_nonzero(asked) if counts is None else counts[asked].sum()
        return answers

    def errors(self, sums: Longs) -> dict[str, float]:
        """The error of each number of columns, from each kind's sum of squares: relative to the estimates."""
        expected = (self.estimates**2).reshape(len(self.kinds), -1).sum(axis=1)
        found = {}
        for columns in sorted({kind.columns for kind in self.kinds}):
            own = np.array([kind.columns == columns for kind in self.kinds])
            parts = np.sqrt(sums[own] / np.maximum(expected[own], 1))
            found[str(columns)] = float(parts.mean())
        return found


async def learn(
    seat: Seat, trees: Sequence[Hierarchy], boxes: Ints, sizes: Longs, own: Table, known: Figures
) -> Figures:
    """The figures with the joint error of queries, if the study asks for it; `own` has this party's records.

    One party takes the estimates off its counts, so that the joint numbers are the differences.
    """
    if not seat.study.evaluates_jointly:
        return known
    queries = RandomQueries.drawn(trees, boxes, sizes)
    if not queries.kinds:
        return known
    seat.ledger.learns(LEAKAGE, queries=len(queries.queries), kinds=len(queries.kinds))
    channel = seat.channel.at("evaluate")
    mine = queries.count(own.codes, own.counts) - (queries.estimates if channel.me == min(channel.parties) else 0)
    sums = await squares.sums(channel, mine, len(queries.kinds))
    if (sums > QUERIES * float(known.rows + known.withheld) ** 2).any():
        raise Aborted("the errors of queries are impossible: a party did not keep to the protocol", resumable=False)
    return replace(known, query_error=queries.errors(sums))


def ideal(study: Study, trees: Sequence[Hierarchy], boxes: Ints, sizes: Longs, codes: Ints, known: Figures) -> Figures:
    """The same by a trusted party, who has all records."""
    if not study.evaluates_jointly:
        return known
    queries = RandomQueries.drawn(trees, boxes, sizes)
    differences = queries.count(codes) - queries.estimates
    sums = (differences**2).reshape(max(len(queries.kinds), 1), -1).sum(axis=1)
    return replace(known, query_error=queries.errors(sums)) if queries.kinds else known


def foresee(study: Study) -> list[Lesson]:
    """The lesson of a run, where the study asks for the errors."""
    if not study.evaluates_jointly:
        return []
    numbers, kinds = most_squares(study)
    return [(LEAKAGE, {"queries": numbers, "kinds": kinds})]


def most_squares(study: Study) -> tuple[int, int]:
    """The numbers and the groups of a run, at most, for a plan."""
    kinds = min(MOST_COLUMNS, len(study.quasi)) * len(SELECTIVITIES)
    return kinds * QUERIES, kinds


def _evenly(span: tuple[Ints, Ints], sizes: Longs, codes: int) -> Floats:
    """The records at each value, if a class's lie evenly over its label's values."""
    first, last = span
    change = np.zeros(codes + 1)
    each = sizes / (last - first + 1)
    np.add.at(change, first, each)
    np.add.at(change, last + 1, -each)
    weight = np.cumsum(change)[:-1]
    weight[weight < 1e-9 * sizes.sum()] = 0.0
    return weight


def _estimate(query: Sequence[tuple[int, Bits]], spans: Sequence[tuple[Ints, Ints]], sizes: Longs) -> int:
    part = np.ones(len(sizes))
    for column, chosen in query:
        first, last = spans[column]
        total = np.concatenate([[0], np.cumsum(chosen)])
        part *= (total[last + 1] - total[first]) / (last - first + 1)
    return round(float(part @ sizes))
