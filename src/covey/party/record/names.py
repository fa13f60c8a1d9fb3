"""Names of the files that a run leaves in its folder."""

from covey.summary import FILE as SUMMARY

RELEASE, LEDGER, STUDY, LOG = "release.csv", "ledger.json", "study.toml", "run.log"
APPROVAL = "approval.txt"
CERTIFICATE, TRANSCRIPT, JOURNAL = "certificate.json", "transcript.jsonl", "journal"
COUNTS = "counts"

__all__ = ["APPROVAL", "CERTIFICATE", "COUNTS", "JOURNAL", "LEDGER", "LOG", "RELEASE", "STUDY", "SUMMARY", "TRANSCRIPT"]
