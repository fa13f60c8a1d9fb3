from __future__ import annotations

from pathlib import Path

import pytest
from tests.conftest import SHARED
from tests.harness.trees import covers

from covey.errors import InputError
from covey.hierarchy import parse, read, write


def test_line_ends_and_byte_order_marks_do_not_matter() -> None:
    plain = parse(b"a;x;*\nb;x;*\n", "f")
    assert parse(b"\xef\xbb\xbfa;x;*\r\nb;x;*\r\n", "f") == plain
    assert parse(b"a;x;*\nb;x;*", "f") == plain


def test_quotes_are_doubled_and_may_hold_the_separator() -> None:
    tree = parse(b'"say ""ah""";"a;b";*\n', "f")
    assert tree.paths() == [('say "ah"', "a;b", "*")]
    assert parse(write(tree).encode(), "f") == tree


def test_labels_are_read_clean() -> None:
    assert parse(b" a ;x; * \n", "f").paths() == [("a", "x", "*")]


def test_a_repeated_leaf_with_the_same_path_is_one_leaf() -> None:
    assert parse(b"a;x;*\na;x;*\n", "f").leaves == 1


def test_numbers_are_normalised_only_where_the_study_says_so() -> None:
    content = b"01;low;*\n2.0;low;*\n"
    assert parse(content, "f").labels[:2] == ("01", "2.0")
    assert parse(content, "f", "number").labels[:2] == ("1", "2")


@pytest.mark.parametrize(
    ("content", "line", "word"),
    [
        (b"a;x;*\nb;*\n", "line 2", "levels"),
        (b"a;x;p;*\nb;y;p;*\nc;x;q;*\n", "line 3", "'x' has two parents"),
        (b"a;x;*\nb;x;*\na;y;*\n", "line 3", "'a' is repeated with another path"),
        (b"a;x;*\nb;x;y\n", "line 2", "'y' stands where the root"),
        (b"a;x;*\n\xe9;x;*\n", "line 2", "UTF-8"),
        (b"a;x;*\nb\0;x;*\n", "line 2", "NUL"),
        (b'a;x;*\n"b;x;*\n', "line 2", "leaf;parent"),
        (b"", "f: is empty", "leaf;parent"),
        (b"\n\n", "f: is empty", "leaf;parent"),
    ],
)
def test_a_damaged_file_is_refused_with_its_line(content: bytes, line: str, word: str) -> None:
    with pytest.raises(InputError) as refused:
        parse(content, "f")
    assert line in str(refused.value)
    assert word in str(refused.value)


def test_all_problems_of_a_file_are_told_at_once_each_with_its_line() -> None:
    with pytest.raises(InputError) as refused:
        parse(b"a;x;p;*\nb;y;*\nc;x;q;*\na;z;p;*\n", "f")
    assert str(refused.value) == (
        "f: 3 problems: line 2: 'b' has 3 levels where the first row has 4; line 3: 'x' has two parents; "
        "line 4: 'a' is repeated with another path than in row 1"
    )


def test_a_root_keeps_its_name_and_several_tops_get_one_above_them() -> None:
    plain = parse(b"a;x;*\nb;y;*\n", "f")
    named = parse(b"a;x;Europe\nb;y;Europe\n", "f")
    assert named.paths() == [("a", "x", "Europe"), ("b", "y", "Europe")] and parse(write(named).encode(), "f") == named
    assert parse(b"a;x\nb;y\n", "f") == plain
    assert parse(b"a\nb\n", "f").paths() == [("a", "*"), ("b", "*")]


def test_a_label_that_means_other_leaves_on_a_higher_level_gets_that_levels_number() -> None:
    tree = parse(b"Paris;France;West;*\nFrance;France;West;*\nOslo;Oslo;North;*\nWest;Oslo;North;*\n", "f")
    assert tree.paths() == [
        ("Paris", "France (level 1)", "West (level 2)", "*"),
        ("France", "France (level 1)", "West (level 2)", "*"),
        ("Oslo", "Oslo (level 1)", "North", "*"),
        ("West", "Oslo (level 1)", "North", "*"),
    ]
    assert parse(write(tree).encode(), "f") == tree
    assert list(tree.encode(["France", "West"])) == [1, 3], "a cell of the data is a leaf, as it is spelled"


def test_a_label_that_is_made_up_is_no_other_nodes() -> None:
    tree = parse(b"a;b;*\nb;b (level 1);*\n", "f")
    assert tree.paths() == [("a", "b (level 1)+", "*"), ("b", "b (level 1)", "*")]


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere\.csv: cannot be read"):
        read(tmp_path / "nowhere.csv")


def test_every_hierarchy_of_adult_survives_a_round_trip() -> None:
    files = [file for file in sorted((SHARED / "adult").glob("*.csv")) if file.name != "adult.csv"]
    if not files:
        pytest.skip("the Adult data (shared/data/adult) is not on this machine")
    for file in files:
        tree = read(file)
        assert parse(write(tree).encode(), file.name) == tree
    assert covers(read(SHARED / "adult" / "age.csv"), "25-29", "30")
