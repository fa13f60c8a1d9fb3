"""An estimate of what a run costs, from the numbers of rows: how often groups are cut is known only afterwards.

The figures in capitals are from runs on Adult (6,000 and 30,162 rows, k = 10 and 50, three to ten parties) and on the
hospitals sample (900 and 2,600 rows, k = 5, 20 and 50), whose trees are four times as large. Runs were within 1.5 times
of the estimates. Most bytes say which nodes below the clusters' boxes are common to all, so what counts is how much of
the trees still lies below them: the less, the more clusters there are for what the columns could tell apart.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from covey.protocols.cluster_rows import leakage, rings
from covey.protocols.cluster_rows.diversity import steps_of
from covey.protocols.cluster_rows.parameters import Parameters
from covey.protocols.protocol import Forecast
from covey.protocols.shared import insiders, query_errors
from covey.protocols.shared import rows as releasing
from covey.protocols.shared.diversity import fraction
from covey.secure import conjunction, shuffle, threshold_test
from covey.secure import sum as secure_sum
from covey.study import Study

LEVELS = 68  # of the first division and of all regroupings together,
MANY = 140  # and clusters from which on there are so many
CLOSINGS = 17  # of all clusters, in the levels of the division and of all regroupings together
TESTS = 140  # per cluster
ASKED = 0.75  # of the nodes below all boxes: of the clusters that a record may leave
ROUNDS_IN_A_HALVING = 9.5  # of the strict schedule, for each column and each time that n / k can be halved
STRICT_CLOSINGS = 2
PREPARED = 2  # levels for which tests are prepared together
SWEEPS = 3
SWEEPS_WITHIN_L = 2
ROUNDS_FOR_L = 100  # times l - 1: merging and the slack's tests
ROUNDS_FOR_T = 60  # a few times merging, two tests each
EXACT_SWEEPS = 9
PAPER_SWEEPS = 12
STEPS = 2  # levels of a search, each one AND around the ring
EXACT_NODES = 90  # below a random cluster's box, in all of Adult's columns
MOST_BELOW = 0.6  # the part of all nodes that lies below a box, at the most
WIDER = 2.6  # times as much lies below random clusters' boxes, in the mean over all sweeps
ROW_BYTES = 64  # of a shuffled row's values, about


@dataclass(frozen=True)
class TrafficEstimate:
    """The rounds, messages and bytes of a run among all parties; the data decide how deep the division goes, how many
    sweeps move records, and how many rounds l takes."""

    study: Study
    parameters: Parameters
    records: int

    @property
    def parties(self) -> int:
        return self.parameters.parties

    @property
    def pairs(self) -> int:
        return self.parties * (self.parties - 1)

    @property
    def clusters(self) -> int:
        """The clusters that a search ends with, about; random ones are smaller on the way."""
        return max(1, int(self.records / ((1.6 if self.parameters.divides else 0.8) * self.parameters.k)))

    @cached_property
    def below(self) -> int:
        """The nodes below the boxes of all clusters, about; between two parties depths, not nodes.

        Clusters that are cut from the table tell log2 of their number apart, of all that the columns' leaves could; in
        runs the part of the nodes left below a box fell with that share as here. Random clusters are wider.
        """
        trees = [column.tree() for column in self.study.quasi if column.closed]
        told = math.log2(self.clusters) / max(sum(math.log2(tree.codes) for tree in trees), 1.0)
        part = math.exp(1.0 - 8.0 * told)
        part = min(MOST_BELOW, part) if self.parameters.divides else min(0.95, WIDER * part)
        if self.parties == 2:
            return int(self.clusters * sum(len(tree.up) - 1 for tree in trees) * part**0.5)
        return int(self.clusters * sum(tree.nodes for tree in trees) * part)

    @property
    def rounds_for_values(self) -> int:
        """The rounds that l and t add."""
        diverse = 0 if self.parameters.l is None else int(ROUNDS_FOR_L * max(self.parameters.l - 1, 0))
        return diverse + (0 if self.parameters.t is None else ROUNDS_FOR_T)

    def rounds(self) -> int:
        """The rounds of the search."""
        parties, clusters = self.parties, self.clusters
        if self.parameters.schedule == "strict":
            return int(ROUNDS_IN_A_HALVING * len(self.study.quasi) * math.log2(2 * clusters)) + 8
        if self.parameters.schedule != "guarded":
            return EXACT_SWEEPS * (3 * parties + 3) + 8
        levels = max(1, round(LEVELS * min(1.0, clusters / MANY)))
        if parties == 2:
            rounds = 2 * (conjunction.COST.rounds(2, 1) + 2)
        else:
            rounds = threshold_test.PREPARATION_COST.rounds(parties, self.parameters.k, 1) // PREPARED + 7
        return levels * rounds + SWEEPS * (3 * parties + 2) + 8

    def messages(self) -> int:
        """The messages of the search."""
        if self.parameters.schedule == "guarded":
            return self.rounds() * self.pairs * 9 // 10
        if self.parameters.schedule == "strict":
            return self.rounds() * self.pairs
        turn = conjunction.COST.messages(self.parties, self.below, True) + (self.parties + 1) * (self.parties - 1)
        return EXACT_SWEEPS * (self.parties * turn + 3 * self.pairs)

    def bytes(self) -> int:
        """The bytes of the search, of l and of the release."""
        parties, below, clusters = self.parties, self.below, self.clusters
        closing = conjunction.COST.bytes(parties, below)
        size = self._release() + (self._slack() if self.parameters.moves_within_l else 0)
        size += 0 if self.parameters.t is None else self._tests(self.parameters.k, 2 * self._values())
        if self.parameters.schedule == "strict":
            return size + self._tests(self.parameters.k, TESTS * clusters) // 2 + STRICT_CLOSINGS * closing
        if self.parameters.schedule == "guarded":
            size += self._tests(self.parameters.k, TESTS * clusters)
            return size + int(CLOSINGS * min(1.0, clusters / MANY) * closing) + self._moves(SWEEPS)
        return size + EXACT_SWEEPS * parties * conjunction.COST.bytes(parties, below, True)

    def _tests(self, bound: int, width: int) -> int:
        """Bytes of so many tests whether counts reach a bound."""
        if self.parties == 2:
            return conjunction.COST.bytes(2, width)
        prepared = threshold_test.PREPARATION_COST.bytes(self.parties, bound, width)
        return prepared + threshold_test.COST.bytes(self.parties, bound, width)

    def _moves(self, sweeps: int) -> int:
        """Bytes of so many sweeps: everyone's turn, with two questions for each cluster, and a closing."""
        turn = conjunction.COST.bytes(self.parties, int(2 * ASKED * self.below), True)
        return sweeps * (self.parties * turn + conjunction.COST.bytes(self.parties, self.below))

    def _slack(self) -> int:
        """Bytes of learning the slack for l, and of the moves within it."""
        steps = steps_of(fraction(self.parameters.l or 1))
        return self._moves(SWEEPS_WITHIN_L) + sum(self._tests(step, self._values()) for step in steps)

    def _values(self) -> int:
        """The counts of sensitive values in all classes."""
        return self.clusters * sum(len(releasing.domain(column)) for column in self.study.sensitive)

    def _release(self) -> int:
        """Bytes of publishing the rows."""
        if releasing.by_counts(self.study, self.clusters):
            domains = [len(releasing.domain(column)) for column in releasing.carried(self.study)]
            return secure_sum.COST.bytes(self.parties, self.clusters * math.prod(domains))
        each = min(self.study.rows_at_most or self.records, self.records)
        return shuffle.COST.bytes([each] * self.parties, ROW_BYTES)


