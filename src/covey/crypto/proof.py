"""A proof that whoever names a public key knows its secret: Schnorr's, without interaction.

It keeps a party from naming a key that cancels the others' out of a joint one. The challenge covers a
context, so that a proof holds in one session and for one party. Sound in the random oracle model.
"""

from __future__ import annotations

import hashlib

from covey.crypto.group import GENERATOR, ORDER, POINT_BYTES, SCALAR_BYTES, Point, Scalar, Scalars, generator_times
from covey.crypto.rng import Label, Stream, spell
from covey.errors import InputError

PROOF_BYTES = POINT_BYTES + SCALAR_BYTES


def prove(secret: Scalar, public: Point, stream: Stream, *context: Label) -> bytes:
    """A proof of knowing the secret of `public`."""
    nonce = Scalar.fresh(stream)
    commitment = generator_times(nonce).data
    response = nonce.plus(secret.times(_challenge(public, commitment, context)))
    return commitment + response.reveal()


def holds(proof: bytes, public: Point, *context: Label) -> bool:
    """Is this a proof for that key and that context?"""
    try:
        commitment = Point(proof[:POINT_BYTES])
        response = Scalar(proof[POINT_BYTES:])
    except InputError:
        return False
    challenge = _challenge(public, commitment.data, context)
    return GENERATOR.times(response) == commitment.plus(public.times(challenge))


def _challenge(public: Point, commitment: bytes, context: tuple[Label, ...]) -> Scalars:
    digest = hashlib.sha512(spell("covey proof/1", *context, public.data, commitment)).digest()
    return Scalars.of([int.from_bytes(digest, "little") % (ORDER - 1) + 1])
