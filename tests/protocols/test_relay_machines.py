"""Parties in network namespaces that nobody can dial: each sees the broker's machine and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.consortium import NAMES, RELEASE, Site, found
from tests.harness.relay import require_server
from tests.protocols.test_three_machines import COVEY, ip

from covey.party.identity import relay_config
from covey.party.simulate.broker import find_server
from covey.study import Study
from covey.wire.contact import Address

PORT = 4222
_LISTEN = "import socket, time\nserver = socket.create_server(('', 7000))\ntime.sleep(300)"


@dataclass
class Country:
    """A namespace for the broker, and one for each party with a line to it alone."""

    mark: str

    def space(self, name: str) -> str:
        return f"{self.mark}-{name}"

    def found(self) -> None:
        """Makes the namespaces. Nothing is forwarded between the lines."""
        ip("netns", "add", self.space("hub"))
        ip("-n", self.space("hub"), "link", "set", "lo", "up")
        ip("-n", self.space("hub"), "addr", "add", "10.214.0.1/32", "dev", "lo")
        for place, name in enumerate(NAMES, start=1):
            here = self.space(name)
            ip("netns", "add", here)
            ip("-n", here, "link", "add", "eth0", "type", "veth", "peer", "name", name, "netns", self.space("hub"))
            ip("-n", self.space("hub"), "addr", "add", f"10.214.{place}.1/30", "dev", name)
            ip("-n", self.space("hub"), "link", "set", name, "up")
            ip("-n", here, "addr", "add", f"10.214.{place}.2/30", "dev", "eth0")
            ip("-n", here, "link", "set", "eth0", "up")
            ip("-n", here, "link", "set", "lo", "up")
            ip("-n", here, "route", "add", "default", "via", f"10.214.{place}.1")

    def remove(self) -> None:
        for name in (*NAMES, "hub"):
            subprocess.run(["ip", "netns", "del", self.space(name)], capture_output=True)

    def cut(self, name: str, *, down: bool) -> None:
        """Takes a party's line down, or up again."""
        ip("-n", self.space("hub"), "link", "set", name, "down" if down else "up")

    def within(self, name: str, *command: str) -> list[str]:
        return ["ip", "netns", "exec", self.space(name), *command]


@pytest.fixture
def country() -> Iterator[Country]:
    require_server()
    if os.geteuid() != 0:
        pytest.skip("making network namespaces needs root")
    made = Country(f"cr{os.getpid() % 10000}")
    try:
        made.found()
    except (OSError, subprocess.CalledProcessError):
        made.remove()
        pytest.skip("this machine does not allow network namespaces")
    try:
        yield made
    finally:
        made.remove()


def _prepare(tmp_path: Path, country: Country) -> tuple[dict[str, Site], subprocess.Popen[bytes]]:
    """Everyone's folder with a study without addresses, and the broker, running."""
    sites = found(tmp_path)
    for site in sites.values():
        lines = [line for line in site.study.read_text().splitlines() if not line.startswith("address")]
        site.study.write_text("\n".join([*lines, "[relay]", f'url = "nats://10.214.0.1:{PORT}"', ""]))
    relay_config.write(Study.load(sites["north"].study), tmp_path / "relay", Address("10.214.0.1", PORT))
    with (tmp_path / "relay" / "log").open("wb") as log:
        command = country.within("hub", find_server(), "-c", relay_config.CONFIG)
        broker = subprocess.Popen(command, cwd=tmp_path / "relay", stdout=log, stderr=log)
    return sites, broker


def _start(country: Country, sites: dict[str, Site], *more: str) -> list[subprocess.Popen[str]]:
    started = []
    for name, site in sites.items():
        command = [
            COVEY, "run", str(site.study), "--as", name, "--data", str(site.data), "--out", str(site.out),
            "--keys", str(site.keys), "--approve", *more,
        ]  # fmt: skip
        started.append(
            subprocess.Popen(
                country.within(name, *command), cwd=site.folder, text=True, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            )
        )  # fmt: skip
    return started


def _reaches(country: Country, name: str, address: str, port: int) -> bool:
    script = f"import socket; socket.create_connection(({address!r}, {port}), timeout=2)"
    return subprocess.run(country.within(name, sys.executable, "-c", script), capture_output=True).returncode == 0


@pytest.mark.thorough
def test_parties_that_cannot_be_reached_meet_at_the_broker_and_release_as_ever(
    tmp_path: Path, country: Country
) -> None:
    sites, broker = _prepare(tmp_path, country)
    listening = subprocess.Popen(country.within("south", sys.executable, "-c", _LISTEN))
    try:
        processes = _start(country, sites)
        told = [process.communicate(timeout=120) for process in processes]
        assert _reaches(country, "north", "10.214.0.1", PORT)
        assert _reaches(country, "south", "10.214.2.2", 7000)
        assert not _reaches(country, "north", "10.214.2.2", 7000), "a party can be dialled"
    finally:
        for process in (broker, listening):
            process.terminate()
            process.wait()
    assert [process.returncode for process in processes] == [0, 0, 0], told
    assert {(site.out / "release.csv").read_text() for site in sites.values()} == {RELEASE}


@pytest.mark.slow
def test_a_line_that_is_cut_for_half_a_minute_costs_time_and_nothing_else(tmp_path: Path, country: Country) -> None:
    sites, broker = _prepare(tmp_path, country)
    try:
        processes = _start(country, sites)
        deadline = time.monotonic() + 60
        log = sites["east"].out / "run.log"
        while time.monotonic() < deadline and not (log.exists() and "(2 of 2)" in log.read_text()):
            time.sleep(0.01)
        country.cut("north", down=True)
        time.sleep(30)
        country.cut("north", down=False)
        told = [process.communicate(timeout=120) for process in processes]
    finally:
        broker.terminate()
        broker.wait()
    assert [process.returncode for process in processes] == [0, 0, 0], told
    assert {(site.out / "release.csv").read_text() for site in sites.values()} == {RELEASE}
