"""Parties in network namespaces that nobody can dial: each sees the broker's machine and nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest
from tests.collection.peeling_town import PeelingTown
from tests.collection.test_relayed import AtRelay, PeelingAtRelay
from tests.collection.town import Town, record_of
from tests.consortium import NAMES, RELEASE, Site, found
from tests.harness.relay import require_server
from tests.protocols.small_studies import EVERY, PEOPLE, RESPONDENTS, data_of, study_of
from tests.protocols.test_three_machines import COVEY, ip

from covey.crypto.rng import derive
from covey.party.identity import relay_config
from covey.party.simulate.broker import find_server
from covey.party.simulate.deal import seed_of, write_hands
from covey.party.simulate.processes import SimulationSetting, simulate
from covey.party.simulate.starter import Order
from covey.study import Study, document
from covey.wire.contact import Address

HUB, PORT = "10.214.0.1", 4222
SEED = seed_of(7)
_LISTEN = "import socket, time\nserver = socket.create_server(('', 7000))\ntime.sleep(300)"


@dataclass
class Country:
    """A namespace for the broker, and one for each party with a line to it alone."""

    mark: str
    names: Sequence[str] = NAMES

    def space(self, name: str) -> str:
        return f"{self.mark}-{name}"

    def found(self) -> None:
        """Makes the namespaces. Nothing is forwarded between the lines."""
        ip("netns", "add", self.space("hub"))
        ip("-n", self.space("hub"), "link", "set", "lo", "up")
        ip("-n", self.space("hub"), "addr", "add", f"{HUB}/32", "dev", "lo")
        for place, name in enumerate(self.names, start=1):
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
        for name in (*self.names, "hub"):
            subprocess.run(["ip", "netns", "del", self.space(name)], capture_output=True)

    def cut(self, name: str, *, down: bool) -> None:
        """Takes a party's line down, or up again."""
        ip("-n", self.space("hub"), "link", "set", name, "down" if down else "up")

    def within(self, name: str, *command: str) -> list[str]:
        return ["ip", "netns", "exec", self.space(name), *command]

    @contextmanager
    def broker(self, study: Study, folder: Path) -> Iterator[None]:
        """Runs the broker for the study's parties. Fails where one party can dial another."""
        relay_config.write(study, folder, Address(HUB, PORT))
        with (folder / "log").open("wb") as log:
            command = self.within("hub", find_server(), "-c", relay_config.CONFIG)
            broker = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)
        listening = subprocess.Popen(self.within(self.names[1], sys.executable, "-c", _LISTEN))
        try:
            _await(lambda: self.reaches(self.names[1], "10.214.2.2", 7000))
            _await(lambda: self.reaches(self.names[0], HUB, PORT))
            assert not self.reaches(self.names[0], "10.214.2.2", 7000), "a party can be dialled"
            yield
        finally:
            for process in (broker, listening):
                process.terminate()
                process.wait()

    def reaches(self, name: str, address: str, port: int) -> bool:
        """True if a party can open a connection to that place."""
        script = f"import socket; socket.create_connection(({address!r}, {port}), timeout=2).close()"
        return subprocess.run(self.within(name, sys.executable, "-c", script), capture_output=True).returncode == 0


