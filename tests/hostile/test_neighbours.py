"""Others with an account on a party's machine: what a run leaves for its owner alone, they cannot read."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

import covey
from covey import samples
from covey.files import SHARED, UMASK
from covey.party.record import reporting
from covey.party.record.log import RunLog

OPEN = SHARED & ~UMASK


def modes(folder: Path) -> dict[str, int]:
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir() if path.is_file()}


def test_a_page_with_counts_of_the_data_is_its_owner_s_alone(tmp_path: Path) -> None:
    clinic = samples.copy("clinic", tmp_path / "clinic")
    out = tmp_path / "out"
    covey.anonymize(clinic / "clinic.csv", covey.Study.load(clinic / "study.toml"), "datafly").save(out)
    assert modes(out)["report.html"] == 0o600
    assert modes(out)["release.csv"] == modes(out)["summary.json"] == modes(out)["study.toml"] == OPEN
    reporting.write(out)
    assert modes(out)["report.html"] == OPEN
    reporting.write(out, data=str(clinic / "clinic.csv"))
    assert modes(out)["report.html"] == 0o600


@pytest.mark.thorough
def test_the_ledger_of_a_run_is_its_owner_s_alone(tmp_path: Path) -> None:
    sample = samples.copy("hospitals", tmp_path / "sample")
    data = {name: str(sample / f"{name}.csv") for name in ("north", "south", "east")}
    covey.simulate(covey.Study.load(sample / "study.toml"), data, seed=1, out=tmp_path / "run")
    found = modes(tmp_path / "run" / "north")
    assert {found.pop("ledger.json"), found.pop("run.log"), found.pop("journal", 0o600)} == {0o600}
    assert set(found.values()) == {OPEN}
    assert {"release.csv", "summary.json", "certificate.json", "transcript.jsonl", "report.html"} <= set(found)


def test_the_log_is_its_owner_s_alone(tmp_path: Path) -> None:
    RunLog(tmp_path / "run.log").note("a sentence")
    assert modes(tmp_path) == {"run.log": 0o600}
