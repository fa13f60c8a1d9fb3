"""What a run will cost, estimated from the numbers of rows: how often groups are cut is known only afterwards.

The figures in capitals are from runs on Adult (6,000 and 30,162 rows, k = 10 and 50, three to ten parties) and on the
hospitals sample (900 and 2,600 rows, k = 5, 20 and 50), whose trees are four times as large. Runs were within 1.5 times
of the estimates. Most bytes say which nodes below the clusters' boxes are common to all, so what counts is how much of
the trees still lies below them: the less, the more clusters there are for what the columns could tell apart.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from covey.hierarchy import Hierarchy
from covey.protocols.cluster_rows import leaks, rings
from covey.protocols.cluster_rows.diverse import steps_of
from covey.protocols.protocol import Forecast
from covey.protocols.shared import rows as releasing
from covey.protocols.shared.diversity import fraction
from covey.secure import conjunction, shuffle, threshold_test
from covey.secure import sum as secure_sum
from covey.secure.declare import Cost
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
EXACT_SWEEPS = 9
PAPER_SWEEPS = 12
STEPS = 2  # levels of a search, each one AND around the ring
EXACT_NODES = 90  # below a random cluster's box, in all of Adult's columns
MOST_BELOW = 0.6  # the part of all nodes that lies below a box, at the most
WIDER = 2.6  # times as much lies below random clusters' boxes, in the mean over all sweeps
ROW_BYTES = 64  # of a shuffled row's values, about


def _levels(clusters: int) -> int:
    return max(1, round(LEVELS * min(1.0, clusters / MANY)))


def _rounds(parties: int, clusters: int, k: int, below: int, columns: int) -> int:
    levels = _levels(clusters)
    if parties == 2:
        return levels * 2 * (conjunction.COST.rounds(2, 1) + 2) + SWEEPS * (3 * parties + 2) + 8
    preparing = threshold_test.PREPARATION_COST.rounds(parties, k, 1) // PREPARED
    return levels * (preparing + 7) + SWEEPS * (3 * parties + 2) + 8


def _bytes(parties: int, clusters: int, k: int, below: int, columns: int) -> int:
    closings = int(CLOSINGS * min(1.0, clusters / MANY) * conjunction.COST.bytes(parties, below))
    return _tests(parties, clusters, k) + closings + _moves(parties, below, SWEEPS)


def _tests(parties: int, clusters: int, k: int) -> int:
    """Bytes of the tests whether counts reach k."""
    width = TESTS * clusters
    if parties == 2:
        return conjunction.COST.bytes(2, width)
    return threshold_test.PREPARATION_COST.bytes(parties, k, width) + threshold_test.COST.bytes(parties, width)


def _moves(parties: int, below: int, sweeps: int) -> int:
    """Bytes of so many sweeps: everyone's turn, with two questions for each cluster, and a closing."""
    turn = conjunction.COST.bytes(parties, int(2 * ASKED * below), True)
    return sweeps * (parties * turn + conjunction.COST.bytes(parties, below))


def _messages(parties: int, clusters: int, k: int, below: int, columns: int) -> int:
    return _rounds(parties, clusters, k, below, columns) * parties * (parties - 1) * 9 // 10


COST = Cost(rounds=_rounds, messages=_messages, bytes=_bytes)
"""Estimates for the guarded schedule, with so many nodes below the boxes of all clusters: the data decide how deep the
division goes and how many sweeps move records."""


def _strict_rounds(parties: int, clusters: int, k: int, below: int, columns: int) -> int:
    return int(ROUNDS_IN_A_HALVING * columns * math.log2(2 * max(clusters, 1))) + 8


def _strict_bytes(parties: int, clusters: int, k: int, below: int, columns: int) -> int:
    return _tests(parties, clusters, k) // 2 + STRICT_CLOSINGS * conjunction.COST.bytes(parties, below)


STRICT_COST = Cost(
    rounds=_strict_rounds,
    messages=lambda parties, clusters, k, below, columns: (
        _strict_rounds(parties, clusters, k, below, columns) * parties * (parties - 1)
    ),
    bytes=_strict_bytes,
)
"""The same for the strict schedule, which divides once and moves nothing."""


def _exact_rounds(parties: int, clusters: int, k: int, below: int, columns: int) -> int:
    return EXACT_SWEEPS * (3 * parties + 3) + 8


def _exact_messages(parties: int, clusters: int, k: int, below: int, columns: int) -> int:
    turn = conjunction.COST.messages(parties, below, True) + (parties + 1) * (parties - 1)
    return EXACT_SWEEPS * (parties * turn + 3 * parties * (parties - 1))


