"""A resumed role reads again what it had read, says again what it had said, and then goes on.

The role runs from its beginning. What the journal has is read from there; what a peer already has is not
sent a second time. Because roles are deterministic, what is said again is byte for byte what was said: the
recorder holds it against the hashes in the journal.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from covey.wire import frame as frames
from covey.wire.link import Link


class ResumedLink:
    """A link that knows what was said before the interruption.

    `read` has, by sender, the letters that this party had read, in that order; `known` has, by recipient,
    the hashes of the letters that the peer has of us. On the line itself both sides count from zero again.
    """

    def __init__(self, link: Link, read: Mapping[str, Iterable[bytes]], known: Mapping[str, Iterable[bytes]]) -> None:
        self.me, self.peers = link.me, link.peers
        self._link = link
        self._read = {peer: iter(read.get(peer, ())) for peer in link.peers}
        self._known = {peer: frozenset(known.get(peer, ())) for peer in link.peers}
        self._reread = dict.fromkeys(link.peers, 0)
        self._sent = dict.fromkeys(link.peers, 0)

    async def send(self, peer: str, frame: bytes) -> None:
        """Sends what the peer lacks, and lets the rest be."""
        _, letter = frames.split(frame)
        if frames.digest(letter) in self._known[peer]:
            return
        sequence = self._sent[peer]
        self._sent[peer] = sequence + 1
        await self._link.send(peer, frames.place(sequence, letter))

    async def receive(self, peer: str) -> bytes:
        """First what the journal has of that peer, then what the line brings."""
        letter = next(self._read[peer], None)
        if letter is not None:
            self._reread[peer] += 1
            return frames.place(self._reread[peer] - 1, letter)
        frame = await self._link.receive(peer)
        try:
            sequence, live = frames.split(frame)
        except ValueError:
            return frame  # the inbox refuses it, and says why
        return frames.place(self._reread[peer] + sequence, live)

    def heard(self, peer: str) -> float:
        """The time of the line's last sign of life."""
        return self._link.heard(peer)

    async def close(self) -> None:
        """Closes the line."""
        await self._link.close()
