"""The role of a column: values decide, names may only hold back. Each case has one beside it that must not be hit."""

from __future__ import annotations

import random  # noqa: TID251 - made with the standard library alone
import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import date

import numpy as np
import pytest
from tests.harness.raw_tables import FIRST, HAN, LAST, REMARKS, STREETS

from covey.guess.choice import Choice, Trial
from covey.guess.columns import ColumnValues
from covey.guess.roles import Guess, as_role, guess, without_surplus
from covey.schema import Role

ROWS = 1000
DRAW = random.Random(11)


def column(name: str, cell: Callable[[int], object], missing: int = 0) -> ColumnValues:
    cells = [str(cell(row)) for row in range(ROWS - missing)]
    return ColumnValues(name, dict(Counter(cells)), missing)


def guessed(name: str, cell: Callable[[int], object], missing: int = 0) -> Guess:
    return guess(column(name, cell, missing), 10, date(2025, 1, 1))


@pytest.mark.parametrize(
    ("name", "cell", "fate"),
    [
        ("x", lambda row: f"ab{row}x", "out"), ("x", lambda row: f"ab{row % 4}x", "open"),
        ("x", lambda row: 100 + row, "out"), ("x", lambda row: DRAW.gauss(0, 1000), "open"),
        ("x", lambda row: 4_000_000_001 + 37 * (row % 300), "out"),
        ("x", lambda row: 40_000_000 + row % 3 * 10**6, "open"),
        ("x", lambda row: f"{row % 24:02}:{row % 60:02}", "out"), ("x", lambda row: f"ward {row % 5}", "open"),
        ("x", lambda row: uuid.UUID(int=row % 8 * 10**30), "out"), ("x", lambda row: f"u{row % 3}@a.example", "out"),
        ("x", lambda row: f"{48 + DRAW.random():.5f}", "out"),
        ("x", lambda row: f"{48 + 9 * DRAW.random():.1f}", "open"),
        ("x", lambda row: f"{STREETS[row % 6]} {row % 90}", "out"), ("x", lambda row: f"{STREETS[row % 6]}", "open"),
        ("x", lambda row: REMARKS[row % 4].format(first=row % 60, last=row % 70, street=row % 50), "out"),
        ("x", lambda row: LAST[row % 30], "ask"), ("x", lambda row: LAST[row % 30].lower(), "open"),
        ("x", lambda row: f"{LAST[row % 30]}, {FIRST[row % 19]}", "ask"), ("x", lambda row: HAN[row % 18], "ask"),
        ("x", lambda row: f"C{row % 300:03}", "ask"), ("x", lambda row: "M" if row % 3 else "F", "quasi"),
        ("x", lambda row: f"2024-{row % 12 + 1:02}-{row % 28 + 1:02}", "quasi"),
        ("x", lambda row: 1950 + row % 60, "quasi"),
        ("x", lambda row: "all the same", "constant"), ("x", lambda row: row % 250, "ask"),
        ("surname", lambda row: LAST[row % 8], "out"), ("ward", lambda row: LAST[row % 8], "quasi"),
        ("concept_id", lambda row: 320 + row % 4, "open"), ("concept_id", lambda row: f"k{row % 200}", "out"),
        ("uwagi", lambda row: ["none", "HIV pos.", "late"][row % 3], "out"),
        ("stan", lambda row: ["a", "b", "c"][row % 3], "open"),
        ("miasto", lambda row: LAST[row % 30], "quasi"), ("leeftijd", lambda row: 20 + row % 60, "quasi"),
        ("氏名", lambda row: HAN[row % 18], "out"),
        ("性別", lambda row: row % 2, "quasi"),
        ("나이", lambda row: 20 + row % 60, "quasi"),
    ],
)  # fmt: skip
def test_the_fate_of_a_column_is_that_of_its_values(name: str, cell: Callable[[int], object], fate: str) -> None:
    found = guessed(name, cell)
    assert found.fate == fate, found
    assert (found.fate == "ask") == bool(found.question)


@pytest.mark.parametrize("name", ["diagnosis", "plan", "result", "rating", "status", "x"])
def test_no_name_opens_what_its_values_close(name: str) -> None:
    assert guessed(name, lambda row: f"ab{row}x").fate == "out"
    assert guessed(name, lambda row: LAST[row % 30]).fate in ("out", "ask")


@pytest.mark.parametrize(
    ("name", "fate"),
    [
        ("Name, Vorname", "out"), ("Fallnr.", "out"), ("Prénom", "out"), ("Bemerkung", "out"), ("Nazwisko", "out"),
        ("achternaam", "out"), ("sobrenome", "out"), ("성명", "out"), ("姓名", "out"), ("Geb.-Datum", "quasi"),
        ("Geschl.", "quasi"), ("Beruf", "quasi"), ("woonplaats", "quasi"), ("職業", "quasi"), ("Kosten €", "open"),
    ],
)  # fmt: skip
def test_a_name_in_many_languages_holds_a_column_back(name: str, fate: str) -> None:
    words = [f"{LAST[row % 30]}" for row in range(30)]
    few = ["yes", "no", "unclear"]
    assert (
        guessed(name, lambda row: (few if fate == "open" else words)[row % (3 if fate == "open" else 30)]).fate == fate
    )


