"""The version of Covey, from which the package's metadata is made, and the version of a protocol."""

from __future__ import annotations

from typing import NamedTuple

__version__ = "0.2.0"


class ProtocolVersion(NamedTuple):
    """A protocol as one build speaks it. Another number has other messages or defaults."""

    name: str
    number: int = 1

    def __str__(self) -> str:
        return f"version {self.number} of protocol {self.name!r}"

    def apart(self, remote: int, peer: str, host: str = "this machine") -> str:
        """The sentence on a peer with another version: which, who is behind, and the remedy."""
        behind = peer if remote < self.number else host
        return (
            f"{peer} has version {remote} of protocol {self.name!r}, {host} has version {self.number}: {behind} is "
            "behind; install the same version of Covey everywhere"
        )
