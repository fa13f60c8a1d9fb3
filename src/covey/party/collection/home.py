"""A respondent's folder, for its owner's eyes alone.

keys/            made here; the certificate is the respondent's identity to the collector
enrolment.json   the handle, and whom it was given by
record.json      the answers, and that they were agreed to
journal          of the session that is under way, sealed; erased at the end
ledger.json      what was learned, by whom
receipt.json     how it ended
"""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path

from covey.crypto.rng import fresh_seed
from covey.errors import InputError
from covey.files import PRIVATE, as_json, read_bytes, write_atomically
from covey.party.collection import questions
from covey.party.collection.invitation import Invitation
from covey.party.identity import keys as keyring
from covey.party.identity.keys import Keys
from covey.study import Study

ENROLMENT, RECORD, RECEIPT, KEYS = "enrolment.json", "record.json", "receipt.json", "keys"
_DAYS = 400


@dataclass(frozen=True)
class Home:
    """A respondent's folder."""

    path: Path

    def keys(self) -> Keys:
        """This respondent's keys, made here if there are none; they are there whole or not at all."""
        folder = self.path / KEYS
        if not folder.exists():
            self.path.mkdir(parents=True, exist_ok=True)
            making = Path(tempfile.mkdtemp(prefix=".keys-", dir=self.path))
            keyring.save(keyring.make(f"respondent-{fresh_seed().reveal()[:8].hex()}", days=_DAYS), making)
            making.rename(folder)
        return keyring.load(folder)

    def record(self, study: Study) -> dict[str, str] | None:
        """The answers that were given and agreed to before, if they are of this study."""
        kept = self._read(RECORD)
        if kept is None:
            return None
        if kept.get("study_hash") != study.study_hash:
            raise InputError(f"{self.path}: holds answers to another study; choose another folder with --folder")
        answers = kept.get("answers")
        return questions.accept(study, answers if isinstance(answers, dict) else {})

    def keep_record(self, study: Study, record: dict[str, str]) -> None:
        """Writes answers down that were agreed to."""
        self._write(RECORD, {"study_hash": study.study_hash, "consent": True, "answers": record})

    def handle(self, invitation: Invitation) -> str | None:
        """The handle that this collector gave, if it did."""
        kept = self._read(ENROLMENT)
        if kept is None or kept.get("collector") != invitation.fingerprint.hex():
            return None
        return str(kept["handle"])

    def keep_handle(self, invitation: Invitation, handle: str) -> None:
        """Writes the handle down."""
        self._write(ENROLMENT, {"handle": handle, "collector": invitation.fingerprint.hex()})

    def receipt(self) -> dict[str, object] | None:
        """The receipt of a collection that has ended; None before."""
        return self._read(RECEIPT)

    def keep_receipt(self, handle: str, how: str, sentence: str, **proof: str) -> None:
        """Writes down how it ended, with the collector's proof where it gives one."""
        self._write(RECEIPT, {"handle": handle, "how": how, "sentence": sentence, **proof})

    def _read(self, name: str) -> dict[str, object] | None:
        if not (self.path / name).exists():
            return None
        try:
            content = json.loads(read_bytes(self.path / name, "begin anew with another --folder"))
        except (ValueError, RecursionError):
            raise InputError(f"{self.path / name}: is damaged; begin anew with another --folder") from None
        return content if isinstance(content, dict) else None

    def _write(self, name: str, content: object) -> None:
        write_atomically(self.path / name, as_json(content), PRIVATE)
