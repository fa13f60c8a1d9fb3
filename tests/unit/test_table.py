from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covey import table
from covey.errors import InputError
from covey.study import Study

STUDY = """
[study]
name = "t"
[privacy]
k = 2
[columns.age]
role = "quasi"
hierarchy = {{ min = 0, max = 99, steps = [10] }}
missing = "{missing}"
[columns.code]
role = "quasi"
hierarchy = "flat"
[columns.name]
role = "identifier"
[columns.illness]
role = "sensitive"
null = ["?"]
"""


def built(rows: list[tuple[str | None, ...]], missing: str = "value") -> table.Table:
    study = Study.parse(STUDY.format(missing=missing))
    columns = [column.name for column in study.columns]
    frame = pa.table({name: pa.array([row[i] for row in rows], pa.string()) for i, name in enumerate(columns)})
    return table.build(table.read(frame.to_batches(), study.columns, "the data"), study)


ROWS: list[tuple[str | None, ...]] = [
    (" 37", "01", "ann", "flu"),
    ("37.0", "01 ", "bob", "none"),
    (None, "1", "cyd", "?"),
]


def test_two_spellings_of_a_number_are_one_code_and_of_a_text_two() -> None:
    made = built(ROWS)
    age, code = made.codes
    assert age[0] == age[1]
    assert code[0] == code[1] != code[2]


def test_missing_is_a_value_of_its_own() -> None:
    made = built(ROWS)
    assert made.codes[0][2] == made.trees[0].missing
    illness = made.values("illness")
    assert [illness.labels[code] for code in illness.codes] == ["flu", "none", ""]


def test_missing_rows_are_dropped_or_refused_where_the_study_says_so() -> None:
    dropped = built(ROWS, "drop")
    assert (dropped.rows, dropped.dropped) == (2, 1)
    with pytest.raises(InputError, match="column 'age' has no value in 1 row"):
        built(ROWS, "error")


def test_identifiers_are_not_kept() -> None:
    made = built(ROWS)
    assert "name" not in [values.column.name for values in made.carried]
    assert made.published(made.codes, np.arange(3)).column_names == ["age", "code", "illness"]


@pytest.mark.parametrize("age", ["NaN", "inf", "-Infinity"])
def test_nan_and_infinities_are_refused_without_being_quoted(age: str) -> None:
    with pytest.raises(InputError, match="column 'age' has NaN or an infinity in 1 row"):
        built([*ROWS, (age, "1", "dan", "flu")])


def test_values_outside_the_domain_are_counted_not_quoted() -> None:
    with pytest.raises(InputError) as refused:
        built([*ROWS, ("123", "1", "dan", "flu"), ("x", "1", "eve", "flu")])
    assert "2 values in 2 rows" in str(refused.value)
    assert "123" not in str(refused.value)


def test_the_published_cells_are_labels() -> None:
    made = built(ROWS)
    nodes = np.array([tree.up[1][codes] for tree, codes in zip(made.trees, made.codes, strict=True)], dtype=np.int32)
    released = made.published(nodes, np.arange(3)).to_pylist()
    assert released[0] == {"age": "[30, 39]", "code": "*", "illness": "flu"}
    assert released[2] == {"age": "", "code": "*", "illness": ""}


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2**20), st.integers(0, 2**20)), min_size=1, max_size=30))
def test_groups_are_the_distinct_tuples(rows: list[tuple[int, int, int]]) -> None:
    columns = [np.array(column, dtype=np.int32) * (2**9) for column in zip(*rows, strict=True)]
    groups, first = table.group(columns, len(rows))
    assert sorted(Counter(groups.tolist()).values()) == sorted(Counter(rows).values())
    assert [rows[f] for f in first.tolist()] == [rows[groups.tolist().index(g)] for g in range(len(first))]


def test_a_cell_that_reads_like_a_suppressed_one_is_refused_as_bad_data() -> None:
    with pytest.raises(InputError, match="column 'code': some cells read like generalized ones"):
        built([("30", "*", "n", "flu"), ("31", "a", "m", "flu")])
