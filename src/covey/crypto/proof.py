"""Proofs about a secret exponent, without interaction: that its owner knows it, and that it was used as it should be.

Schnorr's keeps a party from naming a key that cancels the others' out of a joint one. Chaum and Pedersen's shows that
many points were multiplied by the secret of a public key: one proof for all of them, on a sum whose weights are a
hash of every point, so that a single wrong one escapes with a chance of one in the group's order. The challenges cover
a context, so that a proof holds in one session and for one party. Sound in the random oracle model.

Nonces are hedged: a hash of the secret, of random bytes and of the statement. Whoever runs a proof again from the same
seed on another statement, as after a restored backup, draws other nonces, and the two responses do not give the secret
away; where the generator is broken, the nonces still follow from the secret.
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
from covey.crypto.secret import Secret
from covey.errors import InputError

PROOF_BYTES = POINT_BYTES + SCALAR_BYTES
EQUALITY_BYTES = 2 * POINT_BYTES + SCALAR_BYTES


def hedged(stream: Stream, secret: bytes, *statement: Label) -> Stream:
    """The stream that a proof's nonces are drawn from: another one for each secret and each statement."""
    fresh = stream.bytes(32)
    return Stream(Secret(hashlib.sha512(spell("covey nonces/1", secret, fresh, *statement)).digest()[:32]))


def challenge(*labels: Label) -> int:
    """A number from 1 to the group's order less 1 that nobody could choose."""
    return int.from_bytes(hashlib.sha512(spell(*labels)).digest(), "little") % (ORDER - 1) + 1


def weights(count: int, *labels: Label) -> list[int]:
    """That many numbers below 2^128 that nobody could choose, none of them zero."""
    raw = hashlib.shake_256(spell(*labels)).digest(16 * count)
    return [int.from_bytes(raw[at : at + 16], "little") or 1 for at in range(0, len(raw), 16)]


def prove(secret: Scalar, public: Point, stream: Stream, *context: Label) -> bytes:
    """A proof of knowing the secret of `public`."""
    nonce = Scalar.fresh(hedged(stream, secret.reveal(), "knows", *context, public.data))
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
    asked = _challenge(public, commitment.data, context)
    return GENERATOR.times(response) == commitment.plus(public.times(asked))


def prove_equal(
    secret: Scalar, public: Points, bases: Points, multiples: Points, stream: Stream, *context: Label
) -> bytes:
    """A proof that `multiples` are the bases times the secret of `public`, each its own."""
    start = _statement(public, bases, multiples, context)
    base = weighted_sum(bases, _weights(start, len(bases)))
    nonce = Scalar.fresh(hedged(stream, secret.reveal(), "equal", start))
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
    by = _weights(start, len(bases))
    base, multiple = weighted_sum(bases, by), weighted_sum(multiples, by)
    asked = _scalar(start, proof[: 2 * POINT_BYTES])
    return GENERATOR.times(response) == ours.plus(public.times(asked)) and base.times(response) == theirs.plus(
        multiple.times(asked)
    )


def _statement(public: Points, bases: Points, multiples: Points, context: tuple[Label, ...]) -> bytes:
    """The statement that is proved, as a hash: all that a challenge or a weight depends on but the commitments."""
    return hashlib.sha512(spell("covey equality/1", *context, public.data, bases.data, multiples.data)).digest()


def _weights(start: bytes, count: int) -> Scalars:
    return Scalars.of(weights(count, "covey equality weights/1", start))


def _scalar(start: bytes, commitments: bytes) -> Scalars:
    return Scalars.of([challenge("covey equality challenge/1", start, commitments)])


def _challenge(public: Point, commitment: bytes, context: tuple[Label, ...]) -> Scalars:
    return Scalars.of([challenge("covey proof/1", *context, public.data, commitment)])
