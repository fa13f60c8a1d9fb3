from __future__ import annotations

import json
import shutil
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from tests.conftest import Covey

from covey import anonymize, samples, verify
from covey.errors import InputError
from covey.party.session.data import load_table
from covey.study import Study


def test_adult_is_fit_for_a_study_beside_its_hierarchies(covey: Covey, adult: Path) -> None:
    called = covey("check", adult / "study.toml", "--data", adult / "adult.csv")
    assert called.code == 0
    assert "30,162 rows" in " ".join(called.out.split()) and "fit for the study" in called.out


def test_a_country_deleted_from_the_hierarchy_is_named_with_its_rows(covey: Covey, adult: Path) -> None:
    file = adult / "native-country.csv"
    file.write_text("".join(line for line in file.read_text().splitlines(True) if not line.startswith("Cuba;")))
    called = covey("check", adult / "study.toml", "--data", adult / "adult.csv")
    assert called.code == 1
    assert "'Cuba' in 92 rows" in called.out
    assert "'native-country'" in called.err and "92 rows" in called.err
    found = json.loads(covey("check", adult / "study.toml", "--data", adult / "adult.csv", "--json").out)
    assert found["fit"] is False
    assert [c["unknown"] for c in found["columns"] if c["name"] == "native-country"] == [{"Cuba": 92}]


@pytest.mark.parametrize(
    ("name", "party", "file"),
    [
        ("clinic", None, "clinic.csv"),
        ("hospitals", "north", "north.csv"),
        ("hospitals", "south", "south.csv"),
        ("hospitals", "east", "east.csv"),
    ],
)
def test_the_sample_data_is_fit(covey: Covey, name: str, party: str | None, file: str) -> None:
    folder = samples.path(name)
    who = [] if party is None else ["--as", party]
    assert covey("check", folder / "study.toml", "--data", folder / file, *who).code == 0


STUDY = """[study]
name = "t"
[privacy]
k = 3
[columns.age]
role = "quasi"
hierarchy = "flat"
[columns.note]
role = "plain"
"""


def lay(folder: Path, study: str = STUDY) -> tuple[Path, Path]:
    (folder / "study.toml").write_text(study)
    (folder / "data.csv").write_text("age,note,extra\n1,a,x\n1,b,x\n2,c,x\n")
    return folder / "study.toml", folder / "data.csv"


def test_a_plain_column_that_identifies_fails_unless_the_study_says_otherwise(covey: Covey, tmp_path: Path) -> None:
    study, data = lay(tmp_path)
    called = covey("check", study, "--data", data)
    assert called.code == 1
    assert "'note'" in called.err and "singles_out" in called.err
    lay(tmp_path, STUDY + 'singles_out = "made up"\n')
    assert covey("check", study, "--data", data).code == 0


def test_local_risk_counts_unique_records_and_those_below_k(covey: Covey, tmp_path: Path) -> None:
    study, data = lay(tmp_path, STUDY + 'singles_out = "made up"\n')
    found = json.loads(covey("check", study, "--data", data, "--json").out)
    assert found["risk"] == {"tuples": 2, "unique": 1, "below_k": 3, "highest": 1.0}
    assert found["ignored"] == ["extra"]


def test_a_key_that_stands_twice_is_no(covey: Covey, tmp_path: Path) -> None:
    study = """[study]
name = "t"
protocol = "generalize"
[privacy]
k = 2
[protocol]
as_printed = true
[columns.id]
role = "key"
[columns.age]
role = "quasi"
hierarchy = "flat"
[columns.sex]
role = "quasi"
hierarchy = "flat"
[parties.a]
columns = ["age"]
[parties.b]
columns = ["sex"]
"""
    (tmp_path / "study.toml").write_text(study)
    (tmp_path / "data.csv").write_text("id,age\n1,2\n1,3\n")
    called = covey("check", tmp_path / "study.toml", "--data", tmp_path / "data.csv", "--as", "a")
    assert called.code == 1 and "more than one row" in called.err
    asked = covey("check", tmp_path / "study.toml", "--data", tmp_path / "data.csv")
    assert asked.code == 2 and "--as PARTY" in asked.err