def _await(there: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not there():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.fixture
def settle() -> Iterator[Callable[[Sequence[str]], Country]]:
    """Makes a country for parties with these names."""
    require_server()
    if os.geteuid() != 0:
        pytest.skip("making network namespaces needs root")
    with ExitStack() as stack:

        def make(names: Sequence[str]) -> Country:
            made = Country(f"cr{os.getpid() % 10000}", names)
            stack.callback(made.remove)
            try:
                made.found()
            except (OSError, subprocess.CalledProcessError):
                pytest.skip("this machine does not allow network namespaces")
            return made

        yield make


def _prepare(tmp_path: Path) -> tuple[dict[str, Site], Study]:
    """Everyone's folder with a study without addresses, and that study."""
    sites = found(tmp_path)
    for site in sites.values():
        lines = [line for line in site.study.read_text().splitlines() if not line.startswith("address")]
        site.study.write_text("\n".join([*lines, "[relay]", f'url = "nats://{HUB}:{PORT}"', ""]))
    return sites, Study.load(sites["north"].study)


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


@pytest.mark.thorough
def test_parties_that_cannot_be_reached_meet_at_the_broker_and_release_as_ever(
    tmp_path: Path, settle: Callable[[Sequence[str]], Country]
) -> None:
    sites, study = _prepare(tmp_path)
    country = settle(NAMES)
    with country.broker(study, tmp_path / "relay"):
        processes = _start(country, sites)
        told = [process.communicate(timeout=120) for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0], told
    assert {(site.out / "release.csv").read_text() for site in sites.values()} == {RELEASE}


@pytest.mark.slow
def test_a_line_that_is_cut_for_half_a_minute_costs_time_and_nothing_else(
    tmp_path: Path, settle: Callable[[Sequence[str]], Country]
) -> None:
    sites, study = _prepare(tmp_path)
    country = settle(NAMES)
    with country.broker(study, tmp_path / "relay"):
        processes = _start(country, sites)
        log = sites["east"].out / "run.log"
        _await(lambda: log.exists() and "(2 of 2)" in log.read_text())
        country.cut("north", down=True)
        time.sleep(30)
        country.cut("north", down=False)
        told = [process.communicate(timeout=120) for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0], told
    assert {(site.out / "release.csv").read_text() for site in sites.values()} == {RELEASE}


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", [name for name in EVERY if name not in RESPONDENTS])
def test_every_protocol_releases_over_the_relay_the_bytes_of_a_direct_run(
    name: str, tmp_path: Path, settle: Callable[[Sequence[str]], Country]
) -> None:
    study = study_of(name, tmp_path / "study", 3, len(PEOPLE))
    data = write_hands(data_of(name, PEOPLE), tmp_path / "data")
    near, far = tmp_path / "near", tmp_path / "far"
    simulate(study, data, near, SimulationSetting(seed=SEED))
    names = [party.name for party in study.parties]
    content = document.read(near / "study.toml")
    certificates = {each: f"certs/{each}.pem" for each in names}
    document.give_roster(content, {}, certificates, f"nats://{HUB}:{PORT}")
    relayed = document.save(content, Study.load(near / "study.toml").files, far)
    country = settle(names)
    with country.broker(relayed, tmp_path / "relay"):
        _play(country, {each: _order(far, near / each / "keys", each, data.get(each)) for each in names})
    released = {path.read_bytes() for path in far.glob("*/release.csv")}
    assert released == {(near / "release.csv").read_bytes()}
    for each in names:
        one, other = (json.loads((run / each / "summary.json").read_bytes()) for run in (near, far))
        assert {key: one[key] for key in ("rounds", "messages", "bytes")} == {
            key: other[key] for key in ("rounds", "messages", "bytes")
        }


def _order(far: Path, keys: Path, name: str, data: str | None) -> Order:
    """The job of a party of a simulation with a seed."""
    seed = derive(SEED, "party", name).reveal().hex()
    return Order(str(far / "study.toml"), name, str(far / name), str(keys), data, 120.0, seed, 0.0, None)


def _play(country: Country, orders: dict[str, Order]) -> None:
    """Runs every party in its own namespace to its end."""
    with ExitStack() as stack:
        processes = {}
        for name, order in orders.items():
            log = stack.enter_context(Path(order.study).with_name(f"{name}.log").open("wb+"))
            command = country.within(name, sys.executable, "-m", "covey.party.simulate.worker")
            process = stack.enter_context(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=log, stderr=log))
            stack.callback(process.kill)
            assert process.stdin is not None
            process.stdin.write(msgspec.json.encode(order) + b"\n")
            process.stdin.flush()
            processes[name] = process
        ends = {name: process.wait(timeout=500) for name, process in processes.items()}
        told = {name: Path(order.study).with_name(f"{name}.log").read_text()[-500:] for name, order in orders.items()}
    assert set(ends.values()) == {0}, told


Run = Callable[..., subprocess.Popen[str]]


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("method", ["peel", "curve"])
def test_a_collection_over_the_relay_releases_the_bytes_of_a_direct_one(
    method: str, tmp_path: Path, settle: Callable[[Sequence[str]], Country]
) -> None:
    direct = Town(tmp_path / "near") if method == "curve" else PeelingTown(tmp_path / "near")
    released = _collect(direct, lambda name, *command: _covey(list(command)))
    far = AtRelay(tmp_path / "far") if method == "curve" else PeelingAtRelay(tmp_path / "far")
    far.path.write_text(far.path.read_text().replace(f"127.0.0.1:{far.broker_port}", f"{HUB}:{PORT}"))
    country = settle(["office", "people", *_trustees(far)])
    with country.broker(far.study, tmp_path / "relay"):
        assert _collect(far, lambda name, *command: _covey(list(command), country, name)) == released
    assert "listening on the relay" in (far.out / "run.log").read_text()


def _trustees(town: Town) -> Sequence[str]:
    return town.trustees if isinstance(town, PeelingTown) else ()


def _covey(command: list[str], country: Country | None = None, name: str = "") -> subprocess.Popen[str]:
    whole = [COVEY, *command]
    return subprocess.Popen(
        whole if country is None else country.within(name, *whole), text=True, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip


def _collect(town: Town, start: Run) -> bytes:
    """Collects from six people, everyone a process of its own; the release."""
    study = str(town.path)
    started = [
        start("office", "collect", "serve", study, "--keys", str(town.folder / "keys"), "--out", str(town.out),
              "--quorum", "6")
    ]  # fmt: skip
    for name in _trustees(town):
        keys, out = str(town.folder / f"keys-{name}"), str(town.folder / name)
        started.append(start(name, "collect", "trustee", study, "--keys", keys, "--out", out))
    for place, token in enumerate(town.invite(6)):
        record = town.folder / f"record{place}.json"
        record.write_text(json.dumps(record_of(place)))
        home = str(town.home(place))
        started.append(
            start("people", "collect", "respond", study, "--invite", token, "--record", str(record), "--folder", home,
                  "--yes")
        )  # fmt: skip
    try:
        told = [process.communicate(timeout=400)[0] for process in started]
    finally:
        for process in started:
            process.kill()
    assert {process.returncode for process in started} == {0}, told
    return (town.out / "release.csv").read_bytes()
