"""A protocol's version: parties of two builds part at the greeting, and later an audit and a resumed run say so."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from tests.conftest import Covey
from tests.consortium import NAMES, found, jobs, run_together
from tests.faults.test_resume import undecided
from tests.harness.versions import PROGRAM, another_build

from covey.errors import Aborted, AccessError, InputError
from covey.party.audit.folders import audit
from covey.party.audit.replay import replay
from covey.party.record import transcript_file
from covey.party.record.names import CERTIFICATE, JOURNAL, TRANSCRIPT
from covey.party.session.handshake import SessionHello
from covey.protocols import all_protocols, count
from covey.protocols.as_printed import cluster_rows
from covey.summary import Summary
from covey.version import ProtocolVersion
from covey.wire.message import decode

FIXTURES = Path(__file__).parents[2] / "fixtures" / "v0.1.0"
NEWER = count.PROTOCOL.version + 1


def test_every_protocol_has_a_version() -> None:
    assert all(each.version >= 1 for each in all_protocols())


def test_the_sentence_says_who_is_behind() -> None:
    own = ProtocolVersion("peel", 2)
    assert (
        "'south' has version 1 of protocol 'peel', party 'north' has version 2: party 'south' is behind"
        in own.apart(1, "party 'south'", "party 'north'")
    )
    assert "party 'north' is behind; install the same version" in own.apart(3, "party 'south'", "party 'north'")


def test_a_greeting_without_a_version_is_of_version_1_and_a_later_one_may_say_more() -> None:
    said: dict[str, object] = {
        "type": "handshake.hello", "software": "0.1.0", "wire": 2, "party": "south", "role": "", "clock": 0,
        "study_hash": bytes(32), "roster_hash": bytes(32), "terms": {}, "commitment": bytes(32), "resume": None,
    }  # fmt: skip
    assert decode(SessionHello, msgspec.msgpack.encode(said)).protocol_version == 1
    later = {**said, "protocol_version": 7, "something": "new"}
    assert decode(SessionHello, msgspec.msgpack.encode(later)).protocol_version == 7


@pytest.mark.thorough
def test_two_builds_part_before_any_data_leaves_and_both_are_told(tmp_path: Path) -> None:
    """South's process has another version of the protocol; north and east are of this one."""
    sites = found(tmp_path)
    south = sites.pop("south")
    command = ["run", south.study, "--as", "south", "--data", south.data, "--keys", south.keys, "--out", south.out]
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "count", str(NEWER), *map(str, command), "--approve", "--wait", "60"],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        ends = run_together(jobs(sites, wait=60.0))
        _, told = process.communicate(timeout=100)
    behind = f"has version {NEWER} of protocol 'count', party '{{name}}' has version {count.PROTOCOL.version}: party "
    for name, end in ends.items():
        assert isinstance(end, AccessError), end
        assert f"party 'south' {behind}'{{name}}' is behind; install the same".format(name=name) in str(end)
    assert process.returncode == AccessError.exit_code
    assert "is behind; install the same version of Covey everywhere" in " ".join(told.split())
    for site in (south, *sites.values()):
        assert not (site.out / JOURNAL).exists(), "no session has begun"
        assert not (site.out / "release.csv").exists()


@pytest.mark.thorough
def test_a_session_of_another_version_is_not_resumed_and_stays(tmp_path: Path) -> None:
    sites = found(tmp_path)
    first = run_together(undecided(sites))
    assert all(isinstance(end, Aborted) and end.resumable for end in first.values()), first
    kept = {name: (site.out / JOURNAL).read_bytes() for name, site in sites.items()}
    with another_build(count, NEWER):
        refused = run_together(jobs(sites))
    for name, end in refused.items():
        assert isinstance(end, InputError), end
        assert f"began with version {count.PROTOCOL.version} of protocol 'count'" in str(end)
        assert f"this is version {NEWER}; go on with the version of Covey that began it" in str(end)
        assert (sites[name].out / JOURNAL).read_bytes() == kept[name]
    assert all(isinstance(end, Summary) for end in run_together(jobs(sites)).values()), "its own build goes on"


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folders of a run by a newer build."""
    folder = tmp_path_factory.mktemp("newer")
    sites = found(folder)
    with another_build(count, NEWER):
        ends = run_together(jobs(sites))
    assert all(isinstance(end, Summary) for end in ends.values()), ends
    return folder


@pytest.mark.thorough
def test_the_transcript_and_the_certificate_name_the_version(ran: Path) -> None:
    out = ran / "north" / "out"
    assert transcript_file.read(out / TRANSCRIPT).session.protocol_version == NEWER
    assert json.loads((out / CERTIFICATE).read_bytes())["A"]["protocol_version"] == NEWER


@pytest.mark.thorough
def test_an_audit_of_another_version_says_so_instead_of_finding_faults(ran: Path, covey: Covey) -> None:
    folders = [ran / name / "out" for name in NAMES]
    for each in audit(folders):
        assert each.wrong == () and not each.scripted
        assert f"ran with version {NEWER} of protocol 'count', and this is version" in each.foreign
    shown = covey("audit", *folders)
    assert f"ran with version {NEWER} of protocol 'count'" in " ".join(shown.out.split())
    with pytest.raises(InputError, match="only a covey of that version"):
        replay(folders[0], ran / NAMES[0] / "keys")
    with another_build(count, NEWER):
        assert all(each.scripted and not each.foreign for each in audit(folders))


def test_a_folder_of_0_1_0_is_of_version_1(covey: Covey) -> None:
    shown = covey("audit", FIXTURES / "demo")
    said = f"ran with version 1 of protocol 'cluster', and this is version {cluster_rows.PROTOCOL.version}: only"
    assert said in " ".join(shown.out.split())


@pytest.mark.thorough
def test_who_claims_another_version_than_the_others_signed_is_found_out(ran: Path, tmp_path: Path) -> None:
    """With another version its messages would be compared with no script."""
    from covey.party.identity import keys as keyring

    out = Path(shutil.copytree(ran / "north" / "out", tmp_path / "out"))
    read = transcript_file.read(out / TRANSCRIPT)
    head, _, rest = read.signed.partition(b"\n")
    claimed = head.replace(f'"protocol_version":{NEWER}'.encode(), f'"protocol_version":{NEWER + 1}'.encode())
    body = claimed + b"\n" + rest
    signature = keyring.load(ran / "north" / "keys").sign(transcript_file.statement(body)).hex()
    last = json.dumps({"line": "signature", "party": "north", "signature": signature}, separators=(",", ":"))
    (out / TRANSCRIPT).write_bytes(body + last.encode() + b"\n")
    (alone,) = audit([out])
    assert alone.wrong == (f"{CERTIFICATE}: names another version of the protocol than the transcript",)
    together = audit([ran / "south" / "out", out])
    assert any("names another version of the protocol than" in sentence for sentence in together[1].wrong[1:])
