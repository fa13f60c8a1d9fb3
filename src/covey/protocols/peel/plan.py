"""What a run will cost, estimated: the list and the visits on a table of independent columns, all values alike."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from covey.crypto.rng import derive
from covey.hierarchy import Hierarchy
from covey.protocols.peel import leaks, marginals, rows
from covey.protocols.peel.nodes import Marginals, list_nodes, records_published, study_seed, synthesize
from covey.protocols.peel.terms import Terms
from covey.protocols.peel.tuples import Grid, Ints
from covey.protocols.peel.visit import WINDOW
from covey.protocols.protocol import Forecast
from covey.secure import sum as secure_sum
from covey.secure import threshold
from covey.study import Study

SECONDS_PER_TEST = 0.4e-6
_ROWS = 20_000
"""Rows of the synthetic table at most; more are scaled up."""


def foresee(study: Study, rows_of: Mapping[str, int]) -> Forecast:
    """About what a run costs, and what it teaches before its numbers are known."""
    terms, parties = Terms.of(study), len(study.parties)
    records = max(sum(rows_of.values()), terms.k)
    trees = tuple(column.tree() for column in study.quasi)
    sample = min(records, _ROWS)
    even = Marginals(sample, terms.k, tuple(np.full(tree.codes, sample // tree.codes, np.int64) for tree in trees))
    nodes = list_nodes(study, trees, even, terms.nodes)
    tests, visits = _visits(study, trees, terms, nodes, even, records / sample)
    heavy = max(1, records // (2 * terms.k))
    offline = threshold.PREPARATION_COST.bytes(parties, terms.k, tests)
    online = threshold.COST.bytes(parties, tests) + secure_sum.COST.bytes(parties, heavy)
    rounds = {"visit": 4 * visits, "skip": 3 * visits, "wave": 6 * max(1, tests // WINDOW) + visits // 4}[terms.mode]
    learned = [*marginals.LEAKAGE.sentences(leaves=sum(tree.codes for tree in trees), k=terms.k)]
    for leakage, numbers in leaks.before(terms, len(nodes)):
        learned += leakage.sentences("holder", **numbers)
    learned += rows.LEAKAGE.sentences()
    return Forecast(
        rounds=rounds,
        messages=parties * (parties - 1) * rounds * 2,
        bytes=offline + online,
        seconds=1 + tests * SECONDS_PER_TEST * (1 + terms.k / 50) + records * 1e-4,
        learns={party.name: tuple(learned) for party in study.parties},
    )


def _visits(
    study: Study, trees: tuple[Hierarchy, ...], terms: Terms, nodes: Ints, even: Marginals, scale: float
) -> tuple[int, int]:
    """Tests and visits of a peeling of one synthetic table, the rows scaled up."""
    codes, counts = synthesize(trees, even, even.records, derive(study_seed(study), "peel plan"))
    gain = records_published(study, trees, codes, counts, nodes)
    before = even.records - (np.cumsum(gain) - gain)
    grid, tests, visits = Grid.of(trees), 0, 0
    for levels, left in zip(nodes, before.tolist(), strict=True):
        if left >= terms.k:
            tests += min(grid.domain(levels), int(terms.buckets * left * scale))
            visits += 1
    return tests, visits
