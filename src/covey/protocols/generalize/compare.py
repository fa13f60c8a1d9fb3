"""A round's comparison by commutative encryption: steps 5 to 9 of the paper's Algorithm 2.

Each person's id becomes a point under a key that its owner draws for this round alone, groups stand together, and the
other party puts its own key on top and lays the list out anew: groups and people in them in an order of its own. Then
equal points are equal people, and nobody knows which. In one-sided mode only the observer gets to see both lists.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from covey.crypto.commutative import BlindingKey
from covey.crypto.group import Points, hash_to_group
from covey.errors import Aborted, PeerError
from covey.protocols.generalize.cells import Bits, Cells, Longs, labels_of, laid_out, matched
from covey.secure import lists
from covey.secure.lists import Elements, Words
from covey.wire import Bytes32, Channel, Message, gather


class Sizes(Words, tag="generalize.sizes"):
    """How many people each of the sender's groups has, in the order of its list."""


class Grouped(Elements, tag="generalize.grouped"):
    """The sender's people under its key of this round, group by group."""


class Resized(Words, tag="generalize.resized"):
    """The sizes of the reader's groups, in the order of the list that comes back."""


class Regrouped(Elements, tag="generalize.regrouped"):
    """The reader's own list with the sender's key on top, laid out anew."""


class Verdict(Message, tag="generalize.verdict"):
    """Whether no pair of groups shares too few people, and a hash of all counts in order of size."""

    compatible: bool
    counts: Bytes32


class Done(Message, tag="generalize.done"):
    """Whose class is finished: a bit for each element of the reader's own list, in the order that it was sent in."""

    people: bytes


@dataclass(frozen=True)
class Hand:
    """What a party brings to a round: its people's ids, each one's group, and what it knows of the other's groups."""

    ids: Sequence[bytes]
    label: Longs
    groups: int
    theirs: int
    """The number of the other party's groups."""
    least: int
    """The fewest people that a group may have."""


@dataclass(frozen=True)
class Found:
    """What a round told this party; `done` says whose class is finished, where that is asked for."""

    compatible: bool
    done: Bits | None = None


@dataclass(frozen=True)
class _List:
    sizes: Longs
    points: Points


async def matrix(channel: Channel, peer: str, hand: Hand, k: int, *, finishing: bool = False) -> Found:
    """Both parties learn how many people each pair of groups shares. Raises `PeerError` where they find otherwise."""
    key, order, mine = _mine(channel, hand)
    theirs = await _exchange(channel.at("groups"), peer, mine, hand)
    doubled = key.blind(theirs.points)
    back = await _return_both(channel.at("back"), peer, _anew(channel, theirs.sizes, doubled), mine.sizes)
    cells = _cells(theirs.sizes, doubled, back)
    compatible = cells.bad(k) == 0
    verdict = Verdict(compatible, hashlib.sha256(cells.spell()).digest())
    answer = (await channel.at("verdict").exchange(verdict))[peer]
    if answer != verdict:
        reason = "its verdict on the round is not ours: it computed something else from the same lists"
        raise PeerError(party=peer, step=channel.at("verdict").step, reason=reason)
    if not finishing:
        return Found(compatible)
    done = np.zeros(len(hand.ids), dtype=bool)
    done[order] = await _swap_done(channel.at("done"), peer, cells.done(k))
    return Found(compatible, done)


async def observe(channel: Channel, partner: str, hand: Hand, k: int) -> Found:
    """The observer's side of one-sided mode: it alone sees both lists, and says whether they fit."""
    key, _, mine = _mine(channel, hand)
    theirs = await _exchange(channel.at("groups"), partner, mine, hand)
    doubled = key.blind(theirs.points)
    back = await _receive(channel.at("back"), partner, Resized, Regrouped, len(mine.sizes), len(mine.points))
    _require_same(channel.at("back"), partner, mine.sizes, back.sizes)
    compatible = _cells(theirs.sizes, doubled, back).bad(k) == 0
    await channel.at("verdict").send(partner, Verdict(compatible, bytes(32)))
    return Found(compatible)


