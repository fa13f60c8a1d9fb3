"""What a plan foresees is what a run takes, within one and a half times: rounds and bytes, every protocol."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tests.harness.planned import compare, made_up, plan_of, sample
from tests.harness.tiers import few_first
from tests.harness.trial import Trial

from covey.protocols.peel.classes import FrequentTuples

WITHIN = 1.5
Case = tuple[str, Callable[[], Trial]]
CASES: list[Case] = [
    ("peel, long, visits", lambda: made_up("peel", 2, 300)),
    ("peel, wide, waves", lambda: made_up("peel", 8, 100, options='mode = "wave"')),
    ("peel, hospitals", lambda: sample("peel", 300)),
    ("peel, wide, visits", lambda: made_up("peel", 8, 100)),
    ("peel, long, skips", lambda: made_up("peel", 3, 600, options='mode = "skip"')),
    ("peel, between two", lambda: made_up("peel", 3, 300, parties=2)),
    ("peel, five", lambda: made_up("peel", 3, 200, parties=5, k=10)),
]


@pytest.mark.parametrize(("name", "trial"), few_first(CASES, 2))
def test_a_run_takes_what_its_plan_says(name: str, trial: Callable[[], Trial]) -> None:
    compared = compare(trial())
    assert all(1 / WITHIN < off < WITHIN for what, off in compared.off().items() if what != "messages"), compared


def test_rows_of_ones_own_change_the_plan_where_the_data_decide_on_the_cost() -> None:
    spread = made_up("peel", 4, 300)
    alike = made_up("peel", 4, 300, apart=0)
    assert plan_of(alike).bytes < 0.9 * plan_of(spread).bytes
    assert plan_of(alike, own=False).bytes == plan_of(spread, own=False).bytes


def test_candidates_of_which_none_is_left_to_be_tested_again_are_no_error() -> None:
    """With l, what blocks a candidate may stay unpublished: then nothing is touched, and nothing is counted."""
    from covey.protocols.peel.visits import _by_node

    none = FrequentTuples(np.zeros(0, np.int64), np.zeros((0, 2), np.int32), np.zeros(0, bool))
    assert list(_by_node(none)) == []
