"""The journal: what this party has read so far, sealed, so that a run that was cut off goes on where it stopped.

Roles are deterministic: with the seed, the data and what was read, everything that was said follows. So the journal
holds the seed, the messages that the role has read, and of those that it sent only the hashes, to hold a resumed role
to its words. Nothing leaves this party before everything that it could depend on is on the disk.

A journal may have a limit. From there on it keeps the hashes alone of what is read: a resumed run asks the peers, who
play their roles again too, for those messages once more, and refuses any that has changed. What is lost beyond the
limit is the possibility to play the role again without the peers.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import msgspec

from covey.crypto.secret import Secret
from covey.errors import Aborted, InputError, PeerError
from covey.files import erase
from covey.party.session import journal_records as records
from covey.party.session.journal_records import Begun, JournalState, ReadLetter, Received
from covey.party.session.sealed import Place, SealedFile
from covey.wire.frame import Letter
from covey.wire.inbox import CONTROL_STEP
from covey.wire.record import Nothing

LIMIT = 512 * 10**6
"""Bytes of read messages that the journal of a run keeps, unless it is told otherwise."""
EVERYTHING = 1 << 62


class Journal(JournalState):
    """One run's journal, in one folder; also the recorder that its channel tells of every message."""

    def __init__(
        self, path: Path, key: Secret, source: str = "", limit: int = EVERYTHING, *, synced: bool = True
    ) -> None:
        super().__init__()
        self.path = path
        self.source = source
        self.limit = limit
        self.synced = synced
        """True if what a message depends on is on the disk before it is sent; else it survives the process alone."""
        self._key = key
        self._file: SealedFile | None = None
        self._owing = False

    @classmethod
    def resume(cls, path: Path, key: Secret, source: str = "", limit: int = EVERYTHING, *, synced: bool = True) -> Self:
        """The journal at that path, with what it has; an empty one if there is none. Raises InputError for damage."""
        journal = cls(path, key, source, limit, synced=synced)
        if path.exists():
            journal._file = SealedFile.open(path, key, append=True)
            journal._load(journal._file)
        return journal

    @staticmethod
    def read(path: Path, key: Secret) -> Journal:
        """The journal at that path, to be looked at only. Raises InputError if there is none."""
        Journal.require(path)
        journal = Journal(path, key)
        journal._file = SealedFile.open(path, key, append=False)
        journal._load(journal._file)
        return journal

    @staticmethod
    def require(path: Path) -> None:
        """Raises InputError if there is no journal at that path."""
        if not path.is_file():
            raise InputError(
                f"{path}: there is no journal; it was forgotten, or the run left none, as a simulation in one process"
            )

    def begin(self, begun: Begun) -> None:
        """A new session begins, and whatever was here is erased. On the disk when this returns."""
        self.give_up()
        self._file = SealedFile.create(self.path, self._key)
        self._take(begun)
        self._file.sync()

    def give_up(self) -> None:
        """The session that the journal has is not gone on with: it is erased."""
        self.close()
        erase(self.path)
        super().__init__()  # nothing of it stays

    async def sent(self, letter: Letter) -> None:
        """Notes the hash, once all that was read is on the disk; the hash itself is there after `sync`.

        Raises Aborted if a resumed role says something else than it had said.
        """
        header = letter.header
        if header.step == CONTROL_STEP:
            return
        address = (header.recipient, header.step, header.number)
        before = self.said.get(address)
        if before is None:
            self._take(records.Sent(*address, letter.digest))
            if self._owing and self.synced:  # hashes may be lost, but nothing that this message depends on
                self._open.sync()
                self._owing = False
        elif before != letter.digest:
            raise Aborted(
                f"this party would say something else to {header.recipient!r} at {header.step or 'the start'} than "
                "before the interruption: its program or its machine has changed; begin anew in another folder",
                resumable=False,
            )

    async def received(self, letter: Letter) -> None:
        """Writes the letter down before the role reads it. Raises PeerError if a peer changes what it had said."""
        header = letter.header
        address = (header.sender, header.step, header.number)
        before = self.heard.get(address)
        if before is None:
            if self.whole and self.size + letter.raw.nbytes <= self.limit:
                self.note_read(address, ReadLetter(self._add(Received.of(letter.raw)), letter.digest))
            else:
                self._take(records.Heard(*address, letter.digest))
            self._owing = True
        elif before != letter.digest:
            reason = "it says something else than before the interruption"
            raise PeerError(party=header.sender, step=header.step or "the start", reason=reason)

    def letters(self, sender: str) -> Iterator[bytes]:
        """That peer's letters, as far as they are kept, in the order in which they were read."""
        for read in list(self.by_sender.get(sender, ())):
            yield self._letter(read)

    def letter(self, sender: str, place: int) -> bytes | None:
        """That peer's letter with that number, from 0; None if it has not come yet."""
        read = self.by_sender.get(sender, [])
        return self._letter(read[place]) if place < len(read) else None

    def _letter(self, read: ReadLetter) -> bytes:
        record = records.DECODER.decode(self._open.read(read.place))
        if not isinstance(record, Received):
            raise InputError(f"{self.path}: a record is not what it was; restore it, or begin anew")
        return record.raw

    def sync(self) -> None:
        """Returns once everything that was written down is on the disk."""
        if self._file is not None:
            self._file.sync()
            self._owing = False

    def lose(self, peer: str, why: str) -> None:
        """That peer has left, here and in every replay; on the disk when this returns."""
        if peer not in self.gone:
            self._take(records.Gone(peer, why))
            self._open.sync()

    def decide(self, approve: bool, question: bytes) -> None:
        """The person here has answered a question of that hash; on the disk when this returns."""
        self._take(records.Decided(approve, question))
        self._open.sync()

    def finish(self) -> None:
        """Nothing more is to be read: from here on this party needs nobody to end the run."""
        if not self.complete:
            self._take(records.Complete())
            self._open.sync()

    def keep(self) -> None:
        """The run's files are written: there is nothing left to do here, but peers may still lack something."""
        if not self.kept:
            self._take(records.Kept())
            self._open.sync()

    @property
    def size(self) -> int:
        """Bytes on the disk."""
        return 0 if self._file is None else self._file.size

    def close(self) -> None:
        """Ends reading and writing."""
        if self._file is not None:
            self._file.close()
            self._file = None

    @property
    def _open(self) -> SealedFile:
        if self._file is None:
            raise InputError(f"{self.path}: no session has begun")
        return self._file

    def _add(self, record: records.Record) -> Place:
        return self._open.append(records.ENCODER.encode(record))

    def _take(self, record: records.Record) -> None:
        self.take(record, self._add(record))

    def _load(self, file: SealedFile) -> None:
        for place, content in file.records():
            try:
                self.take(records.DECODER.decode(content), place)
            except (msgspec.MsgspecError, ValueError, zlib.error):
                raise InputError(f"{self.path}: was written by another version of covey; begin anew") from None


class NoJournal(Nothing, JournalState):
    """For runs that leave no folder: nothing is kept, nothing can go on."""

    source = ""

    def begin(self, begun: Begun) -> None:
        """Forgets it."""

    def letters(self, sender: str) -> Iterator[bytes]:
        """None."""
        return iter(())

    def decide(self, approve: bool, question: bytes) -> None:
        """Forgets it."""

    def finish(self) -> None:
        """Forgets it."""


NO_JOURNAL = NoJournal()
