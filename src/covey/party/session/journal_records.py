"""The records of a journal, one for each thing that a resumed run has to know, and the state that follows from them."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from covey.crypto.secret import Secret
from covey.party.record.run_record import Agreement
from covey.party.session.binding import Binding
from covey.party.session.sealed import Place
from covey.wire.frame import read as read_letter

_PROBED = 4096
_WORTH_IT = 0.9


class Begun(msgspec.Struct, frozen=True, tag="begun"):
    """A session has begun: what it is bound to, and all that its randomness follows from."""

    party: str
    software: str
    study_hash: str
    roster_hash: str
    data: bytes
    source: str
    """The place of the data, for a later replay."""
    seed: bytes
    session: bytes
    commitments: dict[str, bytes]
    nonces: dict[str, bytes]
    confirmed: dict[str, bytes]
    layout: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    protocol_version: int = 1

    @property
    def binding(self) -> Binding:
        """The inputs that the session is bound to."""
        bound = self.study_hash, self.roster_hash, self.layout, self.protocol_version, self.data
        return Binding(self.party, self.software, *bound)

    def agreement(
        self, warnings: tuple[str, ...] = (), known: Mapping[str, frozenset[bytes]] | None = None
    ) -> Agreement:
        """The agreement of a session that goes on."""
        secret, given = Secret(self.seed), (self.commitments, self.nonces, self.confirmed)
        return Agreement(self.session, secret, *given, warnings=warnings, resumed=True, known=known or {})

    @staticmethod
    def of(agreement: Agreement, binding: Binding, source: str = "") -> Begun:
        """The record of a new session."""
        return Begun(
            party=binding.party,
            software=binding.software,
            study_hash=binding.study_hash,
            roster_hash=binding.roster_hash,
            data=binding.data,
            source=source,
            seed=agreement.seed.reveal(),
            session=agreement.digest,
            commitments=agreement.commitments,
            nonces=agreement.nonces,
            confirmed=agreement.confirmed,
            layout=binding.layout,
            protocol_version=binding.protocol_version,
        )

    def __repr__(self) -> str:
        return f"Begun({self.session[:16].hex()})"


class Received(msgspec.Struct, frozen=True, tag="received"):
    """A letter that the role was about to read."""

    letter: bytes
    packed: bool = False
    """True if the letter is compressed."""

    @staticmethod
    def of(raw: memoryview) -> Received:
        """The record of a letter, a long one compressed if its beginning can be: shares and ciphertexts are random."""
        if raw.nbytes >= _PROBED and len(zlib.compress(raw[:_PROBED], 1)) < _WORTH_IT * _PROBED:
            return Received(zlib.compress(raw, 1), packed=True)
        return Received(bytes(raw))

    @property
    def raw(self) -> bytes:
        """The letter as it came."""
        return zlib.decompress(self.letter) if self.packed else self.letter


class Heard(msgspec.Struct, frozen=True, tag="heard"):
    """A letter that the role was about to read, of which only the hash is kept: its sender can say it again."""

    sender: str
    step: str
    number: int
    digest: bytes


class Sent(msgspec.Struct, frozen=True, tag="sent"):
    """A letter that was about to leave."""

    to: str
    step: str
    number: int
    digest: bytes


class Decided(msgspec.Struct, frozen=True, tag="decided"):
    """The answer of the person here to the question whether to release."""

    approve: bool
    question: bytes = b""
    """The hash of what was asked."""


class Attempt(msgspec.Struct, frozen=True, tag="attempt"):
    """The session goes on, from a state, for so many attempts in all."""

    number: int


class Complete(msgspec.Struct, frozen=True, tag="complete"):
    """Everything that this party was to read has been read."""


class Kept(msgspec.Struct, frozen=True, tag="kept"):
    """Everything that the run leaves has been written."""


class Gone(msgspec.Struct, frozen=True, tag="gone"):
    """A peer has left: nothing that it says later is read."""

    peer: str
    why: str


Record = Begun | Received | Heard | Sent | Decided | Attempt | Complete | Kept | Gone
DECODER = msgspec.msgpack.Decoder(Record)
ENCODER = msgspec.msgpack.Encoder()

Address = tuple[str, str, int]
"""A peer, a step, and a number at that step."""


@dataclass(frozen=True)
class ReadLetter:
    """A letter in the journal."""

    place: Place
    digest: bytes


@dataclass(eq=False, repr=False)
class JournalState:
    """The content of a journal for one session."""

    begun: Begun | None = None
    """The session that the journal has, if it has one."""
    decisions: list[bool] = field(default_factory=list)
    """The answers of the person here so far."""
    answers: dict[bytes, bool] = field(default_factory=dict)
    """The answers by the hash of what was asked."""
    attempts: int = 0
    """The number of attempts of the session."""
    complete: bool = False
    """True if this party has read everything that it was to read."""
    kept: bool = False
    """True if the run's files have all been written."""
    said: dict[Address, bytes] = field(default_factory=dict)
    """The hash of every letter that was sent, by recipient, step and number."""
    heard: dict[Address, bytes] = field(default_factory=dict)
    """The hash of every letter that was read, by sender, step and number."""
    by_sender: dict[str, list[ReadLetter]] = field(default_factory=dict)
    """Each peer's letters that are kept, in the order in which they were read."""
    gone: dict[str, str] = field(default_factory=dict)
    """The peers that have left, and why."""
    whole: bool = True
    """True if every message that was read is here, so that the role can be played again without the peers."""

    @property
    def messages(self) -> int:
        """The number of letters that have been read so far."""
        return len(self.heard)

    @property
    def senders(self) -> tuple[str, ...]:
        """The peers that have said anything, sorted."""
        return tuple(sorted(self.by_sender))

    def digests(self, sender: str) -> list[bytes]:
        """The hashes of that peer's letters that are kept."""
        return [read.digest for read in self.by_sender.get(sender, ())]

    def told(self, peer: str) -> int:
        """The number of letters that were sent to that peer, as far as their hashes are on the disk."""
        return sum(recipient == peer for recipient, _, _ in self.said)

    def note_read(self, address: Address, read: ReadLetter) -> None:
        """One more letter that was read, and is kept whole."""
        self.heard[address] = read.digest
        self.by_sender.setdefault(address[0], []).append(read)

    def take(self, record: Record, place: Place) -> None:
        """One more record, and its place in the file. Raises ValueError for a letter that is none."""
        match record:
            case Begun():
                self.begun, self.attempts = record, 1
            case Attempt():
                self.attempts = record.number
            case Received():
                letter = read_letter(record.raw)
                header = letter.header
                self.note_read((header.sender, header.step, header.number), ReadLetter(place, letter.digest))
            case Heard():
                self.heard[record.sender, record.step, record.number] = record.digest
                self.whole = False
            case Sent():
                self.said[record.to, record.step, record.number] = record.digest
            case Decided():
                self.decisions.append(record.approve)
                self.answers[record.question] = record.approve
            case Complete():
                self.complete = True
            case Gone():
                self.gone[record.peer] = record.why
            case Kept():
                self.kept = True
