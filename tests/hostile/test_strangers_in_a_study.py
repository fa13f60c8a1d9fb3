"""Whole parties over TLS that do not belong together: refused before role code runs, with exit code 4."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.consortium import NAMES, Site, found, jobs, run_together

from covey.errors import AccessError, CoveyError
from covey.party.identity import keys
from covey.party.session.progress import Snapshot
from covey.party.session.run import Job
from covey.summary import Summary

BEFORE_ROLES = {"starting", "meeting", "handshake"}


def refused(sites: Mapping[str, Site], todo: Mapping[str, Job]) -> dict[str, str]:
    """Runs everyone; sees that nobody's role ran and nothing was released; what each was told."""
    phases: set[str] = set()

    def watch(snapshot: Snapshot) -> None:
        phases.add(snapshot.phase)

    ends = run_together({name: replace(job, listener=watch) for name, job in todo.items()})
    for name, end in ends.items():
        assert not isinstance(end, Summary), name
        assert not (sites[name].out / "release.csv").exists()
        assert not (sites[name].out / "summary.json").exists()
    assert phases <= BEFORE_ROLES
    assert all(end.exit_code == 4 for end in ends.values() if isinstance(end, CoveyError)), ends
    return {name: str(end) for name, end in ends.items()}


def test_a_party_with_another_study_is_refused_and_the_difference_named(tmp_path: Path) -> None:
    sites = found(tmp_path)
    south = sites["south"]
    south.study.write_text(south.study.read_text().replace("k = 3", "k = 2"))
    told = refused(sites, jobs(sites))
    assert "party 'south' has another study; it differs in privacy k" in told["north"]
    assert "privacy k" in told["south"]
    ledger = (sites["north"].out / "ledger.json").read_text()
    assert "Nothing: the run ended before the parties had met." in ledger


def test_a_party_with_another_roster_is_refused_and_the_party_named(tmp_path: Path) -> None:
    sites = found(tmp_path)
    text = sites["south"].study.read_text()
    head, _, tail = text.partition("[parties.east]")
    sites["south"].study.write_text(f"{head}[parties.east]{tail.replace('127.0.0.1', 'localhost')}")
    told = refused(sites, jobs(sites))
    assert "the address of party 'east'" in told["north"]


@pytest.mark.thorough
def test_a_certificate_that_the_others_do_not_know_is_refused(tmp_path: Path) -> None:
    sites = found(tmp_path)
    new = keys.make("south")
    for path in sites["south"].keys.iterdir():
        path.unlink()
    keys.save(new, sites["south"].keys)
    (sites["south"].folder / "certs" / "south.pem").write_bytes(new.certificate.pem)
    told = refused(sites, jobs(sites, wait=8.0))
    assert "not in the roster" in told["east"]
    assert "does not accept us" in told["south"]


def test_keys_of_another_party_are_refused_at_home(tmp_path: Path) -> None:
    sites = found(tmp_path)
    job = replace(sites["north"].job(), keys=sites["south"].keys)
    told = refused(sites, {"north": job})
    assert "is not the one of these keys (south.pem)" in told["north"]


@pytest.mark.parametrize(("days", "word"), [(-800, "expired"), (30, "not valid before")])
def test_a_certificate_outside_its_days_is_refused_at_home_and_elsewhere(tmp_path: Path, days: int, word: str) -> None:
    strange = keys.make("south", now=datetime.now(UTC) + timedelta(days=days))
    sites = found(tmp_path, made={"south": strange})
    told = refused(sites, jobs(sites))
    assert all(f"the certificate of party 'south' {word}" in told[name].replace("is not", "not") for name in NAMES)


def test_a_copied_tls_key_without_the_signing_key_gets_nobody_into_a_session(tmp_path: Path) -> None:
    sites = found(tmp_path)
    thief = keys.make("south")
    stolen = keys.load(sites["south"].keys)
    (sites["south"].keys / "signing.key").unlink()
    keys.save(replace(thief, certificate=stolen.certificate, tls=stolen.tls), tmp_path / "thief")
    (sites["south"].keys / "signing.key").write_bytes((tmp_path / "thief" / "signing.key").read_bytes())
    (sites["south"].keys / "signing.key").chmod(0o600)
    end = run_together({"south": sites["south"].job()})["south"]
    assert isinstance(end, AccessError)
    assert "signing.key does not belong" in str(end)
