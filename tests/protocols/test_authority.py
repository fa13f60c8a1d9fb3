"""The authority as a service: keys go to the roster's certificates, are written down first and renewed by epoch."""

from __future__ import annotations

import json
import shutil
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.harness.safety import kill, points
from tests.harness.suppress_cases import WATERS

from covey.cli import main
from covey.errors import Aborted, AccessError, CoveyError, InputError
from covey.party.identity import keys as keyring
from covey.party.record.names import SUMMARY
from covey.party.session.approval import approve_always
from covey.party.session.authority import ENDED, LOG, Service, next_folder, serve
from covey.party.session.run import Job, run_party
from covey.party.simulate.processes import free_ports
from covey.study import Study
from covey.summary import Summary

NAMES = ("north", "south", "authority")
ROWS = {"north": "aab", "south": "bcc"}
_STUDY = """
[study]
name = "diabetes"
protocol = "suppress"
[privacy]
k = 2
[protocol]
as_printed = true
compare = "bins"
epoch = "{epoch}"
[columns.x]
role = "quasi"
hierarchy = "flat"
values = ["a", "b", "c"]
"""


class Place:
    """Three parties, each with a folder of its own, on this machine."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.made = {name: keyring.make(name) for name in NAMES}
        self.ports = dict(zip(NAMES, free_ports(3), strict=True))
        for name, keys in self.made.items():
            keyring.save(keys, folder / name / "keys")
        for name, rows in ROWS.items():
            (folder / name / "data.csv").write_text("x\n" + "".join(f"{row}\n" for row in rows))
        self.agree("2026-11")

    def agree(self, epoch: str) -> None:
        """Everyone gets the study of that epoch."""
        text = _STUDY.format(epoch=epoch)
        for name in NAMES:
            section = "[authority]" if name == "authority" else f"[parties.{name}]"
            text += f'{section}\naddress = "127.0.0.1:{self.ports[name]}"\ncertificate = "certs/{name}.pem"\n'
        for name in NAMES:
            (self.folder / name / "certs").mkdir(exist_ok=True)
            (self.folder / name / "study.toml").write_text(text)
            for other, keys in self.made.items():
                (self.folder / name / "certs" / f"{other}.pem").write_bytes(keys.certificate.pem)

    def job(self, name: str, out: str, wait: float = 30.0) -> Job:
        own = self.folder / name
        return Job(own / "study.toml", name, own / out, own / "keys", approve_always, str(own / "data.csv"), wait=wait)

    def service(self, *, once: bool = True, wait: float = 30.0) -> Service:
        own = self.folder / "authority"
        return Service(own / "study.toml", own / "keys", own / "out", wait=wait, once=once)

    def run(self, out: str) -> dict[str, Summary]:
        """One session of all three."""
        with ThreadPoolExecutor(3) as pool:
            served = pool.submit(serve, self.service())
            runs: dict[str, Future[Summary]] = {name: pool.submit(run_party, self.job(name, out)) for name in ROWS}
            finished = {name: run.result() for name, run in runs.items()}
            assert served.result() == 1
        return finished

    def issued(self) -> list[dict[str, str]]:
        path = self.folder / "authority" / "out" / LOG
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_keys_are_issued_to_certificates_written_down_and_renewed_by_epoch(place: Place) -> None:
    assert place.run("first")["north"].release_sha256 == place.run("again")["south"].release_sha256
    place.agree("2026-12")
    place.run("renewed")
    names = [line["name"] for line in place.issued()]
    november, december = ([f"{party}@diabetes/2026-{month}" for party in ROWS] for month in (11, 12))
    assert names == [*november, *november, *december]
    for line in place.issued():
        assert line["certificate"] == place.made[line["party"]].certificate.fingerprint
    assert (place.folder / "authority" / "out" / LOG).stat().st_mode & 0o077 == 0
    sessions = sorted(path.name for path in (place.folder / "authority" / "out").iterdir() if path.is_dir())
    assert sessions == ["0001", "0002", "0003"]
    assert not list((place.folder / "authority" / "out").rglob("release.csv"))


@pytest.mark.thorough
def test_without_an_authority_nothing_is_said_and_the_run_can_go_on(place: Place) -> None:
    with ThreadPoolExecutor(2) as pool:
        runs = [pool.submit(run_party, place.job(name, "out", wait=2.0)) for name in ROWS]
        errors = [run.exception() for run in runs]
    assert all(isinstance(error, Aborted) and error.resumable for error in errors)
    assert all("'authority'" in str(error) for error in errors)
    assert place.run("out")["north"].k_reached is not None


@pytest.mark.thorough
def test_whoever_has_another_certificate_than_the_roster_s_gets_no_key(place: Place) -> None:
    stranger = keyring.make("south")
    own = place.folder / "south"
    shutil.rmtree(own / "keys")
    keyring.save(stranger, own / "keys")
    (own / "certs" / "south.pem").write_bytes(stranger.certificate.pem)
    with ThreadPoolExecutor(3) as pool:
        served = pool.submit(_first_failure, place.service(once=False, wait=4.0))
        runs = {name: pool.submit(run_party, place.job(name, "out", wait=4.0)) for name in ROWS}
        errors = {name: run.exception() for name, run in runs.items()}
        assert isinstance(served.result(), CoveyError)
    assert all(isinstance(error, AccessError | Aborted) for error in errors.values())
    assert place.issued() == []


@pytest.mark.thorough
@pytest.mark.parametrize("most", [3, pytest.param(None, marks=pytest.mark.slow)], ids=["here and there", "everywhere"])
def test_an_authority_that_is_killed_stops_everyone_safely_and_all_go_on(most: int | None, quick_path: Path) -> None:
    trial = WATERS.smallest()
    chosen, omitted = points(trial, quick_path / "counting")
    own = [point for point in chosen if point.victim == "authority"]
    assert omitted == [] and any(point.what == "suppress.issued" for point in own)
    stride = 1 if most is None else max(1, len(own) // most)
    unsafe = []
    for place, point in list(enumerate(own))[stride // 2 :: stride]:
        unsafe += kill(trial, point, quick_path / str(place))
    assert unsafe == []


def test_an_authority_whose_log_cannot_be_written_issues_no_key(place: Place) -> None:
    """Every key is written down before it is sent, or it is not sent."""
    (place.folder / "authority" / "out" / LOG).mkdir(parents=True)
    with ThreadPoolExecutor(3) as pool:
        served = pool.submit(serve, place.service(wait=20.0))
        runs = [pool.submit(run_party, place.job(name, "out", wait=20.0)) for name in ROWS]
        assert isinstance(served.exception(), InputError)
        assert "no key was issued" in str(served.exception())
        assert all(isinstance(run.exception(), CoveyError) for run in runs)
    for name in ROWS:
        assert not list((place.folder / name / "out").rglob("release.csv"))


def test_a_folder_that_cannot_be_made_is_said_at_once(place: Place) -> None:
    (place.folder / "authority" / "out").write_text("a file")
    with pytest.raises(InputError, match="cannot be written"):
        serve(place.service())


class _Enough(Exception):
    pass


def _first_failure(service: Service) -> CoveyError | None:
    """How the first session ends; the service itself would wait for the next one."""
    found: list[str] = []

    def notice(sentence: str) -> None:
        if "ended:" in sentence:
            found.append(sentence)
            raise _Enough

    try:
        serve(Service(service.study, service.keys, service.out, wait=service.wait, notice=notice))
    except _Enough:
        return Aborted(found[0], resumable=True)
    return None


def test_a_session_that_was_cut_off_goes_on_in_its_folder_and_another_study_does_not(tmp_path: Path) -> None:
    study, out = tmp_path / "study.toml", tmp_path / "out"
    study.write_text("one")
    out.mkdir()
    assert next_folder(out, study).name == "0001"
    (out / "0001").mkdir()
    (out / "0001" / "study.toml").write_text("one")
    assert next_folder(out, study).name == "0001"
    study.write_text("another")
    assert next_folder(out, study).name == "0002"
    study.write_text("one")
    (out / "0001" / ENDED).write_text("refused\n")
    assert next_folder(out, study).name == "0002"
    (out / "0001" / ENDED).unlink()
    (out / "0001" / SUMMARY).write_text("{}")  # it was finished, and killed before it could say so
    assert next_folder(out, study).name == "0002"


def test_the_service_refuses_a_study_that_needs_no_authority(place: Place) -> None:
    study = place.folder / "authority" / "study.toml"
    study.write_text(study.read_text().replace('epoch = "2026-11"', 'encryption = "elgamal"'))
    with pytest.raises(InputError, match="needs no authority"):
        serve(place.service())


def test_the_service_refuses_keys_that_are_not_the_authority_s(place: Place) -> None:
    wrong = Service(place.folder / "authority" / "study.toml", place.folder / "north" / "keys", place.folder / "x")
    with pytest.raises(AccessError, match="authority"):
        serve(wrong)


def test_a_party_may_not_be_called_as_the_authority_is(place: Place) -> None:
    study = place.folder / "authority" / "study.toml"
    study.write_text(study.read_text() + "[parties.authority]\n")
    with pytest.raises(InputError, match=r"this name is that of \[authority\]"):
        serve(place.service())


def test_only_waters_encryption_brings_the_authority_in() -> None:
    text = _STUDY.format(epoch="1") + "[parties.north]\n[parties.south]\n"
    study = Study.parse(text)
    assert [(party.name, party.role) for party in study.parties] == [
        ("north", None),
        ("south", None),
        ("authority", "authority"),
    ]
    assert [party.name for party in study.holders] == ["north", "south"]
    addressed = Study.parse(text + '[authority]\naddress = "127.0.0.1:7700"\n')
    assert addressed.study_hash == study.study_hash and addressed.roster_hash != study.roster_hash
    without = Study.parse(text.replace('epoch = "1"', 'encryption = "elgamal"'))
    assert [party.name for party in without.parties] == ["north", "south"]


def test_a_roster_without_the_authority_s_certificate_says_where_it_belongs(place: Place) -> None:
    study = place.folder / "north" / "study.toml"
    study.write_text(study.read_text().replace('certificate = "certs/authority.pem"\n', ""))
    with pytest.raises(InputError, match=r"'authority' has no certificate.*\[authority\]"):
        run_party(place.job("north", "out"))


def test_the_command_says_what_is_wrong_with_its_call(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    folder = place.folder / "authority"
    with pytest.raises(SystemExit) as ended:
        main(["authority", "serve", str(folder / "study.toml"), "--out", str(folder / "out"), "--wait", "0"])
    assert ended.value.code == 2
    assert "--wait" in capsys.readouterr().err
