"""An append-only file of sealed records: without the key nobody reads one, and nobody alters one unnoticed.

    magic      20 bytes
    segment    prefix of 16 bytes, salt of 32, tag of 16; one begins whenever the file is opened to be written
    record     prefix of 16 bytes, then the content under ChaCha20-Poly1305, its nonce the record's number

A prefix is a length and a keyed hash of it (the length of a segment is written as zero), so that a record which a crash
has cut short can be told from one that was altered: the first is at the end, with a prefix that holds. Each segment
has a key of its own, from its salt, its place and the tag of whatever lies before it: where a torn record is written
again, no nonce is used twice, and no segment of another file, or of this one when it was longer, fits behind another.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from covey.crypto.rng import derive, fresh_seed
from covey.crypto.secret import Secret
from covey.errors import Aborted, InputError
from covey.files import PRIVATE, sync_to_disk, write_all

MAGIC = b"covey sealed file 2\n"
OVERHEAD = 32
"""Bytes that a record takes beyond its content."""

_LENGTH, _PREFIX, _SALT, _TAG = 4, 16, 32, 16


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a record in the file."""

    segment: int
    counter: int
    offset: int
    length: int


class SealedFile:
    """The file, open for reading, or for appending by one process at a time."""

    def __init__(self, path: Path, key: Secret, handle: int) -> None:
        self.path = path
        self.places: list[Place] = []
        self._key, self._handle = derive(key, "sealed file"), handle
        self._segments: list[_Segment] = []
        self._end = len(MAGIC)
        self._last = bytes(_TAG)
        self._fresh = True
        self._unsynced = self._broken = False

    @staticmethod
    def create(path: Path, key: Secret) -> SealedFile:
        """A new file, for its owner alone. Raises InputError if it is there or cannot be made."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, PRIVATE)
        except OSError as error:
            raise InputError(f"{path}: cannot be made ({error.strerror}); choose another folder") from None
        made = SealedFile(path, key, handle)
        try:
            made._lock()
            made._write(MAGIC)
            made.sync()
            with contextlib.suppress(OSError):  # a file system that cannot do that keeps an order of its own
                sync_to_disk(path.parent)
        except BaseException:
            made.close()
            raise
        return made

    @staticmethod
    def open(path: Path, key: Secret, *, append: bool) -> SealedFile:
        """An existing file, read to its end.

        A record that a crash has cut short is dropped. Raises InputError for any other damage, named by its place,
        and where another process is writing.
        """
        try:
            handle = os.open(path, (os.O_RDWR if append else os.O_RDONLY) | os.O_NOFOLLOW)
        except OSError as error:
            raise InputError(f"{path}: cannot be opened ({error.strerror})") from None
        found = SealedFile(path, key, handle)
        try:
            if append:
                found._lock()
            whole = found._scan()
            if append and whole < len(MAGIC):
                os.ftruncate(handle, 0)
                found._write(MAGIC)
            elif append and whole > found._end:
                os.ftruncate(handle, found._end)
        except BaseException:
            found.close()
            raise
        return found

    def read(self, place: Place) -> bytes:
        """A record's content."""
        sealed = os.pread(self._handle, place.length, place.offset)
        try:
            return self._segments[place.segment].open(place.counter, sealed)
        except InvalidTag:
            raise self._damaged(place.offset) from None

    def records(self) -> Iterator[tuple[Place, bytes]]:
        """Every record, in order."""
        for place in self.places:
            yield place, self.read(place)

    def append(self, content: bytes) -> Place:
        """Adds a record; it survives this process from here on, and a failing machine after `sync`."""
        if self._fresh:
            self._begin_segment()
        segment = self._segments[-1]
        counter = segment.taken
        sealed = segment.seal(counter, content)
        segment.taken += 1
        prefix = segment.prefix(counter, len(sealed))
        place = Place(len(self._segments) - 1, counter, self._end + _PREFIX, len(sealed))
        self._write(prefix + sealed)
        self._last = sealed[-_TAG:]
        self.places.append(place)
        return place

    def sync(self) -> None:
        """Returns once all that was added is on the disk. Raises Aborted, resumable, if that fails."""
        if not self._unsynced:
            return
        try:
            os.fsync(self._handle)
        except OSError as error:
            raise self._unwritable(error) from None
        self._unsynced = False

    def close(self) -> None:
        """Ends reading and writing."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    @property
    def size(self) -> int:
        """Bytes that hold."""
        return self._end

    def _lock(self) -> None:
        import fcntl  # not on every machine on which a table can be checked

        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError(f"{self.path}: another run is using it; wait until that has ended") from None

    def _begin_segment(self) -> None:
        index = len(self._segments)
        salt = fresh_seed().reveal()
        segment = _Segment(self._key, index, self._last, salt)
        self._write(_check(self._key, index, self._last) + salt + segment.tag)
        self._last = segment.tag
        self._segments.append(segment)
        self._fresh = False

    def _write(self, content: bytes) -> None:
        if self._broken:
            raise self._unwritable(None)
        try:
            os.lseek(self._handle, 0, os.SEEK_END)
            write_all(self._handle, content)
        except OSError as error:
            raise self._unwritable(error) from None
        self._end = os.lseek(self._handle, 0, os.SEEK_CUR)
        self._unsynced = True

    def _scan(self) -> int:
        """Finds every record; returns the file's size, which a torn end exceeds."""
        whole = os.fstat(self._handle).st_size
        if os.pread(self._handle, len(MAGIC), 0) != MAGIC[:whole]:
            raise self._damaged(0)
        offset = len(MAGIC)
        while (prefix := os.pread(self._handle, _PREFIX, offset)) and len(prefix) == _PREFIX:
            length = int.from_bytes(prefix[:_LENGTH], "big")
            size = length or _SALT + _TAG
            self._check_prefix(prefix, length, offset)
            body = os.pread(self._handle, size, offset + _PREFIX)
            if len(body) < size:
                break
            self._take(length, body, offset + _PREFIX)
            offset += _PREFIX + size
        self._end = max(offset, len(MAGIC))
        return whole

    def _check_prefix(self, prefix: bytes, length: int, offset: int) -> None:
        if length == 0:
            due = _check(self._key, len(self._segments), self._last)
        elif self._segments:
            due = self._segments[-1].prefix(self._segments[-1].taken, length)
        else:
            raise self._damaged(offset)
        if not hmac.compare_digest(prefix, due):
            raise self._damaged(offset)

    def _take(self, length: int, body: bytes, offset: int) -> None:
        if length == 0:
            segment = _Segment(self._key, len(self._segments), self._last, body[:_SALT])
            if not hmac.compare_digest(segment.tag, body[_SALT:]):
                raise self._damaged(offset)
            self._last = segment.tag
            self._segments.append(segment)
            return
        segment = self._segments[-1]
        place = Place(len(self._segments) - 1, segment.taken, offset, length)
        try:
            segment.open(place.counter, body)
        except InvalidTag:
            raise self._damaged(offset) from None
        segment.taken += 1
        self._last = body[-_TAG:]
        self.places.append(place)

    def _damaged(self, offset: int) -> InputError:
        return InputError(
            f"{self.path}: was altered or is damaged at byte {offset} (after {len(self.places)} records), or is not of "
            "these keys; restore it, or begin anew in another folder"
        )

    def _unwritable(self, error: OSError | None) -> Aborted:
        self._broken = True
        reason = f" ({error.strerror})" if error is not None else ""
        return Aborted(
            f"{self.path}: cannot be written{reason}; make room on the disk and run the same command again",
            resumable=True,
        )


