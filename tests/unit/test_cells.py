from __future__ import annotations

import unicodedata
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from covey.cells import canonical, clean, guarded, is_not_finite, number, spell


@pytest.mark.parametrize("spelling", ["37", "37.0", " 37", "37 ", "+37", "037", "3.7e1", "37."])
def test_one_number_has_one_spelling(spelling: str) -> None:
    assert canonical(clean(spelling), "number") == "37"


@pytest.mark.parametrize("text", ["01234", "1E10", "37.0", "+37"])
def test_text_that_looks_like_a_number_stays_text(text: str) -> None:
    assert canonical(clean(text), "text") == text


@pytest.mark.parametrize("text", ["nan", "NaN", "inf", "-Infinity", "+INF"])
def test_not_finite_is_told_from_numbers(text: str) -> None:
    assert is_not_finite(text)
    assert number(text) is None


@pytest.mark.parametrize("text", ["1,234", "0x10", "1_000", "", "1e9999", "９" * 3, "9" * 65, "--1", "1e"])
def test_what_is_no_plain_number_is_no_number(text: str) -> None:
    assert number(text) is None


def test_negative_zero_is_zero() -> None:
    assert spell(Decimal("-0.0")) == "0"
    assert spell(Decimal("1E+3")) == "1000"


def test_composed_and_decomposed_letters_are_one() -> None:
    assert clean("e\u0301t\u00e9") == clean("\u00e9te\u0301") == unicodedata.normalize("NFC", "été")


def test_dates_lose_their_time_of_day() -> None:
    assert canonical("2024-02-29T23:59:00", "date") == "2024-02-29"
    assert canonical("2024-02-30", "date") == "2024-02-30"


@pytest.mark.parametrize("text", ["=1+1", "@SUM(A1)", "+cmd", "-2+3", "\x01x", "\x7fx"])
def test_a_formula_is_guarded_and_read_back(text: str) -> None:
    assert guarded(text) == "'" + text
    assert clean(guarded(text)) == text


@pytest.mark.parametrize("text", ["-5", "+5.5", "-1e3", "-", "[-5, 4]", "*", "'quoted'", "plain", "", "'"])
def test_numbers_and_plain_text_are_not_guarded(text: str) -> None:
    assert guarded(text) == text
    assert clean(text) == text


@given(st.text())
def test_reading_what_was_written_gives_it_back(text: str) -> None:
    value = clean(text)
    value = clean(value)
    if clean(value) == value:
        assert clean(guarded(value)) == value


@given(st.text())
def test_cleaning_ends(text: str) -> None:
    """A second site that reads a first site's release reads the same value."""
    once = clean(text)
    assert clean(guarded(once)) == once or clean(once) != once
