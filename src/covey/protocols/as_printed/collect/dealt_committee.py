"""Dealt committee: a dealer makes a Paillier key and cuts it, and trustees open for one party what is under it.

Source    Xue and others, section 4.1, with the star of `collect.committee` in place of their chain of
          decryptions. The key is cut by Shamir over the integers, or by Asmuth and Bloom as in the paper.
Roles     a dealer, the trustees, and an opener: three kinds of parties, none in two of them.
Security  fewer than `threshold` trustees learn nothing of what is opened; parts go to the opener only. With Shamir's
          cut a wrong share or part is noticed and its sender named; with Asmuth and Bloom's a wrong part is noticed,
          but not whose it is.
Not       the dealer knows the whole key: a party that learns what the dealer knows can open everything. `committee`
          does the same without a dealer, and with ciphertexts an eighth as long. Trustees open what the opener asks
          for; the protocol must say who may ask for what.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from typing import Annotated, Generic, Literal, TypeVar

from gmpy2 import mpz
from msgspec import Meta

from covey.crypto.asmuth_bloom import AsmuthBloomKey, AsmuthBloomTrustee, deal_asmuth_bloom
from covey.crypto.paillier import Ciphertexts, PublicKey
from covey.crypto.residues import Residues
from covey.crypto.rng import Label, spell
from covey.crypto.threshold_key import check_threshold
from covey.crypto.threshold_paillier import Primes, ShamirKey, ShamirPart, ShamirTrustee, deal_shamir
from covey.errors import InputError, PeerError
from covey.protocols.as_printed.collect.committee import places
from covey.secure import ciphers
from covey.secure.ciphers import Ciphers
from covey.secure.declare import Leakage
from covey.wire import Bytes32, Channel, Message, gather

Cut = Literal["shamir", "asmuth-bloom"]
Trustee = ShamirTrustee | AsmuthBloomTrustee
Key = ShamirKey | AsmuthBloomKey
K = TypeVar("K", bound=Key)

LEAKAGE = Leakage(
    everyone=("the dealt key, of which {threshold} of {trustees} trustees hold the secret together",),
    roles={"dealer": ("the whole secret key: it opens everything that it gets to see",)},
)

Share = Annotated[bytes, Meta(max_length=2048)]
Proof = Annotated[bytes, Meta(max_length=8192)]


class _SentKey(Generic[K]):
    """A key as it travels: reading it is checking it."""

    __slots__ = ("key",)

    def __init__(self, key: K) -> None:
        self.key: K = key

    def pack(self) -> bytes:
        """The key's bytes."""
        return self.key.pack()


class SentShamirKey(_SentKey[ShamirKey]):
    """A key that was cut by Shamir."""

    @classmethod
    def unpack(cls, raw: bytes) -> SentShamirKey:
        """The key in these bytes. Raises `ValueError` for anything else."""
        return cls(ShamirKey.unpack(raw))


class SentAsmuthBloomKey(_SentKey[AsmuthBloomKey]):
    """A key that was cut by Asmuth and Bloom."""

    @classmethod
    def unpack(cls, raw: bytes) -> SentAsmuthBloomKey:
        """The key in these bytes. Raises `ValueError` for anything else."""
        return cls(AsmuthBloomKey.unpack(raw))


class NamedShamir(Message, tag="dealt.shamir"):
    """A key that was cut by Shamir; for a trustee also its share, which is empty for the opener."""

    sent: SentShamirKey
    share: Share


class NamedAsmuthBloom(Message, tag="dealt.asmuth-bloom"):
    """A key that was cut by Asmuth and Bloom; for a trustee also its share, which is empty for the opener."""

    sent: SentAsmuthBloomKey
    share: Share


class Confirmed(Message, tag="dealt.confirmed"):
    """The hash of the key that a trustee was dealt a share of."""

    digest: Bytes32


class Asked(Ciphers, tag="dealt.asked"):
    """Ciphertexts that are to be opened."""


class Unlocked(Ciphers, tag="dealt.unlocked"):
    """The sender's part of the opening, for each ciphertext."""


class Proved(Message, tag="dealt.proved"):
    """The proof that a part was made with the sender's share of a key that Shamir cut."""

    proof: Proof


async def deal(
    channel: Channel, members: Sequence[str], threshold: int, *, opener: str, cut: Cut = "shamir", bits: int = 3072
) -> PublicKey:
    """The dealer's part: makes a key, hands out its shares, and forgets both when it returns."""
    check_threshold(threshold, len(members))
    if len({channel.me, opener, *members}) != len(members) + 2:
        raise InputError("the dealer, the opener and the trustees are different parties")
    rng = channel.rng.child("dealt committee")
    primes = await asyncio.to_thread(Primes.draw, bits, rng.stream("primes"))
    named: list[NamedShamir] | list[NamedAsmuthBloom]
    if cut == "shamir":
        some = deal_shamir(primes, threshold, len(members), rng.stream("shares"))
        named = [NamedShamir(SentShamirKey(some[0].key), share) for share in (b"", *(each.reveal() for each in some))]
    else:
        others = deal_asmuth_bloom(primes, threshold, len(members), rng.stream("shares"))
        named = [
            NamedAsmuthBloom(SentAsmuthBloomKey(others[0].key), share)
            for share in (b"", *(each.reveal() for each in others))
        ]
    place = places(members)
    await gather(
        channel.send(opener, named[0]),  # at place 0, where the secret itself would be, there is nothing
        *(channel.send(name, named[place[name]]) for name in members),
    )
    return primes.public


