from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from tests.harness.problems import faults, problems, withheld
from tests.harness.tiers import examples

from covey.anonymizers import ALGORITHMS, anonymize, find
from covey.anonymizers.problem import Partition, Problem, Sensitive
from covey.errors import InputError, Unmet
from covey.hierarchy import Hierarchy
from covey.measures import integer_costs

EFFORT = 200_000  # enough for tables of a few hundred records


def squares(records: int, k: int, *, side: int = 16, seed: int = 7) -> Problem:
    """Records scattered over three columns of numbers with halves of halves above them."""
    rng = np.random.Generator(np.random.PCG64(seed))
    paths = [[str(v), *(f"{v >> s}/{s}" for s in (1, 2, 3)), "*"] for v in range(side)]
    tree = Hierarchy.from_paths(paths)
    drawn = np.minimum(rng.geometric(0.2, size=(3, records)) - 1, side - 1).astype(np.int32)
    codes, counts = np.unique(drawn, axis=1, return_counts=True)
    costs, scale = integer_costs((tree,) * 3)
    return Problem((tree,) * 3, np.ascontiguousarray(codes), counts.astype(np.int64), costs, scale, k)


def run(problem: Problem, name: str, *, seed: int = 0, threads: int | None = None) -> Partition:
    budget = EFFORT if ALGORITHMS[name].budget else None
    return anonymize(problem, name, budget=budget, seed=seed, threads=threads)


@pytest.mark.parametrize("name", ALGORITHMS)
@given(problem=problems())
@settings(max_examples=examples(200), deadline=None, suppress_health_check=list(HealthCheck))
def test_every_algorithm_keeps_what_was_asked_or_says_what_would_be_feasible(name: str, problem: Problem) -> None:
    try:
        partition = run(problem, name)
    except Unmet as refusal:
        most = refusal.args[0]
        assert "at most" in most or "the whole table reaches" in most
        if problem.records >= problem.k:
            assert problem.l is not None
        return
    assert faults(problem, partition) == []
    assert withheld(problem, partition) < problem.k


@pytest.mark.parametrize("name", ALGORITHMS)
def test_the_same_seed_gives_the_same_classes_on_one_thread_and_on_two(name: str) -> None:
    problem = squares(600, 5)
    one, two = run(problem, name, seed=3, threads=1), run(problem, name, seed=3, threads=2)
    assert np.array_equal(one.nodes, two.nodes)
    assert np.array_equal(one.item, two.item)
    assert np.array_equal(one.group, two.group)
    assert np.array_equal(one.count, two.count)


@pytest.mark.parametrize("name", [name for name in ALGORITHMS if name != "sequential"])
def test_ten_copies_of_every_record_cost_nothing_at_ten_times_the_k_of_one(name: str) -> None:
    """The paper's sequential clustering moves single records from a random start and finds no such thing."""
    problem = squares(120, 1)
    many = replace(problem, counts=problem.counts * 10, k=10)
    partition = run(many, name)
    assert partition.loss(many) == 0
    assert withheld(many, partition) == 0


@pytest.mark.parametrize("name", ALGORITHMS)
def test_t_is_kept_beside_k(name: str) -> None:
    problem = squares(300, 5)
    sick = (np.arange(problem.items) % 3).astype(np.int32)
    problem = replace(problem, sensitive=(Sensitive(sick, 3),), t=0.25)
    partition = run(problem, name)
    assert faults(problem, partition) == []
    assert partition.loss(problem) < 1


@pytest.mark.parametrize(
    ("name", "options"), [("peel", {}), ("mondrian", {}), ("hilbert", {"cost": "loss"}), ("datafly", {})]
)
def test_a_column_that_matters_more_keeps_more(name: str, options: dict[str, str]) -> None:
    problem = squares(1000, 10)
    tree = problem.trees[0]
    costs, scale = integer_costs((tree,) * 3, weights=[1, 8, 1])
    weighted = replace(problem, costs=costs, scale=scale)
    budget = EFFORT if ALGORITHMS[name].budget else None

    def lost(partition: Partition) -> float:
        return float((partition.sizes() * tree.sizes[partition.nodes[:, 1]]).sum())

    asked = anonymize(weighted, name, budget=budget, options=options)
    plain = anonymize(problem, name, budget=budget, options=options)
    assert lost(asked) < lost(plain)


def test_an_unknown_algorithm_is_answered_with_those_that_there_are() -> None:
    with pytest.raises(InputError, match="peel, sequential, mondrian, hilbert, datafly"):
        find("voronoi")


def test_an_option_of_another_algorithm_is_refused() -> None:
    with pytest.raises(InputError, match="mondrian has no option 'ties'; it has relaxed, aligned"):
        anonymize(squares(20, 2), "mondrian", options={"ties": "last"})


def test_an_option_of_its_own_is_passed_on() -> None:
    problem = squares(200, 5)
    strict, relaxed = anonymize(problem, "mondrian"), anonymize(problem, "mondrian", options={"relaxed": True})
    assert relaxed.notes["relaxed"] is True
    assert strict.notes["relaxed"] is False


def test_a_budget_is_refused_by_an_algorithm_that_does_not_search() -> None:
    with pytest.raises(InputError, match="hilbert takes no budget"):
        anonymize(squares(20, 2), "hilbert", budget=5)


def test_a_search_that_would_take_hours_is_refused_before_it_starts_and_others_are_suggested() -> None:
    with pytest.raises(InputError, match=r"sequential could take .* choose .*mondrian"):
        anonymize(replace(squares(500, 2), counts=np.full(squares(500, 2).items, 10**8)), "sequential")


def test_more_suppression_than_the_study_allows_is_refused_with_what_would_do() -> None:
    tree = Hierarchy.from_paths([("a", "*"), ("b", "*")])
    costs, scale = integer_costs((tree,))
    two = Problem((tree,), np.array([[0, 1]], np.int32), np.array([1, 1]), costs, scale, k=2, suppression=0.5)
    with pytest.raises(Unmet, match="suppresses 2 of 2 records"):
        anonymize(two, "mondrian")
    assert anonymize(replace(two, suppression=1.0), "mondrian").classes == 1


@pytest.mark.parametrize(
    ("algorithm", "option", "text", "value"),
    [
        ("mondrian", "relaxed", "true", True),
        ("hilbert", "cost", "loss", "loss"),
        ("datafly", "tolerated", "none", "none"),
        ("datafly", "tolerated", "7", 7),
    ],
)
def test_options_are_read_from_text(algorithm: str, option: str, text: str, value: object) -> None:
    assert ALGORITHMS[algorithm].option(option).read(text) == value


@pytest.mark.parametrize(
    ("algorithm", "option", "text"),
    [("mondrian", "relaxed", "yes"), ("hilbert", "cost", "manhattan"), ("datafly", "tolerated", "-1")],
)
def test_options_that_make_no_sense_are_refused_by_name(algorithm: str, option: str, text: str) -> None:
    with pytest.raises(InputError, match=f"option {option} must be"):
        anonymize(squares(20, 2), algorithm, options={option: text})
