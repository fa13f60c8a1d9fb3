"""The cost of a run, estimated on a made-up table (`shared.peeling.estimate`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from covey.protocols.peel_columns import leakage, pairs
from covey.protocols.peel_columns.parameters import Parameters, role_name
from covey.protocols.protocol import Forecast
from covey.protocols.shared import columns
from covey.protocols.shared.peeling.estimate import REPEATED, LikelyVisits, estimate
from covey.secure import align, approval
from covey.study import Study
from covey.wire import FRAME_BYTES

ELEMENT_BYTES = 32
WINDOWS = (1, 4, 16, 64)
SECONDS_PER_TAG = 45e-6
"""Of the evaluator, on two cores: a multiplication of a point, and what the sums take."""
SECONDS_PER_NUMBER = 10e-6
"""Of a holder: its numbers, and its turns at multiplying the base point."""
SECONDS_PER_ROW = 4e-4
SECONDS_PER_WINDOW = 4e-3
_FIXED_ROUNDS = 20
_ROW_BYTES = 8
"""Bytes of a released row in one holder's part, about."""


def foresee(study: Study, rows: Mapping[str, int]) -> Forecast:
    """The estimated cost of a run, what it teaches, and the same with other windows."""
    params = Parameters.of(study)
    records = max(min((rows.get(name, 0) for name in params.holders), default=0), params.k)
    likely = estimate(study, tuple(column.tree() for column in study.quasi), records, params.nodes, params.pairs)
    meeting, named = columns.meeting_leakage(study)
    learned = {}
    for party in study.parties:
        role = role_name(study, party.name)
        sentences = meeting.sentences(role, **named)
        for part, numbers in leakage.before(params, params.looks_at_pairs(records)):
            sentences += part.sentences(role, **numbers)
        learned[party.name] = tuple(sentences)
    sizes = [rows.get(name, records) for name in params.holders]
    windows = WINDOWS if params.rule is None else (1,)
    others = {
        f"window = {window}": replace(
            _forecast(params, likely, records, sizes, window), learns=learned, mind=(*leakage.mind(params), REPEATED)
        )
        for window in sorted({*windows, params.window})
    }
    chosen = f"window = {params.window}"
    return replace(others[chosen], choices=others if len(others) > 1 else {}, chosen=chosen)


def _forecast(params: Parameters, likely: LikelyVisits, records: int, sizes: list[int], window: int) -> Forecast:
    """The cost with so many generalizations in a window; the people in play are those of its first."""
    holders, parties, layers = len(params.holders), len(params.study.parties), 1 + len(params.watched)
    starts = np.arange(0, len(likely.left), window)
    visited = np.minimum(window, len(likely.left) - starts)
    numbers = int((likely.left[starts] * visited).sum()) * layers
    asked, on_pairs = len(starts) + 1, _on_pairs(params, records)
    release = holders * len(params.receivers) * _ROW_BYTES * records
    return Forecast(
        rounds=2 * (asked + on_pairs.batches) + _FIXED_ROUNDS,
        messages=(asked + on_pairs.batches) * (2 * holders + 2)
        + align.COST.messages(sizes, records)
        + approval.COST.messages(parties),
        bytes=(holders + 1) * ELEMENT_BYTES * numbers
        + 3 * ELEMENT_BYTES * on_pairs.numbers
        + holders * 4 * records
        + asked * (2 * holders + 2) * FRAME_BYTES
        + align.COST.bytes(sizes, records)
        + release,
        seconds=1.0
        + (numbers + on_pairs.numbers) * (SECONDS_PER_TAG + SECONDS_PER_NUMBER)
        + records * SECONDS_PER_ROW
        + asked * SECONDS_PER_WINDOW,
        learns={},
    )


class _OnPairs(NamedTuple):
    """Tags of people and of pairs of values, in so many exchanges, before the list is made."""

    numbers: int
    batches: int


def _on_pairs(params: Parameters, records: int) -> _OnPairs:
    """Two holders send a number for each person and each pair of values, and one of them a point."""
    if not params.looks_at_pairs(records):
        return _OnPairs(0, 0)
    asked = pairs.questions(params)
    numbers = sum(records + question.cells for question in asked)
    return _OnPairs(numbers, sum(1 for _ in pairs.batches(asked, records)))
