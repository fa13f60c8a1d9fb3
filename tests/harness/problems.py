"""Tables to anonymize, drawn at random, and a judge of what came out: slow, plain, sharing nothing with the search."""

from __future__ import annotations

import math
from collections import Counter
from typing import get_args

import numpy as np
from hypothesis import strategies as st
from tests.harness.strategies import hierarchies

from covey.anonymizers.problem import Diversity, Partition, Problem, Sensitive
from covey.measures import integer_costs

_ROUNDING = 1e-6


@st.composite
def problems(
    draw: st.DrawFn, most_items: int = 25, most_columns: int = 3, most_records: int = 9, diverse: bool = True
) -> Problem:
    """Items over random hierarchies, with counts, and a request for k, often l, sometimes t; feasible or not."""
    trees = tuple(draw(st.lists(hierarchies(most_leaves=6), min_size=1, max_size=most_columns)))
    trees = tuple(tree.with_missing() if draw(st.booleans()) else tree for tree in trees)
    values = draw(st.lists(st.integers(1, 4), min_size=1, max_size=2))
    domains = [*(tree.codes for tree in trees), *values]
    rows = st.tuples(*(st.integers(0, size - 1) for size in domains))
    items = sorted(draw(st.sets(rows, min_size=1, max_size=most_items)))
    codes = np.array(items, dtype=np.int32).T
    costs, scale = integer_costs(trees)
    asked = diverse and draw(st.booleans())
    return Problem(
        trees=trees,
        codes=np.ascontiguousarray(codes[: len(trees)]),
        counts=np.array([draw(st.integers(1, most_records)) for _ in items], dtype=np.int64),
        costs=costs,
        scale=scale,
        k=draw(st.integers(2, 12)),
        sensitive=tuple(
            Sensitive(np.ascontiguousarray(codes[len(trees) + place]), size) for place, size in enumerate(values)
        ),
        l=draw(st.sampled_from([1.5, 2, 3])) if asked else None,
        diversity=draw(st.sampled_from(get_args(Diversity))),
        t=draw(st.sampled_from([0.2, 0.5])) if diverse and draw(st.integers(0, 3)) == 0 else None,
    )


def faults(problem: Problem, partition: Partition) -> list[str]:
    """Everything that is wrong with a partition, in words; nothing if it may be published."""
    found = []
    placed: Counter[int] = Counter()
    members: dict[int, Counter[int]] = {number: Counter() for number in range(partition.classes)}
    for item, number, count in zip(
        partition.item.tolist(), partition.group.tolist(), partition.count.tolist(), strict=True
    ):
        if count < 1:
            found.append(f"class {number} has a piece without records")
        placed[item] += count
        members[number][item] += count
    for item, count in placed.items():
        if count > problem.counts[item]:
            found.append(f"item {item} has more records than it came with")
    whole = Counter({item: int(count) for item, count in enumerate(problem.counts)})
    for number, own in members.items():
        if own.total() < problem.k:
            found.append(f"class {number} has {own.total()} records, k is {problem.k}")
        found += [f"class {number}: {fault}" for fault in _uncovered(problem, partition, number, own)]
        for column in problem.sensitive:
            values = Counter(column.codes[list(own.elements())].tolist())
            table = Counter(column.codes[list(whole.elements())].tolist())
            found += [f"class {number}: {fault}" for fault in _too_alike(problem, values, table)]
    return found


def withheld(problem: Problem, partition: Partition) -> int:
    """How many records are in no class."""
    return problem.records - int(partition.count.sum())


def _uncovered(problem: Problem, partition: Partition, number: int, own: Counter[int]) -> list[str]:
    found = []
    for column, tree in enumerate(problem.trees):
        node = int(partition.nodes[number, column])
        for item in own:
            climbed = int(problem.codes[column, item])
            while climbed not in (node, tree.root):
                climbed = int(tree.parent[climbed])
            if climbed != node:
                found.append(f"its node in column {column} does not stand above item {item}")
    return found


def _too_alike(problem: Problem, values: Counter[int], table: Counter[int]) -> list[str]:
    size = values.total()
    shares = [count / size for count in values.values()]
    found = []
    if problem.l is not None:
        reached = {
            "frequency": 1 / max(shares),
            "distinct": float(len(shares)),
            "entropy": math.exp(-sum(share * math.log(share) for share in shares)),
        }[problem.diversity]
        if reached < problem.l - _ROUNDING:
            found.append(f"{problem.diversity} l is {reached:.3f}, {problem.l} was asked for")
    if problem.t is not None:
        apart = sum(abs(values[value] / size - table[value] / table.total()) for value in table) / 2
        if apart > problem.t + _ROUNDING:
            found.append(f"t is {apart:.3f}, {problem.t} was asked for")
    return found
