"""What a column's format, top and bottom coding, rounding and ages make of a cell."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import covey
from covey import cells
from covey.errors import InputError
from covey.schema import Column
from covey.study import Study


def column(text: str) -> Column:
    head = '[study]\nname = "x"\n[privacy]\nk = 2\n'
    return Study.parse(f'{head}[columns.q]\nrole = "quasi"\n{text}\n', Path()).columns[0]


@pytest.mark.parametrize(
    ("spelling", "cell", "value"),
    [
        ("1.234,5", "31,5", "31.5"), ("1.234,5", "-1.234.567,25", "-1234567.25"), ("1.234,5", "1234", "1234"),
        ("1,234.5", "1,234.5", "1234.5"), ("1 234,5", "1\u00a0234,5", "1234.5"), ("1'234.5", "1'234", "1234"),
        ("1234,5", "0,5", "0.5"),
    ],
)  # fmt: skip
def test_numbers_are_read_as_the_study_says_they_are_spelled(spelling: str, cell: str, value: str) -> None:
    found = column(f'type = "number"\nhierarchy = "flat"\nformat = "{spelling}"')
    assert found.read(f" {cell} ") == value
    assert found.published.read(value) == value


@pytest.mark.parametrize("cell", ["1.23,5", "1,2,3", "12.34", "abc", ""])
def test_what_is_not_spelled_so_is_no_number(cell: str) -> None:
    assert cells.formatted_number(cell, "1.234,5") is None


@given(st.decimals(-(10**9), 10**9, places=2), st.sampled_from(list(cells.NUMBER_FORMATS)))
def test_every_number_survives_its_spelling(value: Decimal, spelling: str) -> None:
    thousands, decimal = cells.NUMBER_FORMATS[spelling]
    spelled = f"{value:,.2f}".replace(",", "t").replace(".", decimal).replace("t", thousands[:1])
    assert cells.formatted_number(spelled, spelling) == value


@pytest.mark.parametrize(
    ("order", "cell"),
    [
        ("DD.MM.YYYY", "31.12.2024"), ("DD.MM.YYYY", "31.12.2024 14:05:59"), ("MM/DD/YYYY", "12/31/2024"),
        ("DD/MM/YYYY", "31/12/2024"), ("YYYY/MM/DD", "2024/12/31"), ("YYYYMMDD", "20241231"),
        ("DD-MMM-YYYY", "31-Dec-2024"), ("MMM DD, YYYY", "December 31, 2024"),
    ],
)  # fmt: skip
def test_days_are_read_in_the_order_that_the_study_says(order: str, cell: str) -> None:
    tree = 'hierarchy = { date = ["year", "half-decade"], min = 2020-01-01, max = 2029-12-31 }'
    found = column(f'{tree}\nformat = "{order}"')
    assert found.read(cell) == "2024-12-31"
    assert found.tree().paths()[0] == ("2020-01-01", "2020", "2020-2024", "*")
    assert cells.formatted_date("99.99.2024", "DD.MM.YYYY") is None


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ('type = "number"\nhierarchy = "flat"\nformat = "12.5"', "format of numbers must be one of"),
        ('type = "number"\nhierarchy = "flat"\nformat = "€ 1,234.5 €"', "a unit may stand before or after it"),
        ('type = "date"\nhierarchy = "flat"\nformat = "DD.MM.YY"', r"say the last year .* DD\.MM\.YY\(2026\)"),
        ('type = "date"\nhierarchy = "flat"\nformat = "DD.YYYY"', "is no order of dates"),
        ('type = "date"\nhierarchy = "flat"\nformat = "YYYY-MM[-DD"', "is no order of dates"),
        ('type = "date"\nhierarchy = "flat"\nformat = "[YYYY-]MM"', "is no order of dates"),
        ('type = "date"\nhierarchy = "flat"\nformat = "]YYYY["', "is no order of dates"),
        ('type = "date"\nhierarchy = "flat"\nformat = "DD.MM.YYYY | YYYY-MM"', "must end at the same unit"),
        ('hierarchy = { age_on = 2026-01-01, top = 90 }\nformat = "YYYY-MM[-DD]"', "age_on needs a format with a day"),
        ('hierarchy = "flat"\nformat = "1.234,5"', "format is for numbers and dates"),
        ("hierarchy = { min = 0, steps = [5] }", "needs its max, or top"),
        ("hierarchy = { bottom = 9, top = 5 }", "is not below top"),
        ("hierarchy = { min = 0, max = 50, top = 85 }", "leaves nothing to code"),
        ("hierarchy = { age_on = 5, top = 85 }", "age_on must be the day"),
        ("hierarchy = { min = 0, max = 9, round = 5 }", "round must be true or false"),
    ],
)
def test_what_is_no_format_and_no_coding_is_refused_with_the_way_out(text: str, word: str) -> None:
    with pytest.raises(InputError, match=word):
        column(text)


def test_top_and_bottom_coding_are_leaves_and_no_finer_value_is_published() -> None:
    found = column("hierarchy = { bottom = 18, top = 22, steps = [5, 10] }")
    assert [found.read(cell) for cell in ("3", "18", "19.0", "21", "22", "97")] == [
        "<=18",
        "<=18",
        "19",
        "21",
        ">=22",
        ">=22",
    ]
    assert found.tree().paths() == [
        ("<=18", "<=19", "<=19", "*"), ("19", "<=19", "<=19", "*"), ("20", ">=20", ">=20", "*"),
        ("21", ">=20", ">=20", "*"), (">=22", ">=20", ">=20", "*"),
    ]  # fmt: skip


def test_rounding_reads_a_number_as_the_nearest_multiple_of_the_unit() -> None:
    found = column("hierarchy = { min = 0, max = 1000, unit = 100, round = true, steps = [500] }")
    assert [found.read(cell) for cell in ("149.99", "150", "0.4", "1000")] == ["100", "200", "0", "1000"]


def test_dates_of_birth_are_read_as_ages_on_a_day() -> None:
    found = column('hierarchy = { age_on = 2026-01-01, top = 90, steps = [5, 10] }\nformat = "DD.MM.YYYY"')
    assert [found.read(cell) for cell in ("01.01.1986", "02.01.1986", "15.05.1920")] == ["40", "39", ">=90"]
    assert found.published.read("39") == "39"


def test_a_format_without_days_makes_months_or_years_the_leaves() -> None:
    tree = 'hierarchy = { date = ["month", "quarter", "year", "decade"], min = 2020-01-01, max = 2021-12-31 }'
    months = column(f'{tree}\nformat = "YYYY-MM[-DD]"')
    assert months.tree().paths()[1] == ("2020-02", "2020-Q1", "2020", "2020s", "*") and months.tree().leaves == 24
    assert [months.read(cell) for cell in ("2021-03-18", "2021-03", "2021-03-UN", "2021")] == ["2021-03"] * 3 + ["2021"]
    assert months.published.read("2021-03") == "2021-03"
    years = column(f'{tree}\nformat = "YYYY[-MM[-DD]]"')
    assert years.tree().paths() == [("2020", "2020s", "*"), ("2021", "2020s", "*")]
    assert years.read("2021---18") == "2021" and years.read("2021-13-18") == "2021-13-18"


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ('hierarchy = { min = 0, max = 99, steps = [5] }\nformat = "1234.5?"', {"37": "37", "ca. 50": "", "(5": ""}),
        ('hierarchy = { min = 0, top = 9, steps = [5] }\nformat = "1234.5?"', {"37": ">=9", "ca. 50": ""}),
        ('hierarchy = { min = 0, top = 9, steps = [5] }\nformat = "1234.5"', {"37": ">=9", "ca. 50": "ca. 50"}),
        ('hierarchy = { age_on = 2026-01-01, top = 90 }\nformat = "DD.MM.YYYY?"', {"01.01.1986": "40", "1986": ""}),
        ('type = "date"\nhierarchy = "flat"\nformat = "YYYY-MM-DD?"', {"2023-04-18": "2023-04-18", "2023-04": ""}),
        ('type = "date"\nhierarchy = "flat"\nformat = "epoch seconds?"', {"1681853160": "2023-04-18", "soon": ""}),
    ],
)  # fmt: skip
def test_a_question_mark_reads_as_missing_what_is_not_written_so(text: str, read: dict[str, str]) -> None:
    assert {cell: column(text).read(cell) for cell in read} == read


def test_two_digits_mean_a_year_of_the_hundred_up_to_the_one_that_the_format_names() -> None:
    assert cells.formatted_date("1.1.26", "DD.MM.YY(2026)") == "2026-01-01"
    assert cells.formatted_date("1.1.27", "DD.MM.YY(2026)") == "1927-01-01"
    assert cells.formatted_date("1.1.00", "DD.MM.YY(1999)") == "1900-01-01"


@pytest.mark.parametrize(
    ("cell", "written"),
    [
        ("5 lb", "1234.5 kg"), ("5 kg 3", "1234.5 kg"), ("(5", "1234.5"), ("-5-", "1234.5"), ("(-5)", "1234.5"),
        ("1.2.3", "1.234,5"), ("18 jui 2023", "DD MMM YYYY"), ("18 Foo 2023", "DD MMM YYYY"),
        ("31.02.2023", "DD.MM.YYYY"), ("18.04.2023", "DD.MM.YY(2026)"), ("18.04.23", "DD.MM.YYYY"),
        ("9" * 30, "epoch seconds"), ("1e999", "excel"), ("2023-04-UN", "YYYY-MM-DD"), ("X5.4.18", "ERA.MM.DD"),
    ],
)  # fmt: skip
def test_what_is_written_otherwise_is_neither_a_number_nor_a_date(cell: str, written: str) -> None:
    read = cells.formatted_number if "1" in written and "YY" not in written else cells.formatted_date
    assert read(cell, written) is None


def test_a_release_by_months_is_judged_and_matched_with_its_original(tmp_path: Path) -> None:
    study = Study.parse(
        '[study]\nname = "x"\n[privacy]\nk = 3\n[columns.visit]\nrole = "quasi"\nformat = "[DD.]MM.YYYY"\n'
        'hierarchy = { date = ["quarter", "year"], min = 2022-01-01, max = 2023-12-31 }\n',
        tmp_path,
    )
    table = pa.table({"visit": [f"{row % 29:02}.{row % 12 + 1:02}.{2022 + row % 2}" for row in range(60)]})
    release = covey.anonymize(table, study, budget=1)
    verdict = covey.verify(release.arranged, study, table)
    assert verdict.answer and verdict.original is not None and verdict.original.unmatched == 0
    assert set(release.arranged.column("visit").to_pylist()) >= {"2022-01", "2023-12"}


def test_a_coded_release_is_judged_and_matched_with_its_original(tmp_path: Path) -> None:
    study = Study.parse(
        '[study]\nname = "x"\n[privacy]\nk = 3\n'
        '[columns.age]\nrole = "quasi"\nformat = "1.234,5"\n'
        "hierarchy = { bottom = 20, top = 60, steps = [5, 10, 20] }\n"
        '[columns.cost]\nrole = "plain"\nsingles_out = "made up"\ntype = "number"\nformat = "1.234,5"\n',
        tmp_path,
    )
    ages = [f"{15 + row}" for row in range(60)]
    table = pa.table({"age": ages, "cost": [f"1.{100 + row},5" for row in range(60)]})
    release = covey.anonymize(table, study, budget=1)
    verdict = covey.verify(release.arranged, study, table)
    assert verdict.answer and verdict.original is not None and verdict.original.unmatched == 0
    assert "1100.5" in release.arranged.column("cost").to_pylist()
    labels = set(release.arranged.column("age").to_pylist())
    assert any(label.startswith(">=") for label in labels) and not {"61", "74"} & labels


def test_the_hash_of_a_study_without_formats_is_what_it_was_and_one_with_them_differs() -> None:
    plain, spelled = (column(f'type = "number"\nhierarchy = "flat"{more}') for more in ("", '\nformat = "1234,5"'))
    assert "format" not in plain.describe() and spelled.describe() != plain.describe()
