"""What a comparison computes: how many people each pair of groups shares, from lists without names.

Definition 3 of the paper calls two partitions equal if no pair of groups shares more than none but fewer than k people.
That is no equivalence: here they are compatible.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from covey.arrays import Bits, Longs
from covey.crypto.group import POINT_BYTES, Points
from covey.crypto.rng import Stream


@dataclass(frozen=True)
class Cells:
    """The pairs of groups that share people: how many each, and each person's pair, people in the given order."""

    counts: Longs
    of_person: Longs

    @classmethod
    def of(cls, mine: Longs, theirs: Longs) -> Cells:
        """From each person's two groups."""
        code = mine * (int(theirs.max(initial=0)) + 1) + theirs
        _, number, counts = np.unique(code, return_inverse=True, return_counts=True)
        return cls(counts.astype(np.int64), number.astype(np.int64))

    def bad(self, k: int) -> int:
        """How many pairs share some people but fewer than k."""
        return int((self.counts < k).sum())

    def done(self, k: int) -> Bits:
        """Whose pair shares k people or more."""
        return np.asarray(self.counts[self.of_person] >= k)

    def spell(self) -> bytes:
        """What both parties know of the counts: the numbers, in order of size."""
        return np.sort(self.counts).astype("<i8").tobytes()


def laid_out(label: Longs, groups: int, stream: Stream) -> tuple[Longs, Longs]:
    """An order in which groups stand together, groups and people in them at random; and the groups' sizes in it.

    Whoever encrypts a list second has to lay it out anew. In the old order its owner would know the ciphertext of each
    of its people, and read the other's whole partition off the two lists.
    """
    rank = stream.permutation(groups)
    shuffled = stream.permutation(len(label))
    order = shuffled[np.argsort(rank[label[shuffled]], kind="stable")]
    return order, np.bincount(rank[label], minlength=groups).astype(np.int64)


def labels_of(sizes: Longs) -> Longs:
    """Each element's group, in a list in which groups stand together."""
    return np.repeat(np.arange(len(sizes)), sizes)


def matched(mine: Points, theirs: Points) -> Longs | None:
    """For each of our elements its place in their list; None unless both lists have the same elements."""
    ours, other = _order(mine), _order(theirs)
    if mine.take(ours) != theirs.take(other):
        return None
    place = np.empty(len(ours), dtype=np.int64)
    place[ours] = other
    return place


def _order(points: Points) -> Longs:
    words = np.frombuffer(points.data, dtype="<u8").reshape(-1, POINT_BYTES // 8)
    return np.lexsort(words.T)
