"""The cost of a run: the visits are rehearsed on a table like the parties', the rest is added up from the blocks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from covey.crypto.rng import derive
from covey.hierarchy import Hierarchy
from covey.protocols.peel import choice, closeness, leakage, marginals, site
from covey.protocols.peel.parameters import Parameters
from covey.protocols.peel.rehearsal import Spent, rehearse
from covey.protocols.protocol import Forecast
from covey.protocols.shared import insiders, model, query_errors, rows
from covey.protocols.shared.peeling import REPEATED
from covey.protocols.shared.peeling.marginals import ideal, study_seed
from covey.protocols.shared.peeling.nodes import list_nodes, looks_at_pairs
from covey.protocols.shared.peeling.pairs import cells_of
from covey.secure import coin, conjunction, squares, threshold_test
from covey.secure import sum as secure_sum
from covey.secure.declare import Lesson
from covey.study import Study
from covey.table import Table

SECONDS_PER_TEST = 0.6e-6
SECONDS_PER_PAD = 0.15e-6
SECONDS_PER_ROW = 1e-4
SECONDS_PER_ROUND = 3e-3
REHEARSED, GUESSED = 12_000, 3_000
"""Records of a rehearsal at most, where one's own are known and where they are not; each stands for several of more."""


def foresee(study: Study, rows_of: Mapping[str, int], own: Table | None = None) -> Forecast:
    """The estimated cost of a run, and what it teaches before its numbers are known.

    The parties' records are taken to be like one's own, or where these are not known, like a made-up table.
    """
    params = Parameters.of(study)
    records = max(sum(rows_of.values()), params.k)
    most = GUESSED if own is None else REHEARSED
    weight = min(-(-records // most), max(1, params.k // 3))
    number = min(most, records // weight)
    seed = derive(study_seed(study), "peel plan")
    made = (
        model.made_up(study, params.watched, number, seed, model.PEELED)
        if own is None
        else model.like(own, number, seed)
    )
    known = ideal(study, [made] * weight, params.pairs)
    nodes = list_nodes(study, made.trees, known, params.nodes)
    denser = replace(params, buckets=max(1, round(params.buckets * records / (weight * number))))
    leaves = sum(tree.codes for tree in made.trees)
    cells = cells_of(made.trees) if looks_at_pairs(study, made.trees, records) else 0
    owners = model.dealt(rows_of, number, seed)
    visits = {
        mode: rehearse(study, replace(denser, mode=mode), known, nodes, made, owners, weight) for mode in _modes(params)
    }
    costs = {mode: _forecast(study, params, leaves, cells, rows_of, made, spent) for mode, spent in visits.items()}
    lessons, insider_k = _lessons(study, params, made.trees, cells, len(nodes)), insiders.foretell(study, rows_of)
    whole = {
        f'mode = "{mode}"': replace(cost, lessons=lessons, mind=(REPEATED,), insider_k=insider_k)
        for mode, cost in costs.items()
    }
    chosen = f'mode = "{params.mode}"'
    return replace(whole[chosen], choices=whole, chosen=chosen)


def _forecast(
    study: Study, params: Parameters, leaves: int, cells: int, rows_of: Mapping[str, int], made: Table, spent: Spent
) -> Forecast:
    """The visits, and what comes before and after them."""
    parties, tests, values = len(study.parties), spent.tests + cells, _values(params)
    records = sum(rows_of.values())
    spent.then(secure_sum.COST, parties, 1)
    for tested, added in ((leaves + cells, leaves), *(() if params.near is None else ((values, values),))):
        if params.two:
            spent.then(choice.COST, params.k, tested)
        else:
            spent.then(threshold_test.PREPARATION_COST, parties, params.k, tested)
            spent.then(threshold_test.COST, parties, params.k, tested)
        spent.then(secure_sum.COST, parties, added)
    spent.then(coin.COST, parties)
    if not params.two:
        spent.then(conjunction.COST, parties, params.k)
    if study.evaluates_jointly:
        spent.then(squares.COST, parties, *query_errors.most_squares(study))
    rows.add_cost(spent, study, rows_of, spent.classes, made)
    computing = tests * ((2 + params.k) * SECONDS_PER_PAD if params.two else SECONDS_PER_TEST * parties / 3)
    seconds = 1 + records * SECONDS_PER_ROW + spent.rounds * SECONDS_PER_ROUND + computing
    return spent.forecast(seconds, [])


def _values(params: Parameters) -> int:
    """The number of values of all sensitive columns, with a missing one each."""
    return sum(len(column.values or ()) + 1 for column in params.watched)


def _lessons(study: Study, params: Parameters, trees: tuple[Hierarchy, ...], cells: int, nodes: int) -> list[Lesson]:
    """The lessons of a run, the same for every party."""
    found: list[Lesson] = [(marginals.LEAKAGE, {"leaves": sum(tree.codes for tree in trees), "k": params.k})]
    if cells:
        found.append((marginals.PAIRS, {"cells": cells, "k": params.k}))
    if params.two:
        found.append((leakage.TWO, {"k": params.k}))
    if params.sites is not None:
        column, sites = params.sites
        names = {"nodes": trees[column].nodes, "column": study.quasi[column].name, "sites": sites}
        found.append((site.LEAKAGE, names))
    if params.near is not None:
        found.append((closeness.LEAKAGE, {"values": _values(params), "k": params.k}))
    found += [*leakage.before(params, nodes), *((part, {}) for part in insiders.before(study))]
    return [*found, *query_errors.foresee(study)]


def _modes(params: Parameters) -> tuple[str, ...]:
    """The modes that such a study can run, the one that teaches least first."""
    return ("visit", "wave") if params.two or params.lend else ("visit", "skip", "wave")
