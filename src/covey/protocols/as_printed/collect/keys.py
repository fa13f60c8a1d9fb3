"""Enrolment and keys: who takes part, and the key that the positions will be encrypted under.

Everyone gives the collector a key for letters, with a proof of knowing its secret. Some respondents, drawn by a hash of
all these keys, become trustees and make the committee's key among themselves, without a dealer. Positions are encrypted
under the sum of the collector's key and the committee's: no coalition of respondents opens anything without the
collector, and the collector opens nothing without a majority of the trustees (the paper's chain of decryptions, in
which a coalition one short of the threshold opens a victim's position, is not used).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from typing import Annotated

from msgspec import Meta

from covey.crypto import proof
from covey.crypto.elgamal import KeyShare, joint_key
from covey.crypto.group import Point, Points
from covey.crypto.rng import Label, spell
from covey.crypto.threshold_key import CommitteeKey, Trustee
from covey.errors import PeerError, Unmet
from covey.protocols.as_printed.collect import committee, post
from covey.protocols.as_printed.collect.parameters import Parameters
from covey.protocols.protocol import EVERYONE, Attendance
from covey.protocols.shared import roll
from covey.wire import Bytes32, Bytes64, Channel, Count, Message, Name, gather

LETTERS = 3
"""The letters of a trustee to each other one in founding the committee: a promise, a deal, an echo."""
MOST_TRUSTEES = 31


class RespondentKey(Message, tag="collect.enrolled"):
    """A respondent's key for letters, and the proof that it knows the secret."""

    key: Point
    knows: Bytes64


class Welcome(Message, tag="collect.welcome"):
    """The number of respondents, the reader's own number, and, for a trustee or a dealer, the trustees."""

    respondents: Count
    number: Count
    lot: Bytes32
    trustees: Annotated[list[Name], Meta(max_length=MOST_TRUSTEES)]
    dealer: Name | None
    keys: Annotated[list[Point], Meta(max_length=MOST_TRUSTEES + 1)]
    """The trustees', and then the dealer's if there is one."""


class CollectionKeys(Message, tag="collect.keys"):
    """The collector's key with its proof, and the committee's."""

    collector: Point
    knows: Bytes64
    committee: Point
    rows: Point
    """The key that rows are sealed to, for the collector alone."""


@dataclass(frozen=True)
class OpeningSetup:
    """All that the collector needs to have something opened."""

    own: KeyShare
    committee: CommitteeKey
    trustees: Mapping[str, int]
    """Their places by name; a majority of them is asked, and the others are spares."""
    key: Points
    """The joint key that everything is encrypted under."""

    @property
    def helpers(self) -> dict[str, int]:
        """The trustees that are asked as long as all are there: those with the first places."""
        return {name: place for name, place in self.trustees.items() if place <= self.committee.threshold}


@dataclass(frozen=True)
class Enrolment:
    """The respondents and their keys, as the collector knows them."""

    handles: tuple[str, ...]
    letters: Mapping[str, Point]
    opening: OpeningSetup
    trustees: tuple[str, ...]
    dealer: str
    """The respondent who deals the key of the other scheme; empty where there is none."""
    lot: bytes
    """The hash that all common draws follow from."""
    rows: KeyShare = field(repr=False)
    """The key that rows are sealed to."""


@dataclass(frozen=True)
class Membership:
    """A respondent's knowledge of the whole collection."""

    respondents: int
    number: int
    lot: bytes
    letters: KeyShare = field(repr=False)
    key: Points
    """The key that positions are encrypted under."""
    rows: Point
    """The collector's key, which rows are sealed to innermost."""
    trustee: Trustee | None
    trustees: tuple[str, ...] = ()
    """The trustees' names, for one of them and for the dealer."""
    dealer: str = ""
    company: Mapping[str, Point] = field(default_factory=dict)
    """Their keys for letters."""


def lot_of(session: bytes, letters: Mapping[str, Point]) -> bytes:
    """A hash of everyone's key for letters: who named the session did not know it then.

    No respondent can check it. A collector that leaves people out, or has accomplices enrol last, can try many.
    """
    everyone = [part for name in sorted(letters) for part in (name, letters[name].data)]
    return hashlib.sha256(spell("collect lot", session, *everyone)).digest()


def chosen(lot: bytes, handles: Sequence[str], size: int) -> tuple[tuple[str, ...], str]:
    """The trustees, whose hash with the lot is smallest, sorted by name; and who comes next, to deal."""
    by_hash = sorted(handles, key=lambda name: hashlib.sha256(spell("collect trustee", lot, name)).digest())
    return tuple(sorted(by_hash[:size])), (by_hash[size : size + 1] or [""])[0]


