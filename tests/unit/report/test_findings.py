"""The figures behind the pictures."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from covey.cells import NO_VALUE, number
from covey.report import distribution, page
from covey.report.distribution import OTHERS, compare, compare_own
from covey.report.findings import class_sizes, examine, risk_before
from covey.study import Study
from covey.table import Table, build, read

STUDY = Study.parse("""
[study]
name = "small"
[privacy]
k = 2
[columns.age]
role = "quasi"
hierarchy = { min = 0, max = 39, steps = [10, 20] }
[columns.sex]
role = "quasi"
hierarchy = "flat"
[columns.weight]
role = "quasi"
hierarchy = "interval"
step = 10
[columns.nights]
role = "plain"
[columns.illness]
role = "sensitive"
""")
AGES = ["1", "2", "13", "14", "25", "26", "37", ""]
ROWS = {
    "age": AGES,
    "sex": ["F", "F", "M", "M", "F", "F", "M", "M"],
    "weight": ["50", "60", "70", "80", "50", "60", "70", "80"],
    "nights": [str(night) for night in (0, 1, 2, 3, 4, 5, 6, 40)],
    "illness": ["flu"] * 4 + ["cold"] * 4,
}
RELEASE = {
    "age": ["[0, 9]", "[0, 9]", "[10, 19]", "[10, 19]", "[20, 39]", "[20, 39]", "*", "*"],
    "sex": ["F", "F", "M", "M", "F", "F", "*", "*"],
    "weight": ["[50, 60]", "[50, 60]", "[70, 80]", "[70, 80]", "[50, 60]", "[50, 60]", "*", "*"],
    "nights": ROWS["nights"],
    "illness": ROWS["illness"],
}


def records(rows: dict[str, list[str]] = ROWS) -> Table:
    table = pa.table(rows)
    return build(read(table.to_batches(), STUDY.columns, "rows"), STUDY)


def test_the_columns_losses_make_up_the_judges_loss() -> None:
    found = examine(pa.table(RELEASE), STUDY, 0)
    assert np.mean([each.loss for each in found.columns]) == pytest.approx(found.verdict.loss.lm)
    by_name = {each.name: each for each in found.columns}
    assert (by_name["sex"].loss, by_name["sex"].exact, by_name["sex"].suppressed) == (0.25, 0.75, 0.25)
    assert [each.loss for each in found.columns] == sorted((each.loss for each in found.columns), reverse=True)


def test_a_withheld_row_is_lost_in_full_in_every_column() -> None:
    found = {each.name: each for each in examine(pa.table(RELEASE), STUDY, 8).columns}
    assert (found["sex"].loss, found["sex"].suppressed) == (0.625, 0.625)


def test_class_sizes_double_from_k_and_hold_a_million() -> None:
    found = class_sizes(np.array([3, 5, 9, 10, 1_000_000]), 5)
    assert [(each.least, each.most, each.classes, each.rows) for each in found] == [
        (1, 4, 1, 3), (5, 9, 2, 14), (10, 19, 1, 10), (655_360, 1_310_719, 1, 1_000_000),
    ]  # fmt: skip


def test_the_risk_before_counts_rows_that_look_alike() -> None:
    assert risk_before(records()).prosecutor.highest == 1.0
    twice = records({name: cells * 2 for name, cells in ROWS.items()})
    assert risk_before(twice).prosecutor.highest == 0.5
    assert risk_before(twice).prosecutor.at_risk == 0.0


def test_a_column_is_compared_in_bins_whose_parts_sum_to_one() -> None:
    release = pa.table(RELEASE)
    found = {each.name: each for each in compare(records(), examine(release, STUDY, 0).released, release)}
    assert list(found) == ["age", "sex", "weight", "nights", "illness"]
    for column in found.values():
        assert sum(each.original for each in column.bins) == pytest.approx(1)
        assert sum(each.release for each in column.bins) == pytest.approx(1)
    ages = {each.label: (each.original, each.release) for each in found["age"].bins}
    assert ages["[0, 9]"] == pytest.approx((2 / 8, (2 + 0.5) / 8))  # `*` is spread evenly over the domain
    assert ages[NO_VALUE] == pytest.approx((1 / 8, 0))
    assert [each.original for each in found["sex"].bins] == pytest.approx([0.5, 0.5])
    assert [each.release for each in found["sex"].bins] == pytest.approx([0.625, 0.375])
    weights = {each.label: each.release for each in found["weight"].bins}
    assert weights["50"] == pytest.approx((2 + 0.5) / 8)


def test_frequent_values_are_shown_and_the_others_are_one_bin() -> None:
    many = {name: cells * 4 for name, cells in ROWS.items()}
    many["illness"] = [f"illness {place % 20}" for place in range(32)]
    many["sex"] = [f"sex {place % 20}" for place in range(32)]
    release = pa.table({**{name: cells * 4 for name, cells in RELEASE.items()}, "illness": many["illness"]})
    found = {each.name: each for each in compare(records(many), examine(release, STUDY, 0).released, release)}
    assert found["illness"].bins[-1].label == OTHERS
    assert found["sex"].bins[-2].label == OTHERS
    assert found["sex"].bins[-1].label == "values that we do not have"
    assert all(len(each.bins) <= 13 for each in found.values())


def test_many_numbers_are_binned_by_size() -> None:
    nights = {name: cells * 4 for name, cells in ROWS.items()}
    nights["nights"] = [str(Decimal(place)) for place in range(32)]
    release = pa.table({**{name: cells * 4 for name, cells in RELEASE.items()}, "nights": nights["nights"]})
    found = {each.name: each for each in compare(records(nights), examine(release, STUDY, 0).released, release)}
    assert [each.label for each in found["nights"].bins][:2] == ["0 to 3", "4 to 7"]
    assert found["nights"].bins[0].original == pytest.approx(4 / 32)


def test_a_party_compares_its_own_people_with_themselves_and_not_with_the_others() -> None:
    """The joint release has as many people of others: they do not move our figures."""
    others = {"age": ["[30, 39]"] * 8, "sex": ["M"] * 8, "weight": ["[80, 90]"] * 8}
    release = pa.table({name: [*cells, *others.get(name, cells)] for name, cells in RELEASE.items()})
    columns, followed = compare_own(records(), examine(release, STUDY, 0).released)
    assert followed == 8
    assert [each.name for each in columns] == ["age", "sex", "weight"]
    ages = {each.label: (each.original, each.release) for each in columns[0].bins}
    assert ages["[0, 9]"][0] == 2 / 8
    assert sum(after for _, after in ages.values()) == pytest.approx(1)
    assert ages["[30, 39]"][1] < 0.3  # a comparison with the whole release says two thirds


def test_who_fits_in_no_class_was_withheld_and_is_left_out_on_both_sides() -> None:
    release = pa.table({name: cells[:4] for name, cells in RELEASE.items()})
    columns, followed = compare_own(records(), examine(release, STUDY, 4).released)
    assert followed == 4
    assert {each.label for each in columns[0].bins if each.original} == {"[0, 9]", "[10, 19]"}


def test_an_interval_columns_values_are_read_once_and_not_once_for_every_label(monkeypatch: pytest.MonkeyPatch) -> None:
    read_numbers: list[str] = []

    def noted(text: str) -> Decimal | None:
        read_numbers.append(text)
        return number(text)

    monkeypatch.setattr(distribution, "number", noted)
    release = pa.table(RELEASE).select(["age", "sex", "weight", "illness", "nights"])
    compare(records(), examine(release, STUDY, 0).released, release)
    leaves = 4  # of weight
    assert len([text for text in read_numbers if text in ROWS["weight"]]) <= leaves + 8


def test_another_ks_cost_is_found_on_a_sample_where_the_table_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    many = records({name: cells * 100 for name, cells in ROWS.items()})
    points, sample = page.loss_by_k(many, 2, "mondrian")
    assert sample is None and len(points) > 2
    monkeypatch.setattr(page, "_SECONDS", -1.0)
    points, sample = page.loss_by_k(many, 2, "mondrian")
    assert sample == 500 and len(points) > 2


def test_the_worst_classes_are_those_that_share_a_value_and_then_the_smallest() -> None:
    found = examine(pa.table(RELEASE), STUDY, 0)
    assert found.unasked() == ("illness",)
    worst = found.worst()
    assert [each.shared["illness"] for each in worst] == [1.0] * 4
    mixed = examine(pa.table({**RELEASE, "illness": ["flu", "cold"] * 3 + ["flu"] * 2}), STUDY, 0)
    assert mixed.worst()[0].labels == ("*", "*", "*")
    assert [each.shared["illness"] for each in mixed.worst()] == [1.0, 0.5, 0.5, 0.5]
    assert len(found.sample()) == 8
