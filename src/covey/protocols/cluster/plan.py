"""What a run will cost, estimated from the numbers of rows: how often groups are cut is known only afterwards."""

from __future__ import annotations

from collections.abc import Mapping

from covey.protocols.cluster import leaks
from covey.protocols.cluster.ranges import COST as TEST
from covey.protocols.protocol import Forecast
from covey.secure import conjunction
from covey.secure.declare import Cost
from covey.study import Study

LEVELS = 17
TESTS_PER_CLUSTER = 12
NODES_PER_CLUSTER = 45
SWEEPS = 3


def _rounds(parties: int, clusters: int, k: int) -> int:
    level = TEST.rounds(parties, 1, k) + TEST.rounds(parties, 1, k) + 4
    return LEVELS * level + SWEEPS * (3 * parties + 2) + 8


def _bytes(parties: int, clusters: int, k: int) -> int:
    tests = TEST.bytes(parties, TESTS_PER_CLUSTER * clusters, 2 * k)
    turns = parties * conjunction.COST.bytes(parties, 2 * NODES_PER_CLUSTER * clusters, True)
    return tests + SWEEPS * (turns + conjunction.COST.bytes(parties, NODES_PER_CLUSTER * clusters))


def _messages(parties: int, clusters: int, k: int) -> int:
    return _rounds(parties, clusters, k) * parties * (parties - 1)


COST = Cost(rounds=_rounds, messages=_messages, bytes=_bytes)
"""Estimates, from runs on Adult: the data decide how deep the division goes and how many sweeps move records."""


def foresee(study: Study, rows: Mapping[str, int]) -> Forecast:
    """What a run costs and teaches."""
    parties, k = len(study.parties), study.privacy.k
    records = sum(rows.values())
    clusters = max(1, int(records / (1.6 * k)))
    learned = tuple(leaks.of_search(study).sentences("holder", **leaks.numbers(study)))
    most = max(rows.values(), default=0)
    return Forecast(
        rounds=COST.rounds(parties, clusters, k),
        messages=COST.messages(parties, clusters, k),
        bytes=COST.bytes(parties, clusters, k),
        seconds=2.0 + most * clusters * 4e-9 * SWEEPS + COST.bytes(parties, clusters, k) / parties * 2e-8,
        learns={party.name: learned for party in study.parties},
    )
