"""The contingency table of two partitions: the number of people that each pair of groups shares.

Definition 3 of the paper calls two partitions equal if no pair of groups shares more than none but fewer than k people.
That is no equivalence relation, so here such partitions are called compatible.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from covey.arrays import Bits, Longs
from covey.crypto.group import POINT_BYTES, Points
from covey.crypto.rng import Stream


@dataclass(frozen=True)
class Contingency:
    """The pairs of groups that share people: the number in each, and each person's pair, people in the given order."""

    counts: Longs
    of_person: Longs

    @classmethod
    def of(cls, mine: Longs, theirs: Longs) -> Contingency:
        """From each person's two groups."""
        code = mine * (int(theirs.max(initial=0)) + 1) + theirs
        _, number, counts = np.unique(code, return_inverse=True, return_counts=True)
        return cls(counts.astype(np.int64), number.astype(np.int64))

    def bad(self, k: int) -> int:
        """The number of pairs that share some people but fewer than k."""
        return int((self.counts < k).sum())

    def done(self, k: int) -> Bits:
        """Marks the people whose pair shares k people or more."""
        return np.asarray(self.counts[self.of_person] >= k)

    def spell(self) -> bytes:
        """The counts as both parties know them: in order of size."""
        return np.sort(self.counts).astype("<i8").tobytes()


def laid_out(label: Longs, groups: int, stream: Stream) -> tuple[Longs, Longs]:
    """An order in which groups stand together, groups and people in them at random; and the groups' sizes in it.

    The party that encrypts a list second has to lay it out anew. In the old order the list's owner would know the
    ciphertext of each of its people, and read the other's whole partition off the two lists.
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
