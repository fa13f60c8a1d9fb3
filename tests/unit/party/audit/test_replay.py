"""Audit, replay and forgetting, on the folders of real runs; every tampering is named."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import Covey
from tests.consortium import Site, found, jobs, run_together

from covey import protocols
from covey.errors import InputError, Unmet
from covey.files import erase
from covey.party.audit.folders import audit
from covey.party.audit.replay import replay
from covey.party.identity import keys as keyring
from covey.party.record import transcript_file
from covey.party.record.forget import forget
from covey.party.record.names import CERTIFICATE, JOURNAL, LEDGER, RELEASE, SUMMARY, TRANSCRIPT
from covey.party.record.signatures import vouch
from covey.protocols import Proposal, Result, Seat, count
from covey.secure import sum as secure_sum
from covey.study import Study
from covey.summary import Summary


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Site]:
    """Three parties that have run a study."""
    sites = found(tmp_path_factory.mktemp("run"))
    ends = run_together(jobs(sites))
    assert all(isinstance(end, Summary) for end in ends.values()), ends
    return sites


@pytest.fixture
def north(finished: dict[str, Site], tmp_path: Path) -> Iterator[Site]:
    """A copy of one party's folder, to be tampered with."""
    shutil.copytree(finished["north"].folder, tmp_path / "north")
    yield Site("north", tmp_path / "north")


def wrong(*folders: Path) -> list[str]:
    return [sentence for each in audit(folders) for sentence in each.wrong]


def test_honest_runs_pass_alone_and_together(finished: dict[str, Site]) -> None:
    assert wrong(*(site.out for site in finished.values())) == []
    for site in finished.values():
        assert wrong(site.out) == []
        assert replay(site.out, site.keys) == []


def test_a_run_with_a_small_journal_passes_an_audit_and_says_what_a_replay_needs(tmp_path: Path) -> None:
    sites = found(tmp_path)
    ends = run_together({name: replace(job, journal=0) for name, job in jobs(sites).items()})
    assert all(isinstance(end, Summary) for end in ends.values()), ends
    assert wrong(*(site.out for site in sites.values())) == []
    for site in sites.values():
        with pytest.raises(InputError, match="--journal all"):
            replay(site.out, site.keys)


@pytest.mark.few(1)
@pytest.mark.parametrize("name", [RELEASE, CERTIFICATE, LEDGER, SUMMARY])
def test_any_changed_byte_of_what_a_run_leaves_is_named(name: str, north: Site) -> None:
    path = north.out / name
    whole = path.read_bytes()
    step = 1 if len(whole) < 100 else 37
    for place in range(0, len(whole), step):
        changed = bytearray(whole)
        changed[place] ^= 1
        path.write_bytes(changed)
        assert any(name in sentence and "altered" in sentence for sentence in wrong(north.out)), place
    path.unlink()
    assert any(name in sentence and "missing" in sentence for sentence in wrong(north.out))


def test_any_changed_byte_of_the_transcript_is_named(north: Site) -> None:
    path = north.out / TRANSCRIPT
    whole = path.read_bytes()
    for place in range(0, len(whole), 41):
        changed = bytearray(whole)
        changed[place] ^= 2
        path.write_bytes(changed)
        assert any(TRANSCRIPT in sentence and "altered" in sentence for sentence in wrong(north.out)), place
    for cut in (0, 1, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:cut])
        assert wrong(north.out)


def test_any_changed_byte_of_the_journal_is_named(north: Site) -> None:
    path = north.out / JOURNAL
    whole = path.read_bytes()
    for place in range(0, len(whole), 211):
        changed = bytearray(whole)
        changed[place] ^= 4
        path.write_bytes(changed)
        with pytest.raises(InputError, match="journal: was altered or is damaged"):
            replay(north.out, north.keys)


def test_a_transcript_that_its_party_rewrites_contradicts_the_others(north: Site, finished: dict[str, Site]) -> None:
    """The party itself can sign anything; what it received is signed by others, and they have what it sent."""
    keys = keyring.load(north.keys)
    path = north.out / TRANSCRIPT
    lines = path.read_bytes().split(b"\n")
    place = next(i for i, text in enumerate(lines) if b'"sum.masked"' in text and b'"from":"north"' in text)
    row = json.loads(lines[place])
    row["sha256"] = "00" * 32
    lines[place] = json.dumps(row, separators=(",", ":")).encode()
    body = b"\n".join(lines[:-2]) + b"\n"
    signature = keys.sign(transcript_file.statement(body)).hex()
    last = json.dumps({"line": "signature", "party": "north", "signature": signature}, separators=(",", ":"))
    path.write_bytes(body + last.encode() + b"\n")
    sentences = wrong(north.out, finished["south"].out, finished["east"].out)
    assert any("the chain of messages is broken" in sentence for sentence in sentences)
    assert any("do not tell the same" in sentence for sentence in sentences)


