"""Receipts and the board: a respondent can prove that its answer came, and everyone can see that it was counted.

The board is a list of hashes, a line for each answer, signed by the collector and published in its folder. It has no
handles: they would say who answered. A receipt is a line with the collector's signature.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from covey import bounds
from covey.crypto.rng import spell
from covey.errors import InputError
from covey.files import as_json, read_bytes, write_atomically
from covey.party.identity.certificate import Certificate
from covey.party.identity.keys import Keys
from covey.protocols.peel import letters
from covey.protocols.peel.respondents import judge, word_of
from covey.study import Study
from covey.wire.standing.hub import EnrolmentRefused

FILE = "board.json"


@dataclass(frozen=True)
class Receipts:
    """The collector's receipts."""

    study: Study
    keys: Keys
    width: int
    """The bits of a record's word."""

    @classmethod
    def of(cls, study: Study, keys: Keys) -> Receipts:
        """The receipts of a collector with these keys."""
        return cls(study, keys, word_of(study, judge(study)).width)

    def line(self, handle: str, content: bytes, key: bytes) -> bytes:
        """The board's line for the letter of a respondent with that key. Raises EnrolmentRefused for what is none."""
        try:
            answer = letters.unpack(content, self.width)
        except InputError as error:
            raise EnrolmentRefused(str(error)) from None
        if answer.key != key or not letters.is_signed(self.study.study_hash, handle, answer):
            raise EnrolmentRefused("its parts are not signed by the key that was enrolled")
        return letters.line(handle, answer.digests)

    def sign(self, handle: str, line: bytes) -> bytes:
        """The collector's signature on a receipt."""
        return self.keys.sign(statement(self.study, handle, line))

    def publish(self, folder: Path, answers: Mapping[str, bytes]) -> None:
        """Writes the board: every line, the hash of all, and the collector's signature."""
        lines = sorted(
            letters.line(handle, letters.unpack(content, self.width).digests) for handle, content in answers.items()
        )
        whole = letters.board(self.study.study_hash, lines)
        content = {
            "study_hash": self.study.study_hash,
            "board": whole.hex(),
            "signature": self.keys.sign(board_statement(self.study, whole)).hex(),
            "lines": [line.hex() for line in lines],
        }
        write_atomically(folder / FILE, as_json(content))


def statement(study: Study, handle: str, line: bytes) -> bytes:
    """The bytes that a collector signs on a receipt."""
    return spell("covey receipt/1", study.study_hash, handle, line)


def board_statement(study: Study, board: bytes) -> bytes:
    """The bytes that a collector signs on its board."""
    return spell("covey board/1", study.study_hash, board)


def check(study: Study, collector: Certificate, receipt: Mapping[str, object], board: Path | None) -> str | None:
    """The reason why a receipt does not hold, or its answer is not on the board; None if everything holds.

    Raises InputError for a file that is no receipt or no board.
    """
    try:
        handle, line = str(receipt["handle"]), bytes.fromhex(str(receipt["line"]))
        signature = bytes.fromhex(str(receipt["signature"]))
    except (KeyError, ValueError):
        raise InputError("the receipt has no handle, line and signature; is it one of this method?") from None
    if receipt.get("study_hash") != study.study_hash:
        return "the receipt is of another study, or of another version of it"
    if not collector.verifies(signature, statement(study, handle, line)):
        return "the receipt's signature is not the collector's"
    if board is None:
        return None
    try:
        shown = json.loads(read_bytes(board, "name the board of a collection", bound=bounds.long_record))
        lines = sorted(bytes.fromhex(str(each)) for each in shown["lines"])
        whole, signed = bytes.fromhex(str(shown["board"])), bytes.fromhex(str(shown["signature"]))
    except (ValueError, KeyError, TypeError, RecursionError):
        raise InputError(f"{board}: is no board of a collection") from None
    if letters.board(study.study_hash, lines) != whole or not collector.verifies(signed, board_statement(study, whole)):
        return "the board is not what the collector signed"
    return None if line in lines else "the answer is not on the board, although the collector gave a receipt for it"
