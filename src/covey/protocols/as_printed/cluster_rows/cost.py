"""The cost of a run: the search is rehearsed on a table like the parties', and the release is added.

Only the paper's own rings are estimated from the number of records alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from covey.crypto.rng import derive
from covey.crypto.secret import Secret
from covey.protocols.as_printed.cluster_rows import leakage, rings
from covey.protocols.as_printed.cluster_rows.parameters import Parameters
from covey.protocols.as_printed.cluster_rows.rehearsal import rehearse
from covey.protocols.protocol import Forecast
from covey.protocols.shared import agree, insiders, model
from covey.protocols.shared import rows as releasing
from covey.protocols.shared.cost import CostEstimate, Rehearsal, rehearse_often
from covey.protocols.shared.peeling.marginals import study_seed
from covey.protocols.shared.records import one_by_one
from covey.study import Study
from covey.table import Table

REHEARSED = 3_000
"""Records of a rehearsal at most."""
EXACT_SWEEPS = 9
PAPER_SWEEPS = 12
STEPS = 2  # levels of a search, each one AND around the ring
EXACT_NODES = 90  # below a random cluster's box, in all of Adult's columns


def foresee(study: Study, rows: Mapping[str, int], own: Table | None = None) -> Forecast:
    """The estimated cost of a run, and what it teaches; all rows are taken to be like our own, if these are given."""
    parameters, own = Parameters.of(study), None if own is None else one_by_one(own)
    records, names = max(sum(rows.values()), parameters.k), [party.name for party in study.parties]
    seed = derive(study_seed(study), "cluster plan")
    made = model.stand_in(study, min(records, REHEARSED), seed, own)

    def play(smaller: Study, number: int, drawn: Secret) -> Rehearsal:
        some, owners = model.stand_in(study, number, drawn, own), model.dealt(rows, number, drawn)
        tables = {name: some.select(owners == place) for place, name in enumerate(names)}
        return rehearse(smaller, tables, parameters.k)

    found = rehearse_often(study, play, records, REHEARSED, seed)
    cost = _rings(parameters, records) if parameters.calls == "ring" else found.cost
    cost.then(agree.COST, len(names))
    releasing.add_cost(cost, study, rows, found.classes, made)
    moving = records * found.classes * EXACT_SWEEPS * 5e-9
    seconds = 2.0 + moving + cost.bytes / len(names) * 4e-8 + cost.messages / len(names) * 2e-4
    forecast = cost.forecast(seconds, leakage.before(study))
    return replace(forecast, insider_k=insiders.foretell(study, rows))


def _rings(parameters: Parameters, records: int) -> CostEstimate:
    """The paper's searches: about four of five records matter to their party's closure, in each sweep."""
    calls, cost = PAPER_SWEEPS * records * 4 // 5 * STEPS, rings.AND_COST
    rounds = calls * cost.rounds(parameters.parties, 1)
    messages, size = cost.messages(parameters.parties, 1), cost.bytes(parameters.parties, EXACT_NODES // 8)
    return CostEstimate(rounds=rounds, messages=calls * messages, bytes=calls * size, floor=rounds)
