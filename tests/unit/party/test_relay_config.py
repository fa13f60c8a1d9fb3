"""The configuration of a broker: everyone's public key, nobody's secret, and permissions for each party alone."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest
from tests.conftest import Covey
from tests.consortium import NAMES, study_with

from covey.party.identity import keys as keyring
from covey.party.identity import relay_config
from covey.party.identity.roster import Roster
from covey.study import Study
from covey.wire.relay.site import user_key


def study_at(tmp_path: Path, url: str, more: str = "") -> Study:
    """A study whose parties meet at that URL."""
    study = study_with(tmp_path, {name: keyring.make(name) for name in NAMES})
    assert study.path is not None
    study.path.write_text(f'{study.path.read_text()}\n[relay]\nurl = "{url}"\n{more}')
    return Study.load(study.path)


@pytest.mark.parametrize("url", ["nats://relay.example.org", "tls://relay.example.org:4333", "wss://relay.example.org"])
def test_the_files_for_a_broker_let_each_party_in_under_its_own_name(tmp_path: Path, covey: Covey, url: str) -> None:
    study = study_at(tmp_path, url)
    called = covey("relay", "config", study.path, "--out", tmp_path / "relay", "--json")
    assert called.code == 0, called.err
    told = json.loads(called.out)
    names = {Path(path).name for path in told["files"]}
    roster = Roster.of(study)
    site = roster.relay
    assert site is not None
    users = (tmp_path / "relay" / "users.conf").read_text()
    for name, own in roster.certificates.items():
        (line,) = [line for line in users.splitlines() if user_key(own.public_key) in line]
        assert f'publish: {{ allow: ["{site.sent_by(name)}"] }}' in line
        assert f'subscribe: {{ allow: ["{site.sent_to(name)}"] }}' in line
    secured = not url.startswith("nats")
    assert told["pin"] is secured
    assert ("relay.key" in names) is secured
    if secured:
        assert stat.S_IMODE((tmp_path / "relay" / "relay.key").stat().st_mode) == 0o600
        (tmp_path / "certs" / "relay.pem").write_bytes((tmp_path / "relay" / "relay.pem").read_bytes())
        pinned = study_at(tmp_path, url, 'certificate = "certs/relay.pem"\n')
        assert not relay_config.write(pinned, tmp_path / "again").pin


def test_a_study_without_a_relay_and_a_wrong_url_are_named(tmp_path: Path, covey: Covey) -> None:
    study = study_with(tmp_path, {name: keyring.make(name) for name in NAMES})
    assert "has no [relay]" in covey("relay", "config", study.path).err
    assert study.path is not None
    study.path.write_text(f'{study.path.read_text()}\n[relay]\nurl = "http://relay"\n')
    called = covey("relay", "config", study.path)
    assert called.code == 2
    assert "[relay] needs the broker" in called.err


def test_the_relay_belongs_to_the_roster_and_not_to_the_study(tmp_path: Path) -> None:
    plain = study_with(tmp_path, {name: keyring.make(name) for name in NAMES})
    assert plain.path is not None
    text = plain.path.read_text()
    hashes = set()
    for url in ("nats://one", "nats://other"):
        plain.path.write_text(f'{text}\n[relay]\nurl = "{url}"\n')
        study = Study.load(plain.path)
        assert study.study_hash == plain.study_hash
        hashes.add(study.roster_hash)
    assert len(hashes | {plain.roster_hash}) == 3


@pytest.mark.parametrize(
    ("version", "current"),
    [
        ("2.9.10", False), ("2.10.2", False), ("2.11.13", False), ("2.11.14", True), ("2.12.4", False),
        ("2.12.5", True), ("2.13.0", True), ("2.14.0-RC.1", True), ("3.0.0", True), ("dev", False), ("", False),
    ],
)  # fmt: skip
def test_old_brokers_are_known_by_their_version(version: str, current: bool) -> None:
    assert relay_config.is_current(version) is current
