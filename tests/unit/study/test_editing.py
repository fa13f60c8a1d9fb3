"""Edits of a study's text change what they are asked to change, and nothing else."""

from __future__ import annotations

import pytest

from covey.errors import InputError
from covey.study.editing import set_keys, set_section

TEXT = """# ours
[study]
name = "x"

[privacy]
k = 5            # why

# about age
[columns.age]
role = "quasi"
values = [
  "a", # one
  "b",
]

# about "b c"
[columns."b c"]
role = "plain"
"""


def test_a_key_is_set_and_everything_else_stays() -> None:
    new = set_keys(TEXT, ("privacy",), {"k": "7", "l": "2"})
    assert new == TEXT.replace("k = 5            # why\n", "l = 2\nk = 7\n")


def test_a_key_that_is_there_stays_in_its_place() -> None:
    new = set_keys(TEXT, ("columns", "age"), {"values": '["c"]'})
    assert '[columns.age]\nrole = "quasi"\nvalues = ["c"]\n\n# about "b c"' in new


def test_a_value_over_several_lines_is_taken_out_whole() -> None:
    new = set_keys(TEXT, ("columns", "age"), {"values": None, "weight": "2"})
    assert '[columns.age]\nweight = 2\nrole = "quasi"\n\n# about "b c"' in new


def test_a_section_is_replaced_with_the_comment_above_it() -> None:
    new = set_section(TEXT, ("columns", "age"), ["# other", "[columns.age]", 'role = "plain"'])
    assert '# other\n[columns.age]\nrole = "plain"\n\n# about "b c"\n[columns."b c"]' in new
    assert "about age" not in new


def test_a_section_that_is_missing_is_added() -> None:
    assert set_keys(TEXT, ("utility",), {"suppression": "0.1"}).endswith("\n[utility]\nsuppression = 0.1\n")
    assert set_keys(TEXT, ("utility",), {"suppression": None}) == TEXT


@pytest.mark.parametrize("text", ["privacy.k = 5\n", "privacy = { k = 5 }\n", '[study]\nname = """\n[privacy]\n"""\n'])
def test_what_is_written_otherwise_is_left_to_an_editor(text: str) -> None:
    with pytest.raises(InputError, match="edit the file"):
        set_keys(text, ("privacy",), {"k": "7"})
