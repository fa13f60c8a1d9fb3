"""A run that ends early leaves evidence too: every message that was read is signed, and who denies one is found out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.consortium import Site, found, jobs, run_together

from covey.errors import CoveyError
from covey.party.audit.folders import audit
from covey.party.record.transcript import Transcript
from covey.party.session.approval import ApprovalQuestion
from covey.wire import frame
from covey.wire.frame import Letter

NAMES = ("north", "south")
pytestmark = pytest.mark.xdist_group("denials")


async def refuse(question: ApprovalQuestion) -> bool:
    """North says no to the release, so that the run ends before its closing."""
    return False


def ended_early(sites: dict[str, Site]) -> dict[str, object]:
    work = jobs(sites)
    work["north"] = replace(work["north"], decide=refuse)
    ends = run_together(work)
    assert all(isinstance(end, CoveyError) for end in ends.values())
    return dict(ends)


def wrong(sites: dict[str, Site]) -> dict[str, tuple[str, ...]]:
    return {each.party or each.folder.name: each.wrong for each in audit([site.out for site in sites.values()])}


@pytest.fixture
def sites(tmp_path: Path) -> Iterator[dict[str, Site]]:
    yield found(tmp_path, NAMES, k=2)


def test_a_run_that_ended_early_has_its_peers_signatures_and_passes_the_audit(sites: dict[str, Site]) -> None:
    ended_early(sites)
    assert wrong(sites) == {"north": (), "south": ()}
    rows = [json.loads(line) for line in (sites["north"].out / "transcript.jsonl").read_text().splitlines()]
    theirs = [row for row in rows if row["line"] == "message" and row["from"] == "south"]
    assert theirs and all(len(row["signature"]) == 128 for row in theirs)


def test_a_party_that_denies_what_it_sent_is_found_out(sites: dict[str, Site], monkeypatch: pytest.MonkeyPatch) -> None:
    """South leaves a message out of its transcript, which it signs as a whole: without signatures nobody could tell."""
    honest = Transcript.sent

    async def forgetful(self: Transcript, letter: Letter) -> None:
        if letter.header.sender != "south" or letter.header.step != "keys":
            await honest(self, letter)

    monkeypatch.setattr(Transcript, "sent", forgetful)
    ended_early(sites)
    found_out = wrong(sites)
    assert not found_out["north"]
    assert any("'south' denies message 0 at keys" in sentence for sentence in found_out["south"])


def test_a_message_without_its_senders_signature_is_refused(
    sites: dict[str, Site], monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = frame.write

    def unsigned(header, salt, payload, sign=None, before=frame.NO_HEAD):  # type: ignore[no-untyped-def]
        mute = header.sender == "south" and header.step == "keys"
        return honest(header, salt, payload, (lambda content: bytes(64)) if mute else sign, before)

    monkeypatch.setattr(frame, "write", unsigned)
    ends = run_together(jobs(sites))
    assert "has not signed its message" in str(ends["north"]) and "south" in str(ends["north"])
