"""`covey doctor --relay`: whatever stands between a party and the broker is named by its step, with what to do."""

from __future__ import annotations

import asyncio
import json
import socket
import socketserver
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.conftest import Covey
from tests.consortium import NAMES, study_text
from tests.harness.certificates import make_identity
from tests.harness.relay import require_server
from tests.harness.tiers import few_first

from covey.doctor import Finding
from covey.party.identity import keys as keyring
from covey.party.identity import relay_config
from covey.party.plan import make_plan
from covey.party.session.ready import Examination
from covey.party.simulate import broker
from covey.party.simulate.processes import free_ports
from covey.study import Study
from covey.wire.contact import Address
from covey.wire.relay.route import told_time
from covey.wire.relay.site import RelaySite

ONE_WORKER = "some set the proxy of the whole process"


class Site:
    """A study at a relay on this machine, with everyone's keys."""

    def __init__(self, folder: Path, scheme: str = "nats", host: str = "127.0.0.1") -> None:
        self.folder, self.port = folder, free_ports(1)[0]
        self.url = f"{scheme}://{host}:{self.port}"
        self.path, self.broker_folder = folder / "study.toml", folder / "relay"
        (folder / "certs").mkdir()
        for name in NAMES:
            made = keyring.make(name)
            keyring.save(made, folder / name)
            (folder / "certs" / f"{name}.pem").write_bytes(made.certificate.pem)
        self.say("")

    def say(self, more: str) -> None:
        """Writes the study, with more lines on the relay."""
        self.path.write_text(f'{study_text(certified=True)}\n[relay]\nurl = "{self.url}"\n{more}')

    @contextmanager
    def broker(self) -> Iterator[None]:
        """Runs the broker."""
        require_server()
        relay_config.write(Study.load(self.path), self.broker_folder, Address("127.0.0.1", self.port))
        with broker.serving(self.broker_folder, Address("127.0.0.1", self.port)):
            yield

    def clock(self, hours: float) -> dict[str, Finding]:
        """What is found by a machine whose clock is so many hours ahead."""
        study = Study.load(self.path)
        plan = make_plan(study, dict.fromkeys(NAMES, 10), 0.03, 1e7)
        now = datetime.now(UTC) + timedelta(hours=hours)
        own = self.folder / "north"
        made = Examination(study, "north", own, self.folder, plan, 1 << 20, relay_only=True, now=now)
        return {each.name: each for each in made.findings()}

    def findings(self, covey: Covey, party: str = "north", keys: str = "") -> dict[str, dict[str, str]]:
        """What the doctor finds on the way, by its name."""
        own = self.folder / (keys or party)
        called = covey("doctor", "--relay", "--study", self.path, "--as", party, "--keys", own, "--json")
        found = {each["name"]: each for each in json.loads(called.out)["findings"]}
        return {name: each for name, each in found.items() if name.startswith(("relay", "broker", "keys"))}


def test_the_way_to_a_broker_is_shown_step_by_step(tmp_path: Path, covey: Covey) -> None:
    site = Site(tmp_path)
    with site.broker():
        found = site.findings(covey)
    assert list(found) == ["keys", "relay, DNS", "relay, connection", "relay, access", "relay, clock", "broker"]
    assert all(each["fit"] for each in found.values())
    assert "not compared" in found["relay, clock"]["found"] and "doctor --wait" in found["relay, clock"]["advice"]
    assert found["broker"]["advice"] == "" or "CVE-2026-27889" in found["broker"]["advice"]


def test_a_name_that_nobody_serves_and_a_port_where_nobody_listens_are_named(tmp_path: Path, covey: Covey) -> None:
    site = Site(tmp_path)
    assert "cannot be reached" in site.findings(covey)["relay, connection"]["found"]
    site.url = "wss://relay.invalid"
    site.say("")
    lost = site.findings(covey)["relay, DNS"]
    assert not lost["fit"]
    assert lost["found"] == "there is no address for relay.invalid"
    assert "HTTPS_PROXY" in lost["advice"]


