"""What a study asks is met by the fraction that stands for it, and by no much larger one."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from covey.study.ratio import at_least, at_most


@pytest.mark.parametrize(
    ("asked", "denominator", "found"),
    [
        (2.857143, 64, Fraction(183, 64)),
        (2.007, 64, Fraction(129, 64)),
        (2.5, 64, Fraction(5, 2)),
        (3.0, 64, Fraction(3)),
        (1.1, 64, Fraction(11, 10)),
    ],
)
def test_l_is_rounded_up(asked: float, denominator: int, found: Fraction) -> None:
    assert at_least(asked, denominator) == found


@pytest.mark.parametrize(("asked", "found"), [(0.33333, Fraction(3333, 10_000)), (0.99999, Fraction(9999, 10_000))])
def test_delta_is_rounded_down(asked: float, found: Fraction) -> None:
    assert at_most(asked, 10_000) == found


@given(st.floats(1, 1000), st.integers(1, 64))
def test_the_fraction_is_the_closest_on_its_side(asked: float, denominator: int) -> None:
    exact = Fraction(repr(asked))
    above, below = at_least(asked, denominator), at_most(asked, denominator)
    assert below <= exact <= above
    assert max(above.denominator, below.denominator) <= denominator or above == below == exact
    assert above - exact < Fraction(1, denominator) and exact - below < Fraction(1, denominator)
