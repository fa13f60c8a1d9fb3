"""Many parties in one process that all speak with one of them, and not with each other: a line each, no more."""

from __future__ import annotations

from collections.abc import Iterable

from covey.errors import InputError
from covey.wire.link import QUEUE_BYTES, FrameQueue
from covey.wire.memory import MemoryNetwork


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
        """That party's lines go down, in both directions, after what is under way."""
        for peer in self.peers_of(name):
            for pair in ((name, peer), (peer, name)):
                self.hang_up(*pair, f"party {name!r} {why}; start again to go on")
