"""One party at the relay: it calls others, and others call it. A call is a carrier, on which TLS begins.

The subject says who sends and who is meant, and the broker lets a party publish under its own name only. That is no
proof of anything here: TLS establishes who the other side is, and a broker that lies gets no further than a stranger.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from covey.crypto.rng import fresh_seed
from covey.wire.relay.broker import Broker, Signer
from covey.wire.relay.carrier import ANSWERING, DATA, HEAD, RESET, Carrier
from covey.wire.relay.site import RelaySite

_NAME_BYTES = 16
_CALLS_AT_ONCE = 4
"""Calls of one party that wait to be answered; it needs one."""


class Exchange:
    """A party's end of everything that goes over the relay."""

    def __init__(
        self, me: str, peers: Iterable[str], site: RelaySite, key: Path, notice: Callable[[str], None]
    ) -> None:
        self._me, self._site = me, site
        self._peers = {site.mark(peer): peer for peer in peers}
        self._broker = Broker(site, Signer.of_file(key), notice)
        self._carriers: dict[tuple[str, bytes, int], Carrier] = {}
        self._calls: asyncio.Queue[tuple[str, Carrier]] | None = None
        self._unanswered: dict[str, int] = {}

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Exchange]:
        """Keeps the connection to the broker while the block runs. Raises AccessError if the broker refuses us."""
        self._broker.hear(self._site.sent_to(self._me), self._take)
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
        self._calls = asyncio.Queue() if yes else None

    async def called(self) -> tuple[str, Carrier]:
        """The next call: the party that the broker says it is from, and the connection."""
        if self._calls is None:
            raise RuntimeError("calls are not taken")
        peer, carrier = await self._calls.get()
        self._unanswered[peer] -= 1
        return peer, carrier

    def _carrier(self, peer: str, name: bytes, side: int) -> Carrier:
        send = partial(self._broker.send, self._site.subject(self._me, peer))
        key = (peer, name, side)

        def forget() -> None:
            self._carriers.pop(key, None)

        carrier = self._carriers[key] = Carrier(name, side, send, self._broker.most, forget)
        return carrier

    def _take(self, subject: str, content: bytes) -> None:
        peer = self._peers.get(subject.split(".")[-2])
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
            self._broker.send(self._site.subject(self._me, peer), HEAD.pack(RESET | side, name, 0, 0, 0), b"")

    def _answered(self, peer: str, name: bytes) -> Carrier | None:
        if self._calls is None or self._unanswered.get(peer, 0) >= _CALLS_AT_ONCE:
            return None
        self._unanswered[peer] = self._unanswered.get(peer, 0) + 1
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
