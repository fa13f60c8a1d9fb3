"""A proof to one verifier that each of many encrypted numbers lies in a range, cheap enough for thousands of numbers.

Source    Camenisch, Chaabouni and shelat (Asiacrypt 2008), with a verifier that keeps the signing key, so that no
          pairing is needed. The verifier draws s and issues a token G / (s + u) for each number u = 1, 2, … of the
          range, counted from its lower end. The prover blinds the token of its number, V = t * token, and shows that
          it knows t and u with s V = t G - u V, and that u is what it encrypted. Without a token it cannot.
Cost      for each number three multiplications of the prover and four of the verifier, and 96 bytes.
Security  a number outside the range would need a token that was not issued: the strong Diffie-Hellman assumption.
          The blinded token is a random element, so that a number stays hidden whatever is assumed; a verifier that
          issues tokens by another rule could tell numbers apart, and has to prove that it did not.
Not       it convinces the verifier alone, who could have made such a proof by itself.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import lru_cache

from covey.crypto import proof
from covey.crypto.elgamal import Ciphertexts, KeyShare
from covey.crypto.group import (
    GENERATOR,
    POINT_BYTES,
    Point,
    Points,
    Scalars,
    generator_times,
    powers,
    weighted_sum,
)
from covey.crypto.proof import challenge, hedged, weights
from covey.crypto.rng import Label, Stream, spell
from covey.errors import InputError

NUMBER_BYTES = 3 * POINT_BYTES
"""Of the proof, for each number."""


class Issuer:
    """The verifier's side: its key, and the tokens of a range."""

    __slots__ = ("_key", "low", "public", "tokens")

    def __init__(self, numbers: range, stream: Stream) -> None:
        self._key, self.low = KeyShare(stream), numbers.start
        self.public = self._key.public
        secret = self._key.surrender().numbers()[0]
        self.tokens = generator_times(Scalars.of(secret + place for place in _places(numbers)).inverse())

    def prove(self, stream: Stream, *context: Label) -> bytes:
        """A proof that the tokens are as they should be."""
        multiples = _multiples(self.tokens)
        return proof.prove_equal(self._key.surrender(), self.public, self.tokens, multiples, stream, *context)

    def holds(self, shown: bytes, hidden: Ciphertexts, key: Points, *context: Label) -> bool:
        """True if this proves, for that context, that all these numbers under the key lie in the range."""
        count = len(hidden)
        if not count:
            return not shown
        if len(shown) != proof_bytes(count):
            return False
        cut = POINT_BYTES * (count + 1)
        try:
            asked, blinded = Scalars(shown[:POINT_BYTES]), Points(shown[POINT_BYTES:cut])
            responses = Scalars(shown[cut:]).numbers()
        except InputError:
            return False
        unblind, numbers, rest = responses[:count], responses[count:-1], responses[-1]
        start = _statement(hidden, key, self.tokens, blinded, context)
        by = weights(count, "covey range weights/1", start)
        secret = self._key.surrender().numbers()[0] * asked.numbers()[0]
        try:
            ours = powers(unblind).minus(blinded.times(Scalars.of(number + secret for number in numbers)))
            first = weighted_sum(hidden.first, Scalars.of(by)).times(asked)
            shifted = weighted_sum(_shifted(hidden, self.low).second, Scalars.of(by)).times(asked)
        except InputError:
            return False
        content = powers([sum(one * other for one, other in zip(by, numbers, strict=True))])
        both = Points.join([
            powers([rest]).minus(first), content.plus(key.times(Scalars.of([rest]))).minus(shifted)
        ])  # fmt: skip
        return asked.numbers()[0] == challenge("covey range/1", start, ours.data, both.data)

    def __repr__(self) -> str:
        return f"Issuer({len(self.tokens)} numbers from {self.low})"


@lru_cache(maxsize=4)  # thousands of provers in one process are shown the same tokens
def issued_right(tokens: Points, public: Point, shown: bytes, numbers: range, *context: Label) -> bool:
    """True if these are the tokens of a range, so that a proof made with them shows nothing but that it holds."""
    return len(tokens) == len(numbers) and proof.equal_holds(shown, public, tokens, _multiples(tokens), *context)


def prove(
    numbers: Sequence[int],
    low: int,
    tokens: Points,
    hidden: Ciphertexts,
    randomness: Scalars,
    key: Points,
    stream: Stream,
    *context: Label,
) -> bytes:
    """A proof, for this context, that these numbers, encrypted under the key with that randomness, have tokens."""
    if not numbers:
        return b""
    places, count = [number - low + 1 for number in numbers], len(numbers)
    secrets = spell(randomness.reveal(), *places)
    blinds = Scalars.draw(hedged(stream, secrets, "range blinds", key.data, *context), count)
    blinded = tokens.take([place - 1 for place in places]).times(blinds)
    start = _statement(hidden, key, tokens, blinded, context)
    by = weights(count, "covey range weights/1", start)
    drawn = hedged(stream, secrets + blinds.reveal(), "range", start)
    nonces = Scalars.draw(drawn, 2 * count + 1).numbers()
    unblind, masks, rest = nonces[:count], nonces[count:-1], nonces[-1]
    ours = powers(unblind).minus(blinded.times(Scalars.of(masks)))
    content = powers([sum(one * other for one, other in zip(by, masks, strict=True))])
    both = Points.join([powers([rest]), content.plus(key.times(Scalars.of([rest])))])
    asked = challenge("covey range/1", start, ours.data, both.data)
    known = [*blinds.numbers(), *places]
    responses = [nonce + asked * each for nonce, each in zip([*unblind, *masks], known, strict=True)]
    total = sum(one * other for one, other in zip(by, randomness.numbers(), strict=True))
    answered = Scalars.of([asked, *responses, rest + asked * total]).reveal()
    return answered[:POINT_BYTES] + blinded.data + answered[POINT_BYTES:]


def proof_bytes(count: int) -> int:
    """The length of a proof about that many numbers."""
    return NUMBER_BYTES * count + 2 * POINT_BYTES if count else 0


def _places(numbers: range) -> range:
    return range(1, len(numbers) + 1)


def _multiples(tokens: Points) -> Points:
    """The tokens times s, if they are right: s times G / (s + u) is G less u times the token."""
    return GENERATOR.minus(tokens.times(Scalars.of(range(1, len(tokens) + 1))))


def _shifted(hidden: Ciphertexts, low: int) -> Ciphertexts:
    """Ciphertexts of the numbers counted from 1 at the lower end."""
    return hidden.plus_numbers([1 - low] * len(hidden))


def _statement(hidden: Ciphertexts, key: Points, tokens: Points, blinded: Points, context: tuple[Label, ...]) -> bytes:
    spelt = (key.data, tokens.data, hidden.first.data, hidden.second.data, blinded.data)
    return hashlib.sha512(spell("covey range statement/1", *context, *spelt)).digest()