def test_an_open_column_has_few_values_of_many_rows_and_rare_ones_become_other() -> None:
    often = guessed("x", lambda row: "abcdefgh"[min(7, row % 11)])
    assert often.fate == "open" and "unlisted" not in str(often.lines)
    rare = guessed("x", lambda row: "ab"[row % 2] if row % 250 else f"rare {row}")
    assert 'values = ["a", "b", "other"]' not in str(rare.lines), "four rows are too few to stand alone as other"
    rare = guessed("x", lambda row: "abc"[row % 3] if row % 20 else f"r{row}")
    assert rare.lines == ('values = ["a", "b", "c", "other"]', 'unlisted = "other"')


def test_few_missing_cells_never_stand_alone_in_an_open_column() -> None:
    words = guessed("x", lambda row: "abc"[row % 3], missing=4)
    assert 'missing = "other"' in words.lines and 'unlisted = "other"' in words.lines
    numbers = guessed("x", lambda row: round(DRAW.gauss(100, 30), 1), missing=4)
    assert numbers.fate == "open" and 'missing = "drop"' in numbers.lines
    assert "missing" not in str(guessed("x", lambda row: "abc"[row % 3], missing=300).lines)


def test_numbers_are_rounded_until_ten_rows_or_more_have_each_and_ends_are_coded() -> None:
    values = column("x", lambda row: round(DRAW.lognormvariate(7, 1), 2))
    found = guess(values, 10, date(2025, 1, 1))
    assert "round = true" in str(found.hierarchy) and "top = " in str(found.hierarchy)
    from covey.study import Study

    head = '[study]\nname = "s"\n[privacy]\nk = 10\n[columns.q]\nrole = "quasi"\nhierarchy = "flat"\n'
    study = Study.parse(f'{head}[columns.x]\nrole = "plain"\nhierarchy = {found.hierarchy}\n')
    rows = Counter[str]()
    for text, count in values.counts.items():
        rows[study.column("x").read(text)] += count
    assert 3 <= len(rows) <= 10 and min(rows.values()) >= 10, rows


def test_lists_of_codes_wait_for_an_answer() -> None:
    codes = ["I10", "E11", "J45", "K35", "N39"]
    assert guessed("dx", lambda row: "|".join(DRAW.sample(codes, 1 + row % 3))).fate == "ask"


def test_a_persons_choice_is_obeyed() -> None:
    subjects = column("SUBJID", lambda row: f"S{row}x")
    chosen = as_role(subjects, Role.SENSITIVE, 10, date(2025, 1, 1))
    assert (chosen.role, chosen.hierarchy) == (Role.SENSITIVE, None) and "a person chose" in chosen.why


def test_eight_columns_are_quasi_and_those_that_fewer_people_know_wait() -> None:
    known = ["visit date", "weight", "age", "sex", "city", "job", "school", "language", "race", "children"]
    columns = [column(name, lambda row: 20 + row % 9) for name in known]
    found = without_surplus([guess(each, 10, date(2025, 1, 1)) for each in columns], columns)
    assert [each.name for each in found if each.fate == "ask"] == ["visit date", "weight"]
    assert sum(each.fate == "quasi" for each in found) == 8


def test_a_quasi_column_of_which_little_would_be_left_waits_for_an_answer() -> None:
    """The trial says what a release would lose; without the dead column nothing is dead any more."""
    columns = [ColumnValues(name, {"x": 50, "y": 50}, 0) for name in ("place", "job")]
    guesses = [as_role(each, Role.QUASI, 10, date(2024, 12, 31)) for each in columns]

    def attempt(tried: Sequence[Guess], effort: str) -> Trial:
        quasi = [each.name for each in tried if each.role is Role.QUASI]
        cells = {name: np.zeros(100, np.int32) for name in quasi}
        lost = {name: 0.95 if name == "job" else 0.1 for name in quasi}
        return Trial(cells, lost, dict.fromkeys(quasi, 0.0), 100)

    settled = Choice(guesses, columns, 10, lambda _: guesses[0], attempt, frozenset()).settle()
    assert [each.role for each in settled] == [Role.QUASI, Role.ASK]
    kept = Choice(guesses, columns, 10, lambda _: guesses[0], attempt, frozenset({"job"})).settle()
    assert [each.role for each in kept] == [Role.QUASI, Role.QUASI]  # a person's choice stands
