"""Names of the files that a run leaves in its folder."""

from covey.summary import FILE as SUMMARY

RELEASE, LEDGER, STUDY, LOG = "release.csv", "ledger.json", "study.toml", "run.log"
CERTIFICATE, TRANSCRIPT, JOURNAL = "certificate.json", "transcript.jsonl", "journal"

__all__ = ["CERTIFICATE", "JOURNAL", "LEDGER", "LOG", "RELEASE", "STUDY", "SUMMARY", "TRANSCRIPT"]
