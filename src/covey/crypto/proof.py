"""Proofs about a secret exponent, without interaction: that its owner knows it, and that it was used as it should be.

Schnorr's keeps a party from naming a key that cancels the others' out of a joint one. Chaum and Pedersen's shows that
many points were multiplied by the secret of a public key: one proof for all of them, on a sum whose weights are a
hash of every point, so that a single wrong one escapes with a chance of one in the group's order. The challenges cover
a context, so that a proof holds in one session and for one party. Sound in the random oracle model.
"""

from __future__ import annotations

import hashlib

from covey.crypto.group import (
    GENERATOR,
    ORDER,
    POINT_BYTES,
    SCALAR_BYTES,
    Point,
    Points,
    Scalar,
    Scalars,
    generator_times,
    weighted_sum,
)
from covey.crypto.rng import Label, Stream, spell
from covey.errors import InputError

PROOF_BYTES = POINT_BYTES + SCALAR_BYTES
EQUALITY_BYTES = 2 * POINT_BYTES + SCALAR_BYTES


def prove(secret: Scalar, public: Point, stream: Stream, *context: Label) -> bytes:
    """A proof of knowing the secret of `public`."""
    nonce = Scalar.fresh(stream)
    commitment = generator_times(nonce).data
    response = nonce.plus(secret.times(_challenge(public, commitment, context)))
    return commitment + response.reveal()


def holds(proof: bytes, public: Point, *context: Label) -> bool:
    """True if this is a proof for that key and that context."""
    try:
        commitment = Point(proof[:POINT_BYTES])
        response = Scalar(proof[POINT_BYTES:])
    except InputError:
        return False
    challenge = _challenge(public, commitment.data, context)
    return GENERATOR.times(response) == commitment.plus(public.times(challenge))


def prove_equal(
    secret: Scalar, public: Points, bases: Points, multiples: Points, stream: Stream, *context: Label
) -> bytes:
    """A proof that `multiples` are the bases times the secret of `public`, each its own."""
    start = _statement(public, bases, multiples, context)
    base = weighted_sum(bases, _weights(start, len(bases)))
    nonce = Scalar.fresh(stream)
    commitments = generator_times(nonce).data + base.times(nonce).data
    response = nonce.plus(secret.times(_scalar(start, commitments)))
    return commitments + response.reveal()


def equal_holds(proof: bytes, public: Points, bases: Points, multiples: Points, *context: Label) -> bool:
    """True if this proves, for that key and that context, that these are the multiples of these bases."""
    if len(bases) != len(multiples) or not len(bases):
        return False
    try:
        ours, theirs = Point(proof[:POINT_BYTES]), Point(proof[POINT_BYTES : 2 * POINT_BYTES])
        response = Scalar(proof[2 * POINT_BYTES :])
    except InputError:
        return False
    start = _statement(public, bases, multiples, context)
    weights = _weights(start, len(bases))
    base, multiple = weighted_sum(bases, weights), weighted_sum(multiples, weights)
    challenge = _scalar(start, proof[: 2 * POINT_BYTES])
    return GENERATOR.times(response) == ours.plus(public.times(challenge)) and base.times(response) == theirs.plus(
        multiple.times(challenge)
    )


def _statement(public: Points, bases: Points, multiples: Points, context: tuple[Label, ...]) -> bytes:
    """The statement that is proved, as a hash: all that a challenge or a weight depends on but the commitments."""
    return hashlib.sha512(spell("covey equality/1", *context, public.data, bases.data, multiples.data)).digest()


def _weights(start: bytes, count: int) -> Scalars:
    """Numbers below 2^128 that nobody could choose, none of them zero."""
    raw = hashlib.shake_256(spell("covey equality weights/1", start)).digest(16 * count)
    return Scalars.of(int.from_bytes(raw[at : at + 16], "little") or 1 for at in range(0, len(raw), 16))


def _scalar(start: bytes, commitments: bytes) -> Scalars:
    digest = hashlib.sha512(spell("covey equality challenge/1", start, commitments)).digest()
    return Scalars.of([int.from_bytes(digest, "little") % (ORDER - 1) + 1])


def _challenge(public: Point, commitment: bytes, context: tuple[Label, ...]) -> Scalars:
    digest = hashlib.sha512(spell("covey proof/1", *context, public.data, commitment)).digest()
    return Scalars.of([int.from_bytes(digest, "little") % (ORDER - 1) + 1])