async def bent(seat: Seat) -> Result:
    """A holder, of whom south flips one bit of what it adds."""
    if seat.party != "south":
        return await count.holder(seat)
    bands = count.Bands.of(seat.study)
    mine = bands.count(seat.records) ^ np.uint64(1)
    await seat.approve(Proposal(*count.leakage_of(seat.study, count.Bands.of(seat.study))))
    with seat.channel.at("count") as channel:
        totals = await secure_sum.total(channel, mine)
    return count.release(seat.study, bands, totals)


def test_a_party_that_deviates_by_one_bit_is_found_by_its_replay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sites = found(tmp_path)
    bending = replace(count.PROTOCOL, roles={"holder": bent})
    with monkeypatch.context() as patch:
        patch.setattr(count, "PROTOCOL", bending)
        protocols.named.cache_clear()
        ends = run_together(jobs(sites))
    protocols.named.cache_clear()
    assert all(isinstance(end, Summary) for end in ends.values()), ends
    assert replay(sites["north"].out, sites["north"].keys) == []
    sentences = replay(sites["south"].out, sites["south"].keys)
    assert len(sentences) == 2
    assert all("at count" in each and "not the one that the protocol prescribes" in each for each in sentences)


def test_a_replay_with_other_data_is_refused(north: Site) -> None:
    lines = north.data.read_text().replace("31", "32", 1)
    north.data.write_text(lines)
    assert replay(north.out, north.keys, str(north.data)) == ["the data: not what the session was bound to"]


def test_a_replay_needs_the_partys_own_keys(north: Site, finished: dict[str, Site]) -> None:
    with pytest.raises(InputError, match="keys of party 'south'"):
        replay(north.out, finished["south"].keys)


def test_the_certificate_vouches_for_the_release_and_for_no_other(north: Site) -> None:
    study = Study.load(north.out / "study.toml")
    certificate, release = north.out / CERTIFICATE, north.out / RELEASE
    assert vouch(certificate, str(release), study).wrong == ()
    release.write_text(release.read_text() + "x")
    assert vouch(certificate, str(release), study).wrong == ("the release is not the one that the parties signed",)
    content = json.loads(certificate.read_text())
    for change in (("A signed by", "north"), ("B signed by", "south")):
        forged = json.loads(json.dumps(content))
        forged[change[0]][change[1]] = "00" * 64
        certificate.write_text(json.dumps(forged, indent=2, ensure_ascii=False, sort_keys=True) + "\n")
        assert any(change[1] in sentence for sentence in vouch(certificate, str(release), study).wrong)
    certificate.write_text("{}")
    with pytest.raises(Unmet, match="was altered"):
        vouch(certificate, str(release), study)


def test_a_parquet_release_is_hashed_through_its_canonical_csv(north: Site) -> None:
    import pyarrow.csv
    import pyarrow.parquet

    options = pyarrow.csv.ConvertOptions(column_types={"age": "string", "count": "string"})
    table = pyarrow.csv.read_csv(north.out / RELEASE, convert_options=options)
    pyarrow.parquet.write_table(table, north.out / "release.parquet")
    study = Study.load(north.out / "study.toml")
    assert vouch(north.out / CERTIFICATE, str(north.out / "release.parquet"), study).wrong == ()


def test_a_release_that_is_no_parquet_file_is_named(north: Site) -> None:
    damaged = north.out / "release.parquet"
    damaged.write_bytes(b"PAR1 and nothing else")
    with pytest.raises(InputError, match="cannot be read as Parquet"):
        vouch(north.out / CERTIFICATE, str(damaged), Study.load(north.out / "study.toml"))


