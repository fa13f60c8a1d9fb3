"""The page "Add a protocol": its code, put into a folder of its own, is a whole protocol without an edit elsewhere."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.docs.snippets import blocks
from tests.harness.harness import answers, run
from tests.harness.hospitals import SITES, draw_people, stream_of, study_of, trial_of
from tests.harness.safety import kill, points

import covey
from covey import protocols
from covey.study import requirements

PAGE = Path(__file__).parents[2] / "docs" / "add-a-protocol.md"
MOST_LINES = 150


def code() -> str:
    return next(block.content for block in blocks(PAGE) if block.language == "python")


def add(folder: Path) -> None:
    """Saves the page's code as the page says, below that folder of protocols."""
    (folder / "maximum").mkdir(parents=True)
    (folder / "maximum" / "__init__.py").write_text(code())


@pytest.fixture
def added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The protocol in this process: the package looks for folders in one more place."""
    add(tmp_path)
    monkeypatch.setattr(protocols, "__path__", [*protocols.__path__, str(tmp_path)])
    requirements.folders.cache_clear()
    yield
    sys.modules.pop("covey.protocols.maximum", None)
    requirements.folders.cache_clear()
    protocols.named.cache_clear()


def test_the_folder_is_short() -> None:
    assert len(code().splitlines()) < MOST_LINES


@pytest.mark.usefixtures("added")
def test_real_equals_ideal() -> None:
    for seed in range(5):
        trial = trial_of(study_of("maximum", k=3), draw_people(stream_of(seed, "maximum"), SITES, 2, 9))
        assert answers(trial, run(trial, seed=seed)) == trial.ideal


@pytest.mark.thorough
@pytest.mark.usefixtures("added")
def test_a_party_that_is_killed_resumes_to_the_ideal(quick_path: Path) -> None:
    trial = trial_of(study_of("maximum", k=2), draw_people(stream_of(1, "maximum"), SITES, 2, 4))
    chosen, _ = points(trial, quick_path / "counting")
    unsafe = [line for place, point in enumerate(chosen[::9]) for line in kill(trial, point, quick_path / str(place))]
    assert unsafe == []


@pytest.mark.thorough
def test_it_is_listed_planned_run_over_tls_audited_and_replayed(tmp_path: Path) -> None:
    source = Path(covey.__file__).parent
    shutil.copytree(source, tmp_path / "src" / "covey", ignore=shutil.ignore_patterns("__pycache__"))
    add(tmp_path / "src" / "covey" / "protocols")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "src"), "NO_COLOR": "1"}

    def call(*arguments: str) -> str:
        ended = subprocess.run(
            [sys.executable, "-m", "covey", *arguments],
            cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=240, check=False,
        )  # fmt: skip
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    listed = json.loads(call("protocols", "maximum", "--json"))
    assert [protocol["name"] for protocol in listed] == ["maximum"]
    assert "byte for byte, what a trusted party" in call("demo", "--protocol", "maximum", "--out", "out")
    plan = json.loads(call("plan", "out/sample/study.toml", "--rows", "1000", "1400", "600", "--json"))
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert plan["rounds"] == summary["rounds"]
    assert "chains, signatures, ledger and summary hold" in call("audit", "out")
