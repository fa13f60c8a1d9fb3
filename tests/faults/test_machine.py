"""What can be wrong with a machine: one clear sentence each, and nothing half-written."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from tests.consortium import RELEASE, found, jobs, run_together
from tests.harness.tiers import few_first

from covey.errors import Aborted, AccessError, CoveyError, InputError
from covey.party.session.approval import ApprovalQuestion
from covey.summary import Summary


def leftovers(folder: Path) -> list[str]:
    return [path.name for path in folder.rglob("*") if path.name.startswith(".")]


def test_parties_in_three_folders_find_each_other_and_agree(tmp_path: Path) -> None:
    sites = found(tmp_path)
    ends = run_together(jobs(sites))
    assert all(isinstance(end, Summary) for end in ends.values()), ends
    for name, site in sites.items():
        assert (site.out / "release.csv").read_text() == RELEASE
        summary = json.loads((site.out / "summary.json").read_bytes())
        assert (summary["party"], summary["rounds"], summary["rows"]) == (name, 2, 12)
        assert {"ledger.json", "report.html", "run.log", "study.toml", "certs"} <= {p.name for p in site.out.iterdir()}
        assert leftovers(site.out) == []
    shared = {key: {json.loads((s.out / "summary.json").read_bytes())[key] for s in sites.values()}
              for key in ("messages", "bytes", "release_sha256", "study_hash")}  # fmt: skip
    assert all(len(values) == 1 for values in shared.values())


def test_a_refusal_is_final_everywhere(tmp_path: Path) -> None:
    sites = found(tmp_path)

    async def no(shown: ApprovalQuestion) -> bool:
        return "(asked: 3)" not in shown.screen(80)

    todo = jobs(sites)
    ends = run_together({**todo, "south": replace(todo["south"], decide=no)})
    assert {end.exit_code for end in ends.values() if isinstance(end, CoveyError)} == {1}
    assert str(ends["south"]) == "the release was refused here; nothing was released"
    assert str(ends["north"]) == "party 'south' refused the release; nothing was released"
    for site in sites.values():
        assert not (site.out / "release.csv").exists()
        ledger = json.loads((site.out / "ledger.json").read_bytes())
        assert "refused the release" in ledger["outcome"] or "was refused here" in ledger["outcome"]
        assert not any("how many records" in line for line in ledger["learned"])


@pytest.mark.thorough
def test_a_party_that_never_comes_is_named_and_the_others_may_try_again(tmp_path: Path) -> None:
    sites = found(tmp_path)
    todo = jobs(sites, wait=2.0)
    del todo["south"]
    ends = run_together(todo)
    for end in ends.values():
        assert isinstance(end, Aborted)
        assert end.exit_code == 3
        assert "'south' did not come within 2 s" in str(end)


def test_a_port_in_use_is_named(tmp_path: Path) -> None:
    sites = found(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        text = sites["east"].study.read_text()
        start = text.index("127.0.0.1:", text.index("[parties.east]"))
        sites["east"].study.write_text(text[:start] + f"127.0.0.1:{port}" + text[text.index('"', start) :])
        (end,) = run_together({"east": sites["east"].job()}).values()
    assert isinstance(end, InputError)
    assert f"cannot listen on 127.0.0.1:{port} (Address already in use): end what uses the port" in str(end)
    assert "--listen" in str(end)


def test_a_key_that_others_can_read_stops_the_run_before_anyone_is_dialled(tmp_path: Path) -> None:
    sites = found(tmp_path)
    (sites["north"].keys / "signing.key").chmod(0o644)
    (end,) = run_together({"north": sites["north"].job()}).values()
    assert isinstance(end, AccessError)
    assert "signing.key: others can read it (mode 0644)" in str(end)
    assert not sites["north"].out.exists()


def test_data_that_does_not_fit_stops_the_run_before_anyone_is_dialled(tmp_path: Path) -> None:
    sites = found(tmp_path)
    sites["north"].data.write_text("patient,age,sex,diagnosis\nP1,secret-value,F,flu\n")
    (end,) = run_together({"north": sites["north"].job()}).values()
    assert isinstance(end, InputError)
    assert "column 'age'" in str(end)
    assert "secret-value" not in str(end)


def test_a_folder_with_a_finished_run_is_not_written_over(tmp_path: Path) -> None:
    sites = found(tmp_path)
    sites["north"].out.mkdir()
    (sites["north"].out / "release.csv").write_text("theirs")
    (end,) = run_together({"north": sites["north"].job()}).values()
    assert isinstance(end, InputError)
    assert "holds a finished run" in str(end)
    assert (sites["north"].out / "release.csv").read_text() == "theirs"


def inside_mount(options: str, command: Sequence[str], where: Path) -> subprocess.CompletedProcess[str]:
    """Runs a command with a small file system at `where`, in a mount namespace of its own."""
    unshare = shutil.which("unshare")
    if unshare is None:
        pytest.skip("unshare is not on this machine")
    where.mkdir(exist_ok=True)
    own = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    script = f'mount -t tmpfs -o {options} covey "$1" || exit 99; shift; "$@"; code=$?; ls -A "$0"; exit $code'
    done = subprocess.run(
        [unshare, *own, "--mount", "sh", "-c", script, str(where), str(where), *command],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    if done.returncode == 99 or "unshare:" in done.stderr:
        pytest.skip("this machine does not allow mounts in a namespace")
    return done


def simulation(tmp_path: Path) -> list[str]:
    sites = found(tmp_path)
    data = [part for name, site in sites.items() for part in ("--data", f"{name}={site.data}")]
    return [str(Path(sys.executable).with_name("covey")), "simulate", str(sites["north"].study), *data, "--in-process"]


@pytest.mark.thorough
def test_a_folder_that_is_read_only_is_named(tmp_path: Path) -> None:
    small = tmp_path / "small"
    done = inside_mount("ro", [*simulation(tmp_path), "--out", str(small / "out")], small)
    assert done.returncode == 2, done.stderr
    assert "cannot be written (Read-only file system)" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize("blocks", few_first([24, 4, 40]))
def test_a_disk_that_is_full_leaves_no_release_and_nothing_half_written(tmp_path: Path, blocks: int) -> None:
    small = tmp_path / "small"
    options = f"size={blocks * 4096},nr_inodes=400"
    done = inside_mount(options, [*simulation(tmp_path), "--out", str(small)], small)
    assert done.returncode == 2, (done.stdout, done.stderr)
    assert "cannot be written (No space left on device)" in done.stderr
    assert "release.csv" not in done.stdout
    assert not [name for name in done.stdout.split() if name.startswith(".")]


@pytest.mark.parametrize("blocks", [1, 2, 3, 4])
def test_keys_on_a_full_disk_are_all_there_or_none(tmp_path: Path, blocks: int) -> None:
    small = tmp_path / "small"
    command = [str(Path(sys.executable).with_name("covey")), "keys", "new", "north", "--out", str(small)]
    done = inside_mount(f"size={blocks * 4096},nr_inodes=100", command, small)
    assert done.returncode == 2, done.stderr
    assert "cannot write keys here (No space left on device)" in done.stderr
    assert done.stdout.strip() == ""
