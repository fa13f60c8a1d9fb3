"""What a run will cost, estimated from the numbers of rows: how often groups are cut is known only afterwards.

The figures in capitals are from runs on Adult (30,162 rows, 8 quasi columns, three to ten parties). Bytes grow with the
trees; on the hospitals sample, whose trees are four times as large, the estimate was half of what a run took.
"""

from __future__ import annotations

from collections.abc import Mapping

from covey.hierarchy import Hierarchy
from covey.protocols.cluster import leaks
from covey.protocols.protocol import Forecast
from covey.secure import conjunction, rings, threshold
from covey.secure.declare import Cost
from covey.study import Study

LEVELS = 68  # of the first division and of all regroupings together
TESTS = 120  # per cluster
NODES = 45  # below a cluster's box, in all columns
STRICT_LEVELS = 18
PREPARED = 2  # levels for which tests are prepared together
SWEEPS = 3
EXACT_SWEEPS = 9
PAPER_SWEEPS = 12
STEPS = 2  # levels of a search, each one AND around the ring
EXACT_NODES = 90  # the mean over all sweeps: random clusters' boxes are wide
TREE_NODES = 257  # of all quasi columns' hierarchies


def _rounds(parties: int, clusters: int, k: int) -> int:
    if parties == 2:
        return LEVELS * 2 * (conjunction.COST.rounds(2, 1) + 2) + SWEEPS * (3 * parties + 2) + 8
    preparing = threshold.PREPARATION_COST.rounds(parties, k, 1) // PREPARED
    return LEVELS * (preparing + 7) + SWEEPS * (3 * parties + 2) + 8


def _bytes(parties: int, clusters: int, k: int) -> int:
    width = TESTS * clusters
    if parties == 2:
        tests = conjunction.COST.bytes(2, width)
    else:
        tests = threshold.PREPARATION_COST.bytes(parties, k, width) + threshold.COST.bytes(parties, width)
    turns = parties * conjunction.COST.bytes(parties, 2 * NODES * clusters, True)
    return tests + SWEEPS * (turns + conjunction.COST.bytes(parties, NODES * clusters))


def _messages(parties: int, clusters: int, k: int) -> int:
    return _rounds(parties, clusters, k) * parties * (parties - 1) * 3 // 4


COST = Cost(rounds=_rounds, messages=_messages, bytes=_bytes)
"""Estimates for the guarded schedule: the data decide how deep the division goes and how many sweeps move records."""


STRICT_COST = Cost(
    rounds=lambda parties, clusters, k: STRICT_LEVELS * 50 + 8,
    messages=lambda parties, clusters, k: STRICT_LEVELS * 35 * parties * (parties - 1),
    bytes=lambda parties, clusters, k: _bytes(parties, clusters, k) // 8,
)
"""The same for the strict schedule, which divides once and moves nothing."""


def _exact_rounds(parties: int, clusters: int, k: int) -> int:
    return EXACT_SWEEPS * (3 * parties + 3) + 8


def _exact_bytes(parties: int, clusters: int, k: int) -> int:
    turn = conjunction.COST.bytes(parties, EXACT_NODES * clusters, True)
    return EXACT_SWEEPS * parties * turn


EXACT_COST = Cost(
    rounds=_exact_rounds,
    messages=lambda parties, clusters, k: EXACT_SWEEPS * (parties + 1) * 2 * parties * (parties - 1),
    bytes=_exact_bytes,
)
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


def _breadth(study: Study) -> float:
    """How much larger this study's trees are than those of the runs that the figures come from."""
    nodes = sum(column.hierarchy.nodes for column in study.quasi if isinstance(column.hierarchy, Hierarchy))
    return max(nodes, 1) / TREE_NODES


def foresee(study: Study, rows: Mapping[str, int]) -> Forecast:
    """What a run costs and teaches."""
    parties, k, schedule = len(study.parties), study.privacy.k, leaks.schedule_of(study)
    records = sum(rows.values())
    divides = schedule in ("guarded", "strict")
    clusters = max(1, int(records / ((1.6 if divides else 0.8) * k)))
    cost = STRICT_COST if schedule == "strict" else COST if divides else EXACT_COST
    rounds, messages = cost.rounds(parties, clusters, k), cost.messages(parties, clusters, k)
    size = int(cost.bytes(parties, clusters, k) * _breadth(study))
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
