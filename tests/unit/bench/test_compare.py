"""The comparison: everyone gets the same people and k, and one judge reads what each released."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pytest
from tests.conftest import Covey

from covey.bench import dataset as datasets
from covey.bench.compare import compare
from covey.bench.dataset import Dataset
from covey.bench.findings import Findings
from covey.study import Study

STUDY = """
[study]
name = "town"
protocol = "peel"
partition = "horizontal"
[privacy]
k = 3
[columns.person]
role = "identifier"
[columns.age]
role = "quasi"
hierarchy = { min = 0, max = 31, steps = [4, 16] }
[columns.sex]
role = "quasi"
hierarchy = "flat"
values = ["F", "M"]
[columns.ill]
role = "sensitive"
values = ["yes", "no"]
[parties.east]
[parties.west]
[parties.north]
"""


def people(count: int) -> pa.Table:
    return pa.table(
        {
            "person": [f"p{place}" for place in range(count)],
            "age": [str((place * 7) % 32) for place in range(count)],
            "sex": ["FM"[place % 2] for place in range(count)],
            "ill": ["yes" if place % 5 == 0 else "no" for place in range(count)],
        }
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("town")
    (made / "study.toml").write_text(STUDY)
    pyarrow.csv.write_csv(people(90), made / "all.csv")
    return made


@pytest.fixture(scope="module")
def town(folder: Path) -> Dataset:
    return datasets.of_table(Study.load(folder / "study.toml"), str(folder / "all.csv"))


@pytest.fixture(scope="module")
def findings(town: Dataset) -> Findings:
    return compare(town, (3, 9), allowance=0.0)


def test_every_row_is_dealt_once(town: Dataset) -> None:
    dealt = sorted(name for table in town.sites.values() for name in table.column("person").to_pylist())
    assert dealt == sorted(town.pooled.column("person").to_pylist())


@pytest.mark.thorough
def test_everyone_stands_in_the_table_at_every_k(findings: Findings) -> None:
    losses = findings.tables[0]
    together = {row[0] for row in losses.rows if row[1] == "nobody"}
    assert {"peel, rows split", "peel, columns split", "each alone"} <= together
    assert any(str(name).startswith("cluster") for name in together)
    owner = {row[0] for row in losses.rows if row[1] == "one party"}
    assert owner == {"peel", "sequential", "mondrian", "hilbert", "datafly"}
    every = findings.tables[-1]
    assert {(row[0], row[1], row[2]) for row in every.rows} == {
        (k, row[0], row[1]) for row in losses.rows for k in (3, 9)
    }


@pytest.mark.thorough
def test_no_risk_is_above_one_in_k(findings: Findings) -> None:
    every = findings.tables[-1]
    k, highest = every.head.index("k"), every.head.index("highest risk")
    judged = [(row[k], row[highest]) for row in every.rows if row[highest] is not None]
    assert judged
    assert all(float(risk or 0) <= 1 / int(asked or 1) for asked, risk in judged)


@pytest.mark.thorough
def test_a_protocol_runs_for_real_only_while_its_allowance_lasts(town: Dataset) -> None:
    every = compare(town, (3, 9), allowance=0.0, protocols=("peel",)).tables[-1]
    rounds, remark = every.head.index("rounds"), every.head.index("remark")
    peel = [row for row in every.rows if row[1] == "peel, rows split" and row[2] == "nobody"]
    assert [row[rounds] is not None for row in sorted(peel)] == [True, False]  # k = 3 is what the study asks
    assert [row[remark] for row in sorted(peel)] == ["", "its ideal, not run"]


def test_a_site_below_k_withholds_its_rows_and_they_count_as_lost(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(STUDY)
    sizes = {"east": 60, "west": 4, "north": 60}
    for name, size in sizes.items():
        pyarrow.csv.write_csv(people(size), tmp_path / f"{name}.csv")
    study = Study.load(tmp_path / "study.toml")
    data = datasets.of_parties(study, {name: str(tmp_path / f"{name}.csv") for name in sizes})
    every = compare(data, (5,), allowance=0.0, protocols=()).tables[-1]
    row = next(row for row in every.rows if row[1] == "each alone")
    assert row[every.head.index("withheld")] == 4
    assert float(row[every.head.index("loss (LM)")] or 0) > 4 / 124


def test_a_vertical_study_is_joined_on_its_key_for_the_comparison(tmp_path: Path) -> None:
    text = STUDY.replace('"horizontal"', '"vertical"').replace('role = "identifier"', 'role = "key"')
    text = text[: text.index("[parties.east]")]
    text += '[parties.east]\ncolumns = ["age"]\n[parties.west]\ncolumns = ["sex", "ill"]\n'
    (tmp_path / "study.toml").write_text(text)
    pyarrow.csv.write_csv(people(30).select(["person", "age"]), tmp_path / "east.csv")
    pyarrow.csv.write_csv(people(40).select(["person", "sex", "ill"]), tmp_path / "west.csv")
    data = datasets.of_parties(
        Study.load(tmp_path / "study.toml"), {n: str(tmp_path / f"{n}.csv") for n in ("east", "west")}
    )
    assert data.pooled.num_rows == 30
    row = data.pooled.filter(pa.compute.equal(data.pooled.column("person"), "p9")).to_pylist()
    assert row == [{"person": "p9", "age": "31", "sex": "M", "ill": "no"}]


@pytest.mark.slow
def test_the_command_writes_a_page_and_figures(covey: Covey, folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    called = covey(
        "bench", "--study", folder / "study.toml", "--table", folder / "all.csv", "--k", 3, "--quick", "--out", out,
        "--json",
    )  # fmt: skip
    assert called.code == 0, called.err
    assert json.loads(called.out) == json.loads((out / "bench.json").read_text())
    page = (out / "bench.html").read_text()
    assert "What is lost without trusting anyone" in page
    assert "<script" not in page


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("nonsense",), "there is no experiment 'nonsense'"),
        (("peel", "--k", "3"), "are for a comparison"),
        (("--table", "x.csv"), "add --study"),
        (("peel", "--adult", "nowhere"), "has no adult.csv"),
    ],
)
def test_a_wrong_call_is_told_what_is_wrong(covey: Covey, arguments: tuple[str, ...], says: str) -> None:
    called = covey("bench", *arguments)
    assert called.code == 2
    assert says in called.err
