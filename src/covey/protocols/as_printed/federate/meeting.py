"""Two providers that have met: keys for this session, and for everyone of the population an encrypted bit each way.

A bit says whether its sender has that user. The keys' holders alone could read them, and nobody asks them to: the other
side adds up bits of groups that it chooses, and what is opened of the sums is decided by comparisons.

Each proves that its modulus is one of Paillier's and that what it encrypted are bits. With larger numbers, or a modulus
whose ciphertexts hold a second number, it would read from masked sums which users the other has.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from covey.arrays import Longs
from covey.crypto import packing, paillier_proof
from covey.crypto.group import Point
from covey.crypto.paillier import Ciphertexts, PublicKey, SecretKey
from covey.crypto.reading import ReadingKey
from covey.crypto.rng import Label, Stream
from covey.errors import InputError, PeerError
from covey.protocols.as_printed.federate.users import OwnUsers, ProviderSide
from covey.secure import ciphers
from covey.secure.ciphers import Ciphers
from covey.wire import FRAME_BYTES, Channel, Message, gather

BIT_KEY_BYTES = FRAME_BYTES + 60
NUMBER_KEY_BYTES = FRAME_BYTES + 42
PROOF_BYTES = FRAME_BYTES + 42
"""Of the message around a proof of bits."""


class BitKey(Message, tag="federate.bit-key"):
    """The key under which the sender reads comparisons in this session."""

    key: Point


class NumberKey(Message, tag="federate.number-key"):
    """The key under which the sender reads numbers in this session, and the roots that prove its modulus."""

    key: PublicKey
    roots: Annotated[bytes, Meta(max_length=1 << 14)]


class MembershipBits(Ciphers, tag="federate.membership"):
    """A bit for each of the population, encrypted under the sender's key: 1 if the sender has that user."""


class BitsProof(Message, tag="federate.bits-proof"):
    """The proof that some of the sender's membership bits are bits."""

    proof: Annotated[bytes, Meta(max_length=1 << 23)]


@dataclass(frozen=True)
class Pair(ProviderSide):
    """One provider's side of the pair: what comparisons need."""

    peer: str
    reading: ReadingKey
    their_bits: Point

    @property
    def is_first(self) -> bool:
        """True if this is the provider that divides where both ranges are equal."""
        return self.me == self.params.first


@dataclass(frozen=True)
class CountingPair(Pair):
    """The same with membership bits, to be added up."""

    secret: SecretKey
    theirs: Ciphertexts
    """The other provider's membership bits, under its key."""

    async def send_numbers(
        self, channel: Channel, kind: type[Ciphers], sums: Ciphertexts, room: int, fresh: Stream
    ) -> None:
        """Sends sums under the other's key, of `room` bits each, many in one ciphertext."""
        packed = packing.pack(sums, room, packing.slots(sums.key, room)).rerandomised(fresh)
        await ciphers.send(channel, self.peer, kind, packed)

    async def receive_numbers(self, channel: Channel, kind: type[Ciphers], room: int, count: int) -> list[int]:
        """The numbers that the other packed under our key. Raises PeerError where a pack holds more."""
        key = self.secret.public
        slots = packing.slots(key, room)
        packed = await ciphers.receive(channel, self.peer, kind, key, -(-count // slots))
        try:
            return packing.unpack(self.secret.decrypt(packed), room, slots, count)
        except InputError as error:
            raise PeerError(party=self.peer, step=channel.step, reason=str(error)) from None

    def theirs_among(self, members: Longs) -> Ciphertexts:
        """The number of these that the other provider has, encrypted; not yet re-randomised."""
        return self.theirs.totals([members.tolist()])


async def meet(channel: Channel, own: OwnUsers, peer: str) -> Pair:
    """Exchanges keys for comparisons."""
    reading = ReadingKey(channel.rng.stream("bit key"))
    await channel.send(peer, BitKey(reading.public))
    return Pair(own, channel.me, peer, reading, (await channel.receive(peer, BitKey)).key)


async def enrol(channel: Channel, pair: Pair) -> CountingPair:
    """Exchanges membership bits. Raises PeerError for a bad key, one of another size, and for what are no bits."""
    own, peer, bits = pair.users, pair.peer, pair.params.bits
    secret = SecretKey(bits, channel.rng.stream("number key"))
    await channel.send(
        peer, NumberKey(secret.public, paillier_proof.prove_modulus(secret, *_context(channel, pair.me)))
    )
    shown = await channel.receive(peer, NumberKey)
    key = shown.key
    if key.bits != bits:
        raise channel.refusal(peer, f"a key of {key.bits} bits, the study says {bits}")
    if not await asyncio.to_thread(paillier_proof.modulus_holds, key, shown.roots, *_context(channel, peer)):
        raise channel.refusal(peer, "it does not prove that its key's modulus is one of Paillier's")
    at, member = channel.at("membership"), own.member.astype(int).tolist()
    exponents = secret.public.exponents(len(member), at.rng.stream("membership"))
    mine = secret.encrypt_with(member, exponents)

    found: list[Ciphertexts] = []

    async def read() -> None:
        found.append(await ciphers.receive(at, peer, MembershipBits, key, len(mine)))

    await gather(ciphers.send(at, peer, MembershipBits, mine), read())
    await gather(_prove(at, peer, secret, member, exponents, mine), _check(at, peer, found[0]))
    return CountingPair(own, pair.me, peer, pair.reading, pair.their_bits, secret, found[0])


async def _prove(
    channel: Channel, peer: str, secret: SecretKey, bits: list[int], exponents: list[bytes], mine: Ciphertexts
) -> None:
    """Proves our membership bits, a part after the other."""
    for number, (first, last) in enumerate(paillier_proof.blocks(len(bits))):
        proof = await asyncio.to_thread(
            paillier_proof.prove_bits,
            secret,
            bits[first:last],
            exponents[first:last],
            mine.slice(first, last),
            channel.rng.stream("proof", number),
            *_context(channel, channel.me),
            number,
        )
        await channel.send(peer, BitsProof(proof))


async def _check(channel: Channel, peer: str, theirs: Ciphertexts) -> None:
    """Checks the other's proofs. Raises PeerError where one does not hold."""
    for number, (first, last) in enumerate(paillier_proof.blocks(len(theirs))):
        shown = (await channel.receive(peer, BitsProof)).proof
        part, context = theirs.slice(first, last), (*_context(channel, peer), number)
        if not await asyncio.to_thread(paillier_proof.bits_hold, shown, part, *context):
            raise channel.refusal(peer, "it does not prove that its membership bits are bits")


def _context(channel: Channel, prover: str) -> tuple[Label, ...]:
    return ("federate", channel.session, channel.step, prover)


def room_for(sizes: Sequence[int]) -> int:
    """Bits for a number of members of any of these groups."""
    return int(max(sizes)).bit_length()
