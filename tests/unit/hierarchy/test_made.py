"""Hierarchies that are made rather than read: numbers, dates, prefixes, flat values, intervals."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.harness.trees import covers

from covey.errors import InputError
from covey.hierarchy import Flat, Interval, Prefix, dates, numbers, public_step


def decimals(*values: str) -> list[Decimal]:
    return [Decimal(value) for value in values]


def test_intervals_begin_at_multiples_and_are_cut_to_the_domain() -> None:
    tree = numbers(Decimal(17), Decimal(90), decimals("5", "10", "20"))
    assert tree.paths()[0] == ("17", "[17, 19]", "[17, 19]", "[17, 19]", "*")
    assert tree.paths()[8] == ("25", "[25, 29]", "[20, 29]", "[20, 39]", "*")
    assert tree.paths()[-1] == ("90", "90", "90", "[80, 90]", "*")


def test_negative_and_fractional_numbers_have_true_labels() -> None:
    tree = numbers(Decimal("-1.5"), Decimal("1.5"), decimals("1"), Decimal("0.5"))
    assert covers(tree, "[-1, -0.5]", "-0.5")
    assert covers(tree, "[0, 0.5]", "0.50")


@given(st.integers(-60, 60), st.integers(0, 80), st.integers(2, 7), st.integers(2, 4))
def test_every_number_lies_in_the_interval_that_its_label_spells(low: int, span: int, step: int, factor: int) -> None:
    steps = [Decimal(step), Decimal(step * factor)]
    tree = numbers(Decimal(low), Decimal(low + span), steps)
    spelled = Interval()
    for leaf, *above, _root in tree.paths():
        for label in above:
            ends = spelled.ends(label)
            assert ends is not None
            assert ends[0] <= Decimal(leaf) <= ends[1]


@pytest.mark.parametrize(
    ("low", "high", "steps", "unit", "word"),
    [
        ("9", "1", ["5"], "1", "above max"),
        ("0", "9", ["5", "7"], "1", "multiple"),
        ("0", "9", ["5", "5"], "1", "grow"),
        ("0.5", "9", ["5"], "1", "multiples of unit"),
        ("0", "9", [], "0", "unit above 0"),
        ("0", "9000000", [], "1", "leaves"),
    ],
)
def test_numbers_that_make_no_tree_are_refused(low: str, high: str, steps: list[str], unit: str, word: str) -> None:
    with pytest.raises(InputError, match=word):
        numbers(Decimal(low), Decimal(high), decimals(*steps), Decimal(unit))


def test_days_rise_to_months_quarters_years_and_decades() -> None:
    tree = dates(["day", "month", "quarter", "year", "decade"], date(2019, 12, 31), date(2020, 2, 29))
    assert tree.paths()[0] == ("2019-12-31", "2019-12", "2019-Q4", "2019", "2010s", "*")
    assert tree.paths()[-1] == ("2020-02-29", "2020-02", "2020-Q1", "2020", "2020s", "*")


def test_units_out_of_order_are_refused() -> None:
    with pytest.raises(InputError, match="finest first"):
        dates(["year", "month"], date(2020, 1, 1), date(2020, 1, 2))


def test_a_code_loses_its_tail() -> None:
    codes = Prefix((4, 3, 2))
    assert codes.path("12345") == ("12345", "1234*", "123*", "12*", "*")
    assert codes.path("12") == ("12", "12", "12", "12", "*")
    tree = codes.close(["12345", "12399"])
    assert tree.sizes[tree.root] == 100_000
    share = codes.share("12*")
    assert share == pytest.approx(999 / 99_999)


@given(st.lists(st.text("0123456789ABC.", min_size=1, max_size=7), min_size=1, max_size=20))
def test_a_closed_prefix_tree_says_what_the_open_one_says(values: list[str]) -> None:
    codes = Prefix((5, 3, 1))
    tree = codes.close(values)
    for value in values:
        for label in codes.path(value):
            assert covers(tree, label, value) and covers(codes, label, value)
    whole = int(tree.sizes[tree.root]) - 1
    for node, label in enumerate(tree.labels):
        assert codes.share(label) == pytest.approx((int(tree.sizes[node]) - 1) / whole)


def test_a_flat_value_costs_nothing_and_the_root_everything() -> None:
    flat = Flat()
    assert (flat.share("x"), flat.share("*")) == (0.0, 1.0)
    assert flat.close(["b", "a", "b"]).labels == ("a", "b", "*")


def test_intervals_are_labelled_by_public_steps() -> None:
    pay = Interval(Decimal(0), Decimal(100), Decimal(5))
    tree = pay.close(["1", "40", "60", "99.95"])
    assert all(pay.on_steps(label) for label in tree.labels[tree.leaves :])
    assert covers(tree, "[0, 5]", "1") and covers(tree, "[0, 80]", "60") and covers(tree, "[80, 100]", "99.95")
    assert pay.share("[5, 40]") == pytest.approx(0.35)
    with pytest.raises(InputError, match="range"):
        Interval(Decimal(0), Decimal(10)).close(["11"])


@given(
    st.decimals(-500, 500, places=2), st.decimals(0, 300, places=2), st.sampled_from(decimals("0.5", "1", "5", "20"))
)
def test_an_interval_ends_at_the_nearest_steps_around_its_values(low: Decimal, width: Decimal, step: Decimal) -> None:
    spelled = Interval(step=step)
    start, stop = spelled.outward(low, low + width)
    assert start <= low <= low + width <= stop and start < stop
    assert start % step == stop % step == 0
    assert low - start < step and stop - low - width <= step


def test_a_value_at_the_end_of_the_range_is_published_with_the_step_below() -> None:
    pay = Interval(Decimal(0), Decimal(100), Decimal(10))
    assert pay.outward(Decimal(50), Decimal(50)) == (Decimal(50), Decimal(60))
    assert pay.outward(Decimal(100), Decimal(100)) == (Decimal(90), Decimal(100))


@pytest.mark.parametrize(
    ("low", "high", "step"), [(17, 90, "5"), (0, 100, "5"), (0, 50_000, "2000"), (0, 1, "0.05"), (3, 3, "1")]
)
def test_a_range_has_a_public_step_of_about_a_twentieth(low: int, high: int, step: str) -> None:
    assert public_step(Decimal(low), Decimal(high)) == Decimal(step)


@pytest.mark.parametrize("label", ["[1, ", "[2, 1]", "[a, b]", "[1,2]", "x", "[1, 2, 3]", "[nan, 1]"])
def test_what_spells_no_interval_has_no_ends(label: str) -> None:
    assert Interval().ends(label) is None
