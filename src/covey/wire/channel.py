"""A channel is all that a role knows of the world: named peers, typed messages, steps, and its randomness.

`await channel.send(peer, message)` and `await channel.receive(peer, Type)` are addressed by sender, type and
step, never by order of arrival. Within one step a peer's messages are read in the order in which it sent
them; what runs side by side goes to steps of its own: `channel.at("turn", 3)`. So a role that is given its
input, its seed and what it received sends the same bytes, however the network behaves.

Waiting ends: a peer that gives no sign of life for `silence` seconds, or that lives but says nothing for
`patience` seconds, is waited for no longer, and the run stops with `Aborted`, which can be resumed.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Literal, TypeVar

from covey.crypto.rng import Rng, derive
from covey.crypto.secret import Secret
from covey.errors import Aborted, CoveyError, InputError, PeerError
from covey.wire import depth, frame
from covey.wire.chunks import LongLists
from covey.wire.depth import gather
from covey.wire.frame import STEP_LENGTH, VERSION, Header, Letter
from covey.wire.inbox import CONTROL_STEP, Inbox, Stopped
from covey.wire.link import Link
from covey.wire.message import PAYLOAD_BYTES, Message, decode, encode, tag_of
from covey.wire.record import Recorder, Tally

M = TypeVar("M", bound=Message)

SILENCE = 60.0
PATIENCE = 3600.0
_LAST_WORD_SECONDS = 5.0


@dataclass
class Session:
    """The state that all steps of one session share."""

    link: Link
    session: bytes
    rng: Rng
    recorder: Recorder
    shared: Mapping[str, Secret] = field(default_factory=dict)
    """For each peer the secret agreed on with it; empty while keys are still being exchanged."""
    silence: float = SILENCE
    patience: float = PATIENCE
    tally: Tally = field(default_factory=Tally)
    attempt: bytes = b""
    """The id of an attempt to end the session, which letters then carry in its place: none fits another attempt."""
    sign: Callable[[bytes], bytes] | None = None
    """Signs what this party says; None where it has nothing to sign with."""
    verify: Callable[[str, bytes, bytes], bool] | None = None
    """Tells of a peer, a signature and a content whether the peer signed it; None where peers do not sign."""

    def __post_init__(self) -> None:
        peers = self.link.peers
        self.inboxes = {peer: Inbox(self.link, peer, self.attempt or self.session) for peer in peers}
        self.sequences = dict.fromkeys(peers, 0)
        self.numbers: dict[tuple[str, str], int] = {}
        self.said: dict[tuple[str, str], bytes] = {}
        """The head of what was sent, by peer and step,"""
        self.heard: dict[tuple[str, str], bytes] = {}
        """and of what was read."""
        self.calls: dict[str, int] = {}
        self.waiting: set[tuple[str, str]] = set()
        self.outgoing = {peer: asyncio.Lock() for peer in peers}


class Channel(LongLists):
    """A role's way to its peers, at one step."""

    def __init__(self, session: Session, step: str = "", peers: tuple[str, ...] | None = None) -> None:
        if not step and peers is None:
            depth.restart()
        self._session = session
        self._peers = session.link.peers if peers is None else peers
        self.step = step

    @property
    def me(self) -> str:
        """This party's name."""
        return self._session.link.me

    @property
    def peers(self) -> tuple[str, ...]:
        """The other parties' names, sorted; only those that `among` left."""
        return self._peers

    @property
    def parties(self) -> tuple[str, ...]:
        """Their names and ours, sorted; every party sees the same order."""
        return tuple(sorted((self.me, *self.peers)))

    @property
    def rng(self) -> Rng:
        """This party's randomness at this step: equal labels at different steps give different streams."""
        return self._session.rng.child("step", self.step)

    @property
    def tally(self) -> Tally:
        """Messages, bytes and rounds of the whole session so far."""
        return self._session.tally

    @property
    def session(self) -> bytes:
        """The session's id, the same for every party: what is signed in a session names it."""
        return self._session.session

    @property
    def waiting(self) -> tuple[str, ...]:
        """The peers from whom something is due right now, sorted."""
        return tuple(sorted({peer for peer, _ in self._session.waiting}))

    def at(self, *step: str | int) -> Channel:
        """The channel at a step below this one.

        Used in a `with` statement, the step is over at its end: a message that is left there, or that comes
        later, is refused.
        """
        path = "/".join(str(part) for part in ((self.step, *step) if self.step else step))
        if not all(path.split("/")) or len(path) > STEP_LENGTH or path.startswith(CONTROL_STEP):
            raise InputError(f"{path!r} is no step: give it a name, of at most {STEP_LENGTH} characters in all")
        return Channel(self._session, path, self._peers)

    def among(self, *names: str) -> Channel:
        """The same step, as if these were the only parties, us included; each of them has to ask for the same."""
        for name in names:
            if name != self.me:
                self._known(name)
        return Channel(self._session, self.step, tuple(peer for peer in self._peers if peer in names))

    def __enter__(self) -> Channel:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            for inbox in self._session.inboxes.values():
                inbox.close(self.step)

    async def send(self, to: str, message: Message) -> None:
        """Says this to that peer at this step, waiting while the peer reads more slowly than we write."""
        session = self._session
        self._known(to)
        number = session.numbers.get((to, self.step), 0)
        session.numbers[to, self.step] = number + 1
        await self._post(to, self.step, number, message)

    async def receive(self, sender: str, kind: type[M], *, patience: float | None = None) -> M:
        """The next message of that peer at this step, which must be of that type.

        Raises `PeerError` for another type or malformed content, `Aborted` when the peer is gone or the
        deadline has passed.
        """
        self._known(sender)
        letter = await self._await(sender, kind, self._session.patience if patience is None else patience)
        header = letter.header
        self._check_signature(sender, letter)
        if header.tag != tag_of(kind):
            reason = f"it sent {header.tag[:64]!r} where {tag_of(kind)!r} was due"
            raise PeerError(party=sender, step=self._where, reason=reason)
        try:
            message = decode(kind, letter.payload)
        except ValueError as error:
            raise PeerError(party=sender, step=self._where, reason=str(error)) from None
        await self._session.recorder.received(letter)
        self._session.tally.count(letter)
        depth.consume(header.depth)
        return message

    async def broadcast(self, message: Message) -> None:
        """Says the same to every peer."""
        await gather(*(self.send(peer, message) for peer in self.peers))

    async def collect(self, kind: type[M]) -> dict[str, M]:
        """One message of that type from every peer, by sender."""
        answers = await gather(*(self.receive(peer, kind) for peer in self.peers))
        return dict(zip(self.peers, answers, strict=True))

    async def exchange(self, message: M) -> dict[str, M]:
        """Says the same to every peer while reading the same type from each; by sender."""
        kind = type(message)
        _, answers = await gather(self._told(message), self.collect(kind))
        return answers

    async def stream(self, to: str, messages: Iterable[Message]) -> None:
        """Says many things, making each only when the one before is on its way: a long vector in chunks."""
        for message in messages:
            await self.send(to, message)

    async def receive_stream(self, sender: str, kind: type[M], count: int) -> AsyncIterator[M]:
        """The next `count` messages of that type, each taken off the line only when it is asked for."""
        for _ in range(count):
            yield await self.receive(sender, kind)

    def pairwise_seeds(self) -> dict[str, Secret]:
        """A fresh secret with each peer, the same on both sides; bound to session, step and call number.

        Both sides have to call it equally often at the step. No secret is ever given twice.
        """
        session = self._session
        if not set(session.shared) >= set(self.peers):
            raise InputError("no keys have been agreed on yet: open the channel with covey.wire.open_channel")
        call = session.calls.get(self.step, 0)
        session.calls[self.step] = call + 1
        context = ("pairwise", session.session, self.step, call)
        return {peer: derive(session.shared[peer], *context) for peer in self.peers}

    async def stop(
        self,
        why: Literal["refused", "aborted", "interrupted", "failed"],
        *,
        resumable: bool,
        party: str | None = None,
    ) -> None:
        """Tells every peer that can still be reached that this party ends the session, and because of which other."""

        async def tell(peer: str) -> None:
            try:
                async with asyncio.timeout(5):
                    await self._post(peer, CONTROL_STEP, 0, Stopped(why=why, resumable=resumable, party=party))
            except (CoveyError, TimeoutError):
                return

        await gather(*(tell(peer) for peer in self.peers))

    def finish(self) -> None:
        """The role is done. Raises `PeerError` if a peer has sent something that was not due."""
        for peer, inbox in self._session.inboxes.items():
            if (step := inbox.leftover()) is not None:
                raise PeerError(party=peer, step=step or "the start", reason="it sent more than was due")

    @property
    def _where(self) -> str:
        return self.step or "the start"

    def _known(self, peer: str) -> None:
        if peer not in self._session.inboxes:
            raise InputError(f"party {peer!r} is not a peer of {self.me!r} in this session")

    async def _told(self, message: M) -> dict[str, M]:
        await self.broadcast(message)
        return {}

    async def _post(self, to: str, step: str, number: int, message: Message) -> None:
        session = self._session
        header = Header(
            version=VERSION,
            session=session.attempt or session.session,
            sender=self.me,
            recipient=to,
            step=step,
            tag=tag_of(type(message)),
            number=number,
            depth=depth.current() + 1,
        )
        payload = encode(message)
        if len(payload) > PAYLOAD_BYTES:
            reason = f"a message of {len(payload)} bytes at {self._where}"
            raise InputError(f"{reason}; at most {PAYLOAD_BYTES} fit: send it as a stream of chunks")
        head = session.said.get((to, step), frame.NO_HEAD)
        letter = frame.write(header, session.rng.salt("message", to, step, number), payload, session.sign, head)
        session.said[to, step] = frame.follow(head, letter.digest)
        try:
            async with asyncio.timeout(session.patience), session.outgoing[to]:
                await session.recorder.sent(letter)
                sequence = session.sequences[to]
                session.sequences[to] = sequence + 1
                await session.link.send(to, frame.place(sequence, letter.raw))
        except TimeoutError:
            slow = f"party {to!r} has not taken our message at {self._where} for {session.patience:g} s"
            raise Aborted(f"{slow}; start again to go on", resumable=True, party=to) from None
        except Aborted as gone:
            raise await self._reason(to, gone) from None
        session.tally.count(letter)

    def _check_signature(self, sender: str, letter: Letter) -> None:
        """Raises `PeerError` if a letter lacks its sender's signature on all that was said until then at its step."""
        session, address = self._session, (sender, letter.header.step)
        session.heard[address] = head = frame.follow(session.heard.get(address, frame.NO_HEAD), letter.digest)
        verify = session.verify if frame.is_signed(letter.header.number) else None
        if verify is not None and not verify(sender, letter.signature, frame.statement(head)):
            raise PeerError(party=sender, step=self._where, reason="it has not signed its message")

    async def _reason(self, peer: str, gone: Aborted) -> CoveyError:
        """The reason why a peer took its line down: a refusal that it sent before explains more than silence."""
        try:
            async with asyncio.timeout(_LAST_WORD_SECONDS):
                return await self._session.inboxes[peer].last_word()
        except TimeoutError:
            return gone

    async def _await(self, sender: str, kind: type[Message], patience: float) -> Letter:
        session = self._session
        place = (sender, self.step)
        if place in session.waiting:
            raise InputError(f"two tasks read from {sender!r} at {self._where}: give each a step of its own")
        loop = asyncio.get_running_loop()
        begun = loop.time()
        session.waiting.add(place)
        try:
            while True:
                silent = max(begun, session.link.heard(sender)) + session.silence
                try:
                    async with asyncio.timeout_at(min(silent, begun + patience)):
                        return await session.inboxes[sender].take(self.step)
                except TimeoutError:
                    self._overdue(sender, kind, begun, patience)
        finally:
            session.waiting.discard(place)

    def _overdue(self, sender: str, kind: type[Message], begun: float, patience: float) -> None:
        now = asyncio.get_running_loop().time()
        what = f"{tag_of(kind)} at {self._where}"
        silence = self._session.silence
        if now >= max(begun, self._session.link.heard(sender)) + silence:  # the deadline's own sum, or rounding differs
            gone = f"no sign of life from party {sender!r} for {silence:g} s, waiting for {what}"
            raise Aborted(f"{gone}; start again to go on", resumable=True, party=sender)
        if now >= begun + patience:
            late = f"party {sender!r} did not send {what} within {patience:g} s"
            raise Aborted(f"{late}; start again to go on", resumable=True, party=sender)
