from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from tests.harness.problems import faults, problems
from tests.harness.tiers import examples

from covey.anonymizers import ALGORITHMS, anonymize
from covey.anonymizers.peel import EFFORTS, lattice, peel
from covey.anonymizers.peel.strip import cut
from covey.anonymizers.problem import Partition, Problem, Sensitive, silent
from covey.errors import Aborted, Unmet
from covey.hierarchy import Hierarchy
from covey.measures import integer_costs

LITTLE = 300_000


def numbers(columns: int, records: int, k: int, *, levels: int = 4, seed: int = 5, l: float | None = None) -> Problem:  # noqa: E741
    """Records scattered over columns of binary trees, each column leaning on the one before it."""
    random = np.random.default_rng(seed)
    side = 2 ** (levels - 1)
    tree = Hierarchy.from_paths([[f"{v >> s}/{s}" for s in range(levels - 1)] + ["*"] for v in range(side)])
    drawn = np.empty((columns, records), dtype=np.int64)
    drawn[0] = np.minimum(random.geometric(0.3, records) - 1, side - 1)
    for column in range(1, columns):
        drawn[column] = (drawn[column - 1] + np.minimum(random.geometric(0.5, records) - 1, side - 1)) % side
    ill = random.choice(4, size=records, p=[0.4, 0.3, 0.2, 0.1])
    items, counts = np.unique(np.vstack([drawn, ill]), axis=1, return_counts=True)
    costs, scale = integer_costs((tree,) * columns)
    codes = np.ascontiguousarray(items[:columns]).astype(np.int32)
    sensitive = (Sensitive(np.ascontiguousarray(items[columns]).astype(np.int32), 4),)
    return Problem((tree,) * columns, codes, counts.astype(np.int64), costs, scale, k, sensitive, l)


def same(one: Partition, other: Partition) -> bool:
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in ("item", "group", "count", "nodes"))


def recomputed(problem: Problem, partition: Partition) -> float:
    """The loss by adding up cells, one record at a time."""
    whole = sum(int(cost[tree.root]) for cost, tree in zip(problem.costs, problem.trees, strict=True))
    total = whole * (problem.records - int(partition.count.sum()))
    for group, count in zip(partition.group.tolist(), partition.count.tolist(), strict=True):
        cells = zip(problem.costs, partition.nodes[group].tolist(), strict=True)
        total += count * sum(int(cost[node]) for cost, node in cells)
    return total / problem.scale / problem.columns / problem.records


@given(problem=problems())
@settings(max_examples=examples(200), deadline=None, suppress_health_check=list(HealthCheck))
def test_what_comes_out_may_be_published_or_the_request_is_refused(problem: Problem) -> None:
    try:
        partition = peel(problem, budget=LITTLE)
    except Unmet as refusal:
        assert "cannot be kept" in str(refusal)
        return
    assert faults(problem, partition) == []
    assert partition.loss(problem) == pytest.approx(recomputed(problem, partition))
    assert len(np.unique(partition.group)) == partition.classes


def test_a_class_takes_the_cheapest_box_that_has_k() -> None:
    tree = Hierarchy.from_paths([("a", "ab", "*"), ("b", "ab", "*"), ("c", "cd", "*"), ("d", "cd", "*")])
    costs, scale = integer_costs((tree,))
    problem = Problem((tree,), np.array([[0, 1, 2]], np.int32), np.array([3, 2, 3]), costs, scale, k=2)
    assert peel(problem, budget=0).loss(problem) == 0
    problem = replace(problem, k=3)
    assert peel(problem, budget=0).loss(problem) == pytest.approx(2 / 8)  # b withheld: the peeled classes are whole
    found = peel(problem, budget=LITTLE)
    assert sorted(found.sizes().tolist()) == [3, 5]
    assert found.loss(problem) == pytest.approx(5 / 3 / 8)  # b joins a, which is dearer for three and cheaper for two


def test_records_are_lent_by_an_item_that_has_many() -> None:
    tree = Hierarchy.from_paths([("a", "ab", "*"), ("b", "ab", "*"), ("c", "cd", "*"), ("d", "cd", "*")])
    costs, scale = integer_costs((tree,))
    problem = Problem((tree,), np.array([[0, 1, 2]], np.int32), np.array([500, 9, 20]), costs, scale, k=10)
    found = peel(problem, budget=LITTLE)
    assert sorted(found.sizes().tolist()) == [10, 20, 499]


def test_the_search_lowers_what_peeling_leaves() -> None:
    problem = numbers(4, 2000, 10)
    assert peel(problem, budget=3_000_000).loss(problem) < 0.985 * peel(problem, budget=0).loss(problem)


def test_the_same_seed_gives_the_same_classes_on_one_thread_and_on_two() -> None:
    problem = numbers(4, 8000, 5)
    one, two = (peel(problem, seed=3, budget=4_000_000, threads=threads) for threads in (1, 2))
    assert same(one, two)
    assert one.reproducible
    assert not same(one, peel(problem, seed=4, budget=4_000_000))


