"""What is built has all that the package needs, and runs where nothing else is installed."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "covey"
MADE = {"__pycache__"}


def build(folder: Path) -> tuple[Path, Path]:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", str(folder)], cwd=ROOT, check=True, capture_output=True
    )
    return next(folder.glob("*.whl")), next(folder.glob("*.tar.gz"))


@pytest.mark.thorough
def test_wheel_and_sdist_have_every_file_of_the_package_and_no_test(tmp_path: Path) -> None:
    wheel, sdist = build(tmp_path)
    ours = {
        file.relative_to(ROOT / "src").as_posix()
        for file in SOURCE.rglob("*")
        if file.is_file() and not MADE & set(file.parts) and file.suffix not in (".nbi", ".nbc")
    }
    with zipfile.ZipFile(wheel) as packed:
        inside = {name for name in packed.namelist() if name.startswith("covey/")}
    assert inside == ours
    with tarfile.open(sdist) as packed_source:
        names = {name.partition("/")[2] for name in packed_source.getnames()}
    assert {f"src/{name}" for name in ours} <= names
    assert not any(name.startswith(("tests/", ".venv", "benchmarks/")) for name in names)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_wheel_and_sdist_run_the_demo_in_an_empty_environment(tmp_path: Path) -> None:
    build(tmp_path)
    tried = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "try_dist.py"), str(tmp_path)], capture_output=True, text=True
    )
    if "Could not find a version" in tried.stderr or "connection" in tried.stderr.lower():
        pytest.skip("no package index can be reached from here")
    assert tried.returncode == 0, tried.stderr
    assert tried.stdout.count("demo ran") == 2


def test_both_locks_name_no_host_and_agree() -> None:
    locks = [(ROOT / name).read_text() for name in ("requirements.lock", "requirements-user.lock")]
    assert not any("://" in lock or "--index" in lock or "--find-links" in lock for lock in locks)
    every, user = ({line for line in lock.splitlines() if "==" in line} for lock in locks)
    assert user <= every


@pytest.mark.thorough
def test_one_owners_commands_do_without_what_only_posix_has(tmp_path: Path) -> None:
    data = SOURCE / "samples" / "clinic" / "clinic.csv"
    code = f"""
import sys
sys.modules |= dict.fromkeys(("fcntl", "resource", "termios", "tty"))
from covey.cli import main
for call in (["new", {str(data)!r}, "--out", "study.toml"], ["check", "study.toml", "--data", {str(data)!r}]):
    try:
        main(call)
    except SystemExit as ended:
        assert not ended.code, ended.code
import covey.publish, covey.judge, covey.cli.folders
"""
    ended = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