TREE = """[study]
name = "t"
[privacy]
k = 2
t = 0.9
[columns.age]
role = "quasi"
hierarchy = "flat"
[columns.illness]
role = "sensitive"
hierarchy = "illness.csv"
distance = "hierarchy"
"""


def lay_tree(folder: Path, study: str = TREE) -> tuple[Path, Path]:
    (folder / "study.toml").write_text(study)
    (folder / "illness.csv").write_text("flu;lung;*\ncold;lung;*\nulcer;stomach;*\n")
    (folder / "data.csv").write_text("age,illness\n1,flu\n1,gout\n2,cold\n2,ulcer\n2,gout\n")
    return folder / "study.toml", folder / "data.csv"


def test_a_sensitive_value_that_its_hierarchy_lacks_is_named_with_its_rows(covey: Covey, tmp_path: Path) -> None:
    study, data = lay_tree(tmp_path)
    called = covey("check", study, "--data", data)
    assert called.code == 1
    assert "'gout' in 2 rows" in called.out
    assert "'illness': its hierarchy lacks 1 value, found in 2 rows" in called.err


def test_a_sensitive_value_that_its_hierarchy_lacks_is_refused_in_a_sentence(covey: Covey, tmp_path: Path) -> None:
    study, data = lay_tree(tmp_path)
    called = covey("anonymize", study, "--data", data, "--out", tmp_path / "release.csv")
    assert called.code == 2, called.err
    assert "column 'illness' has 1 value in 2 rows that its hierarchy does not have" in called.err
    assert "gout" not in called.err and not (tmp_path / "release.csv").exists()


def test_a_sensitive_column_with_a_hierarchy_and_a_list_keeps_to_both(covey: Covey, tmp_path: Path) -> None:
    study, data = lay_tree(tmp_path, TREE + 'values = ["flu", "gout", "ulcer"]\n')
    called = covey("check", study, "--data", data)
    assert "its hierarchy or list of values lacks 2 values, found in 3 rows" in called.err


def test_more_rows_than_rows_at_most_are_found_before_anyone_meets(covey: Covey, tmp_path: Path) -> None:
    folder = samples.path("hospitals")
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    study, data = tmp_path / "study.toml", tmp_path / "north.csv"
    study.write_text(study.read_text().replace("rows_at_most = 1500", "rows_at_most = 20"))
    called = covey("check", study, "--as", "north", "--data", data)
    assert called.code == 1
    assert "more than rows_at_most = 20: raise it in [study], for all parties" in called.err
    alone = covey("check", study, "--data", data)  # nobody's in particular: all parties' rows may be many
    assert alone.code == 0 and "as one party's data it could not be used" in alone.out


def test_a_party_with_more_rows_than_rows_at_most_is_refused_when_it_reads_its_data() -> None:
    folder = samples.path("hospitals")
    study = replace(Study.load(folder / "study.toml"), rows_at_most=20)
    with pytest.raises(InputError, match=r"north\.csv: this party has more than 20 rows; raise rows_at_most"):
        load_table(study, "north", folder / "north.csv")


BILLS = """[study]
name = "bills"
[privacy]
k = 10
[columns.bill]
role = "quasi"
hierarchy = "interval"
{more}
[columns.age]
role = "quasi"
hierarchy = {{ min = 0, max = 99, steps = [5, 10, 20] }}
"""


@pytest.mark.thorough
def test_no_interval_of_a_release_ends_at_the_bill_of_one_person() -> None:
    draw = np.random.default_rng(23)
    cents = draw.integers(0, 30_000, 20_000) * 100 + draw.integers(1, 100, 20_000)
    bills = [f"{cent // 100}.{cent % 100:02}" for cent in cents.tolist()]
    people = pa.table({"bill": bills, "age": draw.integers(0, 100, len(bills)).astype(str).tolist()})
    study = Study.parse(BILLS.format(more="range = [0, 30000]\nstep = 50"))
    release = anonymize(people, study, "mondrian")
    ends = {end for label in set(release.arranged["bill"].to_pylist()) for end in label.strip("[]").split(", ")}
    assert len(ends) > 50
    assert all(int(end) % 50 == 0 for end in ends)
    assert not {Decimal(end) for end in ends} & set(map(Decimal, bills))
    assert verify(release.arranged, study, people).answer


