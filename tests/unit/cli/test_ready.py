"""`covey doctor --study`: says before the day which of port, partners, certificates, clock, disk and memory fails."""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.conftest import Covey
from tests.consortium import Site, found

from covey.doctor import Finding
from covey.party.identity import keys as keyring
from covey.party.plan import make_plan
from covey.party.session import ready
from covey.party.session.ready import Examination
from covey.study import Study


def examination(site: Site, wait: float = 1.0) -> Examination:
    study = Study.load(site.study)
    plan = make_plan(study, dict.fromkeys((party.name for party in study.parties), 5), 0.0, 1e9)
    return Examination(study, site.name, site.keys, site.out, plan, 0, wait=wait)


def examined(sites: Mapping[str, Site], wait: float = 8.0) -> dict[str, dict[str, Finding]]:
    """Everyone's findings, where all are examined at the same time."""
    with ThreadPoolExecutor(len(sites)) as pool:
        work = {name: pool.submit(examination(site, wait).findings) for name, site in sites.items()}
        return {name: {each.name: each for each in one.result()} for name, one in work.items()}


def test_parties_that_are_examined_together_see_each_other_and_their_clocks(tmp_path: Path) -> None:
    for name, own in examined(found(tmp_path)).items():
        assert all(each.fit for each in own.values()), own
        others = {f"party {other}" for other in ("north", "south", "east") if other != name}
        assert others | {"keys", "port", "disk", "memory for the plan", f"certificate of {name}"} <= set(own)
        answers = {own[other].found.split(",")[0] for other in others}
        assert answers <= {"it answers", "it called us"}
        clocks = [each for each in own if each.startswith("clock of")]
        assert len(clocks) == sum(own[other].found.startswith("it answers") for other in others)


def test_who_is_not_there_is_named_with_what_to_do(covey: Covey, tmp_path: Path) -> None:
    site = found(tmp_path)["south"]
    called = covey("doctor", "--study", site.study, "--as", "south", "--keys", site.keys, "--json")
    assert called.code == 1
    findings = {each["name"]: each for each in json.loads(called.out)["findings"]}
    assert not findings["party north"]["fit"]
    assert "nobody listens there now" in findings["party north"]["found"]
    assert findings["port"]["found"] == "none is needed: this party dials all others"
    assert "party north: party 'north' is to run covey doctor --wait" in called.err


@pytest.mark.thorough
def test_another_certificate_than_the_studys_is_found(tmp_path: Path) -> None:
    sites = found(tmp_path, ("north", "south"))
    stranger = keyring.make("north")
    for name in (*sorted(path.name for path in sites["north"].keys.iterdir()),):
        (sites["north"].keys / name).unlink()
    keyring.save(stranger, sites["north"].keys)
    (sites["north"].folder / "certs" / "north.pem").write_bytes(stranger.certificate.pem)
    south = examined(sites, wait=4.0)["south"]
    assert not south["party north"].fit
    assert "its certificate is not in the roster" in south["party north"].found


@pytest.mark.thorough
def test_a_party_that_does_not_know_us_is_found(tmp_path: Path) -> None:
    sites = found(tmp_path, ("north", "south"))
    (sites["north"].folder / "certs" / "south.pem").write_bytes(keyring.make("south").certificate.pem)
    assert "does not accept ours" in examined(sites, wait=4.0)["south"]["party north"].found


def test_a_port_in_use_is_found(tmp_path: Path) -> None:
    site = found(tmp_path)["east"]
    where = Study.load(site.study).party("east").address
    assert where is not None
    with socket.create_server(("127.0.0.1", int(where.rpartition(":")[2]))):
        (port,) = [each for each in examination(site).findings() if each.name == "port"]
    assert not port.fit
    assert "--listen" in port.advice


@pytest.mark.few(1)
@pytest.mark.parametrize(("days", "fit", "says"), [(1, False, "not valid today"), (-5, True, "ends soon")])
def test_a_certificate_that_ends_is_found(days: int, fit: bool, says: str, tmp_path: Path) -> None:
    site = found(tmp_path)["north"]
    findings = replace(examination(site), now=datetime.now(UTC) + timedelta(days=keyring.DAYS + days)).findings()
    own = next(each for each in findings if each.name == "certificate of south")
    assert (own.fit, says in own.found) == (fit, True)


def test_foreign_keys_are_found_and_nobody_is_called(tmp_path: Path) -> None:
    sites = found(tmp_path)
    findings = replace(examination(sites["north"]), keys=sites["south"].keys).findings()
    assert [each.name for each in findings if not each.fit] == ["keys"]
    assert not any(each.name.startswith("party") for each in findings)


def test_too_little_disk_and_memory_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ready, "available_memory", lambda: 10**6)
    site = found(tmp_path, ("north", "south"))["north"]
    large = examination(site)
    large = replace(large, plan=replace(large.plan, rows={"north": 10**13}))
    unfit = {each.name: each for each in large.findings() if not each.fit}
    assert set(unfit) == {"disk", "memory for the plan"}
    assert "about 4,000 TB needed" in unfit["disk"].found


def test_a_party_without_a_study_is_a_wrong_call(covey: Covey, tmp_path: Path) -> None:
    assert covey("doctor", "--as", "north").code == 2
    site = found(tmp_path)["north"]
    called = covey("doctor", "--study", site.study)
    assert called.code == 2
    assert "--as (north, south, east)" in called.err
