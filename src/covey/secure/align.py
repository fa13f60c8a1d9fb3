"""Align: each party learns which of its own ids all parties hold, and nothing about the ids of some but not all.

Source    the star of Kolesnikov et al. (CCS 2017) with the Diffie-Hellman pseudorandom function of Jarecki &
          Liu, and the key-value store of `covey.crypto.keyvalue`.
Roles     the leader (the first name) and the members; two parties or more.
Security  semi-honest. Each id has shares of zero, one from each party that holds it; only where all shares meet
          do they cancel out. The leader learns nothing about an id that one party lacks, not even which one; a
          member learns nothing but the outcome. New keys at each step: runs cannot be linked.
Not       the leader's and each member's number of ids are known to each other; a party may enter ids that it
          does not hold, to learn whether the others do; colluders learn what their ids together would bring.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from msgspec import Meta

from covey.arrays import Bits, Longs, Words
from covey.crypto import keyvalue
from covey.crypto.commutative import BlindingKey
from covey.crypto.group import Points, hash_to_group
from covey.crypto.keyvalue import DIGEST_BYTES, VALUE_BYTES
from covey.crypto.rng import derive, spell
from covey.crypto.secret import Secret
from covey.errors import InputError
from covey.secure import lists
from covey.secure.declare import Cost, Leakage, Traffic
from covey.secure.lists import Elements
from covey.wire import FRAME_BYTES, Channel, Chunk, Count, Message, Vector, chunks, gather, while_sending

ATTEMPTS = 16

LEAKAGE = Leakage(
    everyone=("which of its own ids all {parties} parties hold: {common} ids, which all of them now know",),
    roles={
        "leader": ("how many ids each other party holds ({member_sizes})",),
        "member": ("how many ids the leader holds ({leader_size})",),
    },
)

HEAD_BYTES = FRAME_BYTES + 30


def _traffic(sizes: Sequence[int], common: int) -> Traffic:
    """The traffic of one run, for the parties' sizes (the leader's first) and that many common ids."""
    messages = volume = 0
    for keys in sizes[1:]:
        words = (2 * keyvalue.cells(keys), 2 * common)
        messages += 2 * lists.messages(sizes[0]) + 2 + sum(map(chunks.messages, words))
        volume += 2 * lists.size(sizes[0]) + 2 * HEAD_BYTES + sum(map(chunks.size, words))
    return Traffic(3, messages, volume)


COST = Cost(_traffic)


class LeaderIds(Elements, tag="align.asked"):
    """The leader's ids, hashed to the group and blinded, in random order."""


class Answered(Elements, tag="align.answered"):
    """The same list under the member's key as well, in the same order."""


class Store(Message, tag="align.store"):
    """The parameters with which something is looked up in the member's store."""

    keys: Annotated[int, Meta(ge=0, le=chunks.LONGEST)]
    attempt: Annotated[int, Meta(ge=0, lt=ATTEMPTS)]


class StoreCells(Chunk[Vector], tag="align.cells"):
    """The member's store: for each of its ids a share of zero, under the pseudorandom function of its key."""

    values: Vector


class Found(Message, tag="align.found"):
    """The number of ids that all parties hold."""

    common: Count


class Tags(Chunk[Vector], tag="align.tags"):
    """The common ids, each as a tag that only leader and member can make, sorted."""

    values: Vector


@dataclass(frozen=True)
class Aligned:
    """Our rows whose ids all parties hold: places in our table, in an order that is the same for everyone."""

    rows: Longs

    def __len__(self) -> int:
        return len(self.rows)


async def align(channel: Channel, ids: Sequence[str]) -> Aligned:
    """The places of our ids that every party holds, sorted by id. Raises `InputError` for a repeated id.

    Each call needs a step of its own.
    """
    if not channel.peers:
        raise InputError("alignment is among two parties or more")
    texts = lists.spelled(ids)
    points = hash_to_group(texts, "align", channel.session, channel.step)
    seeds = channel.pairwise_seeds()
    shares = zero_shares(texts, seeds)
    leader = channel.parties[0]
    if channel.me == leader:
        common = await _lead(channel, texts, points, shares, seeds)
    else:
        common = await _follow(channel, leader, texts, points, shares, derive(seeds[leader], "tags"))
    places = sorted(np.flatnonzero(common).tolist(), key=texts.__getitem__)
    return Aligned(np.array(places, dtype=np.int64))