def test_an_interval_without_a_step_or_a_range_is_refused_with_the_line_to_add(covey: Covey, tmp_path: Path) -> None:
    study, data = lay(tmp_path, BILLS.format(more=""))
    called = covey("check", study, "--data", data)
    assert called.code == 2
    assert "'bill'" in called.err.replace("columns.bill", "'bill'") and "add step = 5, or the range" in called.err


def test_values_that_are_all_steps_need_a_larger_step(covey: Covey, tmp_path: Path) -> None:
    rows = "bill,age\n" + "".join(f"{bill},30\n" for bill in range(20, 60))
    study, data = lay(tmp_path, BILLS.format(more="range = [0, 100]\nstep = 1"))
    data.write_text(rows)
    called = covey("check", study, "--data", data)
    assert called.code == 1
    assert "multiples of its step, 1, and 40 rows have one that fewer than k = 10 have" in called.err
    called = covey("anonymize", study, "--data", data, "--out", tmp_path / "release.csv")
    assert called.code == 2 and "give it a larger step" in called.err
    lay(tmp_path, BILLS.format(more="range = [0, 100]"))  # the step is then 5
    data.write_text(rows)
    assert covey("check", study, "--data", data).code == 0


def test_a_column_of_addresses_is_no_sensitive_column(covey: Covey, tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    study.write_text(
        '[study]\nname = "s"\n[privacy]\nk = 2\n[columns.age]\nrole = "quasi"\nhierarchy = "flat"\n'
        '[columns.contact]\nrole = "sensitive"\n'
    )
    data = tmp_path / "rows.csv"
    data.write_text("age,contact\n" + "".join(f"{30 + i % 3},p{i % 4}@example.org\n" for i in range(12)))
    ended = covey("check", study, "--data", data)
    assert ended.code == 1
    assert "looks like e-mail addresses" in ended.err
    found = json.loads(covey("check", study, "--data", data, "--json").out)
    assert found["separating"][0] == {
        "columns": ["age"],
        "distinctness": 0.25,
        "separation": pytest.approx(1 - 36 / 132),
    }


def test_a_missing_value_is_not_counted_as_a_value(covey: Covey, tmp_path: Path) -> None:
    study, data = tmp_path / "study.toml", tmp_path / "rows.csv"
    flat = 'role = "quasi"\nhierarchy = "flat"\n'
    head = '[study]\nname = "s"\n[privacy]\nk = 2\n'
    study.write_text(f'{head}[columns.age]\n{flat}null = ["NA"]\n[columns.none]\n{flat}')
    data.write_text("age,none\n30,\nNA,\n,\n31,\n")
    found = json.loads(covey("check", study, "--data", data, "--json").out)["columns"]
    assert [(each["distinct"], each["missing"]) for each in found] == [(2, 2), (0, 4)]


def test_a_lattice_that_is_too_large_to_visit_is_announced_before_the_run(covey: Covey, tmp_path: Path) -> None:
    def check(columns: int) -> str:
        text = '[study]\nname = "wide"\n[privacy]\nk = 2\n'
        for place in range(columns):
            steps = "hierarchy = { min = 0, max = 15, steps = [2, 4, 8] }"
            text += f'[columns.c{place}]\nrole = "quasi"\n{steps}\n'
        (tmp_path / "study.toml").write_text(text)
        header = ",".join(f"c{place}" for place in range(columns))
        (tmp_path / "data.csv").write_text("\n".join([header, *(",".join(["3"] * columns) for _ in range(4))]) + "\n")
        called = covey("check", tmp_path / "study.toml", "--data", tmp_path / "data.csv")
        assert called.code == 0
        return " ".join(called.out.split())

    announced = "9,765,625 generalizations, too many to visit all: peel visits those that probes find"
    assert announced in check(10)
    written = ("--out", tmp_path / "out", "--effort", "quick")
    assert announced in covey("anonymize", tmp_path / "study.toml", "--data", tmp_path / "data.csv", *written).err
    assert "generalizations" not in check(3)
