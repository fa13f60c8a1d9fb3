"""What people write into cells, and what the draft and the study make of it: one table for both."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import numpy as np
import pytest

from covey.cells import MISSING
from covey.guess.columns import ColumnValues
from covey.guess.spelling import spelling
from covey.plain import toml_string
from covey.schema import Column
from covey.study import Study

NOW, SOON = date.today().year, date.today().year + 10
ISO = ["2023-04-18", "2021-12-31", "2022-01-02", "2020-02-29", "2019-07-15"]
COUNTS = ["1", "2", "3", "4", "5"]

TABLE: list[tuple[str, str, str | None, list[str], list[str], list[str]]] = [
    # the column's name, kind and format; cells, their values, and cells that are missing
    ("iso", "date", None, ISO, ISO, []),
    ("times", "date", None, ["2023-04-18T21:26:00", "2021-12-31 09:05", *ISO[2:]], ISO, []),
    ("zones", "date", None, ["2023-04-18T21:26:00Z", "2021-12-31T23:59:59.123+02:00", *ISO[2:]], ISO, []),
    ("utc", "date", "YYYY-MM-DD", ["2023-04-18 21:26:00 UTC", "2021-12-31 9:26 PM", *ISO[2:]], ISO, []),
    ("compact", "date", None, [day.replace("-", "") for day in ISO], ISO, []),
    ("hl7", "date", "YYYYMMDD", [day.replace("-", "") + "212600" for day in ISO], ISO, []),
    ("german", "date", "DD.MM.YYYY", ["18.04.2023", "31.12.2021", "2.1.2022", "29.02.2020", "15.07.2019"], ISO, []),
    ("german", "date", "DD.MM.YYYY", ["18.04.2023 21:26", "31.12.2021 9:05 Uhr", "2.1.2022", "29.2.2020", "15.7.2019"],
     ISO, ["00.00.0000", "99.99.9999", "k.A.", "unbekannt"]),
    ("Datum", "date", f"DD.MM.YY({NOW})", ["18.04.23", "31.12.21", "02.01.22", "29.02.20", "15.07.19"], ISO, []),
    ("Datum", "date", f"DD.MM.YY({NOW})",
     ["18.04.23 21:26", "31.12.21 09:05", "02.01.22 00:00", "29.02.20 7:10", "15.07.19 23:59"], ISO, []),
    ("born", "date", f"DD.MM.YY({NOW})", ["18.04.31", "31.12.47", "02.01.68", "29.02.80", "15.07.19"],
     ["1931-04-18", "1947-12-31", "1968-01-02", "1980-02-29", "2019-07-15"], []),
    ("due", "date", f"DD/MM/YY({SOON})",
     [f"18/04/{NOW % 100 + 1}", f"31/12/{NOW % 100 + 3}", f"02/01/{NOW % 100}", f"28/02/{NOW % 100 - 1}"],
     [f"{NOW + 1}-04-18", f"{NOW + 3}-12-31", f"{NOW}-01-02", f"{NOW - 1}-02-28"], []),
    ("us", "date", "MM/DD/YYYY", ["04/18/2023", "12/31/2021", "1/2/2022", "2/29/2020 3:15 PM", "7/15/2019"], ISO, []),
    ("us", "date", f"MM/DD/YY({NOW})", ["04/18/23", "12/31/21", "01/02/22", "02/29/20", "07/15/19"], ISO, []),
    ("swedish", "date", f"YY({NOW})-MM-DD", ["23-04-18", "21-12-31", "22-01-02", "20-02-29", "19-07-15"], ISO, []),
    ("oracle", "date", "DD-MMM-YYYY", ["18-APR-2023", "31-DEC-2021", "02-JAN-2022", "29-FEB-2020", "15-JUL-2019"], ISO,
     []),
    ("oracle", "date", f"DD-MMM-YY({NOW})", ["18-APR-23", "31-DEC-21", "02-JAN-22", "29-FEB-20", "15-JUL-19"], ISO, []),
    ("sas", "date", "DDMMMYYYY", ["18APR2023", "31DEC2021:09:00:00", "02JAN2022", "29FEB2020", "15JUL2019"], ISO, []),
    ("english", "date", "MMM DD, YYYY",
     ["April 18, 2023", "Dec 31, 2021", "Sunday, Jan 2, 2022", "Feb 29th, 2020", "July 15, 2019"], ISO, []),
    ("mail", "date", "DD MMM YYYY",
     ["Tue, 18 Apr 2023 21:26:00 +0200", "31 Dec 2021", "2 Jan 2022", "29 Feb 2020",
      "15 Jul 2019 10:00:00 GMT"], ISO, []),
    ("deutsch", "date", "DD. MMM YYYY",
     ["18. April 2023", "31. Dezember 2021", "2. Jänner 2022", "29. Feb. 2020", "Montag, 15. Juli 2019"], ISO, []),
    ("francais", "date", "DD MMM YYYY",
     ["18 avr. 2023", "31 décembre 2021", "2 janv. 2022", "29 févr. 2020", "15 juillet 2019"], ISO, ["sans objet"]),
    ("francais", "date", "DD MMM YYYY", ["1er avril 2023", "31 août 2021", "2 juin 2022"],
     ["2023-04-01", "2021-08-31", "2022-06-02"], []),
    ("francais", "date", "DD/MM/YYYY", ["18/04/2023 à 21h26", "31/12/2021", "02/01/2022", "29/02/2020",
     "15/07/2019 9h05"],
     ISO, []),
    ("espanol", "date", "DD de MMM de YYYY",
     ["18 de abril de 2023", "31 de diciembre de 2021", "2 de enero de 2022", "29 de febrero de 2020",
      "15 de julio de 2019"], ISO, ["sin dato", "s/d"]),
    ("italiano", "date", "DD MMM YYYY",
     ["18 aprile 2023", "31 dic 2021", "2 gennaio 2022", "29 feb. 2020", "15 luglio 2019"], ISO, []),
    ("令和", "date", "ERA年MM月DD日", ["令和5年4月18日", "令和3年12月31日", "令和4年1月2日(日)",
     "令和２年２月２９日", "令和元年7月15日"],
     ISO, ["未記入", "不明"]),
    ("wareki", "date", "ERA.MM.DD", ["R5.4.18", "H30.4.1", "S64.1.7", "T15.12.24", "㍻31.4.30"],
     ["2023-04-18", "2018-04-01", "1989-01-07", "1926-12-24", "2019-04-30"], []),
    ("wareki", "date", "ERA/MM/DD", ["R5/4/18", "H30/4/1", "S63/12/31"], ["2023-04-18", "2018-04-01", "1988-12-31"],
     []),
    ("年度", "date", "ERA年", ["平成31年", "昭和64年", "令和元年", "平成2年"], ["2019", "1989", "2019", "1990"], []),
    ("年度", "date", "ERA", ["平成31", "昭和64", "平成2"], ["2019", "1989", "1990"], ["不明"]),
    ("日期", "date", "YYYY年MM月DD日", ["2023年4月18日", "2021年12月31日 21时26分", "2022年1月2日", "2020年2月29日",
     "2019年7月15日"],
     ISO, ["未知", "不详"]),
    ("日付", "date", "YYYY年MM月DD日", ["２０２３年４月１８日", "2021年12月31日", "2022年1月2日", "2020年2月29日",
     "2019年7月15日"],
     ISO, ["未"]),
    ("날짜", "date", "YYYY년 MM월 DD일", ["2023년 4월 18일", "2021년 12월 31일 오후 9:26", "2022년1월2일",
     "2020년 2월 29일",
     "2019년 7월 15일"], ISO, ["없음", "미상"]),
    ("날짜", "date", "YYYY. MM. DD.", ["2023. 4. 18.", "2021. 12. 31.", "2022. 1. 2.", "2020. 2. 29.", "2019. 7. 15."],
     ISO, []),
    ("дата", "date", "DD.MM.YYYY", ["18.04.2023", "31.12.2021", "02.01.2022", "29.02.2020", "15.07.2019"], ISO,
     ["нет данных", "неизвестно"]),
    ("mixed", "date", "DD.MM.YYYY | YYYY-MM-DD", ["18.04.2023", "31.12.2021", "2.1.2022", *ISO[3:]], ISO, []),
    ("mixed", "date", f"DD.MM.YYYY | DD.MM.YY({NOW})", ["18.04.2023", "31.12.2021", "2.1.2022", "29.02.20", "15.07.19"],
     ISO, []),
    ("days", "date", None, ISO, ISO, ["1900-01-01", "9999-12-31", "0000-00-00", "NULL"]),
    ("tage", "date", "DD.MM.YYYY", ["18.04.2023", "31.12.2021", "2.1.2022", "29.02.2020", "15.07.2019"], ISO,
     ["01.01.1900", "31.12.9999"]),
    ("cdisc", "date", "YYYY-MM-DD?", [*ISO, "2023-05-06"], [*ISO, "2023-05-06"], ["2023-04"]),
    ("cdisc", "date", "YYYY-MM-DD?", ISO, ISO, ["2023---18"]),
    ("cdisc", "date", "YYYY-MM[-DD]", ["2023-04-18", "2021-12-UN", "2022-01", "2020-02-29", "2019-07"],
     ["2023-04", "2021-12", "2022-01", "2020-02", "2019-07"], ["UNK"]),
    ("cdisc", "date", "YYYY[-MM[-DD]]", ["2023---18", "2021-12-31", "2022", "2020-02-29", "2019-07"],
     ["2023", "2021", "2022", "2020", "2019"], []),
    ("cdisc", "date", "[DD-]MMM-YYYY", ["UN-APR-2023", "31-DEC-2021", "02-JAN-2022", "UN-FEB-2020"],
     ["2023-04", "2021-12", "2022-01", "2020-02"], ["UNK"]),
    ("monat", "date", "[DD.]MM.YYYY", ["00.04.2023", "31.12.2021", "02.01.2022"], ["2023-04", "2021-12", "2022-01"],
     []),
    ("month", "date", "YYYY-MM", ["2023-04", "2021-12", "2022-01"], ["2023-04", "2021-12", "2022-01"], []),
    ("month", "date", "MM/YYYY", ["04/2023", "12/2021", "1/2022"], ["2023-04", "2021-12", "2022-01"], ["n/a"]),
    ("month", "date", "MMM YYYY", ["avril 2023", "déc. 2021", "Jan 2022"], ["2023-04", "2021-12", "2022-01"], []),
    ("epoch", "date", "epoch seconds", ["1681853160", "1640995199", "1641081600"],
     ["2023-04-18", "2021-12-31", "2022-01-02"], ["0"]),
    ("created_at", "date", "epoch milliseconds", ["1681853160123", "1640995199999", "1641081600000"],
     ["2023-04-18", "2021-12-31", "2022-01-02"], []),
    ("birth_epoch", "date", "epoch seconds", ["-315619200", "662688000", "-1000000000"],
     ["1960-01-01", "1991-01-01", "1938-04-24"], []),
    ("visit_date", "date", "excel", ["45034", "44561.5", "44563"], ["2023-04-18", "2021-12-31", "2022-01-02"], []),
    ("plain", "number", None, ["37", "37.0", "-2.5", "1e3", "40"], ["37", "37", "-2.5", "1000", "40"], [".", "NA",
     "None"]),
    ("percent", "number", "1234.5 %", ["12.34%", "7 %", "100%", "0.5%", "3"], ["12.34", "7", "100", "0.5", "3"], []),
    ("prozent", "number", "1.234,5 %", ["12,34 %", "7 %", "100%"], ["12.34", "7", "100"], ["keine Angabe"]),
    ("german", "number", "1.234,5", ["1.234,56", "31,5", "-1.234.567,25"], ["1234.56", "31.5", "-1234567.25"],
     ["k. A."]),
    ("french", "number", "1 234,5", ["1 234,56", "31,5", "12\u202f345,1"], ["1234.56", "31.5", "12345.1"],
     ["non renseigné", "NSP"]),
    ("swiss", "number", "1'234.5", ["1'234.50", "31.5", "12’345"], ["1234.5", "31.5", "12345"], []),
    ("us", "number", "1,234.5", ["1,234.56", "31.5", "1,200"], ["1234.56", "31.5", "1200"], ["N/A"]),
    ("euro", "number", "€ 1,234.5", ["€ 1,200", "€ 31.5", "-€ 5"], ["1200", "31.5", "-5"], []),
    ("dollar", "number", "$ 1,234.5", ["$1,200.00", "$31.50", "($5.00)"], ["1200", "31.5", "-5"], []),
    ("betrag", "number", "1.234,5 €", ["1.200,00 €", "31,50 €", "5 €"], ["1200", "31.5", "5"], ["n.d."]),
    ("betrag", "number", "1.234,5 €", ["1.200 €", "31.500 €", "500 €"], ["1200", "31500", "500"], []),
    ("yen", "number", "1,234.5 円", ["1,200円", "12,000円", "500円"], ["1200", "12000", "500"], ["無回答"]),
    ("weight", "number", "1.234,5 kg", ["1,2 kg", "71,25 kg", "80"], ["1.2", "71.25", "80"], []),
    ("alter", "number", "1234.5 Jahre", ["37 Jahre", "41 Jahre", "8"], ["37", "41", "8"], ["unbekannt"]),
    ("wide", "number", "1234.5", ["１２３", "４５．５", "6"], ["123", "45.5", "6"], ["未測定"]),
    ("minus", "number", "1234.5", ["−5", "2.5", "5-"], ["-5", "2.5", "-5"], []),
    ("accounts", "number", "1,234.5", ["(1,200.50)", "300.25", "1,000"], ["-1200.5", "300.25", "1000"], []),
    ("garbage", "number", "1234.5?", ["37", "41", "8.5", "60", "61"], ["37", "41", "8.5", "60", "61"], ["ca. 50"]),
    ("codes", "number", None, COUNTS, COUNTS, ["-9", "999"]),
    ("clock", "text", None, ["21:26", "09:05", "23:59:59"], ["21:26", "09:05", "23:59:59"], []),
    ("postcode", "text", None, ["01067", "10115", "80331"], ["01067", "10115", "80331"], ["k.A."]),
    ("country", "text", None, ["NA", "DE", "FR"], ["NA", "DE", "FR"], [".", "--"]),
    ("icd", "text", None, ["H30.4", "S06.0", "T14.1"], ["H30.4", "S06.0", "T14.1"], ["不明"]),
    ("room", "text", None, ["H30", "S06", "T14"], ["H30", "S06", "T14"], []),
    ("réponse", "text", None, ["Oui", "Non"], ["Oui", "Non"], ["NSP", "sans objet", "non renseigné"]),
    ("respuesta", "text", None, ["sí", "no"], ["sí", "no"], ["sin dato", "s/d", "NS/NC"]),
    ("ответ", "text", None, ["да", "нет"], ["да", "нет"], ["нет данных", "н/д"]),
    ("degree", "text", None, ["None", "mild", "severe"], ["None", "mild", "severe"], []),
    ("version", "text", None, ["1.5.28", "2.5.40", "1.13.15"], ["1.5.28", "2.5.40", "1.13.15"], []),
]  # fmt: skip


def study_column(text: str) -> Column:
    head = '[study]\nname = "x"\n[privacy]\nk = 2\n[columns.q]\nrole = "quasi"\nhierarchy = "flat"\n'
    return Study.parse(f"{head}{text}\n", Path()).columns[0]


@pytest.mark.parametrize(("name", "kind", "written", "cells", "values", "lacking"), TABLE)
def test_the_draft_finds_how_cells_are_written_and_the_study_reads_them_so(
    name: str, kind: str, written: str | None, cells: list[str], values: list[str], lacking: list[str]
) -> None:
    column = ColumnValues(name, dict.fromkeys(cells, 50) | dict.fromkeys(lacking, 5), 0)
    found = column.spelling
    assert (found.kind, found.format) == (kind, written)
    lines = [f"null = [{', '.join(map(toml_string, found.null))}]"] if found.null else []
    lines += [] if found.format is None else [f"format = {toml_string(found.format)}"]
    read = study_column("\n".join([f'type = "{kind}"', *lines])).read
    assert [read(cell) for cell in cells] == values
    assert [read(cell) for cell in lacking] == [MISSING] * len(lacking)
    assert column.known.keys() == set(values)
    assert not lacking or "missing" in "; ".join(found.evidence), "what is read as missing is said"


def test_the_table_covers_what_people_write() -> None:
    assert len(TABLE) >= 60


@pytest.mark.parametrize(
    ("name", "least", "greatest", "kind"),
    [
        ("phone", 1_500_000_000, 1_700_000_000, "number"), ("npi", 1_000_000_000, 1_999_999_999, "number"),
        ("x", 1_000_000_000, 1_999_999_999, "number"), ("x", 1_500_000_000, 1_700_000_000, "date"),
        ("event_time", 1_500_000_000, 1_700_000_000, "date"), ("x", 40_000, 45_000, "number"),
        ("birth_number", 1_500_000_000, 1_700_000_000, "number"),
        ("visit_date", 40_000, 45_000, "date"), ("income", 10_000_000, 99_999_999, "number"),
    ],
)  # fmt: skip
def test_numbers_are_dates_only_where_their_name_or_their_range_says_so(
    name: str, least: int, greatest: int, kind: str
) -> None:
    drawn = np.random.default_rng(least).integers(least, greatest, 300)
    assert spelling({str(number): 1 for number in drawn}, name).kind == kind


def test_few_numbers_and_strange_years_are_no_dates() -> None:
    assert spelling({"1681853160": 5, "1640995199": 5}, "x").kind == "number"
    assert spelling({"55550101": 5, "43211231": 5}).kind == "number"


def test_orders_that_could_be_taken_for_one_another_are_not_mixed() -> None:
    cells = [f"03/{day:02}/2024" for day in range(13, 29)] + [f"{day:02}/03/2024" for day in range(13, 29)]
    found = spelling(dict.fromkeys(cells, 5))
    assert found.kind == "text" and "written in several ways" in found.evidence[0]


def test_what_more_than_one_row_in_fifty_spoils_stays_text() -> None:
    numbers = {str(number): 1 for number in range(10, 107)}
    assert spelling({**numbers, "ca. 50": 1}).kind == "number"
    assert spelling({**numbers, "ca. 50": 3}).kind == "text"
    days = {f"2023-04-{day:02}": 10 for day in range(1, 29)}
    assert spelling({**days, "soon": 5}).kind == "date"
    assert spelling({**days, "soon": 15}).kind == "text"


def test_facts_for_the_draft_are_told() -> None:
    timed = spelling({"2023-04-18 21:26": 5, "2023-04-19 00:00": 5})
    assert timed.has_times and "the time of day is dropped" in timed.evidence[0]
    assert not spelling({"2023-04-18 00:00:00": 5, "2023-04-19": 5}).has_times
    assert spelling({"20230418212600": 5, "20230419000000": 5}).has_times
    assert spelling({"1681853160": 5, "1640995199": 5}, "epoch").has_times
    assert spelling({"21:26": 5, "9:05 PM": 5, "21h26": 1, "21時26分": 1}).clock
    assert not spelling({"21:26": 5, "61:99": 5}).clock and not spelling({"21.26": 5, "9.05": 5}).clock
    assert spelling({"2023-04": 5, "2023-05": 5}).finest == "month"


@pytest.mark.parametrize(
    ("cells", "mark"),
    [
        (["I10|E11.9", "E11.9|J45", "I10"], "|"), (["I10; E11.9", "E11.9; J45", "I10"], ";"),
        (["I10,E11.9", "E11.9,J45", "I10"], ","), (["Asthma;Gicht", "Gicht;Krebs", "Gicht"], ";"),
        (["Meier, Eva", "Huber, Eva", "Huber, Uwe"], None), (["I10|E11", "J45|K21"], None), (["I10", "E11"], None),
    ],
)  # fmt: skip
def test_lists_of_codes_are_told_with_their_mark(cells: list[str], mark: str | None) -> None:
    found = spelling(dict.fromkeys(cells, 5))
    assert found.lists == mark and (mark is None or "a whole list is often one person's own" in found.evidence[0])