async def enrol(channel: Channel, parameters: Parameters, *, attendance: Attendance = EVERYONE) -> Enrolment:
    """The collector's part, with everyone who enrols.

    Raises Unmet if fewer than k enrol, and Left if a trustee leaves before the committee has its key.
    """

    async def key_of(name: str) -> Point:
        message = await channel.at("enrol").receive(name, RespondentKey)
        if not proof.holds(message.knows, message.key, *_context(channel), name):
            raise PeerError(party=name, step="enrol", reason="it does not prove that it knows its key")
        return message.key

    letters = await roll.call(attendance, channel.peers, key_of)
    handles = tuple(letters)
    if len(handles) < parameters.k:
        raise Unmet(f"fewer than k = {parameters.k} respondents took part; nothing can be released")
    lot = lot_of(channel.session, letters)
    trustees, dealer = chosen(lot, handles, parameters.committee)
    if parameters.dealt and not dealer:
        raise Unmet(
            'scheme = "paillier" needs a respondent besides the committee, to deal the key; nothing is released'
        )
    dealer = dealer if parameters.dealt else ""
    threshold = parameters.threshold(len(trustees))
    listed = [letters[name] for name in (*trustees, dealer) if name]

    async def greet(number: int, name: str) -> None:
        among = name in trustees or name == dealer
        welcome = Welcome(len(handles), number, lot, list(trustees), dealer or None, listed)
        await channel.at("welcome").send(name, welcome if among else Welcome(len(handles), number, lot, [], None, []))

    await gather(*(greet(number, name) for number, name in enumerate(handles)))
    at = channel.at("committee")
    await post.carry(at, list(permutations(trustees, 2)), LETTERS)
    made = await committee.learn(at, trustees, threshold)
    own, rows = KeyShare(channel.rng.stream("collect", "key")), KeyShare(channel.rng.stream("collect", "rows"))
    knows = own.prove(channel.rng.stream("collect", "knows"), *_context(channel), channel.me)
    told = CollectionKeys(own.public, knows, made.public, rows.public)
    await gather(*(channel.at("keys").send(name, told) for name in handles))
    opening = OpeningSetup(own, made, committee.places(trustees), joint_key([own.public, made.public]))
    return Enrolment(handles, letters, opening, trustees, dealer, lot, rows)


async def join(channel: Channel, parameters: Parameters, hub: str) -> Membership:
    """A respondent's part."""
    own = KeyShare(channel.rng.stream("collect", "letters"))
    knows = own.prove(channel.rng.stream("collect", "knows"), *_context(channel), channel.me)
    await channel.at("enrol").send(hub, RespondentKey(own.public, knows))
    welcome = await channel.at("welcome").receive(hub, Welcome)
    _check(channel, hub, welcome, own)
    trustee = None
    named = [*welcome.trustees, *([welcome.dealer] if welcome.dealer else [])]
    company = dict(zip(named, welcome.keys, strict=True))
    if channel.me in welcome.trustees:
        at = channel.at("committee")
        letters = {name: company[name] for name in welcome.trustees}
        private = post.private_channel(at, hub, own, letters)
        trustee = await committee.found(private, welcome.trustees, parameters.threshold(len(welcome.trustees)))
        await at.send(hub, committee.Founded(trustee.key.commitments))
    keys = await channel.at("keys").receive(hub, CollectionKeys)
    if not proof.holds(keys.knows, keys.collector, *_context(channel), hub):
        raise PeerError(party=hub, step="keys", reason="it does not prove that it knows its key")
    if trustee is not None and keys.committee.data != trustee.key.public.data:
        raise PeerError(party=hub, step="keys", reason="it names another key than the committee made")
    return Membership(
        respondents=welcome.respondents,
        number=welcome.number,
        lot=welcome.lot,
        letters=own,
        key=joint_key([keys.collector, keys.committee]),
        rows=keys.rows,
        trustee=trustee,
        trustees=tuple(welcome.trustees),
        dealer=welcome.dealer or "",
        company=company,
    )


def _check(channel: Channel, hub: str, welcome: Welcome, own: KeyShare) -> None:
    def refused(reason: str) -> PeerError:
        return PeerError(party=hub, step="welcome", reason=reason)

    if welcome.number >= welcome.respondents:
        raise refused("a respondent's number beyond the number of respondents")
    named = [*welcome.trustees, *([welcome.dealer] if welcome.dealer else [])]
    if len(named) != len(welcome.keys) or len(set(named)) != len(named):
        raise refused("the trustees and their keys do not go together")
    if named and dict(zip(named, welcome.keys, strict=True)).get(channel.me) != own.public:
        raise refused("it lists us among the trustees with another key than ours, or not at all")


def _context(channel: Channel) -> tuple[Label, ...]:
    return ("collect key", channel.session)
