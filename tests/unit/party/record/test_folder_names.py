"""No file of a study may take the name of one that a run writes."""

from __future__ import annotations

from covey import report
from covey.party.collection import invitation, register, status
from covey.party.record import names
from covey.study.folder import RESERVED


def test_every_name_that_runs_write_is_reserved() -> None:
    written = {
        names.RELEASE, names.SUMMARY, names.LEDGER, names.STUDY, names.LOG, names.CERTIFICATE, names.TRANSCRIPT,
        names.JOURNAL, report.FILE, register.FILE, invitation.FILE, status.FILE,
    }  # fmt: skip
    assert written <= RESERVED
