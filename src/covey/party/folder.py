"""What a run leaves in its folder, each file whole or not at all."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa

from covey import report
from covey.errors import InputError
from covey.party.ledger import Ledger
from covey.party.session import Finished
from covey.party.summary import summarize
from covey.sources.release import write_atomically, write_release
from covey.study import Study

RELEASE, SUMMARY, LEDGER, STUDY, LOG = "release.csv", "summary.json", "ledger.json", "study.toml", "run.log"


class RunFolder:
    """The folder of one party's run, or of a simulation as a whole."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def prepare(self) -> None:
        """Makes the folder and sees that it can be written. Raises InputError if a finished run is in it."""
        if (self.path / RELEASE).exists() or (self.path / SUMMARY).exists():
            raise InputError(f"{self.path}: holds a finished run; choose another folder with --out")
        probe = self.path / ".covey-probe"
        write_atomically(probe, b"\n", 0o600)
        probe.unlink()

    def keep_study(self, study: Study) -> None:
        """A copy of the study with every file that it names, so that the folder explains itself."""
        if study.path is None or not study.path.is_file():
            return
        for name, content in study.files.items():
            _write_new(self.path / name, content)
        _write_new(self.path / STUDY, study.path.read_bytes())

    def keep_ledger(self, ledger: Ledger, outcome: str) -> None:
        """What was learned, however the run ended."""
        self._json(LEDGER, ledger.describe(outcome))

    def keep(self, study: Study, ledger: Ledger, finished: Finished, party: str | None, *, reproducible: bool) -> None:
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
        )
        self.keep_ledger(ledger, "finished: the parties computed the release")
        try:
            self._json(SUMMARY, summary)
            report.write(self.path)
            self.keep_release(finished.release)
        except BaseException:
            for name in (SUMMARY, report.FILE):
                (self.path / name).unlink(missing_ok=True)
            raise

    def keep_joint(self, summary: dict[str, object], release: bytes) -> None:
        """What a simulation as a whole leaves: everyone's summary, report and release."""
        self._json(SUMMARY, summary)
        report.write(self.path)
        write_atomically(self.path / RELEASE, release)

    def keep_release(self, release: pa.Table | None) -> None:
        """The release, if this party gets one."""
        if release is not None:
            write_release(release, self.path / RELEASE)

    def _json(self, name: str, content: object) -> None:
        write_atomically(self.path / name, (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode())


def _write_new(path: Path, content: bytes) -> None:
    if not path.is_file() or path.read_bytes() != content:
        write_atomically(path, content)
