"""Diversity and closeness against slow definitions: counting by hand, and moving earth by linear programming."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from tests.harness.tiers import examples

from covey.judge import Diversity, verify
from covey.study import Study

VALUES = ("a", "b", "c", "d", "e", "f")
PATHS = {"a": "ABC", "b": "ABC", "c": "ABC", "d": "DE", "e": "DE", "f": "f"}
TREE = "".join(f"{value};{PATHS[value]};*\n" for value in VALUES)
rows = st.lists(st.tuples(st.sampled_from("xyz"), st.sampled_from(VALUES)), min_size=1, max_size=40)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    folder = tmp_path_factory.mktemp("study")
    (folder / "tree.csv").write_text(TREE)
    return Study.parse(
        '[study]\nname = "s"\n[privacy]\nk = 2\nl = 2\nc = 1.5\n[columns.q]\nrole = "quasi"\nhierarchy = "flat"\n'
        '[columns.s]\nrole = "sensitive"\nhierarchy = "tree.csv"\n'
        f"values = {list(VALUES)}\n",
        folder,
    )


def judged(study: Study, table: list[tuple[str, str]]) -> Diversity:
    (found,) = verify(pd.DataFrame(table, columns=["q", "s"]), study).diversity
    return found


def classes(table: list[tuple[str, str]]) -> list[Counter[str]]:
    return [Counter(s for q, s in table if q == name) for name in sorted({q for q, _ in table})]


def moved(table: list[tuple[str, str]], cost: Callable[[str, str], float]) -> float:
    """The most that any class's values have to be moved to look like the table's."""
    present = sorted({s for _, s in table})
    whole = Counter(s for _, s in table)
    supply = [whole[s] / whole.total() for s in present]
    prices = [cost(a, b) for a in present for b in present]
    m = len(present)
    sums = np.vstack([np.kron(np.eye(m), np.ones(m)), np.kron(np.ones(m), np.eye(m))])
    worst = 0.0
    for each in classes(table):
        demand = [each[s] / each.total() for s in present]
        flow = linprog(prices, A_eq=sums, b_eq=[*demand, *supply], method="highs")
        assert flow.fun is not None, flow.message
        worst = max(worst, float(flow.fun))
    return worst


def recursively_diverse(counts: Counter[str], l: int, c: float) -> bool:  # noqa: E741
    falling = sorted(counts.values(), reverse=True)
    return falling[0] < c * sum(falling[l - 1 :])


@settings(max_examples=examples(60), deadline=None)
@given(table=rows)
def test_l_agrees_with_counting_class_by_class(study: Study, table: list[tuple[str, str]]) -> None:
    found = judged(study, table)
    every = classes(table)
    assert found.distinct == min(len(each) for each in every)
    assert found.frequency == pytest.approx(min(each.total() / max(each.values()) for each in every))
    bits = [-sum(n / each.total() * math.log(n / each.total()) for n in each.values()) for each in every]
    assert found.entropy == pytest.approx(math.exp(min(bits)))
    kept = [l for l in range(1, 7) if all(recursively_diverse(each, l, 1.5) for each in every)]  # noqa: E741
    assert found.recursive == max(kept, default=0)


def level_of_ancestor(a: str, b: str) -> int:
    return 0 if a == b else 1 if PATHS[a] == PATHS[b] else 2


@settings(max_examples=examples(40), deadline=None)
@given(table=rows)
def test_t_agrees_with_moving_earth(study: Study, table: list[tuple[str, str]]) -> None:
    found = judged(study, table)
    place = {value: position for position, value in enumerate(sorted({s for _, s in table}))}
    steps = max(len(place) - 1, 1)
    assert found.t_equal == pytest.approx(moved(table, lambda a, b: float(a != b)), abs=1e-9)
    assert found.t_ordered == pytest.approx(moved(table, lambda a, b: abs(place[a] - place[b]) / steps), abs=1e-9)
    assert found.t_hierarchy == pytest.approx(moved(table, lambda a, b: level_of_ancestor(a, b) / 2), abs=1e-9)