@pytest.mark.parametrize("name", ["/dev/zero", "../data.csv", "journal", "\x1b[2J"])
def test_a_transcript_chooses_no_file_that_is_read(name: str, north: Site) -> None:
    """Its party signed it, so that only the name can tell."""
    keys = keyring.load(north.keys)
    lines = (north.out / TRANSCRIPT).read_bytes().splitlines(keepends=True)
    files = json.loads(lines[-2])
    files["sha256"][name] = "00" * 32
    lines[-2] = json.dumps(files, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"
    signed = b"".join(lines[:-1])
    last = json.loads(lines[-1]) | {"signature": keys.sign(transcript_file.statement(signed)).hex()}
    (north.out / TRANSCRIPT).write_bytes(signed + json.dumps(last, separators=(",", ":")).encode() + b"\n")
    assert [each for each in wrong(north.out) if "a file that no run leaves" in each]
    assert "\x1b" not in "".join(wrong(north.out))


def test_a_signed_file_behind_a_link_is_missing(north: Site) -> None:
    (north.out / RELEASE).rename(north.out / "elsewhere.csv")
    (north.out / RELEASE).symlink_to(north.out / "elsewhere.csv")
    assert f"{RELEASE}: is missing" in wrong(north.out)


def test_forgetting_follows_no_link(north: Site, tmp_path: Path) -> None:
    precious = tmp_path / "precious.txt"
    precious.write_text("mine")
    (north.out / JOURNAL).rename(tmp_path / JOURNAL)
    (north.out / JOURNAL).symlink_to(precious)
    with pytest.raises(InputError, match="is a link or not a file, and is left as it is"):
        forget(north.out)
    with pytest.raises(InputError, match="is a link or not a file, and is left as it is"):
        erase(north.out / JOURNAL)
    assert precious.read_text() == "mine"
    (north.out / JOURNAL).unlink()
    other = tmp_path / "other"
    other.mkdir()
    (tmp_path / JOURNAL).rename(other / JOURNAL)
    (other / SUMMARY).write_text("{}")
    (north.out / "linked").symlink_to(other)
    assert forget(north.out) == []
    assert (other / JOURNAL).stat().st_size


def test_forgetting_leaves_what_may_be_kept_and_nothing_secret(north: Site) -> None:
    before = {path.name for path in north.out.iterdir()}
    assert forget(north.out) == [north.out / JOURNAL]
    assert {path.name for path in north.out.iterdir()} == before - {JOURNAL}
    assert wrong(north.out) == []
    with pytest.raises(InputError, match="there is no journal"):
        replay(north.out, north.keys)
    assert forget(north.out) == []


def test_a_run_that_has_not_ended_is_forgotten_only_if_asked(north: Site) -> None:
    (north.out / SUMMARY).unlink()
    with pytest.raises(InputError, match="could not go on"):
        forget(north.out)
    assert (north.out / JOURNAL).exists()
    assert forget(north.out, unfinished=True) == [north.out / JOURNAL]


def test_the_commands_say_yes_and_no_with_their_exit_codes(north: Site, covey: Covey) -> None:
    assert covey("audit", north.out, "--replay", "--keys", north.keys).code == 0
    study, certificate = north.out / "study.toml", north.out / CERTIFICATE
    assert covey("verify", north.out / RELEASE, "--study", study, "--certificate", certificate).code == 0
    (north.out / LEDGER).write_text((north.out / LEDGER).read_text().replace("learned", "learnt"))
    answer = covey("audit", north.out, "--json")
    assert answer.code == 1
    assert "ledger.json: was altered" in answer.err
    assert json.loads(answer.out)[0]["answer"] is False
    (north.out / RELEASE).write_text("age,count\n")
    assert covey("verify", north.out / RELEASE, "--study", study, "--certificate", certificate).code == 1
    forgotten = covey("forget", north.out, "--json")
    assert (forgotten.code, json.loads(forgotten.out)) == (0, {"erased": [str(north.out / JOURNAL)]})
    assert covey("audit", north.out.parent / "nowhere").code == 2


@pytest.mark.thorough
@pytest.mark.parametrize("way", ["--in-process", "--json"])
def test_what_a_simulation_leaves_passes_its_audit(
    way: str, finished: dict[str, Site], tmp_path: Path, covey: Covey
) -> None:
    data = [part for name, site in finished.items() for part in ("--data", f"{name}={site.data}")]
    assert covey("simulate", finished["north"].study, *data, "--out", tmp_path / "out", way).code == 0
    replay = [] if way == "--in-process" else ["--replay"]
    answer = covey("audit", tmp_path / "out", *replay)
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.count("yes  ") == 3
