"""The gate: how many strangers may stand at the port, from where, and how often they may guess.

Only callers that are not enrolled are held to these limits: those whose TLS handshake is under way, and those that show
an invitation. Who an enrolled caller is shows when its handshake is done; so nobody is turned away at the port. Where
it is full, the stranger who has stood longest among those of the fullest address makes room, and an enrolled key, which
needs a moment, gets in. Wrong invitations cost their senders the answer, and nobody else anything: neither enrolled
callers nor right invitations from the same address. Addresses of IPv6 count by their /64, which one household has.
"""

from __future__ import annotations

import ipaddress
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

STRANGERS = 256
STRANGERS_PER_ADDRESS = 48
CONNECTIONS = 20_000
GUESSES, GUESS_SECONDS = 10, 60.0
_ADDRESSES = 10_000


def neighbourhood(address: str) -> str:
    """The address that a caller is counted by: all of an IPv4 address, and the first 64 bits of an IPv6 one."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.ip_network((found, 64), strict=False))


@dataclass(eq=False)
class Stranger:
    """A caller that has not yet shown an enrolled key; `drop` hangs up on it."""

    address: str
    drop: Callable[[], object] = lambda: None


@dataclass
class Gate:
    """Counts callers; `clock` tells seconds."""

    clock: Callable[[], float] = time.monotonic
    per_address: int = field(default_factory=lambda: STRANGERS_PER_ADDRESS)
    connections: int = 0
    _strangers: dict[str, dict[Stranger, None]] = field(default_factory=dict)
    """By address, the longest there first."""
    _guesses: dict[str, deque[float]] = field(default_factory=dict)

    @property
    def strangers(self) -> int:
        """The number of callers that have not yet shown an enrolled key."""
        return sum(map(len, self._strangers.values()))

    def admit(self, address: str) -> Stranger | None:
        """Takes a caller in, and hangs up on another stranger if there is no room; None where all are enrolled."""
        if self.connections >= CONNECTIONS:
            return None
        stranger = Stranger(neighbourhood(address))
        here = self._strangers.get(stranger.address, {})
        if len(here) >= self.per_address:
            self._hang_up(here)
        elif self.strangers >= STRANGERS:
            self._hang_up(max(self._strangers.values(), key=len))
        self._strangers.setdefault(stranger.address, {})[stranger] = None
        self.connections += 1
        return stranger

    def known(self, stranger: Stranger) -> None:
        """The caller turned out to be enrolled, or has gone."""
        here = self._strangers.get(stranger.address, {})
        here.pop(stranger, None)
        if not here:
            self._strangers.pop(stranger.address, None)

    def gone(self) -> None:
        """A connection has ended."""
        self.connections -= 1

    def wrong_guess(self, address: str) -> None:
        """An invitation that was not accepted came from there."""
        if len(self._guesses) >= _ADDRESSES:
            self._guesses.pop(next(iter(self._guesses)))
        guesses = self._guesses.setdefault(neighbourhood(address), deque(maxlen=GUESSES))
        guesses.append(self.clock())

    def guesses(self, address: str) -> bool:
        """True if so many wrong invitations came from there lately that another is not answered."""
        guesses = self._guesses.get(neighbourhood(address))
        return guesses is not None and len(guesses) == GUESSES and self.clock() - guesses[0] < GUESS_SECONDS

    def _hang_up(self, among: dict[Stranger, None]) -> None:
        longest = next(iter(among))
        self.known(longest)
        longest.drop()


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
