from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.harness.tiers import examples

from covey import table
from covey.anonymizers import anonymize
from covey.anonymizers.build import Built, build, class_of_row, figures, released
from covey.anonymizers.problem import Partition
from covey.errors import InputError
from covey.judge import verify
from covey.sources import arrange
from covey.study import Study

STUDY = """[study]
name = "t"
[privacy]
k = 2
{privacy}
[columns.age]
role = "quasi"
hierarchy = "interval"
range = [0, 100]
[columns.town]
role = "quasi"
hierarchy = {{ prefix = [2, 1] }}
{town}
[columns.job]
role = "quasi"
hierarchy = "flat"
values = ["nurse", "pilot", "baker"]
[columns.ill]
role = "sensitive"
singles_out = "nobody is real"
{ill}
[columns.note]
role = "plain"
singles_out = "nobody is real"
"""
ROWS = st.lists(
    st.tuples(
        st.sampled_from(["3", "40", "77", ""]),
        st.sampled_from(["123", "124", "133", "999"]),
        st.sampled_from(["nurse", "pilot", "baker", ""]),
        st.sampled_from(["flu", "none", "9", "10"]),
        st.sampled_from(["x", "y"]),
    ),
    min_size=2,
    max_size=30,
)


def study(privacy: str = "", town: str = "", ill: str = "", folder: Path = Path()) -> Study:
    return Study.parse(STUDY.format(privacy=privacy, town=town, ill=ill), folder)


def frame(rows: Sequence[tuple[str, ...]]) -> pa.Table:
    return pa.table(dict(zip(("age", "town", "job", "ill", "note"), map(list, zip(*rows, strict=True)), strict=True)))


def built(rows: Sequence[tuple[str, ...]], agreed: Study) -> Built:
    columns = agreed.columns
    reading = table.read(frame(rows).to_batches(), columns, "rows")
    return build(table.build(reading, agreed))


FOUR = [("3", "123", "nurse", "flu", "x"), ("3", "123", "nurse", "none", "y"), ("77", "999", "pilot", "flu", "x")]


def test_rows_that_look_alike_are_one_item_unless_a_sensitive_value_is_watched() -> None:
    assert built(FOUR, study()).problem.counts.tolist() == [2, 1]
    assert built(FOUR, study("l = 1.5")).problem.counts.tolist() == [1, 1, 1]


def test_weights_shift_the_costs_and_leave_their_mean() -> None:
    plain, heavy = built(FOUR, study()).problem, built(FOUR, study(town="weight = 4")).problem
    share = [int(c[t.root]) / heavy.scale for c, t in zip(heavy.costs, heavy.trees, strict=True)]
    assert share == pytest.approx([0.5, 2, 0.5])
    assert [int(c[t.root]) / plain.scale for c, t in zip(plain.costs, plain.trees, strict=True)] == [1, 1, 1]


def test_columns_that_all_weigh_nothing_are_refused() -> None:
    text = STUDY.format(privacy="", town="weight = 0", ill="").replace("[0, 100]", "[0, 100]\nweight = 0")
    text = text.replace('"baker"]', '"baker"]\nweight = 0')
    with pytest.raises(InputError, match="weight"):
        built(FOUR, Study.parse(text))


def test_an_ordered_sensitive_column_of_numbers_is_ordered_as_numbers() -> None:
    agreed = study("t = 0.5", ill='type = "number"\ndistance = "ordered"')
    rows = [("3", "123", "nurse", ill, "x") for ill in ("9", "10", "100", "")]
    coded = built(rows, agreed)
    assert coded.problem.sensitive[0].distance == "ordered"
    of_row = [int(coded.problem.sensitive[0].codes[item]) for item in coded.item_of_row]
    assert of_row == [0, 1, 2, 3]


def test_every_row_of_a_split_item_gets_exactly_one_class() -> None:
    made = built([("3", "123", "nurse", "flu", "x")] * 7, study())
    pieces = Partition(
        item=np.array([0, 0, 0]), group=np.array([2, 0, 1]), count=np.array([2, 2, 2]), nodes=np.zeros((3, 3), np.int32)
    )
    classes = class_of_row(made, pieces)
    assert Counter(classes.tolist()) == {0: 2, 1: 2, 2: 2, -1: 1}


@given(ROWS)
@settings(max_examples=examples(40), deadline=None)
def test_each_released_row_covers_a_row_of_its_own_and_carries_its_values(rows: Sequence[tuple[str, ...]]) -> None:
    agreed = study()
    made = built(rows, agreed)
    partition = anonymize(made.problem, "mondrian")
    verdict = verify(arrange(released(made, partition)), agreed, frame(rows))
    assert verdict.answer, verdict.sentence()
    assert verdict.original is not None
    assert verdict.original.unmatched == 0


@given(ROWS)
@settings(max_examples=examples(25), deadline=None)
@pytest.mark.parametrize("algorithm", ["mondrian", "hilbert", "datafly"])
def test_the_figures_are_the_judges(algorithm: str, rows: Sequence[tuple[str, ...]]) -> None:
    agreed = study()
    made = built(rows, agreed)
    partition = anonymize(made.problem, algorithm)
    mine = figures(made, partition)
    verdict = verify(arrange(released(made, partition)), agreed, frame(rows))
    assert (mine.rows, mine.classes, mine.k_reached) == (verdict.rows, verdict.classes, verdict.k)
    assert mine.suppressed_cells == verdict.suppressed_cells
    assert mine.loss.lm == pytest.approx(verdict.loss.lm, abs=1e-6)
    assert mine.loss.em == pytest.approx(verdict.loss.em, abs=1e-6)
    assert mine.loss.dm == verdict.loss.dm
    assert mine.loss.c_avg == pytest.approx(verdict.loss.c_avg)


def test_a_column_of_intervals_publishes_each_class_own_interval() -> None:
    rows = [(age, "123", "nurse", "flu", "x") for age in ("3", "40", "77", "90")]
    agreed = study()
    made = built(rows, agreed)
    published = released(made, anonymize(made.problem, "mondrian"))
    assert sorted(set(published.column("age").to_pylist())) == ["[0, 40]", "[75, 90]"]


def test_a_class_with_and_without_a_number_publishes_the_root() -> None:
    rows = [("3", "123", "nurse", "flu", "x"), ("", "123", "nurse", "flu", "x")]
    made = built(rows, study())
    assert released(made, anonymize(made.problem, "mondrian")).column("age").to_pylist() == ["*", "*"]