class _Segment:
    """The keys of one stretch of records."""

    def __init__(self, key: Secret, index: int, last: bytes, salt: bytes) -> None:
        own = derive(key, "segment", index, last, salt)
        self._cipher = ChaCha20Poly1305(derive(own, "content").reveal())
        self._lengths = derive(own, "lengths").reveal()
        self.tag = derive(own, "tag").reveal()[:_TAG]
        self.taken = 0

    def prefix(self, counter: int, length: int) -> bytes:
        spelled = length.to_bytes(_LENGTH, "big")
        content = counter.to_bytes(8, "big") + spelled
        return spelled + hashlib.blake2s(content, key=self._lengths, digest_size=_PREFIX - _LENGTH).digest()

    def seal(self, counter: int, content: bytes) -> bytes:
        return self._cipher.encrypt(counter.to_bytes(12, "big"), content, None)

    def open(self, counter: int, sealed: bytes) -> bytes:
        return self._cipher.decrypt(counter.to_bytes(12, "big"), sealed, None)


def _check(key: Secret, index: int, last: bytes) -> bytes:
    """The prefix of the segment with that index, behind what ends with that tag."""
    content = b"segment" + index.to_bytes(8, "big") + last
    check = hashlib.blake2s(content, key=key.reveal(), digest_size=_PREFIX - _LENGTH).digest()
    return bytes(_LENGTH) + check
