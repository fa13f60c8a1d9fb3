"""Three parties in network namespaces, as on three machines: nothing in common but a wire and the study."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.consortium import NAMES, RELEASE, found

COVEY = str(Path(sys.executable).with_name("covey"))


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


@pytest.fixture
def machines() -> Iterator[dict[str, str]]:
    """A namespace for each party with one interface to a common bridge; their addresses by party."""
    if os.geteuid() != 0:
        pytest.skip("making network namespaces needs root")
    mark = f"cv{os.getpid() % 10000}"
    addresses = {name: f"10.213.77.{place}" for place, name in enumerate(NAMES, start=1)}
    try:
        ip("netns", "add", f"{mark}-bridge")
        ip("-n", f"{mark}-bridge", "link", "add", "br0", "type", "bridge")
        ip("-n", f"{mark}-bridge", "link", "set", "br0", "up")
        for name, address in addresses.items():
            here = f"{mark}-{name}"
            ip("netns", "add", here)
            ip("-n", here, "link", "add", "eth0", "type", "veth", "peer", "name", name, "netns", f"{mark}-bridge")
            ip("-n", f"{mark}-bridge", "link", "set", name, "master", "br0", "up")
            ip("-n", here, "addr", "add", f"{address}/24", "dev", "eth0")
            ip("-n", here, "link", "set", "eth0", "up")
    except (OSError, subprocess.CalledProcessError):
        _remove(mark)
        pytest.skip("this machine does not allow network namespaces")
    try:
        yield {f"{mark}-{name}": address for name, address in addresses.items()}
    finally:
        _remove(mark)


def _remove(mark: str) -> None:
    for name in (*NAMES, "bridge"):
        subprocess.run(["ip", "netns", "del", f"{mark}-{name}"], capture_output=True)


@pytest.mark.thorough
def test_three_machines_find_each_other_and_agree(tmp_path: Path, machines: dict[str, str]) -> None:
    sites = found(tmp_path)
    spaces = dict(zip(NAMES, machines, strict=True))
    for site in sites.values():
        text = site.study.read_text()
        for name, space in spaces.items():
            head, _, tail = text.partition(f"[parties.{name}]")
            text = f"{head}[parties.{name}]{tail.replace('127.0.0.1', machines[space], 1)}"
        site.study.write_text(text)
    processes = []
    for name, site in sites.items():
        command = [
            "ip", "netns", "exec", spaces[name], COVEY, "run", str(site.study), "--as", name, "--data", str(site.data),
            "--out", str(site.out), "--keys", str(site.keys), "--approve",
        ]  # fmt: skip
        process = subprocess.Popen(
            command,
            cwd=site.folder,
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        processes.append(process)
        time.sleep(0.7)
    told = [process.communicate(timeout=60) for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0], told
    assert {(site.out / "release.csv").read_text() for site in sites.values()} == {RELEASE}