def test_what_a_search_leaves_of_its_budget_other_starts_get(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = numbers(4, 300, 7)
    one, two = (peel(problem, budget=6_000_000, threads=threads) for threads in (1, 2))
    assert same(one, two)
    assert faults(problem, one) == []
    monkeypatch.setattr("covey.anonymizers.peel.STARTS", 1)
    once = peel(problem, budget=6_000_000)
    assert once.notes["starts"] == 1
    assert one.loss(problem) < once.loss(problem)


def test_more_effort_loses_less_or_the_same() -> None:
    problem = numbers(3, 200, 5)
    losses = [peel(problem, effort=effort).loss(problem) for effort in EFFORTS]
    assert losses == sorted(losses, reverse=True)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("seed", [37, 58])
def test_t_holds_in_what_is_published_also_where_records_are_withheld(algorithm: str, seed: int) -> None:
    random, limit = np.random.default_rng(seed), 0.25
    trees = (grouped(9, 3), grouped(4, 2))
    codes = np.array([random.integers(9, size=60), random.integers(4, size=60)], dtype=np.int32)
    values = (random.random(60) < 0.3).astype(np.int32) + (random.random(60) < 0.2)
    items, counts = np.unique(np.vstack([codes, values]), axis=1, return_counts=True)
    costs, scale = integer_costs(trees)
    problem = Problem(
        trees, np.ascontiguousarray(items[:2]).astype(np.int32), counts.astype(np.int64), costs, scale, 6,
        sensitive=(Sensitive(items[2].astype(np.int32), 3),), t=limit,
    )  # fmt: skip
    found = anonymize(problem, algorithm, threads=1)
    histogram = np.zeros((found.classes, 3))
    np.add.at(histogram, (found.group, problem.sensitive[0].codes[found.item]), found.count)
    published = histogram.sum(axis=0) / histogram.sum()
    distance = np.abs(histogram / histogram.sum(axis=1, keepdims=True) - published).sum(axis=1) / 2
    assert distance.max() <= limit + 1e-9


def grouped(leaves: int, branch: int) -> Hierarchy:
    groups = -(-leaves // branch)
    labels = [*(f"v{leaf}" for leaf in range(leaves)), *(f"g{group}" for group in range(groups)), "*"]
    levels = [np.arange(leaves), leaves + np.arange(leaves) // branch, np.full(leaves, leaves + groups)]
    return Hierarchy(labels, np.array(levels, dtype=np.int32))


def test_a_larger_budget_is_never_worse() -> None:
    problem = numbers(4, 3000, 8)
    losses = [peel(problem, budget=budget).loss(problem) for budget in (0, 200_000, 2_000_000, 8_000_000)]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < losses[0]


@pytest.mark.thorough
def test_a_lattice_too_large_to_list_is_searched() -> None:
    problem = numbers(14, 1500, 5, levels=5)
    assert lattice.size(problem) == 5**14
    assert not lattice.is_listed(problem, cut(problem).number)
    losses = [peel(problem, budget=budget).loss(problem) for budget in (0, 4_000_000, 16_000_000)]
    assert losses[2] < losses[1] < losses[0] < 0.75
    assert faults(problem, peel(problem, budget=0)) == []


@pytest.mark.thorough
def test_a_few_hundred_nodes_are_visited_however_large_the_table_is() -> None:
    items = 10**8  # a probe looks at all of them at least once, and there are thousands of probes
    assert lattice.is_small(400, items)
    assert not lattice.is_small(20_000, items)


def test_the_probed_nodes_do_nearly_as_well_as_the_whole_lattice() -> None:
    problem = numbers(6, 6000, 10)
    whole = peel(problem, budget=0).loss(problem)
    atoms = cut(problem)
    from covey.anonymizers.constraints import limits_of
    from covey.anonymizers.kernels import forest
    from covey.anonymizers.peel.strip import joined, strip
    from covey.anonymizers.problem import never

    nodes = lattice.searched(problem, forest(problem), atoms, limits_of(problem), 0, silent, never)
    label = strip(problem, atoms, limits_of(problem), nodes, silent, never)
    assert len(nodes) < lattice.size(problem)
    assert joined(problem, atoms, label, {}, True).loss(problem) < 1.1 * whole


@pytest.mark.parametrize("kind", ["frequency", "distinct", "entropy"])
def test_l_is_kept_through_all_moves(kind: str) -> None:
    problem = replace(numbers(3, 1500, 6, l=2), diversity=kind)  # type: ignore[arg-type]
    found = peel(problem, budget=2_000_000)
    assert faults(problem, found) == []
    assert found.loss(problem) < peel(problem, budget=0).loss(problem)
    assert problem.records - found.count.sum() < 0.02 * problem.records


def test_t_is_kept_through_all_moves() -> None:
    problem = replace(numbers(3, 1500, 6), t=0.2)
    assert faults(problem, peel(problem, budget=2_000_000)) == []


@pytest.mark.thorough
def test_the_limit_on_suppression_is_kept_or_refused() -> None:
    problem = numbers(3, 400, 12, seed=2)
    free = peel(problem, budget=0)
    assert free.count.sum() < problem.records
    kept = peel(replace(problem, suppression=0.0), budget=0)
    assert kept.count.sum() == problem.records
    roots = np.array([tree.root for tree in problem.trees])
    assert not (kept.nodes == roots).all(axis=1).any()
    tree = Hierarchy.from_paths([("a", "*"), ("b", "*")])
    costs, scale = integer_costs((tree,))
    two = Problem((tree,), np.array([[0, 1]], np.int32), np.array([2, 1]), costs, scale, 2, suppression=0.0)
    with pytest.raises(Unmet, match="suppression"):
        anonymize(two, "peel")


def test_a_limit_in_seconds_says_that_it_is_not_reproducible() -> None:
    assert not peel(numbers(3, 500, 5), seconds=0.05).reproducible


def test_progress_is_told_and_cancel_stops_it() -> None:
    told: list[tuple[str, float]] = []
    peel(numbers(3, 500, 5), budget=LITTLE, progress=lambda step, done: told.append((step, done)))
    assert {step for step, _ in told} == {"peeling", "improving"}
    assert all(0 <= done <= 1 for _, done in told)
    with pytest.raises(Aborted):
        peel(numbers(3, 500, 5), cancel=lambda: True)
