"""Explains a loss: the columns that cost most, the largest classes, and the gain from asking for less.

The gain is found by trying: the same search, with little effort, at a smaller k and with one column coarser from the
start. Losses are the problem's own measure, weights included, per cell; a withheld record is lost in full.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import msgspec
import numpy as np

from covey.anonymizers import ALGORITHMS, anonymize
from covey.anonymizers.problem import Cancel, Partition, Problem, Progress, never, report, silent
from covey.arrays import Longs
from covey.errors import InputError, Unmet
from covey.hierarchy import Hierarchy
from covey.option import Value

LITTLE = 1  # the budget of a trial, in the search's own units: enough to compare, not to publish
_SHOWN = 5


class ColumnCost(msgspec.Struct, frozen=True):
    """One column's part of the loss, and the state of its cells in the release."""

    name: str
    loss: float  # mean cost of its cells
    part: float  # of the table's loss
    exact: float  # part of the records that keep their own value
    suppressed: float  # part of the records at the root, or withheld


class LargeClass(msgspec.Struct, frozen=True):
    """One of the largest classes: what it publishes, and what it costs."""

    records: int
    labels: tuple[str, ...]
    loss: float
    part: float  # of the table's loss


class Alternative(msgspec.Struct, frozen=True):
    """The cost of another request, found with the same small effort. `saves` is negative where it costs more."""

    request: str
    loss: float
    saves: float


class Explanation(msgspec.Struct, frozen=True):
    """The answer to `--explain`."""

    loss: float
    classes: int
    withheld: int
    columns: tuple[ColumnCost, ...]  # the costliest first
    largest: tuple[LargeClass, ...]
    trial: float  # the request as it is, by the effort that the alternatives had
    alternatives: tuple[Alternative, ...]  # the most helpful first
    notes: tuple[str, ...]


def explain(
    problem: Problem,
    partition: Partition,
    names: Sequence[str],
    algorithm: str,
    *,
    seed: int = 0,
    threads: int | None = None,
    options: Mapping[str, Value] | None = None,
    progress: Progress = silent,
    cancel: Cancel = never,
) -> Explanation:
    """Explains the partition that `algorithm` found."""

    def trial(variant: Problem) -> float:
        effort = LITTLE if ALGORITHMS[algorithm].budget else None
        lenient = replace(variant, suppression=1.0)
        outcome = anonymize(
            lenient, algorithm, seed=seed, budget=effort, threads=threads, cancel=cancel, options=options or {}
        )
        return outcome.loss(variant)

    base = trial(problem)
    requests = _requests(problem, names)
    alternatives = []
    for number, (request, variant) in enumerate(requests):
        report("trying other requests", number / len(requests), progress, cancel)
        try:
            loss = trial(variant)
        except (Unmet, InputError):
            continue
        alternatives.append(Alternative(request, loss, base - loss))
    return Explanation(
        loss=partition.loss(problem),
        classes=partition.classes,
        withheld=problem.records - int(partition.count.sum()),
        columns=column_costs(problem, partition, names),
        largest=largest_classes(problem, partition),
        trial=base,
        alternatives=tuple(sorted(alternatives, key=lambda alternative: alternative.loss)),
        notes=tuple(f"{key}: {value}" for key, value in partition.notes.items()),
    )


def column_costs(problem: Problem, partition: Partition, names: Sequence[str]) -> tuple[ColumnCost, ...]:
    """Each column's contribution, the costliest first."""
    sizes = partition.sizes()
    withheld = problem.records - int(sizes.sum())
    losses = [_spent(problem, partition, sizes, column) for column in range(problem.columns)]
    total = max(sum(losses), 1)
    costs = []
    for column, tree in enumerate(problem.trees):
        nodes = partition.nodes[:, column]
        at_root = int(sizes[(nodes == tree.root) & (tree.codes > 1)].sum()) + withheld
        costs.append(
            ColumnCost(
                name=names[column],
                loss=losses[column] / (problem.scale * problem.records),
                part=losses[column] / total,
                exact=int(sizes[nodes < tree.codes].sum()) / problem.records,
                suppressed=at_root / problem.records,
            )
        )
    return tuple(sorted(costs, key=lambda cost: -cost.loss))


