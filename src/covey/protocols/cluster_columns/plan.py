"""What a run with columns split will cost, estimated from the number of records: the data decide how many move.

The figures in capitals are from runs on Adult (30,162 rows, 8 quasi columns, two to four holders, k = 10 and 50).
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from covey.protocols.cluster_columns import leaks
from covey.protocols.cluster_columns.terms import BLOCK, Terms
from covey.protocols.protocol import Forecast
from covey.protocols.shared import columns
from covey.secure import align, approval, coin
from covey.study import Study
from covey.wire.chunks import CHUNK_BYTES

SWEEPS = 5.0
"""How often every record is compared with every cluster of its block, in all sweeps, put off and memory included."""
BATCHES = 10
"""Batches of all sweeps together, for each k, at k = 10; with the third root of k they grow more."""
WIDER = 2.0
"""How much larger a block is than it must be."""
EXACT = 3
"""How many times more of both the exact schedule takes."""


def foresee(study: Study, rows: Mapping[str, int]) -> Forecast:
    """What a run costs and teaches."""
    terms = Terms.of(study)
    holders, parties, k = len(terms.holders), len(study.parties), terms.k
    records = max(1, min((rows.get(name, 0) for name in terms.holders), default=1))
    exact = terms.fewest is None
    more = EXACT if exact else 1
    block = records if exact else min(records, WIDER * BLOCK * k)
    prices = int(records * (2 * block / k) * SWEEPS * more)
    depth = 0 if exact else max(1, math.ceil(math.log2(max(2.0, records / k))) + 4)
    asked = depth + more * int(BATCHES * k * (k / 10) ** (1 / 3)) + 15
    sizes = [rows.get(name, records) for name in terms.holders]
    adding = holders if terms.evaluator is not None else holders - 1
    size = adding * 4 * prices + align.COST.bytes(sizes, records) + (holders - 1) * (depth + 30) * 2 * records
    messages = asked * 2 * adding + asked * adding * (4 * prices // max(asked, 1) // CHUNK_BYTES)
    messages += depth * holders + align.COST.messages(sizes, records) + approval.COST.messages(parties)
    learned = {}
    for party in study.parties:
        role = _role(terms, party.name)
        meeting = columns.meeting_of(leaks.HOLDERS).sentences(role, **columns.meeting_numbers(study))
        learned[party.name] = (*meeting, *leaks.of_search(terms).sentences(role, **leaks.numbers(terms)))
    return Forecast(
        rounds=2 * asked + depth + 12 + (coin.COST.rounds(holders) if terms.evaluator is not None else 0),
        messages=messages,
        bytes=size,
        seconds=1.0 + prices * 1.2e-7 + records * 4e-4 + asked * 0.012,
        learns=learned,
        mind=leaks.mind(terms),
    )


def _role(terms: Terms, party: str) -> str:
    return "evaluator" if party == terms.evaluator else "pivot" if party == terms.pivot else "holder"
