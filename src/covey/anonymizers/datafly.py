"""Datafly (Sweeney 1997; Algorithm 1 of Jiang and Clifton): lift the column with the most distinct values a level.

Strict goes on until every sequence of values has k records or more (and keeps l and t): nothing is suppressed, and the
result is often very general. With suppression it stops when the sequences that fall short cover no more records than
are tolerated (k in the paper); these are published at every root, and if they are fewer than k the smallest other
classes join them (the paper's step 7). A suppressed record so looks like any other that reached all roots.

Where two columns have equally many distinct values the paper's own trace takes the last one: `ties` decides.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from covey.anonymizers.constraints import broken, histograms, kept, limits_of, require_feasible
from covey.anonymizers.problem import Cancel, Partition, Problem, Progress, never, report, silent
from covey.arrays import Bits, Ints, Longs
from covey.table import group

Ties = Literal["first", "last"]


def datafly(
    problem: Problem,
    *,
    seed: int = 0,
    threads: int = 1,
    progress: Progress = silent,
    cancel: Cancel = never,
    tolerated: int = 0,
    ties: Ties = "first",
) -> Partition:
    """Full-domain classes. `tolerated` records may be suppressed before it stops: 0 is strict, -1 stands for k.

    Nothing is random and one thread is used: `seed` and `threads` change nothing.
    Raises Unmet if even the whole table breaks a constraint.
    """
    require_feasible(problem)
    limit = problem.k if tolerated < 0 else tolerated
    levels = [0] * problem.columns
    trace: list[int] = []
    steps = sum(tree.height for tree in problem.trees)
    while True:
        nodes = _lifted(problem, levels)
        label, first = group(list(nodes), problem.items)
        short = _short(problem, label, len(first))
        open_columns = [c for c in range(problem.columns) if levels[c] < problem.trees[c].height]
        if int(problem.counts[short[label]].sum()) <= limit or not open_columns:
            break
        distinct = {c: len(np.unique(nodes[c, first])) for c in open_columns}
        column = _most_distinct(distinct, problem.weights, ties)
        levels[column] += 1
        trace.append(column)
        report("generalizing", len(trace) / steps, progress, cancel)
    return _published(problem, nodes[:, first].T, label, short, {"levels": levels, "trace": trace})


def _lifted(problem: Problem, levels: list[int]) -> Ints:
    """Each item's nodes with every column at its level, columns x items."""
    return np.stack([tree.up[levels[c]][problem.codes[c]] for c, tree in enumerate(problem.trees)])


def _most_distinct(distinct: dict[int, int], weights: tuple[float, ...], ties: Ties) -> int:
    """The column with the most distinct values. One that matters twice as much counts for half."""
    counted = {column: count / weights[column] if weights[column] else np.inf for column, count in distinct.items()}
    maximum = max(counted.values())
    tied = [column for column, count in counted.items() if count == maximum]
    return tied[0] if ties == "first" else tied[-1]


def _short(problem: Problem, label: Longs, classes: int) -> Bits:
    """Marks the classes that break a constraint."""
    sizes = np.bincount(label, weights=problem.counts, minlength=classes).astype(np.int64)
    return broken(limits_of(problem), histograms(problem, label, classes), sizes)


def _published(problem: Problem, nodes: Ints, label: Longs, short: Bits, notes: dict[str, object]) -> Partition:
    """The classes that hold, and the rest together at every root."""
    short = _joined(problem, label, short)
    notes["suppressed"] = int(problem.counts[short[label]].sum())
    number = np.cumsum(~short) - 1
    number[short] = int((~short).sum())
    roots = np.array([[tree.root for tree in problem.trees]], dtype=np.int32)
    published = nodes[~short] if not short.any() else np.vstack([nodes[~short], roots])
    item = np.arange(problem.items, dtype=np.int64)
    return Partition(item, number[label].astype(np.int64), problem.counts.copy(), published.astype(np.int32), notes)


def _joined(problem: Problem, label: Longs, short: Bits) -> Bits:
    """The classes to suppress: those that fall short, and the smallest others until they hold (step 7)."""
    if not short.any():
        return short
    short = short.copy()
    limits, histogram = limits_of(problem), histograms(problem, label, len(short))
    sizes = np.bincount(label, weights=problem.counts, minlength=len(short)).astype(np.int64)
    for smallest in np.argsort(sizes, kind="stable"):
        if kept(limits, histogram[short].sum(axis=0), int(sizes[short].sum())):
            break
        short[smallest] = True
    return short
