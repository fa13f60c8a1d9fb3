"""The version of Covey, from which the package's metadata is made, and the version of a protocol."""

from __future__ import annotations

from typing import NamedTuple

__version__ = "0.2.0"


class ProtocolVersion(NamedTuple):
    """A protocol as one build of Covey speaks it: a build with another number has other messages or other defaults."""

    name: str
    number: int = 1

    def __str__(self) -> str:
        return f"version {self.number} of protocol {self.name!r}"

    def apart(self, theirs: int, peer: str, me: str = "this machine") -> str:
        """The sentence on a peer that has another version: which it is, who is behind, and what to do."""
        behind = peer if theirs < self.number else me
        return (
            f"{peer} has version {theirs} of protocol {self.name!r}, {me} has version {self.number}: {behind} is "
            "behind; install the same version of Covey everywhere"
        )
