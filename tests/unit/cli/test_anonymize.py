from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import Covey

from covey import samples
from covey.errors import StudyError
from covey.publish import with_effort
from covey.study import Study
from covey.study.editing import set_keys


@pytest.fixture
def clinic(tmp_path: Path) -> Path:
    samples.copy("clinic", tmp_path / "clinic")
    return tmp_path / "clinic"


def test_a_release_is_written_with_all_that_verifying_it_needs(covey: Covey, clinic: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    called = covey(
        "anonymize", clinic / "study.toml", "--data", clinic / "clinic.csv", "--out", out, "--algorithm", "mondrian"
    )
    assert called.code == 0, called.err
    assert "3,000 rows in" in called.out
    left = {"release.csv", "summary.json", "study.toml", "hierarchies", "report.html"}
    assert {path.name for path in out.iterdir()} == left
    verified = covey("verify", out / "release.csv", "--study", out / "study.toml", "--original", clinic / "clinic.csv")
    assert verified.code == 0, verified.err


def test_another_k_for_a_quick_look_leaves_a_folder_that_fits_together(
    covey: Covey, clinic: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    call = (
        "anonymize",
        clinic / "study.toml",
        "--data",
        clinic / "clinic.csv",
        "--out",
        out,
        "--algorithm",
        "mondrian",
    )
    called = covey(*call, "--k", "11")
    assert called.code == 0, called.err
    assert json.loads((out / "summary.json").read_text())["k_reached"] >= 11
    assert covey("verify", out / "release.csv", "--study", out / "study.toml").code == 0
    assert "Do not publish this" not in (out / "report.html").read_text()
    again = covey(*call)
    assert (again.code, "holds a release already" in again.err) == (2, True)
    assert covey(*call, "--force").code == 0
    assert json.loads((out / "summary.json").read_text())["k"] == 5


def test_a_study_says_its_effort_and_the_command_line_another(clinic: Path) -> None:
    text = (clinic / "study.toml").read_text()
    told, other = (set_keys(text, ("utility",), {"effort": f'"{word}"'}, "study.toml") for word in ("quick", "hard"))
    study = Study.parse(told, clinic)
    assert study.study_hash != Study.parse(text, clinic).study_hash
    assert with_effort(study, "peel", {}) == {"effort": "quick"}
    assert with_effort(study, "peel", {"effort": "thorough"}) == {"effort": "thorough"}
    assert with_effort(study, "mondrian", {}) == {}
    assert with_effort(Study.parse(text, clinic), "peel", {}) == {}
    with pytest.raises(StudyError, match="effort must be one of quick, normal, thorough"):
        Study.parse(other, clinic)


@pytest.mark.thorough
def test_the_same_seed_gives_the_same_bytes_on_one_thread_and_on_two(
    covey: Covey, clinic: Path, tmp_path: Path
) -> None:
    call = ("anonymize", clinic / "study.toml", "--data", clinic / "clinic.csv", "--seed", "7", "--effort", "quick")
    releases = []
    for threads in ("1", "2"):
        out = tmp_path / threads
        called = covey(*call, "--threads", threads, "--out", out)
        assert called.code == 0, called.err
        releases.append((out / "release.csv").read_bytes())
    assert releases[0] == releases[1]


def test_a_folder_that_cannot_be_written_is_refused_before_the_data_are_read(
    covey: Covey, clinic: Path, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    called = covey("anonymize", clinic / "study.toml", "--data", tmp_path / "nothing.csv", "--out", tmp_path / "file")
    assert called.code == 2
    assert "is a file; name a folder" in called.err


@pytest.mark.thorough
def test_a_reader_who_has_seen_enough_ends_a_command_quietly() -> None:
    covey = "from covey.cli import main; main(['protocols', '--json'])"
    ended = subprocess.run(
        ["bash", "-c", '"$0" -c "$1" | true; echo ${PIPESTATUS[0]}', sys.executable, covey],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert (ended.stdout.strip(), ended.stderr) == ("0", "")


def test_json_is_the_summary(covey: Covey, clinic: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    called = covey(
        "anonymize",
        clinic / "study.toml",
        "--data",
        clinic / "clinic.csv",
        "--out",
        out,
        "--algorithm",
        "hilbert",
        "--json",
    )
    assert json.loads(called.out) == json.loads((out / "summary.json").read_text())
    assert {"lm", "em", "dm", "c_avg"} == set(json.loads(called.out)["loss"])


@pytest.mark.thorough
def test_explain_says_what_costs_and_what_asking_for_less_would_buy(covey: Covey, clinic: Path, tmp_path: Path) -> None:
    call = ("anonymize", clinic / "study.toml", "--data", clinic / "clinic.csv", "--algorithm", "hilbert", "--explain")
    shown = covey(*call, "--out", tmp_path / "a")
    assert shown.code == 0, shown.err
    for heading in (
        "what the columns cost",
        "the largest classes",
        "what asking for less would buy",
        "k = 4 instead of 5",
    ):
        assert heading in shown.out
    answer = json.loads(covey(*call, "--out", tmp_path / "b", "--json").out)["explanation"]
    assert {column["name"] for column in answer["columns"]} == {
        "age",
        "sex",
        "postcode",
        "occupation",
        "admission",
        "ward",
    }
    assert json.loads((tmp_path / "b" / "explanation.json").read_text()) == answer


def test_an_infeasible_l_ends_with_1_and_the_largest_that_is(covey: Covey, clinic: Path, tmp_path: Path) -> None:
    study = clinic / "study.toml"
    study.write_text(study.read_text().replace("l = 2 ", "l = 90 "))
    called = covey("anonymize", study, "--data", clinic / "clinic.csv", "--out", tmp_path / "out")
    assert called.code == 1
    assert "l = 90" in called.err and "the whole table reaches" in called.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--algorithm", "voronoi"], "choose one of peel"),
        (["--algorithm", "mondrian", "--option", "speed=9"], "relaxed (default False)"),
        (["--algorithm", "mondrian", "--option", "relaxed=perhaps"], "option relaxed must be true or false"),
        (["--algorithm", "datafly", "--budget", "3"], "datafly takes no budget"),
    ],
)
def test_a_wrong_call_ends_with_2_and_says_what_is_known(
    covey: Covey, clinic: Path, tmp_path: Path, more: list[str], said: str
) -> None:
    called = covey(
        "anonymize", clinic / "study.toml", "--data", clinic / "clinic.csv", "--out", tmp_path / "out", *more
    )
    assert called.code == 2
    assert said in called.err
    assert not (tmp_path / "out").exists()


def test_an_option_reaches_the_algorithm(covey: Covey, clinic: Path, tmp_path: Path) -> None:
    call = ("anonymize", clinic / "study.toml", "--data", clinic / "clinic.csv", "--algorithm", "hilbert", "--json")
    fall = json.loads(covey(*call, "--out", tmp_path / "a").out)
    loss = json.loads(covey(*call, "--out", tmp_path / "b", "--option", "cost=loss").out)
    assert loss["loss"]["lm"] < fall["loss"]["lm"]


@pytest.mark.thorough
def test_an_interrupt_says_so_and_leaves_nothing_behind(tmp_path: Path) -> None:
    """A search of many seconds is cut off once it has shown that it runs."""
    rng = np.random.Generator(np.random.PCG64(1))
    header = ",".join(f"c{column}" for column in range(6))
    rows = "\n".join(",".join(map(str, row)) for row in rng.integers(0, 60, size=(20_000, 6)).tolist())
    (tmp_path / "data.csv").write_text(f"{header}\n{rows}\n")
    spec = "{ min = 0, max = 59, steps = [5, 15, 30] }"
    columns = "".join(f'[columns.c{column}]\nrole = "quasi"\nhierarchy = {spec}\n' for column in range(6))
    (tmp_path / "study.toml").write_text(f'[study]\nname = "t"\n[privacy]\nk = 5\n{columns}')
    call = [sys.executable, "-c", "from covey.cli import main; main()", "anonymize", "study.toml", "--data", "data.csv"]
    process = subprocess.Popen(
        [*call, "--out", "out", "--budget", str(10**15)], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    for line in process.stderr:  # reading and peeling come first
        if "improving" in line:
            break
    process.send_signal(signal.SIGINT)
    _, rest = process.communicate(timeout=120)
    assert process.returncode == 1
    assert "covey: cancelled; nothing was written" in rest
    assert {path.name for path in tmp_path.iterdir()} == {"data.csv", "study.toml"}
