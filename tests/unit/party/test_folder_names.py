"""No file of a study may take the name of one that a run writes."""

from __future__ import annotations

from covey import report
from covey.party.collection import invitation, register, status
from covey.party.record import folder
from covey.study.folder import RESERVED


def test_every_name_that_runs_write_is_reserved() -> None:
    names = {
        folder.RELEASE, folder.SUMMARY, folder.LEDGER, folder.STUDY, folder.LOG, folder.CERTIFICATE, folder.TRANSCRIPT,
        folder.JOURNAL, report.FILE, register.FILE, invitation.FILE, status.FILE,
    }  # fmt: skip
    assert names <= RESERVED
