"""Committee: trustees make a key that no one has, and open for one party what was encrypted under it.

Source    Pedersen 1991 with Feldman's commitments, no dealer. Each trustee first commits to its polynomial by a hash,
          so that nobody chooses its part after having seen the others'; an echo of everything that was shown keeps
          a trustee from showing different things to different peers.
Roles     the trustees, any number; an opener, who is none of them, learns the key and later has ciphertexts opened.
Security  fewer than `threshold` trustees learn nothing of the key or of what is opened: parts of an opening go to the
          opener only, never from trustee to trustee. A trustee that deals a wrong share, shows others something else,
          or sends a wrong part of an opening is named, and the run ends before the part is used.
Not       a trustee that falls silent ends the founding; after that, any `threshold` are enough. Trustees open what
          the opener asks for: the protocol must say who may ask for what, and how often. An opener and `threshold`
          trustees together open everything.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Annotated

from msgspec import Meta

from covey.crypto import proof
from covey.crypto.elgamal import Ciphertexts
from covey.crypto.group import Points, Scalar
from covey.crypto.rng import Label, spell
from covey.crypto.threshold_key import (
    EQUALITY_BYTES,
    CommitteeKey,
    Dealer,
    PartialOpening,
    Trustee,
    check_threshold,
    constant,
    dealt_right,
)
from covey.errors import InputError, PeerError
from covey.secure import lists
from covey.secure.declare import Leakage
from covey.secure.lists import Elements
from covey.wire import Bytes32, Bytes64, Channel, Message, gather, while_sending

EqualityProof = Annotated[bytes, Meta(min_length=EQUALITY_BYTES, max_length=EQUALITY_BYTES)]

LEAKAGE = Leakage(
    everyone=("the committee's public key, of which {threshold} of {trustees} trustees hold the secret together",)
)
OPENING_LEAKAGE = Leakage(
    roles={
        "opener": ("what {count} ciphertexts hold that it had opened",),
        "trustee": ("the first halves of {count} ciphertexts, which say nothing of what they hold",),
    }
)


class Committed(Message, tag="committee.committed"):
    """The hash of what the sender is about to deal."""

    digest: Bytes32


class CommittedShare(Message, tag="committee.dealt"):
    """Commitments to the sender's polynomial, the proof that it knows it, and the recipient's share alone."""

    commitments: Points
    knows: Bytes64
    share: Bytes32


class Echoed(Message, tag="committee.echoed"):
    """The hash of all commitments that the sender was shown: equal for all, or somebody showed two faces."""

    digest: Bytes32


class Founded(Message, tag="committee.founded"):
    """The commitments to the joint polynomial."""

    commitments: Points


class Asked(Elements, tag="committee.asked"):
    """First halves of the ciphertexts that are to be opened."""


class Unlocked(Elements, tag="committee.unlocked"):
    """The sender's part of the opening, for each ciphertext."""


class Proved(Message, tag="committee.proved"):
    """The proof that the part was made with the sender's share."""

    proof: EqualityProof


async def found(channel: Channel, members: Sequence[str], threshold: int, *, opener: str | None = None) -> Trustee:
    """Makes the committee's key, and tells the opener. Every member has to call it, at a step of its own.

    Raises `PeerError` with the name of a member that dealt wrongly; `InputError` where this party is no member.
    """
    check_threshold(threshold, len(members))
    if channel.me not in members or opener in members:
        raise InputError(f"the trustees make their key among themselves: {channel.me!r} is none, or the opener is one")
    among, place, context = channel.among(*members), places(members), _context(channel)
    rng = channel.rng.child("committee")
    dealer = Dealer(threshold, rng.stream("dealer"))
    knows = dealer.prove(rng.stream("proof"), *context, channel.me)

    promised = await among.exchange(Committed(_promise(context, channel.me, dealer.commitments, knows)))
    theirs = await _deal(among, dealer, knows, place)
    shares = [dealer.share(place[channel.me])]
    for party, dealt in theirs.items():
        if _promise(context, party, dealt.commitments, dealt.knows) != promised[party].digest:
            raise _refused(channel, party, "it dealt something else than it had committed to")
        shares.append(_checked(channel, party, dealt, threshold, place[channel.me]))

    shown = {channel.me: dealer.commitments, **{party: dealt.commitments for party, dealt in theirs.items()}}
    mine = Echoed(_digest("echo", context, [label for party in sorted(shown) for label in (party, shown[party].data)]))
    for party, echo in (await among.exchange(mine)).items():
        if echo != mine:
            raise _refused(channel, party, "it was shown other commitments than we were, or says so")
    trustee = Trustee(place[channel.me], shares, _key(channel, [shown[party] for party in sorted(shown)]))
    if opener is not None:
        await channel.send(opener, Founded(trustee.key.commitments))
    return trustee


