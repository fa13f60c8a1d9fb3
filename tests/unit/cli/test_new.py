from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import Covey
from tests.harness.raw_tables import as_csv, raw_table
from tests.harness.trees import covers

import covey as product
from covey import samples
from covey.guess.spelling import spelling
from covey.schema import Role
from covey.study import Study


def roles(called_out: str) -> dict[str, str]:
    return {column["column"]: column["role"] for column in json.loads(called_out)["columns"]}


def test_a_new_study_loads_and_its_data_is_fit(covey: Covey, tmp_path: Path) -> None:
    data = samples.path("clinic") / "clinic.csv"
    called = covey("new", data, "--out", tmp_path / "study.toml")
    assert called.code == 0 and "QUASI" in called.out
    assert f"next: covey check {tmp_path / 'study.toml'} --data {data}\n" in called.out
    assert covey("check", tmp_path / "study.toml", "--data", data).code == 0


def test_the_guesses_are_what_a_steward_would_expect(covey: Covey, tmp_path: Path) -> None:
    data = samples.path("clinic") / "clinic.csv"
    found = roles(covey("new", data, "--out", tmp_path / "study.toml", "--json").out)
    assert found["patient_id"] == "identifier"
    assert found["diagnosis"] == "sensitive"
    assert {found[name] for name in ("age", "sex", "postcode", "occupation", "admission")} == {"quasi"}


def test_tables_with_the_same_columns_make_a_horizontal_study(covey: Covey, tmp_path: Path) -> None:
    data = [samples.path("hospitals") / f"{name}.csv" for name in ("north", "south", "east")]
    assert covey("new", *data, "--out", tmp_path / "study.toml").code == 0
    study = Study.load(tmp_path / "study.toml")
    assert study.partition == "horizontal"
    assert [party.name for party in study.parties] == ["north", "south", "east"]
    assert all(column.closed for column in study.quasi), "parties compute jointly over listed domains only"
    for file, party in zip(data, study.parties, strict=True):
        assert covey("check", tmp_path / "study.toml", "--data", file, "--as", party.name).code == 0


def test_parties_whose_files_names_have_no_plain_letters_are_told_apart(covey: Covey, tmp_path: Path) -> None:
    names = ("é.csv", "ü.csv", "a b.csv", "a-b.csv", "_x.csv", "n" * 80 + ".csv")
    for name in names:
        (tmp_path / name).write_text("age,ill\n" + "".join(f"{20 + row},flu\n" for row in range(30)))
    covey("new", *(str(tmp_path / name) for name in names), "--out", str(tmp_path / "study.toml"))
    parties = [party.name for party in Study.load(tmp_path / "study.toml").parties]
    assert len(set(parties)) == len(names)


def test_tables_that_share_a_key_make_a_vertical_study(covey: Covey, tmp_path: Path) -> None:
    folder = samples.path("clinic-billing")
    data = [folder / "clinic.csv", folder / "billing.csv"]
    assert covey("new", *data, "--out", tmp_path / "study.toml").code == 0
    study = Study.load(tmp_path / "study.toml")
    assert study.partition == "vertical" and study.key is not None


