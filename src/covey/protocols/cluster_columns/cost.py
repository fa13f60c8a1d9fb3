"""An estimate of the cost of a run with columns split, from the number of records: the data decide how many move.

The figures in capitals are from runs on Adult (30,162 rows, 8 quasi columns, two to four holders, k = 10 and 50).
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from covey.protocols.cluster_columns import argmin, leakage
from covey.protocols.cluster_columns.parameters import BLOCK, Parameters, role_name
from covey.protocols.protocol import Forecast
from covey.protocols.shared import columns
from covey.secure import align, approval, coin
from covey.study import Study

SWEEPS = 5.0
"""Times that every record is compared with every cluster of its block, in all sweeps together."""
BATCHES = 10
"""Batches of all sweeps together, for each k, at k = 10; with the third root of k they grow more."""
WIDER = 2.0
"""The size of a block, by the size that it must have."""
EXACT = 3
"""Comparisons and batches of the exact schedule, by those of the guarded one."""


def foresee(study: Study, rows: Mapping[str, int]) -> Forecast:
    """The cost of a run, and what it teaches."""
    parameters = Parameters.of(study)
    holders, parties, k = len(parameters.holders), len(study.parties), parameters.k
    records = max(1, min((rows.get(name, 0) for name in parameters.holders), default=1))
    exact = parameters.fewest is None
    more = EXACT if exact else 1
    block = records if exact else min(records, WIDER * BLOCK * k)
    prices = int(records * (2 * block / k) * SWEEPS * more)
    depth = 0 if exact else max(1, math.ceil(math.log2(max(2.0, records / k))) + 4)
    asked = depth + more * int(BATCHES * k * (k / 10) ** (1 / 3)) + 15
    sizes = [rows.get(name, records) for name in parameters.holders]
    adding = holders if parameters.evaluator is not None else holders - 1
    size = adding * 4 * prices + align.COST.bytes(sizes, records) + (holders - 1) * (depth + 30) * 2 * records
    messages = asked * 2 * adding + asked * adding * (4 * prices // max(asked, 1) // (4 * argmin.CHUNK))
    messages += depth * holders + align.COST.messages(sizes, records) + approval.COST.messages(parties)
    meeting, named = columns.meeting_leakage(study, leakage.HOLDERS)
    learned = {}
    for party in study.parties:
        role = role_name(study, party.name)
        learned[party.name] = (
            *meeting.sentences(role, **named),
            *leakage.of_search(parameters).sentences(role, **leakage.numbers(parameters)),
        )
    return Forecast(
        rounds=2 * asked + depth + 12 + (coin.COST.rounds(holders) if parameters.evaluator is not None else 0),
        messages=messages,
        bytes=size,
        seconds=1.0 + prices * 1.2e-7 + records * 4e-4 + asked * 0.012,
        learns=learned,
        mind=leakage.mind(parameters),
    )
