"""The journal of a run on shares: states instead of messages.

    journal            the session, the attempts, the answers of the person here
    state-a, state-b   the last two states, each sealed with the party's journal key, each whole or not at all

A run that was cut off goes on from a state that all who compute have; each attempt draws fresh randomness, so that no
mask is used twice. One of them may be a state ahead, so two are kept. A state that is lost is never made anew from
those of peers: whoever asks for one would get a share of every row.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Annotated, Self

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from msgspec import Meta

from covey.crypto.rng import derive, fresh_seed
from covey.crypto.secret import Secret
from covey.errors import Aborted, InputError
from covey.files import PRIVATE, erase, write_atomically
from covey.party.record.names import STATES
from covey.party.record.run_record import Agreement, RunRecord
from covey.party.record.transcript import Entry, Mark
from covey.party.session import journal_records as records
from covey.party.session.journal import Journal
from covey.party.session.journal_records import Begun
from covey.protocols.protocol import LAST, SHARES, States
from covey.secure.declare import Traffic
from covey.wire.frame import Letter

ATTEMPTS = 20
"""The most attempts of a session."""
MAGIC = b"covey state 1\n"
_SALT = 32


Small = Annotated[int, Meta(ge=0, lt=1 << 32)]


class Place(msgspec.Struct, frozen=True, order=True):
    """The number of a state, and the attempt that reached it."""

    number: Small
    attempt: Small


class Ended(msgspec.Struct, frozen=True):
    """The end of a session, which all parties signed."""

    traffic: dict[str, Traffic]
    signatures: list[tuple[str, str, bytes]]
    """Sender, recipient, and the sender's signature on its head."""
    certificate: bytes


class State(msgspec.Struct, frozen=True):
    """A state of a role, and the messages until then."""

    session: bytes
    place: Place
    content: bytes
    entries: list[Entry]
    marks: list[Mark]
    ended: Ended | None = None


_ENCODER, _DECODER = msgspec.msgpack.Encoder(), msgspec.msgpack.Decoder(State)