async def answer(channel: Channel, observer: str, hand: Hand) -> Found:
    """The partner's side: it learns the observer's groups' sizes and whether the lists fit."""
    key, _, mine = _mine(channel, hand)
    theirs = await _exchange(channel.at("groups"), observer, mine, hand)
    again = _anew(channel, theirs.sizes, key.blind(theirs.points))
    await _send(channel.at("back"), observer, Resized, Regrouped, again)
    return Found((await channel.at("verdict").receive(observer, Verdict)).compatible)


def _mine(channel: Channel, hand: Hand) -> tuple[BlindingKey, Longs, _List]:
    """This round's key, the order in which our people stand in our list, and the list."""
    rng = channel.rng.child("generalize")
    key = BlindingKey(rng.stream("key"))
    order, sizes = laid_out(hand.label, hand.groups, rng.stream("own order"))
    points = hash_to_group((hand.ids[place] for place in order.tolist()), "generalize", channel.session, channel.step)
    return key, order, _List(sizes, key.blind(points))


def _anew(channel: Channel, sizes: Longs, points: Points) -> _List:
    """A list in an order that its owner does not know, at both levels."""
    order, shuffled = laid_out(labels_of(sizes), len(sizes), channel.rng.child("generalize").stream("other order"))
    return _List(shuffled, points.take(order))


def _cells(sizes: Longs, points: Points, back: _List) -> Cells:
    """The cells, people in the order of the other's list as it came. Raises Aborted where the lists differ."""
    place = matched(points, back.points)
    if place is None:
        raise Aborted(
            "the two parties' lists do not stand for the same people: a party did not keep to the protocol, or their "
            "tables were not aligned",
            resumable=False,
        )
    return Cells.of(labels_of(sizes), labels_of(back.sizes)[place])


async def _exchange(channel: Channel, peer: str, mine: _List, hand: Hand) -> _List:
    """Sends our list while reading the other's. Raises `PeerError` for a group of too few, or other people than due."""
    _, theirs = await gather(
        _send(channel, peer, Sizes, Grouped, mine),
        _receive(channel, peer, Sizes, Grouped, hand.theirs, len(hand.ids)),
    )
    if int(theirs.sizes.min(initial=hand.least)) < hand.least:
        raise PeerError(party=peer, step=channel.step, reason=f"a group of fewer than {hand.least} people")
    return theirs


async def _return_both(channel: Channel, peer: str, theirs: _List, sizes: Longs) -> _List:
    """Sends the other's list back while reading ours."""
    _, back = await gather(
        _send(channel, peer, Resized, Regrouped, theirs),
        _receive(channel, peer, Resized, Regrouped, len(sizes), int(sizes.sum())),
    )
    _require_same(channel, peer, sizes, back.sizes)
    return back


def _require_same(channel: Channel, peer: str, mine: Longs, back: Longs) -> None:
    if not np.array_equal(np.sort(mine), np.sort(back)):
        raise PeerError(party=peer, step=channel.step, reason="our groups came back with other sizes")


async def _send(channel: Channel, to: str, sizes: type[Words], points: type[Elements], what: _List) -> _List:
    await lists.send_words(channel, to, sizes, what.sizes.astype(np.uint64))
    await lists.send(channel, to, points, [what.points])
    return what


async def _receive(
    channel: Channel, sender: str, sizes: type[Words], points: type[Elements], groups: int, people: int
) -> _List:
    words = await lists.receive_words(channel, sender, sizes, groups)
    if not len(words) or int(words.min()) < 1 or int(words.max()) > people or int(words.sum()) != people:
        raise PeerError(party=sender, step=channel.step, reason=f"sizes of groups that are not of {people} people")
    [listed] = await lists.receive(channel, sender, points, due=people)
    return _List(words.astype(np.int64), listed)


async def _swap_done(channel: Channel, peer: str, theirs: Bits) -> Bits:
    """Tells the other which of its elements are done, and learns which of ours are."""
    answer = (await channel.exchange(Done(np.packbits(theirs).tobytes())))[peer].people
    if len(answer) != -(-len(theirs) // 8):
        reason = f"{len(answer)} bytes of bits, expected {-(-len(theirs) // 8)}"
        raise PeerError(party=peer, step=channel.step, reason=reason)
    return np.unpackbits(np.frombuffer(answer, dtype=np.uint8), count=len(theirs)).astype(bool)
