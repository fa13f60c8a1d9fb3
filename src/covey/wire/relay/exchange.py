"""One client at the relay: it calls others, and others call it. A call is a carrier, on which TLS begins.

The subject says who sends and who is meant, and the broker lets a party publish under its own name only. That is no
proof of anything here: TLS establishes who the other side is, and a broker that lies gets no further than a stranger.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from covey.crypto.rng import fresh_seed
from covey.wire.relay.broker import Broker, Signer
from covey.wire.relay.carrier import ANSWERING, DATA, HEAD, RESET, WINDOW, Carrier
from covey.wire.relay.site import RelayedParty, RelaySite

_NAME_BYTES = 16
_CALLS_AT_ONCE = 4
"""Calls of one party that wait to be answered; it needs one."""
_CALLS_WAITING = 64
GUEST_WINDOW = 1 << 18
"""Bytes under way to or from a caller without a name: there may be thousands of them."""


@dataclass(frozen=True)
class Subjects:
    """The subjects of one client: those that it hears, the senders there, and those under which it sends to a peer."""

    hears: str
    senders: Mapping[str, str] | None
    """Each sender's name by its mark; None where everyone may call, and is known by its mark alone."""
    to: Callable[[str], str]


class Exchange:
    """A client's end of everything that goes over the relay."""

    def __init__(
        self,
        site: RelaySite,
        subjects: Subjects,
        signer: Signer,
        notice: Callable[[str], None] = lambda sentence: None,
        window: int = WINDOW,
    ) -> None:
        self._subjects, self._window = subjects, window
        self._broker = Broker(site, signer, notice)
        self._carriers: dict[tuple[str, bytes, int], Carrier] = {}
        self._calls: asyncio.Queue[tuple[str, Carrier]] | None = None
        self._unanswered: Counter[str] = Counter()

    @classmethod
    def of_party(
        cls, me: str, peers: Iterable[str], site: RelaySite, key: Path, notice: Callable[[str], None]
    ) -> Exchange:
        """A party among parties, known to the broker by the key in that file."""
        senders = {site.mark(peer): peer for peer in peers}
        subjects = Subjects(site.sent_to(me), senders, lambda peer: site.subject(me, peer))
        return cls(site, subjects, Signer.of_file(key), notice)

    @classmethod
    def of_host(cls, me: RelayedParty, key: Path, notice: Callable[[str], None]) -> Exchange:
        """A party that callers without a name may call."""
        subjects = Subjects(me.site.from_guest("*", me.name), None, lambda guest: me.site.to_guest(me.name, guest))
        return cls(me.site, subjects, Signer.of_file(key), notice, GUEST_WINDOW)

    @classmethod
    def of_guest(cls, host: RelayedParty, notice: Callable[[str], None]) -> Exchange:
        """A caller without a name, for calls to one party."""
        site, guest = host.site, fresh_seed().reveal()[:_NAME_BYTES].hex()
        senders = {site.mark(host.name): host.name}
        subjects = Subjects(site.to_guest(host.name, guest), senders, lambda peer: site.from_guest(guest, peer))
        return cls(site, subjects, Signer.of_guest(site), notice, GUEST_WINDOW)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Exchange]:
        """Keeps the connection to the broker while the block runs. Raises AccessError if the broker refuses us."""
        self._broker.hear(self._subjects.hears, self._take)
        self._broker.flow = self._flow
        async with self._broker.kept():
            try:
                yield self
            finally:
                for carrier in list(self._carriers.values()):
                    carrier.abort()

    def call(self, peer: str) -> Carrier:
        """A new connection to that peer; it answers when it is there."""
        return self._carrier(peer, fresh_seed().reveal()[:_NAME_BYTES], 0)

    def answer(self, yes: bool) -> None:
        """Takes calls from now on, or no more: then callers are told so."""
        self._calls = asyncio.Queue(_CALLS_WAITING) if yes else None

    async def called(self) -> tuple[str, Carrier]:
        """The next call: the party that the broker says it is from, and the connection."""
        if self._calls is None:
            raise RuntimeError("calls are not taken")
        peer, carrier = await self._calls.get()
        self._unanswered -= Counter([peer])
        return peer, carrier

    def _carrier(self, peer: str, name: bytes, side: int) -> Carrier:
        send = partial(self._broker.send, self._subjects.to(peer))
        key = (peer, name, side)

        def forget() -> None:
            self._carriers.pop(key, None)

        carrier = self._carriers[key] = Carrier(name, side, send, self._broker.most, forget, self._window)
        return carrier

    def _take(self, subject: str, content: bytes) -> None:
        mark = subject.split(".")[-2]
        peer = mark if self._subjects.senders is None else self._subjects.senders.get(mark)
        if peer is None or len(content) < HEAD.size:
            return
        said, name, place, received, room = HEAD.unpack_from(content)
        side, kind = ANSWERING & ~said, said & ~ANSWERING
        carrier = self._carriers.get((peer, name, side))
        if carrier is None and side == ANSWERING and kind == DATA and place == 0 and len(content) > HEAD.size:
            carrier = self._answered(peer, name)
        if carrier is not None:
            carrier.take(kind, place, received, room, content[HEAD.size :])
        elif kind != RESET and not (side == ANSWERING and place and not received):  # a call whose first packet is late
            self._broker.send(self._subjects.to(peer), HEAD.pack(RESET | side, name, 0, 0, 0), b"")

    def _answered(self, peer: str, name: bytes) -> Carrier | None:
        if self._calls is None or self._calls.full() or self._unanswered[peer] >= _CALLS_AT_ONCE:
            return None
        self._unanswered[peer] += 1
        carrier = self._carrier(peer, name, ANSWERING)
        self._calls.put_nowait((peer, carrier))
        return carrier

    def _flow(self, anew: bool) -> None:
        """The broker takes messages again."""
        for carrier in list(self._carriers.values()):
            if anew:
                carrier.resend_now()
            else:
                carrier.pump()
