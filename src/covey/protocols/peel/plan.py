"""What a run will cost, estimated: the list and the visits on a table of independent columns, all values alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from covey.crypto.rng import derive
from covey.hierarchy import Hierarchy
from covey.protocols.peel import leaks, leftover, marginals, site
from covey.protocols.peel.nodes import Marginals, list_nodes, records_published, study_seed, synthesize
from covey.protocols.peel.terms import Terms
from covey.protocols.peel.tuples import Grid, Ints
from covey.protocols.peel.visit import WINDOW
from covey.protocols.protocol import Forecast
from covey.secure import choice, threshold
from covey.secure import sum as secure_sum
from covey.study import Study

SECONDS_PER_TEST = 0.6e-6
SECONDS_PER_PAD = 2e-6
SECONDS_PER_ROW = 1e-4
_ROWS = 20_000
"""Rows of the synthetic table at most; more are scaled up."""


REPEATED = (
    "another release of nearly the same records shows what differs between the two, down to one record: agree on how "
    "many releases of this table there may be, and count them"
)


def foresee(study: Study, rows_of: Mapping[str, int]) -> Forecast:
    """About what a run costs, and what it teaches before its numbers are known."""
    terms, parties = Terms.of(study), len(study.parties)
    records = max(sum(rows_of.values()), terms.k)
    trees = tuple(column.tree() for column in study.quasi)
    sample = min(records, _ROWS)
    even = Marginals(
        sample, terms.k, tuple(np.full(tree.codes, max(1, sample // tree.codes), np.int64) for tree in trees)
    )
    nodes = list_nodes(study, trees, even, terms.nodes)
    visits = _visits(study, trees, terms, nodes, even, records / sample)
    tests, classes = visits.tests, max(1, records // (2 * terms.k))
    rounds = visits.rounds(terms)
    shares = threshold.PREPARATION_COST.bytes(parties, terms.k, tests) + threshold.COST.bytes(parties, tests)
    learned = [*marginals.LEAKAGE.sentences(leaves=sum(tree.codes for tree in trees), k=terms.k)]
    if terms.two:
        learned += leaks.TWO.sentences(k=terms.k)
    if terms.sites is not None:
        column, sites = terms.sites
        learned += site.LEAKAGE.sentences(nodes=trees[column].nodes, column=study.quasi[column].name, sites=sites)
    for leakage, numbers in leaks.before(terms, len(nodes)):
        learned += leakage.sentences("holder", **numbers)
    if terms.merge:
        learned += leftover.leakage(parties).sentences("holder", rows=f"fewer than {terms.k}")
    return Forecast(
        rounds=rounds,
        messages=2 * parties * (parties - 1) * rounds,
        bytes=(choice.COST.bytes(terms.k, tests) if terms.two else shares) + secure_sum.COST.bytes(parties, classes),
        seconds=1 + records * SECONDS_PER_ROW + tests * (terms.k * SECONDS_PER_PAD if terms.two else SECONDS_PER_TEST),
        learns={party.name: tuple(learned) for party in study.parties},
        mind=(REPEATED,),
    )


@dataclass(frozen=True)
class _Visits:
    tests: int
    number: int
    publishing: int

    def rounds(self, terms: Terms) -> int:
        """About how many exchanges follow each other: measured on Adult and on the sample of hospitals."""
        windows = -(-self.tests // WINDOW)
        found = {"visit": 2 * self.number + 10 * self.publishing, "skip": 2 * windows + 10 * self.publishing}
        searched = found.get(terms.mode, 24 * windows)
        more = 0 if terms.diverse is None else 20 * self.publishing
        return 20 + searched + more


def _visits(
    study: Study, trees: tuple[Hierarchy, ...], terms: Terms, nodes: Ints, even: Marginals, scale: float
) -> _Visits:
    """A peeling of one synthetic table, the rows scaled up."""
    codes, counts = synthesize(trees, even, even.records, derive(study_seed(study), "peel plan"))
    gain = records_published(study, trees, codes, counts, nodes)
    before = even.records - (np.cumsum(gain) - gain)
    grid = Grid.of(trees)
    visited = [(levels, left) for levels, left in zip(nodes, before.tolist(), strict=True) if left >= terms.k]
    tests = sum(min(grid.domain(levels), int(terms.buckets * left * scale)) for levels, left in visited)
    return _Visits(tests, len(visited), int((gain > 0).sum()))
