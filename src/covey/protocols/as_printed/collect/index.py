"""The encrypted index: the position of every cell on the line, which nobody knows and everyone can read encrypted.

Source    Xue and others, section 4.2. A joint number is the sum of one that a respondent drew and one that the
          collector drew, both uniform on rho; a cell's position is the sum of all joint numbers up to it, behind b that
          precede. Each respondent draws the numbers of a block of cells and encrypts them; the collector adds its own
          to the sums.
Fixed     each published entry is re-randomised; otherwise the owner of a number would find the collector's number
          from the ratio of neighbouring entries.
Liars     a respondent proves that each of its numbers lies in rho, so that every entry is a position that a cell can
          have: with one number of 2^40 all respondents behind it would stand where no cell is, and be blamed for it.
"""

from __future__ import annotations

import asyncio
from typing import Annotated

import numpy as np
from msgspec import Meta

from covey.arrays import Longs, Octets
from covey.crypto import range_proof
from covey.crypto.elgamal import Ciphertexts, encrypt_with, rerandomise
from covey.crypto.group import POINT_BYTES, Point, Points, Scalars
from covey.crypto.proof import EQUALITY_BYTES
from covey.crypto.range_proof import Issuer
from covey.crypto.rng import Label, Stream
from covey.protocols.as_printed.collect.keys import Membership
from covey.protocols.as_printed.collect.parameters import Parameters
from covey.wire import Channel, Message
from covey.wire.message import PAYLOAD_BYTES

ENTRY_BYTES = 2 * POINT_BYTES


class Tokens(Message, tag="collect.tokens"):
    """The collector's tokens for the numbers of rho, and the proof that they are right (`covey.crypto.range_proof`)."""

    issuer: Point
    tokens: Points
    right: Annotated[bytes, Meta(max_length=EQUALITY_BYTES)]


class Encrypted(Message):
    """Numbers of a respondent, encrypted: the first and the second halves of the ciphertexts; and a proof of them."""

    first: Points
    second: Points
    proof: Annotated[bytes, Meta(max_length=PAYLOAD_BYTES)]


class Numbers(Encrypted, tag="collect.numbers"):
    """A respondent's random numbers, those of its block of cells and then some of the b before the first cell."""


def block(cells: int, respondents: int, number: int) -> tuple[int, int]:
    """The cells whose numbers that respondent draws: from the first up to but not including the last."""
    return cells * number // respondents, cells * (number + 1) // respondents


def draw(parameters: Parameters, stream: Stream, count: int) -> Longs:
    """Draws that many random numbers from rho."""
    return stream.words_below(parameters.high - parameters.low + 1, count).astype(np.int64) + parameters.low


def blocks(parameters: Parameters, respondents: int, number: int) -> tuple[int, int]:
    """The number of numbers that a respondent draws for cells, and of those before the first cell."""
    first, last = block(parameters.grid.cells, respondents, number)
    before, after = block(parameters.b, respondents, number)
    return last - first, after - before


def drawn(parameters: Parameters, respondents: int, number: int, numbers: Stream) -> list[int]:
    """A respondent's numbers: one for each cell of its block, and then its part of the beginning."""
    own = draw(parameters, numbers, sum(blocks(parameters, respondents, number)))
    return [int(each) for each in own]


async def contribute(channel: Channel, parameters: Parameters, hub: str, membership: Membership) -> None:
    """Sends a respondent's numbers with their proof. Raises PeerError if the tokens for it could tell them apart."""
    issued = await channel.receive(hub, Tokens)
    span = range(parameters.low, parameters.high + 1)
    context = _context(channel, hub)
    right = await asyncio.to_thread(
        range_proof.issued_right, issued.tokens, issued.issuer, issued.right, span, *context
    )
    if not right:
        raise channel.refusal(hub, "its tokens for the range of numbers are not what they should be")
    numbers = drawn(parameters, membership.respondents, membership.number, channel.rng.stream("numbers"))
    await channel.send(
        hub, await asyncio.to_thread(encrypted, channel, numbers, issued.tokens, parameters, membership.key)
    )


def encrypted(channel: Channel, numbers: list[int], tokens: Points, parameters: Parameters, key: Points) -> Numbers:
    """A respondent's numbers under the key, and the proof that each has a token."""
    fresh = Scalars.draw(channel.rng.stream("fresh"), len(numbers))
    made, stream = encrypt_with(numbers, key, fresh), channel.rng.stream("proof")
    proof = range_proof.prove(numbers, parameters.low, tokens, made, fresh, key, stream, *_context(channel, channel.me))
    return Numbers(made.first, made.second, proof)


def issue(channel: Channel, parameters: Parameters) -> tuple[Issuer, Tokens]:
    """The collector's tokens, before it sends them."""
    issuer = Issuer(range(parameters.low, parameters.high + 1), channel.rng.stream("issuer"))
    right = issuer.prove(channel.rng.stream("tokens"), *_context(channel, channel.me))
    return issuer, Tokens(issuer.public, issuer.tokens, right)


async def receive(channel: Channel, handle: str, issuer: Issuer, key: Points, due: int) -> Ciphertexts:
    """One respondent's numbers, as the collector reads them. Raises PeerError unless they are proved to be in rho."""
    message = await channel.receive(handle, Numbers)
    made = ciphertexts_of(channel, handle, message, due, "numbers")
    if not await asyncio.to_thread(issuer.holds, message.proof, made, key, *_context(channel, handle)):
        raise channel.refusal(handle, "it does not prove that its numbers for the index lie in rho")
    return made


def ciphertexts_of(channel: Channel, handle: str, message: Encrypted, due: int, what: str) -> Ciphertexts:
    """A respondent's ciphertexts. Raises PeerError unless there are `due` of them."""
    if len(message.first) != due or len(message.second) != due:
        raise channel.refusal(
            handle, f"{len(message.first)} and {len(message.second)} halves of {what}, expected {due}"
        )
    return Ciphertexts(message.first, message.second)


def build(parameters: Parameters, key: Points, theirs: list[Ciphertexts], own: Longs, fresh: Stream) -> Ciphertexts:
    """The index, from everyone's numbers in the order of respondents, and the collector's: b first, then the cells'."""
    counts = [blocks(parameters, len(theirs), number)[0] for number in range(len(theirs))]
    steps = Ciphertexts.join([part.slice(0, count) for part, count in zip(theirs, counts, strict=True)])
    before, mine = int(own[: parameters.b].sum()), np.cumsum(own[parameters.b :])
    if parameters.b:
        parts = [part.slice(count, len(part)) for part, count in zip(theirs, counts, strict=True)]
        begun = steps.slice(0, 1).plus(Ciphertexts.join(parts).total())
        steps = Ciphertexts.join([begun, steps.slice(1, len(steps))])
    return rerandomise(steps.running_totals().plus_numbers((mine + before).tolist()), key, fresh)


def _context(channel: Channel, prover: str) -> tuple[Label, ...]:
    return ("collect index", channel.session, channel.step, prover)


def _rows(points: Points) -> Octets:
    return np.frombuffer(points.data, dtype=np.uint8).reshape(-1, POINT_BYTES)


def entry(raw: bytes, place: int) -> Ciphertexts:
    """One entry of an index in bytes. Raises InputError if it is no ciphertext."""
    own = raw[place * ENTRY_BYTES : (place + 1) * ENTRY_BYTES]
    return Ciphertexts(Points(own[:POINT_BYTES]), Points(own[POINT_BYTES:]))


def spell(index: Ciphertexts) -> bytes:
    """The index in bytes, an entry after the other."""
    return np.concatenate([_rows(index.first), _rows(index.second)], axis=1).tobytes()
