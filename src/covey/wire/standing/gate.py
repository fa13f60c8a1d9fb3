"""The gate: how many strangers may stand at the port, from where, and how often they may guess.

Only callers that are not enrolled are held to these limits: those whose TLS handshake is under way, and those that show
an invitation. So a flood of half-open connections costs its sender sockets, and us a slot each for some seconds.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field

STRANGERS = 256
STRANGERS_PER_ADDRESS = 48
CONNECTIONS = 20_000
GUESSES, GUESS_SECONDS = 10, 60.0
_ADDRESSES = 10_000


@dataclass
class Gate:
    """Counts callers; `clock` tells seconds."""

    clock: Callable[[], float] = time.monotonic
    strangers: int = 0
    connections: int = 0
    _by_address: Counter[str] = field(default_factory=Counter)
    _guesses: dict[str, deque[float]] = field(default_factory=dict)

    def admit(self, address: str) -> str | None:
        """Takes a caller in, or says why not."""
        if self.connections >= CONNECTIONS:
            return "too many connections"
        if self.strangers >= STRANGERS:
            return "too many callers that have not said who they are"
        if self._by_address[address] >= STRANGERS_PER_ADDRESS:
            return "too many such callers from one address"
        if self._blocked(address):
            return "too many wrong invitations from one address"
        self.strangers += 1
        self.connections += 1
        self._by_address[address] += 1
        return None

    def known(self, address: str) -> None:
        """The caller turned out to be enrolled."""
        self.strangers -= 1
        self._by_address[address] -= 1
        if self._by_address[address] <= 0:
            del self._by_address[address]

    def gone(self) -> None:
        """A connection has ended."""
        self.connections -= 1

    def wrong_guess(self, address: str) -> None:
        """An invitation that was not accepted came from there."""
        if len(self._guesses) >= _ADDRESSES:
            self._guesses.pop(next(iter(self._guesses)))
        guesses = self._guesses.setdefault(address, deque(maxlen=GUESSES))
        guesses.append(self.clock())

    def _blocked(self, address: str) -> bool:
        guesses = self._guesses.get(address)
        return guesses is not None and len(guesses) == GUESSES and self.clock() - guesses[0] < GUESS_SECONDS


@dataclass
class Sparing:
    """Passes sentences on to a log, of each kind so many a minute; then it counts, and says so later."""

    note: Callable[[str], None]
    clock: Callable[[], float] = time.monotonic
    most: int = 10
    _said: dict[str, tuple[float, int]] = field(default_factory=dict)

    def __call__(self, kind: str, sentence: str) -> None:
        """Something happened."""
        since, count = self._said.get(kind, (self.clock(), 0))
        if self.clock() - since >= 60.0:
            if count > self.most:
                self.note(f"{kind}: {count - self.most:,} more in the last minute")
            since, count = self.clock(), 0
        self._said[kind] = (since, count + 1)
        if count < self.most:
            self.note(sentence)
