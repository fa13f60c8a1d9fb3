"""A check before anything is published: values that one row alone bears, in every column published as it is."""

from __future__ import annotations

import pandas as pd
import pytest

import covey
from covey.fitness import Fitness
from covey.study import Study

QUASI = '[columns.age]\nrole = "quasi"\nhierarchy = "flat"\nvalues = ["1", "2"]\n'
PARTIES = '[parties.north]\naddress = "127.0.0.1:7701"\n[parties.south]\naddress = "127.0.0.1:7702"\n'


def checked(cells: list[str], column: str, *, party: str | None = None) -> Fitness:
    """The check of a table whose last column has these cells."""
    joint = 'protocol = "peel"\npartition = "horizontal"\n' if party else ""
    text = f'[study]\nname = "t"\n{joint}[privacy]\nk = 2\n{QUASI}[columns.note]\n{column}\n{PARTIES if party else ""}'
    frame = pd.DataFrame({"age": ["1", "2"] * (len(cells) // 2), "note": cells})
    return covey.check(frame, Study.parse(text), party)


@pytest.mark.parametrize("role", ["plain", "sensitive"])
def test_one_owner_s_value_that_one_row_alone_bears_is_a_problem_in_any_exact_role(role: str) -> None:
    cells = ["a"] * 9 + ["b"]
    found = checked(cells, f'role = "{role}"')
    assert not found and "rows with a value of their own: 1 of 10;" in str(found.columns[1].problem)
    assert checked(cells, f'role = "{role}"\nsingles_out = "all agreed"')
    assert checked([*cells[:8], "b", "b"], f'role = "{role}"')


def test_a_missing_cell_that_one_row_alone_has_is_a_problem() -> None:
    assert not checked(["a"] * 9 + [""], 'role = "plain"')


def test_values_count_after_their_coding() -> None:
    cells = ["1", "1", "2", "2", "3", "3", "77", "88"]
    assert not checked(cells, 'role = "plain"\nhierarchy = { min = 0, max = 99 }')
    assert checked(cells, 'role = "plain"\nhierarchy = { min = 0, top = 50 }')


def test_rows_that_will_be_dropped_do_not_hide_the_others() -> None:
    text = f'[study]\nname = "t"\n[privacy]\nk = 2\n{QUASI}missing = "drop"\n[columns.note]\nrole = "plain"\n'
    frame = pd.DataFrame({"age": ["1", "1", "1", None], "note": ["a", "a", "b", "b"]})
    assert "their own: 1 of 3" in str(covey.check(frame, Study.parse(text)).columns[1].problem)


def test_a_party_of_several_is_told_the_number_and_refused_from_half_of_its_rows_on() -> None:
    few = checked(["a"] * 7 + ["b", "c", "d"], 'role = "sensitive"', party="north")
    assert few and "that no other row here has: 3 of 10" in few.notes[-1]
    many = checked(["a"] * 4 + ["b", "c", "d", "e"], 'role = "sensitive"', party="north")
    assert not many and "their own: 4 of 8" in str(many.columns[1].problem)


@pytest.mark.parametrize("role", ["plain", "sensitive"])
def test_what_looks_like_an_identifier_is_a_problem_in_any_exact_role(role: str) -> None:
    cells = [name for name in ("ann@example.org", "bob@example.org") for _ in range(5)]
    found = checked(cells, f'role = "{role}"')
    assert not found and "it looks like e-mail addresses" in str(found.columns[1].problem)


def test_an_answer_that_is_no_is_false() -> None:
    with pytest.raises(AssertionError):
        assert checked(["a"] * 9 + ["b"], 'role = "plain"')
