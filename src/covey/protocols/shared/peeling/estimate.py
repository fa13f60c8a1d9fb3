"""The visits of a run, estimated on a made-up table: few values are frequent, and most records resemble others.

How frequent and how much alike was chosen so that the tests that Adult needs at k = 10 and 50 come out right within a
third; on other tables expect the order of magnitude.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from covey.arrays import Floats, Ints, Longs
from covey.crypto.rng import Rng, derive
from covey.crypto.secret import Secret
from covey.hierarchy import Hierarchy
from covey.protocols.shared.peeling.marginals import Marginals, of_records, study_seed
from covey.protocols.shared.peeling.nodes import distinct, list_nodes, records_published
from covey.study import Study

_ROWS = 20_000
"""Rows of the synthetic table at most; more are scaled up."""

REPEATED = (
    "another release of nearly the same records shows what differs between the two, down to one record: agree on how "
    "many releases of this table there may be, and count them"
)


@dataclass(frozen=True)
class LikelyVisits:
    """The nodes of the list, those that are likely visited, and how many records are then left."""

    nodes: Ints
    visited: Ints
    left: Floats
    """The number of records in play at each visit."""
    publishing: int
    """The number of visits at which classes are published."""


def estimate(study: Study, trees: tuple[Hierarchy, ...], records: int, most: int, pairs: bool) -> LikelyVisits:
    """The likely visits of a run over so many records; at most `most` nodes are listed, perhaps knowing `pairs`."""
    sample = min(records, _ROWS)
    likely = Marginals(sample, study.privacy.k, tuple(_frequencies(tree.codes, sample) for tree in trees))
    codes, counts = _made_up(trees, likely, derive(study_seed(study), "peel plan"))
    if pairs:
        likely = of_records(study, trees, np.repeat(codes, counts, axis=1), pairs)
    nodes = list_nodes(study, trees, likely, most)
    gain = records_published(study, trees, codes, counts, nodes)
    before = likely.records - (np.cumsum(gain) - gain)
    visited = before >= study.privacy.k
    left = (before[visited] * (records / sample)).astype(np.float64)
    return LikelyVisits(nodes, nodes[visited], left, int((gain > 0).sum()))


def _frequencies(values: int, rows: int) -> Longs:
    """The number of rows that have each value, if the n-th has n^-1.3 times as many as the first."""
    share = 1.0 / np.arange(1, values + 1) ** 1.3
    counts: Longs = np.maximum(1, np.round(rows * share / share.sum())).astype(np.int64)
    return counts


def _made_up(trees: tuple[Hierarchy, ...], likely: Marginals, seed: Secret) -> tuple[Ints, Longs]:
    """Distinct records with their counts: like one of a few people each, but for one cell in twenty."""
    rows, people = likely.records, max(20, likely.records // 100)
    stream = Rng(seed).stream("rows")
    whom = (people * (stream.words_below(1 << 30, rows) / (1 << 30)) ** 2).astype(np.int64)
    columns = []
    for column in range(len(trees)):
        ends = np.cumsum(likely.weights(column)).astype(np.uint64)
        drawn = np.searchsorted(ends, stream.words_below(int(ends[-1]), people + rows), side="right").astype(np.int32)
        differs = stream.words_below(20, rows) == 0
        columns.append(np.where(differs, drawn[people:], drawn[:people][whom]))
    return distinct(columns)