async def accept(
    channel: Channel, dealer: str, members: Sequence[str], threshold: int, *, opener: str, cut: Cut = "shamir"
) -> Trustee:
    """A trustee's part: takes its share, and tells the opener of which key. Raises `PeerError` for a wrong share."""
    place = places(members)[channel.me]
    named = await _named(channel, dealer, members, threshold, cut)
    share = mpz(int.from_bytes(named.share, "little"))
    try:
        trustee: Trustee = (
            ShamirTrustee(place, share, named.sent.key)
            if isinstance(named, NamedShamir)
            else AsmuthBloomTrustee(place, share, named.sent.key)
        )
    except InputError as error:
        raise _refused(channel, dealer, str(error)) from None
    await channel.send(opener, Confirmed(_digest(channel, named.sent.key)))
    return trustee


async def learn(channel: Channel, dealer: str, members: Sequence[str], threshold: int, *, cut: Cut = "shamir") -> Key:
    """The key, for the opener, who calls this while the others call `deal` and `accept`.

    Raises `PeerError` where a trustee has a share of another key than the dealer named.
    """
    named = await _named(channel, dealer, members, threshold, cut)
    confirmed = await channel.among(channel.me, *members).collect(Confirmed)
    for name, message in confirmed.items():
        if message.digest != _digest(channel, named.sent.key):
            raise _refused(channel, name, "it was dealt a share of another key than the dealer named, or says so")
    return named.sent.key


async def serve(channel: Channel, trustee: Trustee, opener: str, due: int, helpers: Sequence[int]) -> Ciphertexts:
    """A trustee's part in one opening of `due` ciphertexts by the trustees at these places; answers the ciphertexts."""
    public = trustee.key.public
    asked = await ciphers.receive(channel, opener, Asked, public, due)
    if len({int(value) for value in asked.values}) != due:
        raise _refused(channel, opener, "it asks for a ciphertext twice")
    if not due:
        return asked
    if isinstance(trustee, ShamirTrustee):
        stream = channel.rng.stream("dealt committee", "unlock")
        part = await asyncio.to_thread(trustee.unlock, asked, stream, *_context(channel), opener)
        await ciphers.send(channel, opener, Unlocked, Ciphertexts(public, list(part.values)))
        await channel.send(opener, Proved(part.pack_proof(trustee.key)))
    else:
        values = await asyncio.to_thread(trustee.unlock, asked, helpers)
        await ciphers.send(channel, opener, Unlocked, Ciphertexts(public, list(values)))
    return asked


async def unlock(channel: Channel, key: Key, helpers: Mapping[str, int], ciphertexts: Ciphertexts) -> list[int]:
    """The numbers in the ciphertexts, for the opener; `helpers` are `key.threshold` trustees with their places.

    Raises `PeerError` naming the helper whose part is wrong, or all of them where that cannot be told.
    """
    if len(helpers) != key.threshold:
        raise InputError(f"{len(helpers)} trustees are asked, {key.threshold} open")
    if not len(ciphertexts):
        return []

    async def ask(helper: str) -> list[mpz]:
        await ciphers.send(channel, helper, Asked, ciphertexts)
        values = (await ciphers.receive(channel, helper, Unlocked, key.public, len(ciphertexts))).values
        if isinstance(key, ShamirKey):
            proof = (await channel.receive(helper, Proved)).proof
            residues = Ciphertexts(key.public, values).residues()
            await asyncio.to_thread(_check_part, channel, key, helper, helpers[helper], ciphertexts, residues, proof)
        return values

    answers = await gather(*(ask(helper) for helper in helpers))
    parts = dict(zip(helpers.values(), answers, strict=True))
    try:
        return key.combine(parts) if isinstance(key, ShamirKey) else key.combine(parts, ciphertexts)
    except InputError as error:
        raise _refused(channel, " or ".join(helpers), str(error)) from None


async def _named(
    channel: Channel, dealer: str, members: Sequence[str], threshold: int, cut: Cut
) -> NamedShamir | NamedAsmuthBloom:
    """The dealer's message, for the right number of trustees and the right threshold."""
    named: NamedShamir | NamedAsmuthBloom = (
        await channel.receive(dealer, NamedShamir)
        if cut == "shamir"
        else await channel.receive(dealer, NamedAsmuthBloom)
    )
    if (named.sent.key.threshold, named.sent.key.trustees) != (threshold, len(members)):
        found = f"{named.sent.key.threshold} of {named.sent.key.trustees}"
        raise _refused(channel, dealer, f"a key of {found} trustees, expected {threshold} of {len(members)}")
    return named


def _check_part(
    channel: Channel, key: ShamirKey, helper: str, place: int, hidden: Ciphertexts, residues: Residues, proof: bytes
) -> None:
    try:
        right = key.holds(place, hidden, ShamirPart.read(key, residues, proof), *_context(channel), channel.me)
    except InputError as error:
        raise _refused(channel, helper, str(error)) from None
    if not right:
        raise _refused(channel, helper, "its part of the opening was not made with its share of the key")


def _digest(channel: Channel, key: Key) -> bytes:
    return hashlib.sha256(spell("covey dealt key/1", *_context(channel), key.pack())).digest()


def _context(channel: Channel) -> tuple[Label, ...]:
    return ("dealt committee", channel.session, channel.step)


def _refused(channel: Channel, party: str, reason: str) -> PeerError:
    return PeerError(party=party, step=channel.step or "the committee", reason=reason)
