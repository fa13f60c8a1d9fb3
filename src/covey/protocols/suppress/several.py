"""Three parties or more: equal tuples are counted by tags that nobody can read, and only frequent ones get a name.

Each row's tuple, hashed to an element of the group, is encrypted under a key of which every party has a part. The
lists pass through all hands, in the order of the parties' names: each takes off its part of the key, raises everything
to one secret power of its own, re-randomises and shuffles. What comes out are tags: equal where tuples are equal, and
nothing else can be read from them or linked to a party. Of the tuples that are kept, and of no other, all take their
powers off again: whoever has the tuple recognises it. Then rows are released through a shuffle.

The tags of unequal tuples look unrelated by the decisional Diffie-Hellman assumption (in ristretto255, or in the
pairing's target group), because nobody knows the logarithm of a hash: with numbers in the exponent, as in the form for
two, the tag of one tuple that is named would give those of all others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from covey.cells import SUPPRESSED
from covey.crypto.elgamal import KeyShare, joint_key
from covey.crypto.group import Point
from covey.crypto.ibe import Recipient
from covey.crypto.pairing import ONE, pair, read_gt
from covey.errors import Aborted, InputError, PeerError
from covey.protocols.protocol import Proposal, Result, Seat
from covey.protocols.shared import rows as shared_rows
from covey.protocols.suppress import leakage
from covey.protocols.suppress.layout import CHUNK
from covey.protocols.suppress.messages import CiphertextPart, Issued, KeyPart
from covey.protocols.suppress.parameters import AUTHORITY, Parameters
from covey.protocols.suppress.run import FUNCTION, WORTH_WORKERS, do, hear
from covey.protocols.suppress.tuples import (
    JointClasses,
    KeptTuples,
    Labels,
    OwnReleasedRows,
    OwnTuples,
    kept_sizes,
    key_of,
)
from covey.secure import listing
from covey.secure.jointkey import check_promise
from covey.secure.sealing import ElGamal, Waters
from covey.secure.workers import Workers
from covey.wire import Channel, gather


async def release(
    seat: Seat, channel: Channel, own: OwnTuples, rows: Mapping[str, int], issued: Issued | None
) -> Result:
    """A holder of rows among three or more. Raises Aborted where somebody did not keep to the protocol."""
    parameters = Parameters.of(seat.study)
    keys = await _agree_on_keys(channel.at("key"), parameters, issued)
    total = sum(rows.values())
    seat.ledger.learns(leakage.NAMED, **leakage.numbers(parameters))
    async with Workers(FUNCTION, None if total * len(rows) >= WORTH_WORKERS else 0) as workers:
        mixer = Mixer(channel, keys, workers)
        seat.progress.phase("compare", 2)
        marks = await mixer.marks(own.keys)
        sizes = Counter(await mixer.tags([marks[each] for each in own.place.tolist()], rows))
        seat.progress.reach(1)
        kept = kept_sizes(list(sizes.values()), parameters.k)
        tags = sorted(tag for tag, size in sizes.items() if size in kept)
        named = dict(zip(await mixer.named(tags), (sizes[tag] for tag in tags), strict=True))
        seat.progress.phase("release")
        return await _publish(seat, mixer, parameters, own, rows, dict(zip(own.keys, marks, strict=True)), named)


@dataclass(frozen=True)
class Keys:
    """This party's part of the joint key, and the encryption under each mixer's part and those of all after it."""

    part: bytes
    under: tuple[Waters | ElGamal, ...]


async def _agree_on_keys(channel: Channel, parameters: Parameters, issued: Issued | None) -> Keys:
    """Everyone names the public side of its part. Raises PeerError where parts are none, or do not fit together."""
    if issued is None:
        share, context = KeyShare(channel.rng.stream("elgamal")), ("suppress", channel.session)
        mine = KeyPart(share.public.data, share.prove(channel.rng.stream("proof"), *context, channel.me))
        theirs = await channel.exchange(mine)
        publics = {channel.me: share.public}
        for party, told in theirs.items():
            publics[party] = _point(channel, party, told.public)
            check_promise(channel, party, publics[party], told.knows, *context)
        ordered = [publics[party] for party in channel.parties]
        under = tuple(ElGamal(joint_key(ordered[place:])) for place in range(len(ordered)))
        return Keys(share.surrender().reveal(), under)
    base = issued.parameters.base_of(parameters.name_of(channel.me))
    own = issued.key.mask(base)
    theirs = await channel.exchange(KeyPart(own.serialize(), b""))
    rest, left = pair(issued.parameters.first, issued.parameters.second), []
    for party in channel.parties:
        left.append(Waters(Recipient(rest, base)))
        try:
            checked = channel.rng.stream("check", party)
            rest = rest / (own if party == channel.me else read_gt([theirs[party].public], checked)[0])
        except InputError as error:
            raise channel.refusal(party, str(error)) from None
    if rest != ONE:
        reason = "the parts that it issued are not those of one key, or a party says so"
        raise PeerError(party=AUTHORITY, step="issue", reason=reason)
    return Keys(issued.key.pack(), tuple(left))


def _point(channel: Channel, party: str, raw: bytes) -> Point:
    try:
        return Point(raw)
    except InputError as error:
        raise channel.refusal(party, str(error)) from None


@dataclass(frozen=True)
class Mixer:
    """One party's place among the hands that every list passes through."""

    channel: Channel
    keys: Keys
    workers: Workers

    @property
    def place(self) -> int:
        """Our place in the order of the names."""
        return self.channel.parties.index(self.channel.me)

    @property
    def last(self) -> str:
        """The party whose outcome everybody gets."""
        return self.channel.parties[-1]

    @property
    def encryption(self) -> Waters | ElGamal:
        """The encryption under the whole key."""
        return self.keys.under[0]

    @cached_property
    def power(self) -> int:
        """Our secret power."""
        return self.encryption.draw(self.channel.at("mix").rng.stream("power"), 1)[0]

    async def marks(self, tuples: Sequence[bytes]) -> list[bytes]:
        """The marks by which these tuples are recognised, once they are named."""
        parts = []
        for start in range(0, len(tuples), CHUNK):
            job = listing.MarkTexts(self.encryption.raw, bytes(32), list(tuples[start : start + CHUNK]))
            parts.append(await do(self.workers, self.channel, self.channel.me, job))
        return _split(b"".join(parts), self.encryption.mark_bytes)

    async def tags(self, marks: Sequence[bytes], rows: Mapping[str, int]) -> list[bytes]:
        """A tag for each row of all parties, in an order that nobody knows; we put in a mark for each of ours."""
        channel, width = self.channel.at("mix"), self.encryption.width
        mine = await self._sealed(channel, marks)
        first, before, total = channel.parties[0], channel.parties[self.place - 1], sum(rows.values())
        if self.place:
            await _say(self.channel.at("list"), first, mine, width)
            items = await self._blinded(channel, before, await _hear(channel, before, total * width, width))
        else:
            at = self.channel.at("list")
            heard = await gather(*(_hear(at, peer, rows[peer] * width, width) for peer in at.peers))
            lists = [(channel.me, mine), *zip(at.peers, heard, strict=True)]
            items = b"".join([await self._blinded(at, peer, one) for peer, one in lists])
        width = self.encryption.mark_bytes if channel.me == self.last else width
        order = channel.rng.stream("order").permutation(total)
        return await self._hand_on(channel, np.frombuffer(items, np.uint8).reshape(-1, width)[order].tobytes(), total)

    async def named(self, tags: Sequence[bytes]) -> list[bytes]:
        """The tuples' marks behind these tags, once everyone has taken its power off."""
        if not tags:
            return []
        channel, width = self.channel.at("name"), self.encryption.mark_bytes
        before = channel.parties[self.place - 1]
        marks = await _hear(channel, before, len(tags) * width, width) if self.place else b"".join(tags)
        inverse = listing.spell_numbers([pow(self.power, -1, self.encryption.order)])
        found = []
        for start in range(0, len(marks), CHUNK * width):
            seed = channel.rng.stream("check", start).bytes(32)
            job = listing.Raise(self.encryption.raw, seed, inverse, marks[start : start + CHUNK * width])
            found.append(await do(self.workers, channel, before, job))
        return await self._hand_on(channel, b"".join(found), len(tags))

    async def _hand_on(self, channel: Channel, items: bytes, count: int) -> list[bytes]:
        """Gives our outcome to the next; everybody gets that of the last, which is marks."""
        width, parties = self.encryption.mark_bytes, channel.parties
        if channel.me == self.last:
            await gather(*(_say(channel.at("outcome"), peer, items, width) for peer in channel.peers))
        else:
            await _say(channel, parties[self.place + 1], items, len(items) // max(1, count))
            items = await _hear(channel.at("outcome"), self.last, count * width, width)
        return _split(items, width)

    async def _sealed(self, channel: Channel, marks: Sequence[bytes]) -> bytes:
        parts = []
        for start in range(0, len(marks), CHUNK):
            seed = channel.rng.stream("seal", start).bytes(32)
            job = listing.EncryptMarks(self.encryption.raw, seed, b"".join(marks[start : start + CHUNK]))
            parts.append(await do(self.workers, channel, channel.me, job))
        return b"".join(parts)

    async def _blinded(self, channel: Channel, sender: str, items: bytes) -> bytes:
        """A list without our part of the key and under our power; the sender is at fault where it is none."""
        last = channel.me == self.last
        rest = self.keys.under[self.place if last else self.place + 1].raw
        power, step, parts = listing.spell_numbers([self.power]), CHUNK * self.encryption.width, []
        for start in range(0, len(items), step):
            seed = channel.rng.stream("blind", sender, start).bytes(32)
            job = listing.Blind(rest, seed, self.keys.part, power, items[start : start + step], last)
            parts.append(await do(self.workers, channel, sender, job))
        return b"".join(parts)


async def _say(channel: Channel, peer: str, items: bytes, width: int) -> None:
    step = CHUNK * width
    await channel.stream(
        peer, (CiphertextPart(items[start : start + step]) for start in range(0, len(items), max(1, step)))
    )


async def _hear(channel: Channel, peer: str, due: int, width: int) -> bytes:
    step = CHUNK * width
    return b"".join([await hear(channel, peer, min(step, due - start)) for start in range(0, due, step)])


def _split(items: bytes, width: int) -> list[bytes]:
    return [items[start : start + width] for start in range(0, len(items), width)]


async def _publish(
    seat: Seat,
    mixer: Mixer,
    parameters: Parameters,
    own: OwnTuples,
    rows: Mapping[str, int],
    marks: Mapping[bytes, bytes],
    named: Mapping[bytes, int],
) -> Result:
    """The rows of all parties, each with its tuple if that was named, through a shuffle."""
    study, channel = seat.study, mixer.channel.at("rows")
    keeps = np.array([mark in named for mark in marks.values()], dtype=bool)
    mine = OwnReleasedRows.of(own, keeps[own.place], seat.records)
    lost = sum(rows.values()) - sum(named.values())
    if any(count > named.get(mark, lost) for mark, count in zip(marks.values(), own.counts.tolist(), strict=True)):
        raise _astray("tuples of ours have more rows than all parties were counted to have")
    known = JointClasses((), np.array([*named.values(), lost], dtype=np.int64)).figures(study)
    names = [column.name for column in (*study.quasi, *shared_rows.carried(study))]
    spelled = [shared_rows.spell_row(0, texts) for texts in mine.texts(len(study.quasi))]
    length = await shared_rows.agree_on_length(channel.at("length"), spelled)
    proposal = Proposal(leakage.ROWS_OF_MANY, leakage.numbers(parameters), known)
    opened = await shared_rows.mix(seat, channel, spelled, names, 1, rows, length, proposal)
    gone = (SUPPRESSED,) * len(study.quasi)
    shown = list(zip(*(opened.cells[column.name] for column in study.quasi), strict=True))
    tuples: list[Labels | None] = [None if labels == gone else labels for labels in shown]
    counts = Counter(labels for labels in tuples if labels is not None)
    listed = list(counts)
    found = await mixer.marks([key_of(labels) for labels in listed])
    if dict(zip(found, (counts[each] for each in listed), strict=True)) != named:
        raise _astray("the released rows are not those of the tuples that were counted")
    kept = KeptTuples(dict(counts), len(tuples))
    classes = JointClasses.of(study, [kept])
    cells = {column.name: opened.cells[column.name] for column in shared_rows.carried(study)}
    return classes.result(study, [OwnReleasedRows(kept, tuple(tuples), cells)])


def _astray(what: str) -> Aborted:
    return Aborted(f"{what}: a party did not keep to the protocol; nothing is released", resumable=False)
