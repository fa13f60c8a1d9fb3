"""The cost of a run, estimated on a made-up table: few values are frequent, and most records resemble others.

How frequent and how much alike was chosen so that the tests that Adult needs at k = 10 and 50 come out right within a
third; on other tables expect the order of magnitude.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from covey.arrays import Ints, Longs
from covey.crypto.rng import Rng, derive
from covey.crypto.secret import Secret
from covey.hierarchy import Hierarchy
from covey.protocols.peel import choice, leakage, marginals, site
from covey.protocols.peel.parameters import Parameters
from covey.protocols.peel.tuples import Lattice
from covey.protocols.peel.visits import WINDOW
from covey.protocols.protocol import Forecast
from covey.protocols.shared import rows
from covey.protocols.shared.peeling.marginals import Marginals, study_seed
from covey.protocols.shared.peeling.nodes import distinct, list_nodes, records_published
from covey.secure import shuffle, threshold_test
from covey.secure import sum as secure_sum
from covey.study import Study

SECONDS_PER_TEST = 0.6e-6
SECONDS_PER_PAD = 0.15e-6
SECONDS_PER_ROW = 1e-4
SECONDS_PER_ROUND = 3e-3
_ROW_BYTES = 64
"""Bytes of a shuffled row's values, about."""
_ROWS = 20_000
"""Rows of the synthetic table at most; more are scaled up."""


REPEATED = (
    "another release of nearly the same records shows what differs between the two, down to one record: agree on how "
    "many releases of this table there may be, and count them"
)


def foresee(study: Study, rows_of: Mapping[str, int]) -> Forecast:
    """The estimated cost of a run, and what it teaches before its numbers are known."""
    params, parties = Parameters.of(study), len(study.parties)
    records = max(sum(rows_of.values()), params.k)
    trees = tuple(column.tree() for column in study.quasi)
    sample = min(records, _ROWS)
    likely = Marginals(sample, params.k, tuple(_frequencies(tree.codes, sample) for tree in trees))
    nodes = list_nodes(study, trees, likely, params.nodes)
    visits = _visits(study, trees, params, nodes, likely, records / sample)
    tests, classes = visits.tests, max(1, records // (2 * params.k))
    rounds = visits.rounds(params)
    shares = threshold_test.PREPARATION_COST.bytes(parties, params.k, tests) + threshold_test.COST.bytes(parties, tests)
    learned = [*marginals.LEAKAGE.sentences(leaves=sum(tree.codes for tree in trees), k=params.k)]
    if params.two:
        learned += leakage.TWO.sentences(k=params.k)
    if params.sites is not None:
        column, sites = params.sites
        learned += site.LEAKAGE.sentences(nodes=trees[column].nodes, column=study.quasi[column].name, sites=sites)
    for part, numbers in leakage.before(params, len(nodes)):
        learned += part.sentences("holder", **numbers)
    sent = (choice.COST.bytes(params.k, tests) if params.two else shares) + secure_sum.COST.bytes(parties, classes)
    if not rows.by_counts(study, classes):
        each = min(study.rows_at_most or records, records)
        sent += shuffle.COST.bytes([each] * parties, _ROW_BYTES)
    computing = tests * ((2 + params.k) * SECONDS_PER_PAD if params.two else SECONDS_PER_TEST * parties / 3)
    forecast = Forecast(
        rounds=rounds,
        messages=2 * parties * (parties - 1) * rounds,
        bytes=sent,
        seconds=1 + records * SECONDS_PER_ROW + rounds * SECONDS_PER_ROUND + computing,
        learns={party.name: tuple(learned) for party in study.parties},
        mind=(REPEATED,),
    )
    modes = {mode: visits.rounds(replace(params, mode=mode)) for mode in _modes(params)}
    others = {
        f'mode = "{mode}"': replace(
            forecast, rounds=number, seconds=forecast.seconds + (number - rounds) * SECONDS_PER_ROUND
        )
        for mode, number in modes.items()
    }
    return replace(forecast, choices=others, chosen=f'mode = "{params.mode}"')


def _modes(params: Parameters) -> tuple[str, ...]:
    """The modes that such a study can run, the one that teaches least first."""
    return ("visit", "wave") if params.two else ("visit", "skip", "wave")


@dataclass(frozen=True)
class _Visits:
    tests: int
    number: int
    publishing: int

    def rounds(self, params: Parameters) -> int:
        """The number of exchanges that follow each other, about: measured on Adult and on the sample of hospitals."""
        windows = -(-self.tests // WINDOW)
        found = {"visit": 2 * self.number + 10 * self.publishing, "skip": 2 * windows + 10 * self.publishing}
        searched = found.get(params.mode, 24 * windows)
        more = 0 if params.diverse is None else 4 * self.publishing
        return 20 + searched + more


def _visits(
    study: Study, trees: tuple[Hierarchy, ...], params: Parameters, nodes: Ints, likely: Marginals, scale: float
) -> _Visits:
    """A peeling of a made-up table, the rows scaled up."""
    codes, counts = _made_up(trees, likely, derive(study_seed(study), "peel plan"))
    gain = records_published(study, trees, codes, counts, nodes)
    before = likely.records - (np.cumsum(gain) - gain)
    lattice = Lattice.of(trees)
    visited = [(levels, left) for levels, left in zip(nodes, before.tolist(), strict=True) if left >= params.k]
    tests = sum(min(lattice.domain(levels), int(params.buckets * left * scale)) for levels, left in visited)
    return _Visits(tests, len(visited), int((gain > 0).sum()))


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