async def learn(channel: Channel, members: Sequence[str], threshold: int) -> CommitteeKey:
    """The key that the members have made, for the opener, who calls this while they call `found`.

    Raises `PeerError` where a member names another key than the first, or one of another threshold.
    """
    check_threshold(threshold, len(members))
    if channel.me in members:
        raise InputError(f"{channel.me!r} is a trustee: it knows the key from making it")
    named = await channel.among(channel.me, *members).collect(Founded)
    first = next(iter(named.values()))
    for party, founded in named.items():
        if len(founded.commitments) != threshold:
            raise _refused(channel, party, f"{len(founded.commitments)} commitments, expected {threshold}")
        if founded != first:
            raise _refused(channel, party, "it names another key than the other trustees")
    return CommitteeKey(first.commitments, len(members))


async def serve(channel: Channel, trustee: Trustee, opener: str, due: int) -> Points:
    """A trustee's part in one opening of `due` ciphertexts; answers the first halves that it unlocked.

    Raises `PeerError` where the opener asks for more, for fewer, or for one twice.
    """
    [first] = await lists.receive(channel, opener, Asked, due=due)
    if due:
        part = trustee.unlock(first, channel.rng.stream("committee", "unlock"), *_context(channel), opener)
        await lists.send(channel, opener, Unlocked, [part.points])
        await channel.send(opener, Proved(part.proof))
    return first


async def unlock(channel: Channel, key: CommitteeKey, helpers: Mapping[str, int], ciphertexts: Ciphertexts) -> Points:
    """The committee's secret key times each ciphertext's first half, for the opener.

    `helpers` are `key.threshold` trustees with their places. `opened` of `covey.crypto.elgamal` takes the answer,
    beside what the opener's own key makes where there is one. Raises `PeerError` naming a helper whose part is wrong.
    """
    if len(helpers) != key.threshold:
        raise InputError(f"{len(helpers)} trustees are asked, {key.threshold} open")

    parts = await gather(*(part_of(channel, key, name, place, ciphertexts) for name, place in helpers.items()))
    return key.combine(dict(zip(helpers.values(), parts, strict=True)))


async def part_of(channel: Channel, key: CommitteeKey, helper: str, place: int, ciphertexts: Ciphertexts) -> Points:
    """One trustee's part of an opening, checked; as many as the threshold give the answer (`key.combine`)."""
    await lists.send(channel, helper, Asked, [ciphertexts.first])
    if not len(ciphertexts):
        return ciphertexts.first
    [points] = await lists.receive(channel, helper, Unlocked, due=len(ciphertexts))
    part = PartialOpening(points, (await channel.receive(helper, Proved)).proof)
    if not key.holds(place, ciphertexts.first, part, *_context(channel), channel.me):
        raise _refused(channel, helper, "its part of the opening was not made with its share of the key")
    return points


def places(members: Sequence[str]) -> dict[str, int]:
    """Each member's place: 1, 2, … in sorted order, the same for everyone."""
    return {name: place for place, name in enumerate(sorted(members), start=1)}


async def _deal(channel: Channel, dealer: Dealer, knows: bytes, place: Mapping[str, int]) -> dict[str, CommittedShare]:
    """Everyone's commitments, and what each dealt to us alone."""

    async def give() -> None:
        for peer in channel.peers:
            await channel.send(peer, CommittedShare(dealer.commitments, knows, dealer.share(place[peer]).reveal()))

    return await while_sending(give(), channel.collect(CommittedShare))


def _checked(channel: Channel, party: str, dealt: CommittedShare, threshold: int, place: int) -> Scalar:
    """The share that a member dealt to us. Raises `PeerError` unless everything about it is right."""
    if len(dealt.commitments) != threshold:
        raise _refused(channel, party, f"{len(dealt.commitments)} commitments, expected {threshold}")
    if not proof.holds(dealt.knows, constant(dealt.commitments), *_context(channel), party):
        raise _refused(channel, party, "it does not prove that it knows its part of the key")
    try:
        share = Scalar(dealt.share)
    except InputError as error:
        raise _refused(channel, party, str(error)) from None
    if not dealt_right(share, place, dealt.commitments):
        raise _refused(channel, party, "the share that it dealt does not fit its commitments")
    return share


def _key(channel: Channel, shown: Sequence[Points]) -> CommitteeKey:
    try:
        return CommitteeKey.of(shown)
    except InputError as error:
        raise _refused(channel, " or ".join(channel.peers), str(error)) from None


def _promise(context: Sequence[Label], party: str, commitments: Points, knows: bytes) -> bytes:
    return _digest("promise", context, [party, commitments.data, knows])


def _digest(what: str, context: Sequence[Label], labels: Sequence[Label]) -> bytes:
    return hashlib.sha256(spell(f"covey committee {what}/1", *context, *labels)).digest()


def _context(channel: Channel) -> tuple[Label, ...]:
    return ("committee", channel.session, channel.step)


def _refused(channel: Channel, party: str, reason: str) -> PeerError:
    return PeerError(party=party, step=channel.step or "the committee", reason=reason)
