"""`covey doctor`: every check can say no, and then says what to do."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from covey import doctor as machine
from covey.cli.check import doctor
from covey.errors import Unmet


def covey_doctor(*arguments: str) -> Result:
    app = typer.Typer()
    app.command()(doctor)
    return CliRunner().invoke(app, list(arguments))


def test_this_machine_is_fit_and_every_declared_package_was_looked_at(tmp_path: Path) -> None:
    result = covey_doctor("--out", str(tmp_path), "--json")
    assert result.exit_code == 0, result.exception
    answer = json.loads(result.stdout)
    assert answer["fit"]
    names = {finding["name"] for finding in answer["findings"]}
    assert {"python", "memory", "clock", "time zone", "folder", "file clock", "compiler", "loopback"} <= names
    assert {"numpy", "numba", "cryptography", "ibis-framework", "duckdb"} <= names
    assert list(tmp_path.iterdir()) == []


def test_the_table_shows_each_finding(tmp_path: Path) -> None:
    result = covey_doctor("--out", str(tmp_path))
    assert "fit" in result.stdout
    assert "loopback" in result.stdout


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission_is_unfit(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    result = covey_doctor("--out", str(closed))
    assert isinstance(result.exception, Unmet)
    assert "--out" in str(result.exception)


def test_a_path_below_a_file_is_unfit_with_exit_1_and_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = covey_doctor("--out", str(tmp_path / "file" / "run"), "--json")
    assert isinstance(result.exception, Unmet)
    assert result.exception.exit_code == 1
    assert "choose another with --out" in str(result.exception)
    assert not json.loads(result.stdout)["fit"]


def test_a_folder_that_is_not_there_yet_is_judged_by_where_it_would_be(tmp_path: Path) -> None:
    findings = {finding.name: finding for finding in machine.folder(tmp_path / "a" / "b")}
    assert findings["folder"].fit
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_unfit(tmp_path: Path) -> None:
    full = machine.space(tmp_path, machine.LEAST_SPACE - 1)
    assert not full.fit
    assert str(tmp_path) in full.advice
    assert machine.space(tmp_path, machine.LEAST_SPACE).fit


def test_a_clock_that_jumps_or_is_years_behind_is_unfit() -> None:
    now = datetime.now(UTC)
    assert machine.clock(now, 0.0).fit
    assert "jumped" in machine.clock(now, -30.0).found
    assert "before Covey was written" in machine.clock(datetime(1970, 1, 1, tzinfo=UTC), 0.0).found
    assert not machine.clock(now, 30.0).fit


def test_a_file_server_with_another_clock_is_unfit(tmp_path: Path) -> None:
    assert not machine.file_clock(tmp_path, -60.0).fit
    assert machine.file_clock(tmp_path, 0.5).fit


def test_a_package_that_is_missing_too_old_or_too_new_is_unfit() -> None:
    missing = machine.package("no-such-package[all]>=1")
    assert missing.found == "not installed"
    assert missing.advice == 'pip install "no-such-package[all]>=1"'
    assert "too old" in machine.package("numpy>=999.1").found
    assert "too new" in machine.package("numpy<1.2,>=1.0").found
    assert machine.package('numpy <999, >=1.26.4 ; python_version > "3"').fit


def test_a_package_that_is_installed_but_does_not_import_is_unfit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    metadata = tmp_path / "half_a_wheel-1.0.dist-info" / "METADATA"
    metadata.parent.mkdir()
    metadata.write_text("Metadata-Version: 2.1\nName: half_a_wheel\nVersion: 1.0\n")
    (tmp_path / "half_a_wheel.py").write_text("raise OSError('wrong ELF class')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    broken = machine.package("half_a_wheel>=1")
    assert broken.found == "1.0, but import half_a_wheel fails: OSError"
    assert "reinstall" in broken.advice
