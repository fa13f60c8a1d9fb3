"""The register: what a collector must never lose, a line each, on the disk before anyone is told of it.

A collector that was killed goes on from this file, and from the journal of the session that was under way.
"""

from __future__ import annotations

import base64
import fcntl
import hashlib
import os
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from covey.crypto.rng import fresh_seed
from covey.errors import InputError
from covey.files import PRIVATE, write_all

FILE = "collection.jsonl"
_HANDLE_BYTES = 4


class _Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, tag_field="line"):
    pass


class Opened(_Row, frozen=True, tag="opened"):
    """The collection for which the folder was opened."""

    study_hash: str
    quorum: int
    closes: int
    """The second since 1970 at which it begins; 0 if it begins with the quorum."""
    time: str
    protocol_version: int = 1


class Started(_Row, frozen=True, tag="started"):
    """A session that begins among these members."""

    attempt: int
    session: str
    members: list[str]
    time: str


class EnrolledLine(_Row, frozen=True, tag="enrolled"):
    """A respondent's handle, its certificate, and the invitation that it used up."""

    handle: str
    invitation: str
    """The hash of its secret."""
    certificate: str
    """DER, in base64; of a page the bare key."""
    time: str
    page: bool = False
    """True if a page enrolled it in a browser."""


class ReadyLine(_Row, frozen=True, tag="ready"):
    """A respondent that has answered and agreed, and takes part."""

    handle: str
    time: str


class AnswerLine(_Row, frozen=True, tag="answer"):
    """A respondent's sealed answer, for which it has a receipt."""

    handle: str
    content: str
    """In base64."""
    time: str


class TrusteeLine(_Row, frozen=True, tag="trustee"):
    """A trustee's key for letters, with its signature."""

    trustee: str
    key: str
    """In hexadecimal, as the signature."""
    signature: str
    time: str


class Dropped(_Row, frozen=True, tag="dropped"):
    """An attempt that was given up before anything was opened, and the respondents that had left."""

    attempt: int
    left: dict[str, str]
    time: str


class Ended(_Row, frozen=True, tag="ended"):
    """The end of the collection."""

    how: str
    released: bool
    time: str


Row = Opened | EnrolledLine | ReadyLine | AnswerLine | TrusteeLine | Started | Dropped | Ended
_ENCODER, _DECODER = msgspec.json.Encoder(), msgspec.json.Decoder(Row)


@dataclass
class CollectionState:
    """The state of a collection, from all lines of its register."""

    opened: Opened | None = None
    enrolled: dict[str, EnrolledLine] = field(default_factory=dict)
    by_certificate: dict[str, str] = field(default_factory=dict)
    """Handles, by the certificate's fingerprint in hexadecimal."""
    by_invitation: dict[str, str] = field(default_factory=dict)
    ready: dict[str, None] = field(default_factory=dict)
    answers: dict[str, str] = field(default_factory=dict)
    """Sealed answers by handle, in base64, where respondents hand them in beforehand."""
    trustees: dict[str, TrusteeLine] = field(default_factory=dict)
    """The trustees' keys for letters, by name."""
    started: Started | None = None
    """The attempt that is under way, or was the last."""
    left: dict[str, str] = field(default_factory=dict)
    """Respondents that left in an attempt that was given up, and why."""
    dropped: int = 0
    """The last attempt that was given up."""
    ended: Ended | None = None

    @property
    def current(self) -> Started | None:
        """The attempt that is under way, if there is one."""
        return self.started if self.started is not None and self.started.attempt > self.dropped else None

    def take(self, row: Row) -> None:
        """One more line."""
        if isinstance(row, Opened):
            self.opened = row
        elif isinstance(row, EnrolledLine):
            self.enrolled[row.handle] = row
            self.by_certificate[hashlib.sha256(base64.b64decode(row.certificate)).hexdigest()] = row.handle
            self.by_invitation[row.invitation] = row.handle
        elif isinstance(row, ReadyLine):
            self.ready[row.handle] = None
        elif isinstance(row, AnswerLine):
            self.ready[row.handle] = None
            self.answers[row.handle] = row.content
        elif isinstance(row, TrusteeLine):
            self.trustees[row.trustee] = row
        elif isinstance(row, Started):
            self.started = row
        elif isinstance(row, Dropped):
            self.left |= row.left
            self.dropped = row.attempt
        else:
            self.ended = row


class Register:
    """The register in a collector's folder, held by one process at a time."""

    def __init__(self, path: Path, handle: int, held: CollectionState) -> None:
        self._path, self._handle = path, handle
        self.held = held

    @staticmethod
    def open(folder: Path, opened: Opened) -> Register:
        """The folder's register; a new one, opened so, if there is none. What was said when it was opened stays.

        Raises InputError if it is another study's, if another collector uses it, or if it cannot be written.
        """
        path = folder / FILE
        try:
            folder.mkdir(parents=True, exist_ok=True)
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, PRIVATE)
        except OSError as error:
            raise InputError(f"{path}: cannot be written ({error.strerror}); choose another with --out") from None
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise InputError(f"{folder}: a collector is running here already") from None
            held, whole = _read(path)
            os.ftruncate(handle, whole)
            register = Register(path, handle, held)
            if held.opened is None:
                register.add(opened)
            elif held.opened.study_hash != opened.study_hash:
                raise InputError(f"{folder}: holds a collection of another study; choose another folder with --out")
        except BaseException:
            os.close(handle)
            raise
        return register

    def add(self, *rows: Row) -> None:
        """More lines; on the disk when this returns. Raises InputError if they cannot be written."""
        try:
            os.lseek(self._handle, 0, os.SEEK_END)
            write_all(self._handle, b"".join(_ENCODER.encode(row) + b"\n" for row in rows))
            os.fsync(self._handle)
        except OSError as error:
            raise InputError(f"{self._path}: cannot be written ({error.strerror}); make room on the disk") from None
        for row in rows:
            self.held.take(row)

    def enrol(self, certificate: bytes, invitation: str, *, page: bool = False) -> str:
        """A new handle for that certificate, or for a page's key; it says nothing of who or when."""
        while (handle := f"r-{fresh_seed().reveal()[:_HANDLE_BYTES].hex()}") in self.held.enrolled:
            continue
        self.add(EnrolledLine(handle, invitation, base64.b64encode(certificate).decode(), moment(), page))
        return handle

    def certificates(self) -> list[bytes]:
        """Everyone's who has one, in DER."""
        return [base64.b64decode(row.certificate) for row in self.held.enrolled.values() if not row.page]

    def close(self) -> None:
        """Lets another process have it."""
        os.close(self._handle)


def read(folder: Path) -> tuple[CollectionState, bool]:
    """The state in a folder's register, and whether a collector runs there. Raises InputError if there is none."""
    path = folder / FILE
    if not path.is_file():
        raise InputError(f"{folder}: holds no collection; name the folder that `covey collect serve` was given")
    held, _ = _read(path)
    with path.open("rb") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return held, True
    return held, False


def is_over(folder: Path) -> bool:
    """True if the folder has a collection that has reached its end."""
    return (folder / FILE).is_file() and read(folder)[0].ended is not None


def moment() -> str:
    """Now, in UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _read(path: Path) -> tuple[CollectionState, int]:
    """The lines, and how many bytes of the file they take: a last one that a crash has cut short is dropped."""
    content = path.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    held = CollectionState()
    for number, line in enumerate(whole.splitlines(), start=1):
        try:
            held.take(_DECODER.decode(line))
        except (msgspec.MsgspecError, ValueError):
            raise InputError(f"{path}: line {number} is damaged; restore the file from a backup") from None
    return held, len(whole)
