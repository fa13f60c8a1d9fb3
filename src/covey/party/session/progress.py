"""The progress of a run: the phase, rounds and bytes so far, and the parties that are waited for."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass, field

import msgspec

from covey.summary import Phase
from covey.wire import Channel
from covey.wire.depth import beside

TICK_SECONDS = 1.0


class Snapshot(msgspec.Struct, frozen=True):
    """One party's run at one moment."""

    party: str
    phase: str
    done: int = 0
    of: int = 1
    position: int = 0
    """The phase's place among the protocol's phases, from 1; 0 before the first."""
    phases: int = 0
    rounds: int = 0
    bytes: int = 0
    waiting: tuple[str, ...] = ()


@contextmanager
def writing(*parties: Progress) -> Iterator[None]:
    """Shows that these write their files and reports, and that they are finished then."""
    for each in parties:
        each.phase("report")
    yield
    for each in parties:
        each.phase("finished")


_NOTHING = Phase("", 0.0, 0, 0)
Listener = Callable[[Snapshot], None]


@dataclass
class Progress:
    """The progress that a role reports, and a display shows."""

    party: str
    phases: tuple[str, ...]
    listener: Listener = lambda snapshot: None
    current: str = "starting"
    done: int = 0
    of: int = 1
    awaited: tuple[str, ...] = ()
    """The parties that have not come yet, while they meet."""
    theirs: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """By peer the parties that it waits for, as it said last."""
    own: tuple[float, tuple[str, ...]] = (0.0, ())
    """The parties that this one waits for, and when that was seen."""
    channel: Channel | None = field(default=None, repr=False)
    spent: dict[str, Phase] = field(default_factory=dict)
    """By phase of the protocol that has ended."""
    begun: Phase = _NOTHING
    """Clock, rounds and bytes when the current phase began."""

    def phase(self, name: str, of: int = 1) -> None:
        """A phase begins, and the one before is over."""
        self._settle()
        self.current, self.done, self.of = name, 0, max(1, of)
        self.listener(self.snapshot())

    def _settle(self) -> None:
        """Adds up what the current phase took, if it is one of the protocol's."""
        now, old = self.snapshot(), self.begun
        self.begun = Phase("", time.monotonic(), now.rounds, now.bytes)
        if self.current in self.phases:
            seconds, rounds, size = self.begun.seconds - old.seconds, now.rounds - old.rounds, now.bytes - old.bytes
            before = self.spent.get(self.current, Phase(self.current, 0.0, 0, 0))
            self.spent[self.current] = Phase(
                self.current, before.seconds + seconds, before.rounds + rounds, before.bytes + size
            )

    def reach(self, done: int) -> None:
        """That many steps of the phase are done; shown with the next tick."""
        self.done = done

    def await_parties(self, names: tuple[str, ...]) -> None:
        """Those are not here yet."""
        self.awaited = names
        self.listener(self.snapshot())

    def snapshot(self) -> Snapshot:
        """The run right now."""
        position = self.phases.index(self.current) + 1 if self.current in self.phases else 0
        channel = self.channel
        return Snapshot(
            party=self.party,
            phase=self.current,
            done=self.done,
            of=self.of,
            position=position,
            phases=len(self.phases),
            rounds=0 if channel is None else channel.tally.rounds,
            bytes=0 if channel is None else sum(channel.tally.bytes.values()),
            waiting=self.awaited if channel is None else self._late(channel.waiting),
        )

    def awaiting(self) -> tuple[str, ...]:
        """The parties that this one waits for, or none if it has been busy since that was last seen; for any thread."""
        when, names = self.own
        return names if time.monotonic() - when < 2 * TICK_SECONDS else ()

    def hear(self, peer: str, names: tuple[str, ...]) -> None:
        """Notes whom a peer waits for; for any thread."""
        self.theirs = {**self.theirs, peer: names}

    def _late(self, waiting: tuple[str, ...]) -> tuple[str, ...]:
        """The parties that all waiting goes back to: not those that only wait for another, unless that is us."""
        ends, seen, chain = set[str](), set[str](), [*waiting]
        while chain:
            name = chain.pop()
            behind = [each for each in self.theirs.get(name, ()) if each != self.party]
            if not behind:
                ends.add(name)
            chain += [each for each in behind if each not in seen]
            seen |= {name, *behind}
        return tuple(sorted(ends)) or waiting

    def ticking(self) -> AbstractAsyncContextManager[None]:
        """Tells the listener how things stand every second, while the block runs."""
        return beside(self._tick())

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(TICK_SECONDS)
            if self.channel is not None:
                self.own = time.monotonic(), self.channel.waiting
            self.listener(self.snapshot())
