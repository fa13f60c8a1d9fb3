"""The cost of a run with columns split: the search is rehearsed in the clear on a table like the holders'."""

from __future__ import annotations

from collections.abc import Mapping

from covey.crypto.rng import derive
from covey.crypto.secret import Secret
from covey.protocols.as_printed.cluster_columns import leakage
from covey.protocols.as_printed.cluster_columns.algorithm import search
from covey.protocols.as_printed.cluster_columns.ideal import play
from covey.protocols.as_printed.cluster_columns.own_columns import OwnColumns
from covey.protocols.as_printed.cluster_columns.parameters import Parameters
from covey.protocols.as_printed.cluster_columns.questions import ArgMin, Question
from covey.protocols.as_printed.cluster_columns.randomness import pivot_draws, public_draws
from covey.protocols.protocol import Forecast
from covey.protocols.shared import agree, model
from covey.protocols.shared.columns import meeting, parts
from covey.protocols.shared.cost import CostEstimate, Rehearsal, rehearse_often
from covey.protocols.shared.peeling.marginals import study_seed
from covey.secure import approval
from covey.secure import sum as secure_sum
from covey.study import Study
from covey.table import Table
from covey.wire import chunks

REHEARSED = 3_000
"""Records of a rehearsal at most."""
FIGURES = 6
SECONDS_PER_PRICE = 1.2e-7
SECONDS_PER_ROW = 4e-4
SECONDS_PER_QUESTION = 0.012


def foresee(study: Study, rows: Mapping[str, int], own: Table | None = None) -> Forecast:
    """The estimated cost of a run, and what it teaches.

    The others' columns are made up, and ours too where they are not given.
    """
    parameters = Parameters.of(study)
    records = max(parameters.k, min((rows.get(name, 0) for name in parameters.holders), default=1))
    seed = derive(study_seed(study), "cluster plan")

    def play(smaller: Study, number: int, drawn: Secret) -> Rehearsal:
        return rehearse(smaller, model.joined(study, number, drawn, own), drawn)

    cost = rehearse_often(study, play, records, REHEARSED, seed).cost
    meeting.add_cost(cost, study, {name: rows.get(name, records) for name in parameters.holders}, records)
    cost.then(agree.COST, len(parameters.holders))
    cost.then(secure_sum.COST, len(study.parties), FIGURES)
    cost.then(approval.COST, len(study.parties))
    searching = leakage.of_search(parameters), leakage.numbers(parameters)
    lessons = [meeting.meeting_leakage(study, leakage.HOLDERS), searching]
    prices = cost.bytes / 4 / len(parameters.holders)
    computing = prices * SECONDS_PER_PRICE + records * SECONDS_PER_ROW + cost.rounds / 2 * SECONDS_PER_QUESTION
    return cost.forecast(1.0 + computing, lessons, leakage.mind(parameters))


def rehearse(study: Study, whole: Table, seed: Secret) -> Rehearsal:
    """The cost of the search and of the release, on whole records."""
    parameters, cost = Parameters.of(study), CostEstimate()
    tables = model.split(study, whole)
    own = {name: OwnColumns.of(parameters, table, name) for name, table in tables.items()}
    ids = [f"{seed.reveal().hex()} {row:09}" for row in range(whole.rows)]
    searches = {name: search(part, public_draws(ids), pivot_draws(part, ids, seed)) for name, part in own.items()}
    label = play(searches, lambda questions: _add_question(cost, parameters, questions))
    shown = {
        name: parts.contribution_of(label, part.nodes(label), tables[name], leads=part.pivot)
        for name, part in own.items()
    }
    parts.add_cost(cost, shown, [party.name for party in study.parties])
    return Rehearsal(cost, int(label.max()) + 1)


def _add_question(cost: CostEstimate, parameters: Parameters, questions: Mapping[str, Question]) -> None:
    """Adds the messages of one question and its answer."""
    asked = questions[parameters.pivot]
    if isinstance(asked, ArgMin):
        others = [name for name in parameters.holders if name != parameters.pivot]
        for name in others:
            _send(cost, name, parameters.pivot, 4 * len(asked.shares))
        for name in others:
            _send(cost, parameters.pivot, name, 4 * (len(asked.starts) - 1))
    else:
        _tell(cost, parameters, parameters.pivot, asked.due * (1 if asked.bound <= 256 else 4))


def _tell(cost: CostEstimate, parameters: Parameters, sender: str, size: int) -> None:
    for name in parameters.holders:
        if name != sender:
            _send(cost, sender, name, size)


def _send(cost: CostEstimate, sender: str, to: str, size: int) -> None:
    cost.send(sender, to, chunks.messages(size, 1), chunks.size(size, 1))
