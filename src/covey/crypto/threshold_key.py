"""A key in n parts of which any t open, and fewer than t say nothing: ElGamal in the exponent, without a dealer.

Each trustee deals shares of a secret polynomial of its own and shows commitments to it (Feldman 1987). The joint
polynomial is the sum of all; its value at 0 is the secret, which nobody ever has, and a trustee's share is its value at
the trustee's place: 1, 2, … (Pedersen 1991). Who lets others commit first, and proves that it knows what it deals,
cannot choose the key (`covey.protocols.as_printed.collect.committee` sees to both).

A trustee's part of an opening comes with a proof that it was made with its share (Chaum and Pedersen 1992), one for a
whole batch. So a wrong part is noticed, and any t right ones do.
`covey.crypto.elgamal` encrypts, adds up and re-randomises; numbers are read back with its `Logarithms`.

Where an opener must take part in every opening, the key to encrypt under is the sum of the opener's own and the
committee's: `joint_key([own.public, committee.public])`. Then no coalition of trustees opens anything by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from covey.crypto import proof
from covey.crypto.group import ORDER, Point, Points, Scalar, Scalars, generator_times, weighted_sum
from covey.crypto.rng import Label, Stream
from covey.errors import InputError

EQUALITY_BYTES = proof.EQUALITY_BYTES
"""Of the proof that comes with a part of an opening, whatever the number of ciphertexts."""

LARGEST_COMMITTEE = 255


def check_threshold(threshold: int, trustees: int) -> None:
    """Raises `InputError` unless some, and not more than all, of the trustees are needed."""
    if not 1 <= threshold <= trustees <= LARGEST_COMMITTEE:
        raise InputError(f"{threshold} of {trustees} trustees: need 1 to all of at most {LARGEST_COMMITTEE}")


class Dealer:
    """One trustee's contribution to the joint key: a secret polynomial with `threshold` coefficients."""

    __slots__ = ("_coefficients", "commitments")

    def __init__(self, threshold: int, stream: Stream) -> None:
        self._coefficients = [Scalar.fresh(stream) for _ in range(threshold)]
        self.commitments = generator_times(Scalars(b"".join(each.reveal() for each in self._coefficients)))
        """The generator times each coefficient, the constant one first."""

    def prove(self, stream: Stream, *context: Label) -> bytes:
        """A proof of knowing the constant coefficient: without it the last to deal could choose the joint key."""
        return proof.prove(self._coefficients[0], constant(self.commitments), stream, *context)

    def share(self, place: int) -> Scalar:
        """The share of the trustee at that place, 1 or higher."""
        _checked_places([place])
        value: Scalars = self._coefficients[-1]
        for coefficient in reversed(self._coefficients[:-1]):
            value = value.times(Scalars.of([place])).plus(coefficient)
        return Scalar(value.reveal())

    def __repr__(self) -> str:
        return "Dealer(…)"


def constant(commitments: Points) -> Point:
    """The commitment to a polynomial's value at 0."""
    return Point(commitments.slice(0, 1).data)


def value_at(commitments: Points, place: int) -> Points:
    """The generator times the committed polynomial's value at a place."""
    degrees = range(len(commitments))
    return weighted_sum(commitments, Scalars.of(pow(place, degree, ORDER) for degree in degrees))


def dealt_right(share: Scalar, place: int, commitments: Points) -> bool:
    """True if this share is the committed polynomial's value for that place."""
    return generator_times(share) == value_at(commitments, place)


@dataclass(frozen=True)
class CommitteeKey:
    """The public part of a committee's key: commitments to the joint polynomial, and the number of trustees."""

    commitments: Points
    trustees: int

    def __post_init__(self) -> None:
        check_threshold(len(self.commitments), self.trustees)
        if self.commitments.identities()[0]:
            raise InputError("the trustees' parts of the key cancel each other out")

    @classmethod
    def of(cls, dealt: Sequence[Points]) -> CommitteeKey:
        """The key of these trustees, from the commitments of each. Raises `InputError` for unequal lengths."""
        if len({len(each) for each in dealt}) != 1:
            raise InputError("each trustee commits to a polynomial of the same length")
        return cls(reduce(Points.plus, dealt), len(dealt))

    @property
    def threshold(self) -> int:
        """The number of trustees that open together."""
        return len(self.commitments)

    @property
    def public(self) -> Point:
        """The key to encrypt under."""
        return constant(self.commitments)

    def public_of(self, place: int) -> Points:
        """The generator times the share of the trustee at that place, against which its proofs are checked."""
        self._checked([place])
        return value_at(self.commitments, place)

    def holds(self, place: int, first: Points, part: PartialOpening, *context: Label) -> bool:
        """Was this part made from these ciphertexts' first halves with the share of the trustee at that place?"""
        if len(part.points) != len(first) or not len(first):
            return False
        return proof.equal_holds(part.proof, self.public_of(place), first, part.points, *context, place)

    def combine(self, parts: Mapping[int, Points]) -> Points:
        """The secret key times each first half, from exactly `threshold` parts, by place.

        With this, `opened(ciphertexts, [...])` of `covey.crypto.elgamal` gives the messages.
        """
        self._checked(list(parts))
        if len(parts) != self.threshold:
            raise InputError(f"{len(parts)} parts of an opening, {self.threshold} are needed: no more, no fewer")
        if len({len(part) for part in parts.values()}) != 1:
            raise InputError("the parts of an opening have the same length")
        weights = lagrange_weights(list(parts))
        return reduce(Points.plus, (part.times(Scalars.of([weights[place]])) for place, part in parts.items()))

    def _checked(self, places: Sequence[int]) -> None:
        _checked_places(places)
        if any(place > self.trustees for place in places):
            raise InputError(f"a trustee's place lies between 1 and {self.trustees}")


@dataclass(frozen=True)
class PartialOpening:
    """One trustee's part of the opening of a batch, and the proof that it is right."""

    points: Points
    proof: bytes


class Trustee:
    """One trustee's share of a committee's key."""

    __slots__ = ("_secret", "key", "place")

    def __init__(self, place: int, shares: Iterable[Scalars], key: CommitteeKey) -> None:
        """`shares` is what every trustee dealt to this one, its own included.

        Raises `InputError` if they do not add up to the value of the committed polynomial.
        """
        self.place, self.key = place, key
        self._secret = Scalar(reduce(Scalars.plus, shares).reveal())
        if generator_times(self._secret) != key.public_of(place):
            raise InputError(f"the shares dealt to place {place} do not fit the commitments")

    def unlock(self, first: Points, stream: Stream, *context: Label) -> PartialOpening:
        """This trustee's part of the opening of ciphertexts with these first halves.

        The proof holds for this context only: name the session, the step and whom it is for.
        """
        points = first.times(self._secret)
        public = self.key.public_of(self.place)
        made = proof.prove_equal(self._secret, public, first, points, stream, *context, self.place)
        return PartialOpening(points, made)

    def __repr__(self) -> str:
        return f"Trustee({self.place}, …)"


def lagrange_weights(places: Sequence[int]) -> dict[int, int]:
    """The factor of each place's value in the value at 0, modulo the group's order."""
    _checked_places(places)
    weights = {}
    for place in places:
        above = below = 1
        for other in places:
            if other != place:
                above = above * other % ORDER
                below = below * (other - place) % ORDER
        weights[place] = above * pow(below, -1, ORDER) % ORDER
    return weights


def _checked_places(places: Sequence[int]) -> None:
    if any(place < 1 for place in places) or len(set(places)) != len(places):
        raise InputError("a trustee's place is 1 or more, and no two have the same: place 0 is the secret's")
