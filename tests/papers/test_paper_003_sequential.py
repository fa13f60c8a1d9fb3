"""Sequential clustering against a plain reading of Algorithm 3: every Delta of every record, no pruning, no memory."""

from __future__ import annotations

import numpy as np
import pytest

from covey.anonymizers.constraints import Limits, flat_codes, limits_of
from covey.anonymizers.kernels import forest
from covey.anonymizers.problem import Problem, Sensitive
from covey.anonymizers.sequential import cluster, first_labels, halves, may_part
from covey.hierarchy import Hierarchy
from covey.measures import integer_costs

Members = dict[int, list[int]]


def table(records: int, k: int, seed: int, l: float | None = None, measure: str = "lm") -> Problem:  # noqa: E741
    random = np.random.default_rng(seed)
    deep = Hierarchy.from_paths([[str(v), f"{v // 2}+", f"{v // 4}++", "*"] for v in range(8)])
    flat = Hierarchy.from_paths([[letter, "*"] for letter in "xyz"])
    trees = (deep, flat, deep)
    codes = np.array([random.integers(tree.codes, size=records) for tree in trees], dtype=np.int32)
    leaves = [np.bincount(own, minlength=tree.codes).astype(np.int64) for own, tree in zip(codes, trees, strict=True)]
    costs, scale = integer_costs(trees, measure, leaves)
    ill = Sensitive(random.choice(3, size=records, p=[0.4, 0.35, 0.25]).astype(np.int32), 3)
    return Problem(trees, codes, np.ones(records, dtype=np.int64), costs, scale, k, (ill,), l)


def cost(problem: Problem, members: list[int]) -> int:
    """|C| F(closure of C), by climbing from the first member until everyone is below."""
    total = 0
    for column, tree in enumerate(problem.trees):
        codes = problem.codes[column, members]
        node = int(codes[0])
        while not all(tree.first[node] <= code <= tree.last[node] for code in codes):
            node = int(tree.parent[node])
        total += int(problem.costs[column][node])
    return total * len(members)


def price(problem: Problem, members: list[int]) -> int:
    return cost(problem, members) if members else 0


def diverse(problem: Problem, members: list[int]) -> bool:
    counts = np.bincount(problem.sensitive[0].codes[members])
    return problem.l is None or not members or counts.max() * problem.l <= len(members)


def plain_sweep(problem: Problem, members: Members, label: list[int]) -> bool:
    """Steps 5 to 18."""
    moved = False
    for record in range(len(label)):
        source = label[record]
        rest = [other for other in members[source] if other != record]
        if not diverse(problem, rest):
            continue
        deltas = {
            number: price(problem, rest)
            + price(problem, [*own, record])
            - price(problem, members[source])
            - price(problem, own)
            for number, own in sorted(members.items())
            if number != source and diverse(problem, [*own, record])
        }
        target = min(deltas, key=lambda number: (deltas[number], number), default=None)
        if target is not None and (not rest or deltas[target] < 0):
            members[target].append(record)
            members[source] = rest
            label[record] = target
            moved = True
            if not rest:
                del members[source]
    return moved


def plain_merge(problem: Problem, members: Members) -> None:
    """Steps 26 to 30."""

    def gap(one: int, other: int) -> tuple[int, int, int]:
        joint = price(problem, members[one] + members[other])
        return joint - price(problem, members[one]) - price(problem, members[other]), one, other

    while len(small := sorted(number for number, own in members.items() if len(own) < problem.k)) > 1:
        _, one, other = min(gap(a, b) for a in small for b in small if a < b)
        members[one] += members.pop(other)
    if small and len(members) > 1:
        _, _, other = min(gap(small[0], b) for b in sorted(members) if b != small[0])
        members[min(small[0], other)] += members.pop(max(small[0], other))


def plain_cluster(problem: Problem, limits: Limits, places: np.ndarray, seed: int) -> set[frozenset[int]]:
    random = np.random.default_rng(seed)
    label: list[int] = first_labels(limits, places, problem.records, random).tolist()
    members: Members = {number: [] for number in sorted(set(label))}
    for record, number in enumerate(label):
        members[number].append(record)
    used = max(members) + 1
    for _ in range(12):
        changed = plain_sweep(problem, members, label)
        for number in sorted(number for number, own in members.items() if len(own) > 1.5 * problem.k):
            own = np.array(sorted(members[number]))
            leaving = halves(own, places, random)
            if may_part(limits, places, own, leaving):
                members[used] = leaving.tolist()
                members[number] = [record for record in own.tolist() if record not in set(members[used])]
                for record in members[used]:
                    label[record] = used
                used, changed = used + 1, True
        if not changed:
            break
    plain_merge(problem, members)
    return {frozenset(own) for own in members.values()}


@pytest.mark.few(6)
@pytest.mark.parametrize(("l", "measure"), [(None, "lm"), (1.5, "lm"), (None, "em"), (None, "entropy")])
@pytest.mark.parametrize("seed", range(6))
def test_the_labels_are_those_of_algorithm_3(seed: int, l: float | None, measure: str) -> None:  # noqa: E741
    problem = table(60, 5, seed, l, measure)
    limits, places = limits_of(problem), flat_codes(problem)
    label, _ = cluster(forest(problem), limits, problem.codes, places, np.random.default_rng(seed))
    found = {frozenset(np.flatnonzero(label == number).tolist()) for number in np.unique(label)}
    assert found == plain_cluster(problem, limits, places, seed)


def test_a_value_of_31_records_is_spread_over_4_clusters_as_7_8_8_8() -> None:
    """Section 6.1.1: from (5, 10, 7, 9) any permutation of (7, 8, 8, 8)."""
    problem = table(80, 40, 0, 1.2)
    places = np.array([[0]] * 31 + [[1]] * 49, dtype=np.int64)
    label = first_labels(limits_of(problem)._replace(l=np.ones(1)), places, 80, np.random.default_rng(3))
    assert sorted(np.bincount(label[:31])) == [7, 8, 8, 8]


def test_a_cluster_of_exactly_l_with_odd_counts_is_never_split() -> None:
    """Section 6.1.2: |C| = 2a+1, the most frequent value 2b+1 times, l = (2a+1)/(2b+1)."""
    a, b = 7, 3
    problem = table(2 * a + 1, 2, 0, (2 * a + 1) / (2 * b + 1))
    places = np.array([[0]] * (2 * b + 1) + [[1]] * (2 * (a - b)), dtype=np.int64)
    members = np.arange(2 * a + 1)
    limits = limits_of(problem)
    for seed in range(5):
        assert not may_part(limits, places, members, halves(members, places, np.random.default_rng(seed)))


def test_a_singleton_is_dissolved_even_at_a_loss() -> None:
    """Steps 12 to 14, where k/2 = 1 makes the first clusters singletons."""
    problem = table(20, 2, 1)
    label, _ = cluster(
        forest(problem), limits_of(problem), problem.codes, np.empty((20, 0), np.int64), np.random.default_rng(1)
    )
    assert np.unique(label, return_counts=True)[1].min() >= 2
