"""The cost of a run, estimated on a made-up table (`shared.peeling.estimate`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from covey.hierarchy import Hierarchy
from covey.protocols.peel import choice, leakage, marginals, site
from covey.protocols.peel.parameters import Parameters
from covey.protocols.peel.tuples import Lattice
from covey.protocols.peel.visits import WINDOW
from covey.protocols.protocol import Forecast
from covey.protocols.shared import insiders, rows
from covey.protocols.shared.peeling.estimate import REPEATED, LikelyVisits, estimate
from covey.secure import shuffle, threshold_test
from covey.secure import sum as secure_sum
from covey.study import Study

SECONDS_PER_TEST = 0.6e-6
SECONDS_PER_PAD = 0.15e-6
SECONDS_PER_ROW = 1e-4
SECONDS_PER_ROUND = 3e-3
_ROW_BYTES = 64
"""Bytes of a shuffled row's values, about."""


def foresee(study: Study, rows_of: Mapping[str, int]) -> Forecast:
    """The estimated cost of a run, and what it teaches before its numbers are known."""
    params, parties = Parameters.of(study), len(study.parties)
    records = max(sum(rows_of.values()), params.k)
    trees = tuple(column.tree() for column in study.quasi)
    likely = estimate(study, trees, records, params.nodes)
    visits = _visits(trees, params, likely)
    tests, classes = visits.tests, max(1, records // (2 * params.k))
    rounds = visits.rounds(params)
    shares = threshold_test.PREPARATION_COST.bytes(parties, params.k, tests) + threshold_test.COST.bytes(parties, tests)
    learned = [*marginals.LEAKAGE.sentences(leaves=sum(tree.codes for tree in trees), k=params.k)]
    if params.two:
        learned += leakage.TWO.sentences(k=params.k)
    if params.sites is not None:
        column, sites = params.sites
        learned += site.LEAKAGE.sentences(nodes=trees[column].nodes, column=study.quasi[column].name, sites=sites)
    for part, numbers in leakage.before(params, len(likely.nodes)):
        learned += part.sentences("holder", **numbers)
    learned += [sentence for part in insiders.before(study) for sentence in part.sentences("holder")]
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
        insider_k=insiders.foretell(study, rows_of),
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


def _visits(trees: tuple[Hierarchy, ...], params: Parameters, likely: LikelyVisits) -> _Visits:
    """The tests of a peeling of a made-up table."""
    lattice = Lattice.of(trees)
    asked = zip(likely.visited, likely.left.tolist(), strict=True)
    tests = sum(min(lattice.domain(levels), int(params.buckets * left)) for levels, left in asked)
    return _Visits(tests, len(likely.visited), likely.publishing)
