"""A cipher whose layers may come off in any order: E(x) = key * H(x), so that a(bX) = b(aX).

Under the decisional Diffie-Hellman assumption blinded elements look random to everyone without the key. The
cipher is deterministic: under one key equal elements stay equal, which is what it is for, and why each use
draws a key of its own. It hides values, never the order of a list: whoever blinds last has to shuffle.
"""

from __future__ import annotations

from covey.crypto.group import Points, Scalar
from covey.crypto.rng import Stream


class BlindingKey:
    """One party's key for one use."""

    __slots__ = ("_inverse", "_scalar")

    def __init__(self, stream: Stream) -> None:
        self._scalar = Scalar.fresh(stream)
        self._inverse = self._scalar.inverse()

    def blind(self, points: Points) -> Points:
        """The points with our layer on top."""
        return points.times(self._scalar)

    def unblind(self, points: Points) -> Points:
        """The points without our layer, whatever others have put on since."""
        return points.times(self._inverse)

    def __repr__(self) -> str:
        return "BlindingKey(…)"