class StateJournal(Journal):
    """The journal of a run that keeps states; as a recorder it keeps no message."""

    states: dict[str, State]
    """The states that are here, by file."""
    agreed: Place | None = None
    """The state that those who compute go on from."""
    changed: str = ""
    """What has changed here since the session began, in words; such a session is not gone on with."""

    def __init__(self, path: Path, key: Secret, source: str = "", limit: int = 0, *, synced: bool = True) -> None:
        super().__init__(path, key, source, limit, synced=synced)
        self.states = {}
        self._seals = derive(key, "state")

    @classmethod
    def resume(cls, path: Path, key: Secret, source: str = "", limit: int = 0, *, synced: bool = True) -> Self:
        """The journal at that path, with its states. Raises InputError for damage."""
        journal = super().resume(path, key, source, limit, synced=synced)
        try:
            journal._load_states()
        except BaseException:
            journal.close()
            raise
        return journal

    def _load_states(self) -> None:
        for name in STATES:
            if self.begun is not None and (file := self.path.parent / name).exists():
                state = self._open_state(file)
                if state.session == self.begun.session:
                    self.states[name] = state

    @property
    def places(self) -> list[Place]:
        """The states that are here, oldest first."""
        return sorted(state.place for state in self.states.values())

    @property
    def last(self) -> State | None:
        """The state that the attempt goes on from, or the last one since; None before the first."""
        return max(self.states.values(), key=lambda state: state.place, default=None)

    def role_states(
        self, agreement: Agreement, record: RunRecord, computing: Collection[str], neighbours: Mapping[str, Secret]
    ) -> States:
        """Returns what a role keeps its states with, beside the messages of those who compute.

        `neighbours` are the previous party and the next one, with their secrets; none where this one does not compute.
        """
        last = self.last

        def keep(number: int, spell: Callable[[], tuple[bytes, tuple[bytes, ...]]]) -> None:
            position, (content, digests) = Place(number, agreement.attempt), spell()
            keyed = {
                name: derive(secret, "state", number, digest).reveal()
                for (name, secret), digest in zip(neighbours.items(), digests, strict=True)
            }
            record.marks.append(Mark(number, agreement.attempt, keyed))
            entries = record.transcript.among(computing, SHARES)
            self.write(State(agreement.digest, position, content, entries, [*record.marks]))

        return States(agreement.attempt, self.agreed is not None, None if last is None else last.content, keep)

    def begin(self, begun: Begun) -> None:
        """A new session begins, and whatever was here is erased."""
        super().begin(begun)
        self.states = {}
        self._erase_all_but(())

    def attempt(self, number: int, agreed: Place | None) -> None:
        """An attempt begins, from a state or from the beginning; on the disk when this returns."""
        self._take(records.Attempt(number))
        self._open.sync()
        self.agreed = agreed
        self.states = {name: state for name, state in self.states.items() if state.place == agreed}

    def write(self, state: State) -> None:
        """Keeps a state in place of the one before the last. Raises Aborted, resumable, if it cannot be written."""
        newest = max(self.states, key=lambda name: self.states[name].place, default=STATES[1])
        name = next(name for name in STATES if name != newest)
        salt = fresh_seed().reveal()
        sealed = ChaCha20Poly1305(derive(self._seals, salt).reveal()).encrypt(bytes(12), _ENCODER.encode(state), MAGIC)
        try:
            write_atomically(self.path.parent / name, MAGIC + salt + sealed, PRIVATE, synced=self.synced)
        except InputError as error:
            raise Aborted(f"{error}; make room and run the same command again to go on", resumable=True) from None
        self.states[name] = state

    def end(self, state: State) -> None:
        """Keeps the last state with what all signed, and erases the one before it, which has shares."""
        self.write(state)
        self.states = {file: kept_state for file, kept_state in self.states.items() if kept_state is state}
        self._erase_all_but(tuple(self.states))

    def _erase_all_but(self, names: tuple[str, ...]) -> None:
        for name in STATES:
            if name not in names:
                erase(self.path.parent / name)

    def _open_state(self, file: Path) -> State:
        content = file.read_bytes()
        start = len(MAGIC) + _SALT
        try:
            cipher = ChaCha20Poly1305(derive(self._seals, content[len(MAGIC) : start]).reveal())
            return _DECODER.decode(cipher.decrypt(bytes(12), content[start:], content[: len(MAGIC)]))
        except (InvalidTag, msgspec.MsgspecError, ValueError):
            raise InputError(
                f"{file}: was altered or is damaged, or is not of these keys, and the session cannot go on without it; "
                "begin anew, all of you, in another folder with --out"
            ) from None

    async def sent(self, letter: Letter) -> None:
        """Keeps nothing."""

    async def received(self, letter: Letter) -> None:
        """Keeps nothing."""


def agreed_state(positions: Mapping[str, list[Place]], computing: Collection[str]) -> Place | None:
    """Returns the state from which a session goes on; None to begin from the inputs.

    That is the last one that all who compute have, or the end, if all parties have it. Raises Aborted where a party has
    lost its state, or put an older one back.
    """
    ends = set.intersection(*({state for state in states if state.number == LAST} for states in positions.values()))
    if ends:
        return max(ends)
    windows = {name: [state for state in positions[name] if state.number < LAST] for name in computing}
    common = set.intersection(*map(set, windows.values()))
    if common:
        return max(common)
    if not any(state.number for states in windows.values() for state in states):
        return None
    behind = min(computing, key=lambda name: max(windows[name], default=Place(0, 0)))
    raise Aborted(
        f"party {behind!r} has lost its state of the session, or put an older one back, and nobody can give it "
        "another; begin anew, all of you, in another folder with --out",
        resumable=False,
    )