async def _lead(
    channel: Channel, texts: Sequence[bytes], points: Points, shares: Words, seeds: Mapping[str, Secret]
) -> Bits:
    rng = channel.rng.child("align")
    key, order = BlindingKey(rng.stream("key")), rng.stream("order").permutation(len(texts))
    asked = key.blind(points.take(order))
    back = np.argsort(order)

    async def consult(member: str) -> Words:
        """The member's share of each of our ids; something random where it does not hold the id."""
        reading = lists.receive(channel, member, Answered, due=len(texts))
        [answered] = await while_sending(lists.send(channel, member, LeaderIds, [asked]), reading)
        store = await channel.receive(member, Store)
        table = (await channel.receive_all(member, StoreCells, 2 * keyvalue.cells(store.keys))).words
        pads, digests = pseudorandom(key.unblind(answered).take(back), texts, store.attempt)
        return pads ^ keyvalue.look_up(table, store.keys, digests)

    total = shares
    for theirs in await gather(*(consult(member) for member in channel.peers)):
        total = total ^ theirs
    common: Bits = np.equal(total.reshape(-1, 2).max(axis=1, initial=0), 0)

    async def report(member: str) -> None:
        tags = sorted(tag(derive(seeds[member], "tags"), texts[place]) for place in np.flatnonzero(common).tolist())
        await channel.send(member, Found(len(tags)))
        await channel.send_all(member, Tags, Vector(_words(tags)))

    await gather(*(report(member) for member in channel.peers))
    return common


async def _follow(
    channel: Channel, leader: str, texts: Sequence[bytes], points: Points, shares: Words, seed: Secret
) -> Bits:
    rng = channel.rng.child("align")
    key = BlindingKey(rng.stream("key"))
    [asked] = await lists.receive(channel, leader, LeaderIds)
    await lists.send(channel, leader, Answered, [key.blind(asked)])
    blinded = key.blind(points)
    for attempt in range(ATTEMPTS):
        pads, digests = pseudorandom(blinded, texts, attempt)
        table = keyvalue.lay_out(digests, shares ^ pads, rng.stream("store", attempt))
        if table is not None:
            await channel.send(leader, Store(len(texts), attempt))
            await channel.send_all(leader, StoreCells, Vector(table))
            break
    else:
        raise InputError(f"no store of {len(texts)} ids could be laid out; run again")
    found = await channel.receive(leader, Found)
    if found.common > min(len(texts), len(asked)):
        raise channel.refusal(leader, f"{found.common} common ids, of at most {min(len(texts), len(asked))}")
    tags = await channel.receive_all(leader, Tags, 2 * found.common)
    return recognised(channel, leader, texts, tags.words, seed)


def recognised(channel: Channel, leader: str, texts: Sequence[bytes], words: Words, seed: Secret) -> Bits:
    """The ids of ours that the leader's tags name. Raises `PeerError` for a tag that names none, or one twice."""
    raw = words.astype("<u8").tobytes()
    tags = {raw[start : start + VALUE_BYTES] for start in range(0, len(raw), VALUE_BYTES)}
    common = np.array([tag(seed, text) in tags for text in texts], dtype=np.bool_)
    if int(common.sum()) != len(raw) // VALUE_BYTES:
        raise channel.refusal(leader, "it names an id that we do not hold, or one twice")
    return common


def zero_shares(texts: Sequence[bytes], seeds: Mapping[str, Secret]) -> Words:
    """Our share for each id: the shares of all parties for one id cancel out."""
    total = np.zeros(2 * len(texts), dtype=np.uint64)
    for seed in seeds.values():
        total ^= _words(tag(derive(seed, "zero"), text) for text in texts)
    return total


def tag(seed: Secret, text: bytes) -> bytes:
    """Sixteen bytes that stand for an id between the two who share the seed."""
    return hashlib.blake2s(text, key=seed.reveal(), digest_size=VALUE_BYTES).digest()


def pseudorandom(blinded: Points, texts: Sequence[bytes], attempt: int) -> tuple[Words, list[bytes]]:
    """For each id a pad and its digest in the store: the second hash of the pseudorandom function."""
    digests = [
        hashlib.sha512(spell("covey align/1", attempt, text, point)).digest()
        for text, point in zip(texts, blinded, strict=True)
    ]
    pads = _words(digest[:VALUE_BYTES] for digest in digests)
    return pads, [digest[VALUE_BYTES : VALUE_BYTES + DIGEST_BYTES] for digest in digests]


def ideal(inputs: Mapping[str, Sequence[str]]) -> dict[str, list[int]]:
    """A trusted party's answer: to each party, the places of the common ids in its list, sorted by id."""
    common = set.intersection(*(set(ids) for ids in inputs.values()))
    return {party: [ids.index(own) for own in sorted(common, key=str.encode)] for party, ids in inputs.items()}


def _words(pieces: Iterable[bytes]) -> Words:
    return np.frombuffer(b"".join(pieces), dtype="<u8").astype(np.uint64)
