"""A round's comparison by commutative encryption: steps 5 to 9 of the paper's Algorithm 2.

Each party turns its people's ids into points under a key that it draws for this round alone, group by group. The other
party puts its own key on top and lays the list out anew: groups, and people in them, in an order of its own. Then equal
points are equal people, and nobody knows which. Definition 3
calls two partitions equal if no pair of groups shares more than none but fewer than k people. That is no equivalence
relation, so here such partitions are called compatible.


Both parties work at once: each makes its list chunk by chunk, and puts its key on the other's chunks as they come in.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from covey.arrays import Bits, Longs
from covey.crypto.commutative import BlindingKey
from covey.crypto.group import POINT_BYTES, Points, hash_to_group
from covey.crypto.rng import Stream
from covey.errors import Aborted
from covey.secure import lists
from covey.secure.lists import Elements
from covey.wire import Bytes32, Channel, Chunk, Message, Vector, while_sending


class Sizes(Chunk[Vector], tag="generalize.sizes"):
    """The sizes of the sender's groups, in the order of its list."""

    values: Vector


class Grouped(Elements, tag="generalize.grouped"):
    """The sender's people under its key of this round, group by group."""


class Resized(Chunk[Vector], tag="generalize.resized"):
    """The sizes of the reader's groups, in the order of the list that comes back."""

    values: Vector


class Regrouped(Elements, tag="generalize.regrouped"):
    """The reader's own list with the sender's key on top, laid out anew."""


class RoundVerdict(Message, tag="generalize.verdict"):
    """True if no pair of groups shares too few people, and a hash of all counts in order of size."""

    compatible: bool
    counts: Bytes32


class Done(Chunk[bytes], tag="generalize.done"):
    """A bit for each element of the reader's own list, in the order it was sent in: 1 where the class is finished."""

    people: bytes


@dataclass(frozen=True)
class RoundInput:
    """A party's input to a round: its people's ids, each one's group, and what it knows of the other's groups."""

    ids: Sequence[bytes]
    label: Longs
    groups: int
    theirs: int
    """The number of the other party's groups."""
    least: int
    """The fewest people that a group may have."""


@dataclass(frozen=True)
class RoundOutcome:
    """The outcome of a round; `done` marks the people whose class is finished, where that is asked for."""

    compatible: bool
    done: Bits | None = None


@dataclass(frozen=True)
class _EncryptedGroups:
    """People under keys, group by group."""

    sizes: Longs
    points: Points


@dataclass(frozen=True)
class _Exchanged:
    """A party's state once both lists were sent."""

    order: Longs
    """The order of our people in our list."""
    sizes: Longs
    """The sizes of our groups, in that order."""
    theirs: _EncryptedGroups
    """The other's list as it came, with our key on top."""


async def compare(channel: Channel, peer: str, given: RoundInput, k: int, *, finishing: bool = False) -> RoundOutcome:
    """Both parties learn how many people each pair of groups shares. Raises `PeerError` where they find otherwise."""
    swapped = await _swap(channel, peer, given)
    at, anew = channel.at("back"), _anew(channel, swapped.theirs)
    back = await while_sending(_send_back(at, peer, anew), _receive_back(at, peer, swapped.sizes))
    cells = _cells(swapped.theirs, back)
    compatible = cells.bad(k) == 0
    verdict = RoundVerdict(compatible, hashlib.sha256(cells.spell()).digest())
    answer = (await channel.at("verdict").exchange(verdict))[peer]
    if answer != verdict:
        reason = "its verdict on the round is not ours: it computed something else from the same lists"
        raise channel.at("verdict").refusal(peer, reason)
    if not finishing:
        return RoundOutcome(compatible)
    done = np.zeros(len(given.ids), dtype=bool)
    done[swapped.order] = await _swap_done(channel.at("done"), peer, cells.done(k))
    return RoundOutcome(compatible, done)


async def _swap(channel: Channel, peer: str, given: RoundInput) -> _Exchanged:
    """Sends our people under this round's key; at the same time reads the other's and puts our key on top of them.

    Raises `PeerError` for a group of too few, or for other people than are due.
    """
    rng = channel.rng.child("generalize")
    key = BlindingKey(rng.stream("key"))
    order, own = laid_out(given.label, given.groups, rng.stream("own order"))
    at, people = channel.at("groups"), len(given.ids)

    def made(first: int, last: int) -> Points:
        texts = (given.ids[place] for place in order[first:last].tolist())
        return key.blind(hash_to_group(texts, "generalize", channel.session, channel.step))

    async def tell() -> None:
        await at.send_all(peer, Sizes, Vector(own.astype(np.uint64)))
        await lists.send_made(at, peer, Grouped, people, made)

    async def hear() -> _EncryptedGroups:
        sizes = await _receive_sizes(at, peer, Sizes, given.theirs, people)
        if int(sizes.min()) < given.least:
            raise at.refusal(peer, f"a group of fewer than {given.least} people")
        return _EncryptedGroups(sizes, await lists.receive_changed(at, peer, Grouped, people, key.blind))

    return _Exchanged(order, own, await while_sending(tell(), hear()))


def _anew(channel: Channel, theirs: _EncryptedGroups) -> _EncryptedGroups:
    """A list in an order that its owner does not know, at both levels."""
    stream = channel.rng.child("generalize").stream("other order")
    order, sizes = laid_out(labels_of(theirs.sizes), len(theirs.sizes), stream)
    return _EncryptedGroups(sizes, theirs.points.take(order))


def _cells(theirs: _EncryptedGroups, back: _EncryptedGroups) -> Contingency:
    """The cells, people in the order of the other's list as it came. Raises Aborted where the lists differ."""
    place = matched(theirs.points, back.points)
    if place is None:
        raise Aborted(
            "the two parties' lists do not stand for the same people: a party did not keep to the protocol, or their "
            "tables were not aligned",
            resumable=False,
        )
    return Contingency.of(labels_of(theirs.sizes), labels_of(back.sizes)[place])


async def _send_back(channel: Channel, to: str, theirs: _EncryptedGroups) -> None:
    await channel.send_all(to, Resized, Vector(theirs.sizes.astype(np.uint64)))
    await lists.send(channel, to, Regrouped, [theirs.points])


async def _receive_back(channel: Channel, sender: str, mine: Longs) -> _EncryptedGroups:
    """Our own list under both keys. Raises `PeerError` where it does not have our groups' sizes."""
    people = int(mine.sum())
    sizes = await _receive_sizes(channel, sender, Resized, len(mine), people)
    if not np.array_equal(np.sort(mine), np.sort(sizes)):
        raise channel.refusal(sender, "our groups came back with other sizes")
    [listed] = await lists.receive(channel, sender, Regrouped, due=people)
    return _EncryptedGroups(sizes, listed)


async def _receive_sizes(channel: Channel, sender: str, kind: type[Chunk[Vector]], groups: int, people: int) -> Longs:
    words = (await channel.receive_all(sender, kind, groups)).words
    if not len(words) or int(words.min()) < 1 or int(words.max()) > people or int(words.sum()) != people:
        raise channel.refusal(sender, f"sizes of groups that are not of {people} people")
    return words.astype(np.int64)


async def _swap_done(channel: Channel, peer: str, theirs: Bits) -> Bits:
    """Tells the other which of its elements are done, and learns which of ours are."""
    return await while_sending(channel.send_bits(peer, Done, theirs), channel.receive_bits(peer, Done, len(theirs)))


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