def _spent(problem: Problem, partition: Partition, sizes: Longs, column: int) -> int:
    """The integer cost of a column's cells, a withheld record's at the root."""
    cost, root = problem.costs[column], problem.trees[column].root
    withheld = problem.records - int(sizes.sum())
    return int((cost[partition.nodes[:, column]] * sizes).sum()) + withheld * int(cost[root])


def largest_classes(problem: Problem, partition: Partition) -> tuple[LargeClass, ...]:
    """The classes with the most records."""
    sizes = partition.sizes()
    cost = np.zeros(partition.classes, dtype=np.int64)
    for column, loss in enumerate(problem.costs):
        cost += loss[partition.nodes[:, column]]
    total = max(int((cost * sizes).sum()), 1)
    order = np.argsort(-sizes, kind="stable")[:_SHOWN]
    return tuple(
        LargeClass(
            records=int(sizes[loss]),
            labels=tuple(
                tree.labels[node] for tree, node in zip(problem.trees, partition.nodes[loss].tolist(), strict=True)
            ),
            loss=int(cost[loss]) / (problem.scale * problem.columns),
            part=int(cost[loss] * sizes[loss]) / total,
        )
        for loss in order.tolist()
    )


def _requests(problem: Problem, names: Sequence[str]) -> list[tuple[str, Problem]]:
    """Requests that ask for less: a smaller k, no l or t, or one coarser column."""
    smaller = sorted({problem.k - 1, problem.k // 2} - {0, problem.k}, reverse=True)
    requests = [(f"k = {k} instead of {problem.k}", replace(problem, k=k)) for k in smaller]
    if limits := _asked(map(problem.l_of, problem.sensitive)):
        columns = tuple(replace(column, l=None) for column in problem.sensitive)
        requests.append((f"no l instead of l = {limits}", replace(problem, l=None, c=None, sensitive=columns)))
    if limits := _asked(map(problem.t_of, problem.sensitive)):
        columns = tuple(replace(column, t=None) for column in problem.sensitive)
        requests.append((f"no t instead of t = {limits}", replace(problem, t=None, sensitive=columns)))
    for column, tree in enumerate(problem.trees):
        if tree.height > 1:
            requests.append((f"column {names[column]!r} without its finest level", _without_finest(problem, column)))
        elif problem.columns > 1:
            requests.append((f"column {names[column]!r} suppressed throughout", _without_finest(problem, column)))
    return requests


def _asked(limits: Iterable[float | None]) -> str:
    """The different l, or t, that are asked of the sensitive columns."""
    return ", ".join(f"{limit:g}" for limit in sorted({limit for limit in limits if limit is not None}))


def _without_finest(problem: Problem, column: int) -> Problem:
    """The problem with one column lifted a level, whose nodes there are the new leaves."""
    tree = problem.trees[column]
    level = tree.up[1]
    nodes = np.unique(tree.up[1:])
    leaves = np.array(list(dict.fromkeys(level.tolist())))
    order = np.concatenate([leaves, nodes[~np.isin(nodes, leaves)]])
    code_of = np.full(tree.nodes, -1, dtype=np.int32)
    code_of[order] = np.arange(len(order))
    first_below = np.array([int(np.flatnonzero(level == leaf)[0]) for leaf in leaves])
    lifted = Hierarchy([tree.labels[node] for node in order], code_of[tree.up[1:, first_below]], kind=tree.kind)
    codes = problem.codes.copy()
    codes[column] = code_of[level[problem.codes[column]]]
    trees = (*problem.trees[:column], lifted, *problem.trees[column + 1 :])
    costs = (*problem.costs[:column], problem.costs[column][order], *problem.costs[column + 1 :])
    return replace(problem, trees=trees, codes=codes, costs=costs)