def _exact_bytes(parties: int, clusters: int, k: int, below: int, columns: int) -> int:
    return EXACT_SWEEPS * parties * conjunction.COST.bytes(parties, below, True)


EXACT_COST = Cost(rounds=_exact_rounds, messages=_exact_messages, bytes=_exact_bytes)
"""The same for the exact schedule."""


def _calls(rows: int, parties: int) -> int:
    """The paper's searches: about four of five records matter to their party's own closure, in each sweep."""
    return PAPER_SWEEPS * rows * 4 // 5 * STEPS


PAPER_COST = Cost(
    rounds=lambda rows, parties: _calls(rows, parties) * rings.AND_COST.rounds(parties, 1),
    messages=lambda rows, parties: _calls(rows, parties) * rings.AND_COST.messages(parties, 1),
    bytes=lambda rows, parties: _calls(rows, parties) * rings.AND_COST.bytes(parties, EXACT_NODES // 8),
)
"""The same for the paper's rings, by the number of rows."""


def _trees(study: Study) -> list[Hierarchy]:
    return [column.tree() for column in study.quasi if column.closed]


def nodes_below(study: Study, clusters: int, *, wide: bool) -> int:
    """How many nodes lie below the boxes of so many clusters, about; between two parties depths, not nodes.

    Clusters that are cut from the table tell log2 of their number apart, of all that the columns' leaves could; in runs
    the part of the nodes left below a box fell with that share as here. Random clusters are wider.
    """
    trees = _trees(study)
    told = math.log2(max(clusters, 1)) / max(sum(math.log2(tree.codes) for tree in trees), 1.0)
    part = math.exp(1.0 - 8.0 * told)
    part = min(0.95, WIDER * part) if wide else min(MOST_BELOW, part)
    if len(study.parties) == 2:
        return int(clusters * sum(len(tree.up) - 1 for tree in trees) * part**0.5)
    return int(clusters * sum(tree.nodes for tree in trees) * part)


def _bytes_beyond(study: Study, clusters: int, records: int, below: int) -> int:
    """What l and the release add."""
    parties, size = len(study.parties), 0
    if study.privacy.l is not None and leaks.moves_within_l(study):
        watched = clusters * sum(len(releasing.domain(column)) for column in study.sensitive)
        size += _moves(parties, below, SWEEPS_WITHIN_L)
        for step in steps_of(fraction(study.privacy.l)):
            size += threshold_test.PREPARATION_COST.bytes(parties, step, watched) + threshold_test.COST.bytes(
                parties, watched
            )
    if releasing.by_counts(study, clusters):
        places = clusters * math.prod(len(releasing.domain(column)) for column in releasing.carried(study))
        return size + secure_sum.COST.bytes(parties, places)
    each = min(study.rows_at_most or records, records)
    return size + shuffle.COST.bytes([each] * parties, ROW_BYTES)


def foresee(study: Study, rows: Mapping[str, int]) -> Forecast:
    """What a run costs and teaches."""
    parties, k, schedule = len(study.parties), study.privacy.k, leaks.schedule_of(study)
    records = sum(rows.values())
    divides = schedule in ("guarded", "strict")
    clusters = max(1, int(records / ((1.6 if divides else 0.8) * k)))
    cost = STRICT_COST if schedule == "strict" else COST if divides else EXACT_COST
    below = nodes_below(study, clusters, wide=not divides)
    about = (parties, clusters, k, below, len(study.quasi))
    rounds, messages = cost.rounds(*about), cost.messages(*about)
    size = cost.bytes(*about) + _bytes_beyond(study, clusters, records, below)
    if study.privacy.l is not None:
        more = int(ROUNDS_FOR_L * max(study.privacy.l - 1, 0))
        rounds, messages = rounds + more, messages + more * parties * (parties - 1) * 9 // 10
    seconds = 2.0 + records * clusters * {"guarded": SWEEPS, "strict": 0}.get(schedule, EXACT_SWEEPS) * 5e-9
    if schedule == "paper":
        rounds, messages, size = (
            part(records, parties) for part in (PAPER_COST.rounds, PAPER_COST.messages, PAPER_COST.bytes)
        )
    learned = tuple(
        sentence
        for leakage, numbers in leaks.before(study)
        for sentence in leakage.sentences("holder", **numbers)
    )  # fmt: skip
    return Forecast(
        rounds=rounds,
        messages=messages,
        bytes=size,
        seconds=seconds + size / parties * 4e-8 + messages / parties * 2e-4,
        learns={party.name: learned for party in study.parties},
    )
