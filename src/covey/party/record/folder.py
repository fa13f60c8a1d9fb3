"""The folder of a run: every file that the run leaves, each whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from covey import report
from covey.errors import InputError
from covey.files import (
    AS_CSV,
    PRIVATE,
    RELEASES,
    SHARED,
    ReleaseFormat,
    as_json,
    json_object,
    release_in,
    remove_release,
    write_atomically,
)
from covey.party.identity.keys import Keys
from covey.party.record import reporting, transcript_file
from covey.party.record.ledger import NOTHING, Ledger
from covey.party.record.log import RunLog
from covey.party.record.names import CERTIFICATE, CLASSES, LEDGER, LOG, STUDY, SUMMARY, TRANSCRIPT
from covey.party.record.run_record import Finished, RunRecord
from covey.party.record.summary import summarize
from covey.sources.release import canonical_csv, write_release
from covey.study import Study
from covey.summary import Summary


class RunFolder:
    """The folder of one party's run, or of a simulation as a whole."""

    def __init__(self, path: Path, written: ReleaseFormat = AS_CSV) -> None:
        self.path = path
        self._written = written

    def prepare(self, *, resuming: bool = False) -> None:
        """Makes the folder and tries whether it can be written. Raises InputError if a finished run is in it.

        A run whose session goes on may have been finished here, and not at a peer.
        """
        if self.path.is_file():
            raise InputError(f"{self.path}: is a file; name a folder with --out")
        if not resuming and (release_in(self.path) is not None or (self.path / SUMMARY).exists()):
            raise InputError(f"{self.path}: holds a finished run; choose another folder with --out")
        probe = self.path / ".covey-probe"
        write_atomically(probe, b"\n", PRIVATE)
        probe.unlink()

    def keep_study(self, study: Study) -> None:
        """Copies the study with every file that it names, so that the folder explains itself."""
        for name, content in study.files.items():
            _write_new(self.path / name, content)
        if study.text is not None:
            _write_new(self.path / STUDY, study.text.encode())

    def keep_ledger(self, ledger: Ledger, outcome: str) -> None:
        """Writes the ledger, however the run ended."""
        write_atomically(self.path / LEDGER, as_json(ledger.describe(outcome)), PRIVATE)

    def earlier_ledger(self) -> list[dict[str, object]]:
        """The ledgers of sessions that this folder has seen: what was learned stays learned if they are given up."""
        try:
            found: dict[str, Any] = dict(json_object(self.path / LEDGER))
            parts = {name: found[name] for name in ("outcome", "learned", "others")}
            parts |= {name: found[name] for name in ("session", "facts") if name in found}
            entries = [dict(each) for each in (*found.get("earlier", []), parts)]
            return [each for each in entries if each.get("learned") != [NOTHING]]
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return []

    def keep_transcript(self, study: Study, party: str, record: RunRecord, keys: Keys, outcome: str) -> None:
        """Writes the transcript of a run that ended early, as far as it went."""
        if record.agreement is not None:
            ledger = (self.path / LEDGER).read_bytes()
            content = transcript_file.spell(study, party, record, outcome, {LEDGER: ledger}, keys.sign)
            write_atomically(self.path / TRANSCRIPT, content)

    def keep(
        self, study: Study, ledger: Ledger, finished: Finished, party: str, keys: Keys, *, reproducible: bool
    ) -> Summary:
        """Writes all files of a run that reached its end; the release comes last, and without it nothing stays."""
        summary = summarize(study, ledger, finished, party, reproducible=reproducible)
        outcome = "finished: the parties computed the release"
        contents = {LEDGER: as_json(ledger.describe(outcome)), SUMMARY: summary.spell()}
        if finished.record.closed is not None:
            contents[CERTIFICATE] = finished.record.closed.certificate.spell()
        if finished.classes is not None:
            contents[CLASSES] = finished.classes
        release = finished.release
        signed = contents if release is None else {**contents, self._written.name: canonical_csv(release)}
        transcript = transcript_file.spell(study, party, finished.record, outcome, signed, keys.sign)
        with self._all_or_nothing():
            self._write({**contents, TRANSCRIPT: transcript})
            reporting.write(self.path, study=study, release=release, file=self._written.name)
            if release is not None:
                for name in {*RELEASES} - {self._written.name}:
                    remove_release(self.path / name)  # of the same run, which was finished here before
                write_release(release, self.path / self._written.name, self._written.parts)
        return summary

    def keep_joint(self, study: Study, summary: Summary, contents: Mapping[str, bytes]) -> None:
        """Writes the files of a simulation as a whole: the summary, those of a party's, and the report on them."""
        with self._all_or_nothing():
            self._write({**contents, SUMMARY: summary.spell()})
            reporting.write(self.path, study=study)

    def _write(self, contents: Mapping[str, bytes]) -> None:
        for name, content in contents.items():
            write_atomically(self.path / name, content, PRIVATE if name == LEDGER else SHARED)

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Removes the files of a finished run if the block fails; a ledger stays."""
        try:
            yield
        except BaseException:
            for name in (*RELEASES, CLASSES, SUMMARY, CERTIFICATE, TRANSCRIPT, report.FILE):
                remove_release(self.path / name)
            raise


def log_in(path: Path) -> RunLog:
    """The log of a run in a new folder, which is made. Raises InputError if a finished run is in it."""
    RunFolder(path).prepare()
    return RunLog(path / LOG)


def _write_new(path: Path, content: bytes) -> None:
    if not path.is_file() or path.read_bytes() != content:
        write_atomically(path, content)
