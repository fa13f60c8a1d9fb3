"""What a run leaves in its folder, each file whole or not at all."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa

from covey import report
from covey.errors import InputError
from covey.files import as_json, write_atomically
from covey.party.identity.keys import Keys
from covey.party.record import run_certificate as certify
from covey.party.record import transcript_file
from covey.party.record.ledger import NOTHING, Ledger
from covey.party.record.summary import summarize
from covey.party.session import journal
from covey.party.session.session import Finished, Record
from covey.sources.release import canonical_csv, write_release
from covey.study import Study

RELEASE, SUMMARY, LEDGER, STUDY, LOG = "release.csv", "summary.json", "ledger.json", "study.toml", "run.log"
CERTIFICATE, TRANSCRIPT, JOURNAL = certify.FILE, transcript_file.FILE, journal.FILE


class RunFolder:
    """The folder of one party's run, or of a simulation as a whole."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def prepare(self, *, resuming: bool = False) -> None:
        """Makes the folder and sees that it can be written. Raises InputError if a finished run is in it.

        A run whose session goes on may have been finished here, and not at a peer.
        """
        if not resuming and ((self.path / RELEASE).exists() or (self.path / SUMMARY).exists()):
            raise InputError(f"{self.path}: holds a finished run; choose another folder with --out")
        probe = self.path / ".covey-probe"
        write_atomically(probe, b"\n", 0o600)
        probe.unlink()

    def keep_study(self, study: Study) -> None:
        """A copy of the study with every file that it names, so that the folder explains itself."""
        for name, content in study.files.items():
            _write_new(self.path / name, content)
        if study.path is not None and study.path.is_file():
            _write_new(self.path / STUDY, study.path.read_bytes())

    def keep_ledger(self, ledger: Ledger, outcome: str) -> None:
        """What was learned, however the run ended."""
        write_atomically(self.path / LEDGER, as_json(ledger.describe(outcome)))

    def earlier_ledger(self) -> list[dict[str, object]]:
        """What sessions taught whose ledger lies in the folder; it stays learned if they are given up."""
        try:
            found = json.loads((self.path / LEDGER).read_bytes())
            parts = {name: found[name] for name in ("outcome", "learned", "others")}
            parts |= {"session": found["session"]} if "session" in found else {}
            entries = [dict(each) for each in (*found.get("earlier", []), parts)]
            return [each for each in entries if each.get("learned") != [NOTHING]]
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return []

    def keep_transcript(self, study: Study, party: str, record: Record, keys: Keys, outcome: str) -> None:
        """What was said in a run that ended before its end, as far as it went."""
        if record.agreement is not None:
            ledger = (self.path / LEDGER).read_bytes()
            content = transcript_file.spell(study, party, record, outcome, {LEDGER: ledger}, keys.sign)
            write_atomically(self.path / TRANSCRIPT, content)

    def keep(
        self, study: Study, ledger: Ledger, finished: Finished, party: str, keys: Keys, *, reproducible: bool
    ) -> None:
        """Everything about a run that reached its end; the release comes last, and without it nothing stays."""
        summary = summarize(
            study,
            ledger,
            finished.traffic,
            party=party,
            figures=finished.figures,
            release_sha256=finished.release_sha256,
            seconds=finished.seconds,
            reproducible=reproducible,
            warnings=finished.warnings,
            phases=finished.phases,
        )
        outcome = "finished: the parties computed the release"
        contents = {LEDGER: as_json(ledger.describe(outcome)), SUMMARY: as_json(summary)}
        if finished.record.closed is not None:
            contents[CERTIFICATE] = finished.record.closed.certificate.spell()
        sealed = contents if finished.release is None else {**contents, RELEASE: canonical_csv(finished.release)}
        transcript = transcript_file.spell(study, party, finished.record, outcome, sealed, keys.sign)
        try:
            for name, content in contents.items():
                write_atomically(self.path / name, content)
            write_atomically(self.path / TRANSCRIPT, transcript)
            report.write(self.path, study=study, release=finished.release)
            self.keep_release(finished.release)
        except BaseException:
            for name in (RELEASE, SUMMARY, CERTIFICATE, TRANSCRIPT, report.FILE):
                (self.path / name).unlink(missing_ok=True)
            raise

    def keep_joint(self, study: Study, summary: dict[str, object], release: bytes, certificate: bytes) -> None:
        """What a simulation as a whole leaves: summary, certificate and release, and the report made from them."""
        contents = {CERTIFICATE: certificate, SUMMARY: as_json(summary), RELEASE: release}
        try:
            for name, content in contents.items():
                write_atomically(self.path / name, content)
            report.write(self.path, study=study)
        except BaseException:
            for name in (*contents, report.FILE):
                (self.path / name).unlink(missing_ok=True)
            raise

    def keep_release(self, release: pa.Table | None) -> None:
        """The release, if this party gets one."""
        if release is not None:
            write_release(release, self.path / RELEASE)


def _write_new(path: Path, content: bytes) -> None:
    if not path.is_file() or path.read_bytes() != content:
        write_atomically(path, content)
