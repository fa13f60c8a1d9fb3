"""Secrets cut into shares, on whole vectors: any `degree` shares say nothing, any `degree + 1` say all.

Shamir: a secret is the value at 0 of a random polynomial, the share of the party at place i (1, 2, … in the sorted
order of names) its value at i. Adding shares adds secrets; multiplying them multiplies secrets and doubles the degree:
`share` the product again, hand the shares out and `reduce_degree`. The degree with which that works, and with which
fewer than half of the parties may collude, is `threshold(parties)`.

A stack of shares is an array with one row per place, place 1 first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

import numpy as np

from covey.arrays import Words
from covey.crypto.field import F61, Field
from covey.crypto.rng import Stream
from covey.errors import InputError, PeerError


def threshold(parties: int) -> int:
    """The number of parties that may collude: the highest degree of which a product can still be opened by all."""
    return (parties - 1) // 2


def places(parties: Iterable[str]) -> dict[str, int]:
    """Each party's place: 1, 2, … in sorted order, the same for everyone."""
    return {name: place for place, name in enumerate(sorted(parties), start=1)}


def share(secrets: Words, degree: int, parties: int, stream: Stream, field: Field = F61) -> Words:
    """Shares of these secrets for that many parties."""
    if not 0 <= degree < parties:
        raise InputError(f"{parties} parties cannot share a secret with degree {degree}")
    known = {0: secrets} | {place: field.draw(stream, len(secrets)) for place in range(1, degree + 1)}
    return extend(known, range(1, parties + 1), field)


def extend(known: Mapping[int, Words], to: Sequence[int], field: Field = F61) -> Words:
    """The values at `to` of the polynomials through the known ones; place 0 is the secret."""
    return field.combine(lagrange(tuple(known), to, field), np.stack(tuple(known.values())))


def reveal(shares: Mapping[int, Words], degree: int, field: Field = F61) -> Words:
    """The secrets behind `degree + 1` or more shares, by place.

    Raises `InputError` for too few shares, for a place that is no party's, and if shares beyond the first
    `degree + 1` lie on other polynomials than those.
    """
    _places_of_parties(tuple(shares))
    if len(shares) <= degree:
        raise InputError(f"{degree + 1} shares are needed to open degree {degree}, there are {len(shares)}")
    enough = dict(list(shares.items())[: degree + 1])
    rest = [place for place in shares if place not in enough]
    opened = extend(enough, [0, *rest], field)
    for row, place in enumerate(rest, start=1):
        if not np.array_equal(opened[row], shares[place]):
            raise InputError(f"the share at place {place} does not fit the others")
    return np.array(opened[0])


def weights(of: Sequence[int], field: Field = F61) -> Words:
    """The factor of each place's share in the sum that is the secret. Raises `InputError` for 0 or a repeated place."""
    _places_of_parties(of)
    return np.array(lagrange(of, [0], field)[0])


def reduce_degree(reshared: Mapping[int, Words], field: Field = F61) -> Words:
    """A share of low degree of what everyone's shares of high degree stand for.

    `reshared[i]` is what the party at place i dealt to us of its own share, with the low degree. Needs every place of
    the high degree's opening: all parties, for the product of two sharings of degree `threshold`.
    """
    row = weights(tuple(reshared), field)[np.newaxis, :]
    return np.array(field.combine(row, np.stack(tuple(reshared.values())))[0])


def pair_masks(me: str, streams: Mapping[str, Stream], width: int, field: Field = F61) -> Words:
    """The next masks of this party; all parties' masks add up to zero.

    `streams` has one stream per peer, which the peer has too: the pair's first adds what its second takes away.
    """
    masks = np.zeros(width, dtype=np.uint64)
    for peer, stream in sorted(streams.items()):
        drawn = field.draw(stream, width)
        masks = field.add(masks, drawn) if me < peer else field.subtract(masks, drawn)
    return masks


def accept(vector: Words, due: int, *, party: str, step: str, field: Field = F61) -> Words:
    """A peer's vector, which must have `due` places and only elements of the field. Raises `PeerError`."""
    if len(vector) != due:
        raise PeerError(party=party, step=step, reason=f"{len(vector)} shares, expected {due}")
    if not field.holds(vector):
        raise PeerError(party=party, step=step, reason="a share is outside the field")
    return vector


def lagrange(known: Sequence[int], to: Sequence[int], field: Field = F61) -> Words:
    """The matrix that takes the values at the known places to the values at the others."""
    return _lagrange(tuple(known), tuple(to), field).copy()


@lru_cache(maxsize=1024)
def _lagrange(known: tuple[int, ...], to: tuple[int, ...], field: Field) -> Words:
    if len(set(known)) != len(known) or not known:
        raise InputError("the places of shares must differ, and there must be one at least")
    prime = field.prime
    rows = []
    for target in to:
        row = []
        for place in known:
            above = below = 1
            for other in known:
                if other != place:
                    above = above * (target - other) % prime
                    below = below * (place - other) % prime
            row.append(above * pow(below, -1, prime) % prime)
        rows.append(field.elements(row))
    return np.stack(rows)


def _places_of_parties(of: Sequence[int]) -> None:
    if any(place < 1 for place in of) or len(set(of)) != len(of):
        raise InputError("a share's place is 1 or more, and no two shares have the same: place 0 is the secret's")
