"""Invitations: a line of text that lets one person enrol one key, once, until a day.

The line carries where the collector is, the fingerprint of its certificate (so that nobody else can answer in its
place), the study's hash, the last moment, and a secret. The collector's folder keeps the secret's hash and nothing
else of it: whoever reads that folder cannot enrol.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from covey.crypto.rng import fresh_seed
from covey.errors import InputError
from covey.files import append
from covey.wire.contact import Address

FILE = "invitations.jsonl"
SECRET_BYTES = 16
MOST = 100_000
_PREFIX = "covey-"
_AT_RELAY = "relay"
_CHECK_BYTES = 3
_LONGEST = 2000


class _Content(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    address: str
    fingerprint: bytes
    study: bytes
    expires: int
    secret: bytes


class _Line(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    hash: str
    expires: int


@dataclass(frozen=True)
class Invitation:
    """The content of one invitation."""

    address: Address | None
    """The collector's address; None if it is met at the study's relay."""
    fingerprint: bytes
    """SHA-256 of the collector's certificate."""
    study: bytes
    """The study's hash."""
    expires: int
    """The last second, since 1970."""
    secret: bytes

    def __repr__(self) -> str:
        return f"Invitation({self.address or _AT_RELAY}, …)"

    def spell(self) -> str:
        """The line."""
        content = _Content(str(self.address or _AT_RELAY), self.fingerprint, self.study, self.expires, self.secret)
        raw = msgspec.msgpack.encode(content)
        return _PREFIX + base64.urlsafe_b64encode(raw + _check(raw)).decode().rstrip("=")

    @staticmethod
    def parse(text: str) -> Invitation:
        """The invitation in a line, or in a link. Raises InputError for anything else, without quoting it."""
        wrong = "this is no invitation, or a part of it is missing: copy the whole line that you were sent"
        text = "".join(text.split()).rpartition("#")[2]
        if not text.startswith(_PREFIX) or len(text) > _LONGEST:
            raise InputError(wrong)
        body = text.removeprefix(_PREFIX)
        try:
            raw = base64.b64decode(body + "=" * (-len(body) % 4), altchars=b"-_", validate=True)
            content = msgspec.msgpack.decode(raw[:-_CHECK_BYTES], type=_Content)
        except (binascii.Error, msgspec.MsgspecError, ValueError):
            raise InputError(wrong) from None
        sizes = (len(content.fingerprint), len(content.study), len(content.secret))
        if _check(raw[:-_CHECK_BYTES]) != raw[-_CHECK_BYTES:] or sizes != (32, 32, SECRET_BYTES):
            raise InputError(wrong)
        address = None if content.address == _AT_RELAY else Address.parse(content.address)
        return Invitation(address, content.fingerprint, content.study, content.expires, content.secret)

    def require(self, study_hash: str, now: float) -> None:
        """Raises InputError if it is for another study, or its time is over by this machine's clock."""
        if self.study.hex() != study_hash:
            raise InputError(
                "the invitation is for another study than this file, or for another version of it; "
                "ask the organiser for the study file that belongs to it"
            )
        if now > self.expires:
            day = datetime.fromtimestamp(self.expires, UTC)
            raise InputError(f"the invitation expired on {day:%Y-%m-%d %H:%M} UTC; ask the organiser for a new one")


def digest(secret: bytes) -> str:
    """The hash that the collector keeps of a secret; sixteen random bytes cannot be guessed from it."""
    return hashlib.sha256(b"covey invitation/1 " + secret).hexdigest()


def issue(
    folder: Path, address: Address | None, fingerprint: bytes, study_hash: str, *, count: int, expires: int
) -> list[Invitation]:
    """New invitations; what the collector needs to know of them is on the disk when this returns."""
    if not 1 <= count <= MOST:
        raise InputError(f"--count must be a number from 1 to {MOST:,}")
    made = [
        Invitation(address, fingerprint, bytes.fromhex(study_hash), expires, fresh_seed().reveal()[:SECRET_BYTES])
        for _ in range(count)
    ]
    lines = b"".join(msgspec.json.encode(_Line(digest(each.secret), expires)) + b"\n" for each in made)
    path = folder / FILE
    try:
        folder.mkdir(parents=True, exist_ok=True)
        append(path, lines)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror}); no invitation was made") from None
    return made


class Invitations:
    """The hashes in a collector's folder, read again whenever the file has grown."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        self._read = 0
        self._expires: dict[str, int] = {}

    def expiry(self, known: str) -> int | None:
        """The second at which the invitation whose secret has that hash expires; None if there is none."""
        if known not in self._expires:
            self._refresh()
        return self._expires.get(known)

    def __len__(self) -> int:
        self._refresh()
        return len(self._expires)

    def _refresh(self) -> None:
        try:
            with self._path.open("rb") as stream:
                stream.seek(self._read)
                content = stream.read()
        except FileNotFoundError:
            return
        except OSError as error:
            raise InputError(f"{self._path}: cannot be read ({error.strerror})") from None
        whole = content[: content.rfind(b"\n") + 1]
        for line in whole.splitlines():
            try:
                entry = msgspec.json.decode(line, type=_Line)
            except (msgspec.MsgspecError, ValueError):
                continue  # a line that a crash has cut short: its invitations were never handed out
            self._expires[entry.hash] = entry.expires
        self._read += len(whole)


def _check(raw: bytes) -> bytes:
    """Finds a slip in copying; it is no secret."""
    return hashlib.sha256(raw).digest()[:_CHECK_BYTES]