def test_a_file_that_is_there_is_never_written_over(covey: Covey, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text("mine")
    called = covey("new", samples.path("clinic") / "clinic.csv", "--out", tmp_path / "study.toml")
    assert called.code == 2 and "is there already" in called.err
    assert [path.name for path in tmp_path.iterdir()] == ["study.toml"]


@pytest.mark.parametrize("name", ['quote"d', "ünïcode", "with space", "a.b", "<script>"])
def test_odd_column_names_survive_into_the_study(covey: Covey, tmp_path: Path, name: str) -> None:
    quoted = '"' + name.replace('"', '""') + '"'
    rows = "".join(f"{'xy'[row % 2]},{row % 3}\n" for row in range(90))
    (tmp_path / "data.csv").write_text(f"{quoted},b\n{rows}")
    assert covey("new", tmp_path / "data.csv", "--out", tmp_path / "study.toml").code == 0
    assert Study.load(tmp_path / "study.toml").columns[0].name == name


def test_columns_whose_names_make_one_file_name_have_files_of_their_own(covey: Covey, tmp_path: Path) -> None:
    header = ["漢字", "漢語", "a b", "a-b", "long " * 60 + "x", "long " * 60 + "y"]
    rows = [",".join(f"{name[-1]}{place % (3 + at)}" for at, name in enumerate(header)) for place in range(60)]
    draft(covey, tmp_path, ",".join(header), rows, *(part for name in header for part in ("--role", f"{name}=quasi")))
    assert len(list((tmp_path / "hierarchies").iterdir())) == len(header)


def test_values_with_line_breaks_are_listed_in_the_study_of_several(covey: Covey, tmp_path: Path) -> None:
    codes = ["".join(f'"{place % 9:02}\n{place % 7}",{20 + place % 30}\n' for place in range(200))] * 2
    for name, rows in zip(("north", "south"), codes, strict=True):
        (tmp_path / f"{name}.csv").write_text(f"postcode,age\n{rows}")
    data = [tmp_path / f"{name}.csv" for name in ("north", "south")]
    assert covey("new", *data, "--out", tmp_path / "study.toml").code == 0
    assert (tmp_path / "study.toml").read_text().count("unlisted") == 1
    checked = covey("check", tmp_path / "study.toml", "--as", "north", "--data", data[0])
    assert checked.code == 0, checked


def test_codes_that_look_like_numbers_are_listed_as_they_are_written(covey: Covey, tmp_path: Path) -> None:
    data = [tmp_path / f"{name}.csv" for name in ("north", "south")]
    for path in data:  # as a program writes postcodes that it took for numbers
        path.write_text("postcode,age\n" + "".join(f"{1067 + place % 9}.0,{20 + place % 30}\n" for place in range(90)))
    assert covey("new", *data, "--out", tmp_path / "study.toml").code == 0
    checked = covey("check", tmp_path / "study.toml", "--as", "north", "--data", data[0])
    assert checked.code == 0, checked


def test_a_star_is_read_as_missing_for_no_tree_takes_it_for_a_value(covey: Covey, tmp_path: Path) -> None:
    found = draft(covey, tmp_path, "ward,age", (f"{'*ab'[place % 3]},{20 + place % 30}" for place in range(90)))
    assert 'null = ["*"]' in found["ward"]["more"]  # type: ignore[operator]
    assert "* in 30 rows is read as missing" in str(found["ward"]["why"])


def test_dates_that_are_written_in_several_ways_are_told(covey: Covey, tmp_path: Path) -> None:
    days = [f"{1 + place % 28:02}" for place in range(90)]
    rows = [f"03/{day}/2024" if place % 2 else f"{day}/03/2024" for place, day in enumerate(days)]
    assert "written in several ways" in str(draft(covey, tmp_path, "visit", rows)["visit"]["why"])


def test_a_table_that_no_study_can_have_is_refused_with_what_to_do(covey: Covey, tmp_path: Path) -> None:
    for header, said in (
        ('"two\nlines",age', "'two\\nlines' has a line break or another unseen mark; rename the column"),
        ("Age,sex,age", "line 1: columns 'Age' and 'age' differ only in capitals; rename one"),
    ):
        (tmp_path / "data.csv").write_text(f"{header}\n" + ",".join("1" * len(header.split(","))) + "\n")
        called = covey("new", tmp_path / "data.csv", "--out", tmp_path / "study.toml")
        assert called.code == 2 and said in called.err, called
        assert not (tmp_path / "study.toml").exists()


def test_a_draft_without_a_quasi_column_says_how_to_name_one(covey: Covey, tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("a,b\n" + "1,x\n" * 30)
    called = covey("new", tmp_path / "data.csv", "--out", tmp_path / "study.toml")
    assert "--role COLUMN=quasi" in called.out
    named = covey("new", tmp_path / "data.csv", "--out", tmp_path / "named.toml", "--role", "a=quasi")
    assert named.code == 0 and covey("check", tmp_path / "named.toml", "--data", tmp_path / "data.csv").code == 0


def draft(covey: Covey, tmp_path: Path, header: str, rows: Iterable[str], *more: str) -> dict[str, dict[str, object]]:
    (tmp_path / "data.csv").write_text(header + "\n" + "".join(f"{row}\n" for row in rows))
    called = covey("new", tmp_path / "data.csv", "--out", tmp_path / "study.toml", "--json", *more)
    assert called.code == 0, called
    checked = covey("check", tmp_path / "study.toml", "--data", tmp_path / "data.csv")
    assert checked.code == 0, checked
    return {column["column"]: column for column in json.loads(called.out)["columns"]}


@pytest.mark.few(2)
@pytest.mark.parametrize(("decimals", "top"), [(2, 95), (1, 900), (2, 90_000), (0, 900), (0, 60)])
def test_numbers_are_proposed_in_steps_with_coded_ends_that_are_nobodys_values(
    covey: Covey, tmp_path: Path, decimals: int, top: int
) -> None:
    drawn = np.random.default_rng(top).uniform(top / 20, top, 300)
    costs = [f"{cost:.{decimals}f}" for cost in drawn]
    draft(covey, tmp_path, "height,sex", [f"{cost},{'FM'[place % 2]}" for place, cost in enumerate(costs)])
    column = Study.load(tmp_path / "study.toml").column("height")
    tree = column.tree()
    assert 30 < tree.leaves < 200 and tree.height >= 4
    read = [column.read(cost) for cost in costs]
    assert sum(label.startswith(">=") for label in read) >= 10, "the top is that of ten people or more"
    assert not decimals or len(set(read) & set(costs)) < 30, "rounded"


def test_the_way_in_which_people_write_is_found_and_told(covey: Covey, tmp_path: Path) -> None:
    sexes = ["NA" if row % 9 == 0 else "ab"[row % 2] for row in range(200)]
    rows = [
        f"{20 + row % 40},5;{row % 28 + 1:02}.{row % 12 + 1:02}.20{row % 5 + 20};1.{100 + row},5;{sexes[row]}"
        for row in range(200)
    ]
    found = draft(covey, tmp_path, "age;visit_date;cost;sex", rows)
    study = Study.load(tmp_path / "study.toml")
    assert study.column("visit_date").format == "DD.MM.YYYY" and study.column("visit_date").kind == "date"
    assert study.column("age").format == study.column("cost").format == "1.234,5"
    assert study.column("sex").null == {"NA"}
    assert "NA in 23 rows is read as missing" in str(found["sex"]["why"])
    assert "dates written as DD.MM.YYYY in 200 rows" in str(found["visit_date"]["why"])


@pytest.mark.parametrize(
    ("cells", "order", "doubt"),
    [
        (["12/31/2024", "01/02/2024"], "MM/DD/YYYY", False), (["31/12/2024", "01/02/2024"], "DD/MM/YYYY", False),
        (["01/02/2024", "03/04/2024"], "DD/MM/YYYY", True), (["31-Dec-2024", "01-Feb-2024"], "DD-MMM-YYYY", False),
    ],
)  # fmt: skip
def test_the_order_of_dates_is_that_of_the_evidence(cells: list[str], order: str, doubt: bool) -> None:
    found = spelling(dict.fromkeys(cells, 5))
    assert found.format == order and ("would fit too: check" in found.evidence[0]) == doubt


def test_words_for_missing_are_not_found_where_they_are_values() -> None:
    assert spelling({"NA": 3, "DE": 4, "FR": 2}).null == ()
    assert spelling({"None": 3, "mild": 4, "severe": 2}).null == ()
    assert spelling({"None": 3, "1": 4, "2.5": 2, "-": 1}).null == ("-", "None")
    assert spelling({"1,234": 1, "12,500": 2}).format == "1,234.5"
    assert spelling({"1,23": 1, "12,5": 2}).format != "1,234.5"


def test_prose_is_left_out_and_a_persons_many_rows_make_k_larger(covey: Covey, tmp_path: Path) -> None:
    draw = np.random.default_rng(1)
    people = [
        (4000 + 7 * each, "FM"[each % 2], 20 + each % 50, "abcd"[each % 4], "xyz"[draw.integers(3)])
        for each in range(150)
    ]
    rows = [
        f"{who},{sex},{age},{site},{kin},{draw.integers(9)},the patient of bed {row % 90} was seen by doctor {row % 60}"
        for row, (who, sex, age, site, kin) in enumerate(people * 3)
    ]
    found = draft(covey, tmp_path, "number,sex,age,site,kin,visits,remark", rows)
    assert found["remark"]["role"] == "identifier" and "free text" in str(found["remark"]["why"])
    assert found["number"]["role"] == "identifier" and "names a person" in str(found["number"]["why"])
    assert Study.load(tmp_path / "study.toml").privacy.k == 30


@pytest.mark.parametrize("name", ["birth_date", "Geburtsdatum"])
def test_dates_of_birth_become_ages_and_a_column_that_says_the_same_again_is_left_out(
    name: str, covey: Covey, tmp_path: Path
) -> None:
    rows = [
        f"19{40 + row % 55}-0{row % 9 + 1}-1{row % 9},{row % 7},{1.5 * (row % 7)},2024-05-0{row % 9 + 1}"
        for row in range(400)
    ]
    found = draft(covey, tmp_path, f"{name},rooms,log_rooms,seen", rows)
    assert str(found[name]["hierarchy"]).startswith("{ age_on = 2025-01-01")
    assert "says the same as 'rooms'" in str(found["log_rooms"]["why"])
    assert Study.load(tmp_path / "study.toml").column(name).read("1980-01-02") == "44"


def test_words_are_grouped_by_their_first_word_or_rare_ones_with_rare_ones(covey: Covey, tmp_path: Path) -> None:
    jobs = [
        "nurse adult",
        "nurse child",
        "nurse night",
        "clerk bank",
        "clerk post",
        "cook",
        "driver bus",
        "driver lorry",
    ]
    towns = ["Ulm"] * 40 + ["Bonn"] * 20 + ["Jena"] * 5 + ["Gera"] * 3 + ["Hof"] * 2 + ["Zug"] * 2
    draft(covey, tmp_path, "job,town", [f"{jobs[row % 8]},{towns[row % 72]}" for row in range(720)])
    study = Study.load(tmp_path / "study.toml")
    job, town = study.column("job").tree(), study.column("town").tree()
    assert covers(job, "nurse adult | nurse child | nurse night", "nurse child")
    above = {path[0]: path[1:-1] for path in town.paths()}
    assert above["Ulm"][-1] == "Ulm", "a frequent value stays as it is as long as can be"
    assert len({path[1] for path in town.paths() if path[0] in ("Jena", "Gera", "Hof", "Zug")}) < 4


@pytest.mark.thorough
def test_a_draft_anonymizes_well_as_it_is(covey: Covey, tmp_path: Path) -> None:
    data = samples.path("clinic") / "clinic.csv"
    covey("new", data, "--out", tmp_path / "study.toml", "--k", "5")
    study = Study.load(tmp_path / "study.toml")
    release = product.anonymize(str(data), study, budget=1)
    assert product.verify(release.table, study).answer and release.figures.l_reached is not None
    assert release.loss.lm is not None and release.loss.lm < 0.35


def test_joint_drafts_have_the_protocol_that_is_recommended_and_a_port_for_each(covey: Covey, tmp_path: Path) -> None:
    rows = [samples.path("hospitals") / f"{name}.csv" for name in ("north", "south", "east")]
    covey("new", *rows, "--out", tmp_path / "rows.toml")
    text = (tmp_path / "rows.toml").read_text()
    assert 'protocol = "peel"' in text and all(f"127.0.0.1:{port}" in text for port in (7701, 7702, 7703))
    study = Study.load(tmp_path / "rows.toml")
    assert study.column("diagnosis").values is not None and study.privacy.l is not None
    folder = samples.path("clinic-billing")
    covey("new", folder / "clinic.csv", folder / "billing.csv", "--out", tmp_path / "v" / "study.toml")
    assert Study.load(tmp_path / "v" / "study.toml").protocol == "cluster"


@pytest.mark.thorough
def test_a_joint_draft_with_a_sensitive_number_runs_as_it_is(covey: Covey, tmp_path: Path) -> None:
    dealt = []
    for party in range(3):
        rows = "".join(f"{20 + n % 30},{n * 37 % 900 + 0.5},{('none', 'flu', 'cold')[n % 3]}\n" for n in range(60))
        (tmp_path / f"p{party}.csv").write_text(f"age,income,illness\n{rows}")
        dealt += ["--data", f"p{party}={tmp_path / f'p{party}.csv'}"]
    out = tmp_path / "study.toml"
    assert covey("new", *(tmp_path / f"p{party}.csv" for party in range(3)), "--out", out).code == 0
    study = Study.load(out)
    assert study.privacy.l is not None and study.column("income").values is not None
    ran = covey("simulate", out, *dealt, "--in-process", "--out", tmp_path / "run")
    assert ran.code == 0, ran.err


def test_a_role_that_a_person_says_replaces_the_guess(tmp_path: Path, covey: Covey) -> None:
    data = tmp_path / "visits.csv"
    rows = "".join(f"{20 + n % 30},{'Bonn' if n % 3 else 'Ulm'},x{n}\n" for n in range(90))
    data.write_text(f"age,town,note\n{rows}")
    out = tmp_path / "study.toml"
    asked = covey("new", data, "--role", "town=sensitive", "--role", "note=quasi", "--out", out)
    assert asked.code == 0, asked.err
    study = Study.load(out)
    assert {column.name: str(column.role) for column in study.columns} == {
        "age": "quasi", "town": "sensitive", "note": "quasi"
    }  # fmt: skip
    assert covey("check", out, "--data", data).code == 0
    wrong = covey("new", data, "--role", "town=secret", "--out", tmp_path / "b.toml")
    assert (wrong.code, "COLUMN=ROLE" in wrong.err) == (2, True)
    strange = covey("new", data, "--role", "city=plain", "--out", tmp_path / "b.toml")
    assert (strange.code, "no column 'city'" in strange.err) == (2, True)


def test_the_next_command_reads_the_file_as_this_one_did(covey: Covey, tmp_path: Path) -> None:
    file = tmp_path / "towns.csv"
    file.write_bytes(b"town,age\n" + "".join(f"Köln,{age}\n" for age in range(20, 60)).encode("cp1252"))
    called = covey("new", file, "--encoding", "cp1252", "--out", tmp_path / "study.toml")
    assert called.code == 0, called.err
    assert "--encoding cp1252" in called.out.splitlines()[-1]


def test_the_screen_has_forty_lines_at_most_dangerous_columns_first(covey: Covey, tmp_path: Path) -> None:
    (tmp_path / "raw.tsv").write_text(as_csv(raw_table("survey", rows=300)))
    called = covey("new", tmp_path / "raw.tsv", "--out", tmp_path / "study.toml")
    lines = called.out.splitlines()
    heads = [line.split(" ")[0] for line in lines if " (" in line and line[0] != " "]
    assert heads == sorted(heads, key=["ASK", "OUT", "QUASI", "OPEN"].index) and len(heads) > 2
    assert len(lines) <= 40 and max(map(len, lines[:-1])) <= 80
    wide = [raw_table("survey", rows=300), raw_table("survey", seed=8, rows=300)]
    columns = [*wide[0], *(replace(column, name=f"{column.name}_2") for column in wide[1])]
    (tmp_path / "wide.tsv").write_text(as_csv(columns))
    called = covey("new", tmp_path / "wide.tsv", "--out", tmp_path / "wide" / "study.toml")
    assert len(called.out.splitlines()) <= 40 and "--all lists them" in called.out
    every = covey("new", tmp_path / "wide.tsv", "--all", "--out", tmp_path / "all" / "study.toml").out
    assert all(column.name in every for column in columns)


def test_questions_are_asked_one_at_a_time_and_the_answers_are_written(covey: Covey, tmp_path: Path) -> None:
    (tmp_path / "raw.tsv").write_text(as_csv(raw_table("nameless", rows=400)))
    data, out = tmp_path / "raw.tsv", tmp_path / "study.toml"
    called = subprocess.run(
        [sys.executable, "-m", "covey", "new", str(data), "--out", str(out), "--ask"],
        input="what\ns\no\n", capture_output=True, text=True, timeout=300, check=True,
    ).stdout  # fmt: skip
    assert "1 of 2: v1 (" in called and "2 of 2: v2 (30 values)" in called and called.count("Does it name") >= 2
    study = Study.load(out)
    assert (study.column("v1").role, study.column("v2").role) == (Role.SENSITIVE, Role.IDENTIFIER)
    plain = json.loads(covey("new", data, "--out", tmp_path / "b" / "study.toml", "--json").out)["columns"]
    asked = next(column for column in plain if column["column"] == "v2")
    assert (asked["fate"], asked["values"], asked["alone"]) == ("ask", 30, 0) and asked["question"]


def test_what_waits_is_the_last_that_anonymize_says_with_its_questions(covey: Covey, tmp_path: Path) -> None:
    (tmp_path / "raw.tsv").write_text(as_csv(raw_table("nameless", rows=400)))
    study, out = tmp_path / "study.toml", tmp_path / "out"
    covey("new", tmp_path / "raw.tsv", "--out", study)
    called = covey("anonymize", study, "--data", tmp_path / "raw.tsv", "--out", out)
    lines = called.out.splitlines()
    released = len(Study.load(study).released)
    assert called.code == 0, called
    assert lines[-1] == f"Yes for {released} of {released + 2} columns; 2 wait for you"
    assert lines[-2].startswith("v2 waits: Does it name or number a person?")
    assert "Does it name or number a person?" in (out / "report.html").read_text()
