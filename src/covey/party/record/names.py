"""Names of the files that a run leaves in its folder."""

from covey.summary import FILE as SUMMARY

RELEASE, LEDGER, STUDY, LOG = "release.csv", "ledger.json", "study.toml", "run.log"
CLASSES = "classes.csv"
APPROVAL = "approval.txt"
CERTIFICATE, TRANSCRIPT, JOURNAL = "certificate.json", "transcript.jsonl", "journal"
COUNTS = "counts"
STATES = ("state-a", "state-b")
"""The last two states of a run on shares."""

__all__ = [
    "APPROVAL", "CERTIFICATE", "CLASSES", "COUNTS", "JOURNAL", "LEDGER", "LOG", "RELEASE", "STATES", "STUDY", "SUMMARY",
    "TRANSCRIPT",
]  # fmt: skip