def foresee(study: Study, rows: Mapping[str, int]) -> Forecast:
    """The cost of a run, and what it teaches."""
    parameters = Parameters.of(study)
    run = TrafficEstimate(study, parameters, sum(rows.values()))
    rounds = run.rounds() + run.rounds_for_values
    messages = run.messages() + run.rounds_for_values * run.pairs * 9 // 10
    size = run.bytes()
    sweeps = {"guarded": SWEEPS, "strict": 0}.get(parameters.schedule, EXACT_SWEEPS)
    if parameters.schedule == "paper":  # about four of five records matter to their party's closure, in each sweep
        calls = PAPER_SWEEPS * run.records * 4 // 5 * STEPS
        rounds = calls * rings.AND_COST.rounds(run.parties, 1)
        messages = calls * rings.AND_COST.messages(run.parties, 1)
        size = calls * rings.AND_COST.bytes(run.parties, EXACT_NODES // 8)
    learned = tuple(
        sentence for part, numbers in leakage.before(study) for sentence in part.sentences("holder", **numbers)
    )
    learned = (*learned, *query_errors.foresee(study))
    moving = run.records * run.clusters * sweeps * 5e-9
    return Forecast(
        rounds=rounds,
        messages=messages,
        bytes=size,
        seconds=2.0 + moving + size / run.parties * 4e-8 + messages / run.parties * 2e-4,
        learns={party.name: learned for party in study.parties},
        insider_k=insiders.foretell(study, rows),
    )
