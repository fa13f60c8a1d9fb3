"""The cost of a run: a trusted party's visits on a table like the holders', and what each would take among them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from covey.arrays import Bits, Ints, Longs
from covey.crypto.group import POINT_BYTES
from covey.crypto.rng import derive
from covey.protocols.peel_columns import leakage, pairs
from covey.protocols.peel_columns.ideal import admission
from covey.protocols.peel_columns.parameters import Parameters
from covey.protocols.protocol import Forecast
from covey.protocols.shared import agree, model
from covey.protocols.shared.columns import meeting, parts
from covey.protocols.shared.cost import SMALL_BYTES, CostEstimate, Rehearsal, carry_on
from covey.protocols.shared.peeling import REPEATED
from covey.protocols.shared.peeling.classes import peel
from covey.protocols.shared.peeling.marginals import of_records, study_seed
from covey.protocols.shared.peeling.nodes import list_nodes
from covey.secure import approval, coin
from covey.secure import sum as secure_sum
from covey.study import Study
from covey.table import Table
from covey.wire import chunks

WINDOWS = (1, 4, 16, 64)
SECONDS_PER_TAG = 45e-6
"""Of the evaluator, on two cores: a multiplication of a point, and what the sums take."""
SECONDS_PER_NUMBER = 10e-6
"""Of a holder: its numbers, and its turns at multiplying the base point."""
SECONDS_PER_ROW = 4e-4
SECONDS_PER_WINDOW = 4e-3
REHEARSED = 6_000
"""People of a rehearsal at most."""


def foresee(study: Study, rows: Mapping[str, int], own: Table | None = None) -> Forecast:
    """The estimated cost of a run, what it teaches, and the same with other windows.

    The others' columns are made up, and ours too where they are not given.
    """
    params = Parameters.of(study)
    records = max(min((rows.get(name, 0) for name in params.holders), default=0), params.k)
    whole = model.joined(study, min(records, REHEARSED), derive(study_seed(study), "peel plan"), own)
    played: dict[int, Visits] = {}

    def play(smaller: Study, number: int, window: int) -> Rehearsal:
        if number not in played:
            played[number] = Visits.of(Parameters.of(smaller), whole.select(np.arange(number)))
        return played[number].rehearse(params, window)

    lessons = [meeting.meeting_leakage(study), *leakage.before(params, params.looks_at_pairs(records))]
    sizes = {name: rows.get(name, records) for name in params.holders}
    windows = WINDOWS if params.rule is None else (1,)
    others = {}
    for window in sorted({*windows, params.window}):
        cost = carry_on(study, partial(play, window=window), records, REHEARSED).cost
        meeting.add_cost(cost, study, sizes, records)
        _add_pairs(cost, params, records)
        tagged = cost.bytes / POINT_BYTES / (len(params.holders) + 1)
        computing = tagged * (SECONDS_PER_TAG + SECONDS_PER_NUMBER) + cost.rounds / 2 * SECONDS_PER_WINDOW
        seconds = 1.0 + computing + records * SECONDS_PER_ROW
        others[f"window = {window}"] = cost.forecast(seconds, lessons, (*leakage.mind(params), REPEATED))
    chosen = f"window = {params.window}"
    return replace(others[chosen], choices=others if len(others) > 1 else {}, chosen=chosen)


@dataclass(frozen=True)
class Visits:
    """A trusted party's visits: the people in play and in groups at each, and everyone's class at the end."""

    tables: Mapping[str, Table]
    people: Longs
    grouped: Longs
    label: Longs
    boxes: Ints

    @classmethod
    def of(cls, params: Parameters, whole: Table) -> Visits:
        """The visits of a run on these people."""
        study, seen = params.study, list[tuple[int, int]]()
        values = [each.codes.astype(np.int64) for each in whole.carried if each.column.name in params.watched]
        admits = admission(params, values)

        def watch(people: Longs, place: Longs, size: Longs) -> Bits:
            found = admits(people, place, size)
            seen.append((len(people), int(size[found].sum())))
            return found

        known = of_records(study, whole.trees, whole.codes, params.pairs)
        nodes = list_nodes(study, whole.trees, known, params.nodes)
        boxes, _, label = peel(whole.trees, nodes, whole.codes, params.k, watch)
        people, grouped = np.array(seen, dtype=np.int64).reshape(-1, 2).T
        stacked = np.stack(boxes) if boxes else np.zeros((0, len(whole.trees)), dtype=np.int32)
        return cls(model.split(study, whole), people, grouped, label, stacked)

    def rehearse(self, params: Parameters, window: int) -> Rehearsal:
        """The cost with so many generalizations in a window; the people in play are those of its first."""
        cost, holders, parties = CostEstimate(), len(params.holders), [party.name for party in params.study.parties]
        leaves = sum(column.tree().codes for column in params.study.quasi)
        marginal = (holders - 1) * (holders * SMALL_BYTES + 8 * leaves)
        cost.exchange(params.holders, holders * (holders - 1), marginal)
        cost.then(agree.COST, holders)
        cost.then(coin.COST, holders)
        for turn, first in enumerate(range(0, len(self.people), window)):
            asked = int(self.people[first]) * len(self.people[first : first + window]) * (1 + len(params.watched))
            _ask(cost, params, turn, asked, int(self.grouped[first : first + window].sum()) + window)
        cost.send(params.leader, params.evaluator, 1, SMALL_BYTES)
        cost.then(agree.COST, holders)
        left, classes = int((self.label < 0).sum()), len(self.boxes)
        _ask(cost, params, 0, classes + 1, classes)
        if params.merge and left:
            _ask(cost, params, 0, left * classes, left)
            _ask(cost, params, 0, classes + 1, classes)
        cost.then(secure_sum.COST, holders, 2)
        for name in parties:
            for holder in params.holders if name not in params.holders else ():
                cost.send(holder, name, 1, SMALL_BYTES)
        cost.then(approval.COST, len(parties))
        out = np.flatnonzero(self.label >= 0)
        shown = {
            name: parts.contribution_of(
                self.label[out], self.boxes[:, params.own_places(name)], table.select(out), leads=name == params.leader
            )
            for name, table in self.tables.items()
        }
        parts.add_cost(cost, shown, params.receivers)
        return Rehearsal(cost, classes)


def _ask(cost: CostEstimate, params: Parameters, turn: int, numbers: int, answered: int) -> None:
    """Adds one question: a number for each person, visit and layer from everyone, points from one, and groups back."""
    cost.send(params.leader, params.evaluator, 1, SMALL_BYTES)
    for holder in params.holders:
        times = 2 if holder == params.speaker(turn) else 1
        messages, size = chunks.messages(numbers, POINT_BYTES), chunks.size(numbers, POINT_BYTES)
        cost.send(holder, params.evaluator, times * messages, times * size)
    for holder in params.holders:
        cost.send(params.evaluator, holder, chunks.messages(answered, 4), chunks.size(answered, 4))


def _add_pairs(cost: CostEstimate, params: Parameters, records: int) -> None:
    """Two holders send a number for each person and each pair of values, and one of them a point; before the list."""
    if not params.looks_at_pairs(records):
        return
    asked, holders = pairs.questions(params), len(params.holders)
    for _ in pairs.batches(asked, records):
        cost.exchange((*params.holders, params.evaluator), 2 * holders + 2, (2 * holders + 2) * SMALL_BYTES)
        cost.exchange((*params.holders, params.evaluator), 0, 0)
    cost.count(0, 3 * POINT_BYTES * sum(records + question.cells for question in asked))
