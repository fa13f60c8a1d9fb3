"""The tiers: `make test` tries a few values and generated examples, `.ci/run` and `make test-slow` try all of them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from _pytest.mark import ParameterSet

THOROUGH = "COVEY_THOROUGH" in os.environ


def examples(count: int) -> int:
    """The number of examples that Hypothesis generates: a sixth of `count` in CI, an eighth in `make test`."""
    return max(5, count // 6 if THOROUGH else count // 8)


def some(names: Iterable[str], start: int, every: int = 5, rest: str = "thorough") -> list[ParameterSet]:
    """The names as parameters of a test: every fifth one for every tier, from another start in each suite."""
    marks = (getattr(pytest.mark, rest),)
    return [
        pytest.param(name, marks=() if place % every == start % every else marks, id=name)
        for place, name in enumerate(sorted(names))
    ]


def few_first(values: Iterable[object], few: int = 1) -> list[ParameterSet]:
    """The values as parameters of a test: the first few for every tier, as many and one more for the thorough one."""
    found = []
    for place, value in enumerate(values):
        marks = () if place < few else (pytest.mark.thorough if place <= 2 * few else pytest.mark.slow,)
        found.append(pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=marks))
    return found