@pytest.mark.thorough
def test_a_proxy_that_opens_tls_is_named_with_the_issuer_of_its_certificate(tmp_path: Path, covey: Covey) -> None:
    site = Site(tmp_path, "wss")
    with site.broker():
        found = site.findings(covey)["relay, TLS"]
        assert not found["fit"]
        assert "is not one that this machine trusts; it was issued by CN=relay" in found["found"]
        assert "a proxy may open TLS on the way" in found["advice"]
        (tmp_path / "certs" / "relay.pem").write_bytes((site.broker_folder / "relay.pem").read_bytes())
        site.say('certificate = "certs/relay.pem"\n')
        right = site.findings(covey)
        assert right["relay, access"]["fit"]
        assert "has the certificate of the study, issued by CN=relay" in right["relay, TLS"]["found"]
        assert bool(right["broker"]["fit"]) is relay_config.is_current(right["broker"]["found"].split()[-1])
        other = make_identity("proxy", tmp_path / "other")
        (tmp_path / "certs" / "relay.pem").write_bytes(other.certificate.read_bytes())
        wrong = site.findings(covey)["relay, TLS"]
        assert "is not the one in the study; it was issued by CN=relay" in wrong["found"]


@pytest.mark.thorough
@pytest.mark.parametrize(("begins", "ends", "told"), [(2, 3, "is not valid yet"), (-3, -2, "has expired")])
def test_a_wrong_clock_is_named(tmp_path: Path, covey: Covey, begins: int, ends: int, told: str) -> None:
    site = Site(tmp_path, "tls")
    made = make_identity("relay", site.broker_folder, begins=timedelta(days=begins), ends=timedelta(days=ends))
    (tmp_path / "certs" / "relay.pem").write_bytes(made.certificate.read_bytes())
    site.say('certificate = "certs/relay.pem"\n')
    with site.broker():
        found = site.findings(covey)["relay, TLS"]
    assert told in found["found"]
    assert f"for {datetime.now(UTC) + timedelta(days=begins):%Y-%m-%d}" in found["found"]
    assert f"this machine's clock says {datetime.now(UTC):%Y-%m-%d}" in found["found"]
    assert "set this machine's clock" in found["advice"]


@pytest.mark.parametrize("scheme", few_first(["ws", "wss"]))
def test_the_clock_is_compared_with_the_brokers_at_the_door_for_websockets(tmp_path: Path, scheme: str) -> None:
    site = Site(tmp_path, scheme)
    if scheme == "wss":
        made = make_identity("relay", site.broker_folder)
        (tmp_path / "certs" / "relay.pem").write_bytes(made.certificate.read_bytes())
        site.say('certificate = "certs/relay.pem"\n')
    with site.broker():
        right, late, past = (site.clock(hours) for hours in (0, -2, 24 * 60))
    assert right["relay, clock"].fit and right["relay, access"].fit
    assert not late["relay, clock"].fit
    assert "the broker's is 7" in late["relay, clock"].found and "s ahead of ours" in late["relay, clock"].found
    assert "timedatectl" in late["relay, clock"].advice
    assert not past["relay, clock"].fit and "behind ours" in past["relay, clock"].found


def test_without_the_right_time_of_the_broker_a_clock_is_not_judged(tmp_path: Path) -> None:
    for answer in (b"200 OK\r\nDate: yesterday", b"200 OK", b"no answer"):
        with answering(answer) as port:
            found = asyncio.run(told_time(RelaySite(f"ws://127.0.0.1:{port}", bytes(32))))
        assert found is None
    with answering(b"400 Bad Request\r\nDate: Tue, 03 Feb 2026 04:05:06 GMT") as port:
        found = asyncio.run(told_time(RelaySite(f"ws://127.0.0.1:{port}", bytes(32))))
    assert found == datetime(2026, 2, 3, 4, 5, 6, tzinfo=UTC)


class Answers(socketserver.StreamRequestHandler):
    """A proxy that gives one answer to whoever asks."""

    status = b"403 Forbidden"

    def handle(self) -> None:
        while self.rfile.readline().strip():
            continue
        self.wfile.write(b"HTTP/1.1 " + self.status + b"\r\n\r\n")


@contextmanager
def answering(status: bytes) -> Iterator[int]:
    """A server that gives one answer to one caller; its port."""
    with socketserver.TCPServer(("127.0.0.1", 0), type("Answer", (Answers,), {"status": status})) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        yield server.server_address[1]
        thread.join()


