"""Parties in one process speak over queues: deterministic, and as fast as Python gets; all with all, or a hub."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from covey.errors import Aborted, InputError
from covey.wire.link import QUEUE_BYTES, FrameQueue


class MemoryNetwork:
    """All lines between parties that live in one event loop."""

    def __init__(self, names: Iterable[str], limit: int = QUEUE_BYTES) -> None:
        self.names = tuple(sorted(names))
        if len(set(self.names)) != len(self.names):
            raise InputError("two parties have the same name")
        self._queues = {(a, b): FrameQueue(limit) for a in self.names for b in self.names if a != b}

    def peers_of(self, name: str) -> tuple[str, ...]:
        """The parties to which that party has a line, sorted."""
        return tuple(other for other in self.names if other != name)

    def link(self, name: str) -> MemoryLink:
        """That party's end of its lines."""
        if name not in self.names:
            raise InputError(f"party {name!r} is not on this network")
        return MemoryLink(self, name)

    async def carry(self, sender: str, recipient: str, frame: bytes) -> None:
        """Takes a frame from one party to another; a subclass may do this badly."""
        await self._queues[sender, recipient].put(frame)

    def deliver(self, sender: str, recipient: str, frame: bytes) -> None:
        """Puts a frame where the recipient will find it, at once."""
        self._queues[sender, recipient].push(frame)

    async def take(self, sender: str, recipient: str) -> bytes:
        """The next frame on that line."""
        return await self._queues[sender, recipient].get()

    def heard(self, sender: str, recipient: str) -> float:
        """Now: parties of one process live and die together, however long one of them computes."""
        return asyncio.get_running_loop().time()

    def leave(self, name: str, why: str = "has left the session") -> None:
        """That party's lines go down, in both directions, after what is under way."""
        for sender, recipient in self._queues:
            if name in (sender, recipient):
                self.hang_up(sender, recipient, f"party {name!r} {why}; start both again to go on")

    def hang_up(self, sender: str, recipient: str, reason: str) -> None:
        """One line goes down."""
        self._queues[sender, recipient].end(Aborted(reason, resumable=True, party=sender))


class MemoryLink:
    """One party's end of a `MemoryNetwork`."""

    def __init__(self, network: MemoryNetwork, me: str) -> None:
        self._network = network
        self.me = me
        self.peers = network.peers_of(me)

    async def send(self, peer: str, frame: bytes) -> None:
        await self._network.carry(self.me, peer, frame)

    async def receive(self, peer: str) -> bytes:
        return await self._network.take(peer, self.me)

    def heard(self, peer: str) -> float:
        return self._network.heard(peer, self.me)

    async def close(self) -> None:
        self._network.leave(self.me)


class StarNetwork(MemoryNetwork):
    """The lines between a hub and its spokes."""

    def __init__(self, hub: str, spokes: Iterable[str], limit: int = QUEUE_BYTES) -> None:
        super().__init__((hub,), limit)
        self.hub, self.spokes = hub, tuple(sorted(spokes))
        if len(set(self.spokes)) != len(self.spokes) or hub in self.spokes:
            raise InputError("two parties have the same name")
        self.names = tuple(sorted((hub, *self.spokes)))
        for spoke in self.spokes:
            self._queues[hub, spoke], self._queues[spoke, hub] = FrameQueue(limit), FrameQueue(limit)

    def peers_of(self, name: str) -> tuple[str, ...]:
        """Everyone for the hub, and the hub for everyone else."""
        return self.spokes if name == self.hub else (self.hub,)

    def leave(self, name: str, why: str = "has left the session") -> None:
        for peer in self.peers_of(name):
            for pair in ((name, peer), (peer, name)):
                self.hang_up(*pair, f"party {name!r} {why}; start again to go on")
