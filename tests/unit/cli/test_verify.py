"""`covey verify`: exit 0 for yes, 1 for no, 2 for bad input, and one sentence that says why."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from tests.conftest import Covey

import covey as product

STUDY = """[study]
name = "trial"
[privacy]
k = 2
l = 2
[columns.name]
role = "identifier"
[columns.age]
role = "quasi"
hierarchy = { min = 0, max = 99, steps = [10] }
[columns.illness]
role = "sensitive"
singles_out = "there are few rows"
"""
RELEASE = 'age,illness\n"[30, 39]",flu\n"[30, 39]",cold\n*,flu\n*,none\n'
ORIGINAL = "name;age;illness\nAnn;31;flu\nBob;38;cold\nCid;50;flu\nDot;70;none\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "study.toml").write_text(STUDY)
    (tmp_path / "release.csv").write_text(RELEASE)
    (tmp_path / "original.csv").write_text(ORIGINAL)
    return tmp_path


def test_a_good_release_is_a_yes_on_one_screen_without_colours(covey: Covey, folder: Path) -> None:
    ended = covey(
        *("verify", folder / "release.csv", "--study", folder / "study.toml"),
        *("--original", folder / "original.csv"),
    )
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("yes")
    assert "\x1b" not in ended.out
    assert len(ended.out.splitlines()) <= 35
    for word in ("l (frequency) of illness", "prosecutor", "em-monotone", "0 withheld"):
        assert word in ended.out


def test_every_figure_is_whole_on_a_terminal_of_eighty_characters(
    covey: Covey, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for path in (folder / "study.toml", folder / "release.csv"):
        path.write_text(path.read_text().replace("illness", "illness_of_last_year"))
    study = folder / "study.toml"
    study.write_text(study.read_text() + "hierarchy = { prefix = [1] }\n")
    call = ("verify", folder / "release.csv", "--study", study)
    shown, found = covey(*call), json.loads(covey(*call, "--json").out)["diversity"][0]
    assert max(map(len, shown.out.splitlines())) <= 80
    for name in ("frequency", "entropy", "t_equal", "t_hierarchy"):
        assert f"{found[name]:.4g}" in shown.out.split()
    assert "hierarchy" in shown.out.split()


def test_a_release_that_falls_short_is_a_no_with_one_sentence(covey: Covey, folder: Path) -> None:
    (folder / "release.csv").write_text(RELEASE.replace("*,none\n", ""))
    ended = covey("verify", folder / "release.csv", "--study", folder / "study.toml")
    assert ended.code == 1
    assert ended.out.startswith("no")
    assert ended.err.count("\n") == 1
    assert "k must be at least 2 but it is 1" in ended.err


def test_json_is_printed_also_for_a_no(covey: Covey, folder: Path) -> None:
    (folder / "release.csv").write_text(RELEASE.replace("none", "flu"))
    ended = covey("verify", folder / "release.csv", "--study", folder / "study.toml", "--json")
    found = json.loads(ended.out)
    assert (ended.code, found["answer"], found["k"]) == (1, False, 2)
    assert [each["name"] for each in found["requirements"] if not each["met"]] == ["l (frequency)"]


def test_a_released_identifier_is_a_no(covey: Covey, folder: Path) -> None:
    ended = covey("verify", folder / "original.csv", "--study", folder / "study.toml")
    assert ended.code == 1
    assert "'name' (identifier)" in ended.err


@pytest.mark.parametrize(("release", "says"), [
    ("age\n*\n*\n", "has no column 'illness'"),
    ("age,illness\nold,flu\nold,cold\n", "column 'age' has a cell in 2 rows that is no label of its hierarchy"),
    ("age,illness\n", "has a header but no rows"),
    ("age,illness\nNaN,flu\n", "column 'age' has NaN or an infinity in 1 row"),
])  # fmt: skip
def test_a_bad_release_is_bad_input(covey: Covey, folder: Path, release: str, says: str) -> None:
    (folder / "release.csv").write_text(release)
    ended = covey("verify", folder / "release.csv", "--study", folder / "study.toml")
    assert (ended.code, ended.out) == (2, "")
    assert says in ended.err
    assert ended.err.count("\n") == 1


def test_a_made_up_row_is_a_no_with_the_original(covey: Covey, folder: Path) -> None:
    (folder / "release.csv").write_text(RELEASE.replace("cold", "none"))
    arguments = ("verify", folder / "release.csv", "--study", folder / "study.toml")
    assert covey(*arguments).code == 0
    ended = covey(*arguments, "--original", folder / "original.csv")
    assert ended.code == 1
    assert "released rows without an original of their own must be at most 0 but it is 1" in ended.err


def test_the_signed_loss_counts_what_was_withheld_and_is_told_beside_that_of_the_file(
    covey: Covey, tmp_path: Path
) -> None:
    text = (
        '[study]\nname = "towns"\nprotocol = "peel"\npartition = "horizontal"\n[privacy]\nk = 3\nk_insider = 1\n'
        '[columns.town]\nrole = "quasi"\nhierarchy = "flat"\nvalues = ["Ashby", "Brook"]\n'
        "[parties.north]\n[parties.south]\n[parties.east]\n"
    )
    towns = {"north": ["Ashby", "Ashby"], "south": ["Ashby", "Brook"], "east": ["Ashby"]}
    tables = {name: pa.table({"town": own}) for name, own in towns.items()}
    (tmp_path / "towns.toml").write_text(text)
    out = tmp_path / "out"
    product.simulate(product.Study.load(tmp_path / "towns.toml"), tables, seed=1).save(out)
    assert json.loads((out / "summary.json").read_text())["withheld"] == 1
    verified = covey(
        "verify", out / "release.csv", "--study", out / "study.toml", "--certificate", out / "certificate.json"
    )
    assert verified.code == 0
    assert "signed loss: lm 0.2, with every row that was withheld as lost in full" in verified.out
    assert "quasi columns: lm 0, " in verified.out
    assert "what was withheld is not in the file" in " ".join(verified.out.split())