@pytest.mark.parametrize(
    ("status", "told", "advice"),
    [(b"403 Forbidden", "refuses the way to relay.example.org:443 (status 403)", "port 443 with wss:// is usual"),
     (b"407 Proxy Authentication Required", "wants a user", "http://USER:PASSWORD@HOST:PORT")],
)  # fmt: skip
def test_a_proxy_that_does_not_let_us_through_is_named(
    tmp_path: Path, covey: Covey, monkeypatch: pytest.MonkeyPatch, status: bytes, told: str, advice: str
) -> None:
    site = Site(tmp_path)
    site.url = "wss://relay.example.org"
    site.say("")
    for name in ("NO_PROXY", "no_proxy", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    with answering(status) as port:
        monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{port}")
        found = site.findings(covey)["relay, proxy"]
    assert told in found["found"]
    assert advice in found["advice"]
    gone = site.findings(covey)["relay, proxy"]
    assert f"the proxy 127.0.0.1:{port} cannot be reached" in gone["found"] and "HTTPS_PROXY" in gone["advice"]
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.invalid:3128")
    assert "set HTTPS_PROXY" in site.findings(covey)["relay, DNS"]["advice"]


class Tunnels(socketserver.StreamRequestHandler):
    """A proxy that opens tunnels, for a user with a password."""

    asked: list[bytes]
    port = 0

    def handle(self) -> None:
        lines = [self.rfile.readline().strip() for _ in range(4)]
        self.asked.extend(lines)
        with socket.create_connection(("127.0.0.1", self.port)) as there:
            self.wfile.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            back = threading.Thread(target=self._copy, args=(there, self.connection))
            back.start()
            self._copy(self.connection, there)
            back.join()

    @staticmethod
    def _copy(source: socket.socket, target: socket.socket) -> None:
        try:
            while content := source.recv(65536):
                target.sendall(content)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            return


@pytest.mark.thorough
def test_a_proxy_that_lets_us_through_leads_to_the_broker(
    tmp_path: Path, covey: Covey, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = Site(tmp_path, "wss")
    with site.broker():
        (tmp_path / "certs" / "relay.pem").write_bytes((site.broker_folder / "relay.pem").read_bytes())
        site.url = f"wss://relay.example.org:{site.port}"
        site.say('certificate = "certs/relay.pem"\n')
        made = type("Asked", (Tunnels,), {"asked": [], "port": site.port})
        with socketserver.ThreadingTCPServer(("127.0.0.1", 0), made) as proxy:
            answering = threading.Thread(target=proxy.serve_forever)
            answering.start()
            monkeypatch.setenv("HTTPS_PROXY", f"http://me:secret@127.0.0.1:{proxy.server_address[1]}")
            for name in ("NO_PROXY", "no_proxy", "https_proxy"):
                monkeypatch.delenv(name, raising=False)
            found = site.findings(covey)
            proxy.shutdown()
            answering.join()
    assert found["relay, proxy"]["fit"]
    assert found["relay, access"]["fit"]
    assert b"Proxy-Authorization: Basic bWU6c2VjcmV0" in made.asked  # type: ignore[attr-defined]
    assert "secret" not in json.dumps(found)


def test_a_broker_that_does_not_know_us_is_named_and_so_is_a_study_without_a_relay(
    tmp_path: Path, covey: Covey
) -> None:
    site = Site(tmp_path)
    with site.broker():
        users = site.broker_folder / relay_config.USERS
        assert "nkey" in users.read_text()
    (tmp_path / "other").mkdir()
    stranger = Site(tmp_path / "other")
    stranger.url = site.url
    stranger.say("")
    with broker.serving(site.broker_folder, Address("127.0.0.1", site.port)):
        found = stranger.findings(covey)["relay, access"]
    assert not found["fit"]
    assert "refuses our key" in found["found"]
    site.path.write_text(study_text(certified=True))
    assert site.findings(covey)["relay"]["found"] == "the study has no [relay]"
    assert "--relay needs the study" in covey("doctor", "--relay").err


@pytest.mark.thorough
def test_parties_that_are_examined_at_the_same_time_find_each_other_at_the_relay(tmp_path: Path) -> None:
    site = Site(tmp_path)
    study = Study.load(site.path)
    plan = make_plan(study, dict.fromkeys(NAMES, 10), 0.03, 1e7)

    def examine(name: str) -> dict[str, str]:
        found = Examination(study, name, tmp_path / name, tmp_path / "out", plan, 1 << 20, wait=40.0).findings()
        return {each.name: each.found for each in found if each.name.startswith(("party", "clock of", "port"))}

    with site.broker(), ThreadPoolExecutor(3) as pool:
        north, south, east = pool.map(examine, NAMES)
    assert north["port"] == "none is needed: others are met at the relay"
    assert "it answers, with the certificate of the study" in north["party east"]
    assert "it called us" in east["party north"]
    assert "it answers" in south["party east"] and "clock of east" in south
