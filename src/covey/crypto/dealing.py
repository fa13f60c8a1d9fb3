"""Shares that need not all travel: some recipients derive theirs from a seed in common with the dealer.

A random polynomial of degree t may be chosen by its values at t places besides the secret's. If those are drawn from
streams that the dealer has in common with the parties there, these parties know their shares without a message, and
the polynomial is as random as any. Only the other shares are computed and sent: half of all, for the degree that
fewer than half of the parties need.

Random numbers that nobody is to know need fewer still: among three parties none (`common_shares`), among more about one
share for each (`extract`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from covey.arrays import Words
from covey.crypto.field import F61, Field
from covey.crypto.rng import Rng, Stream
from covey.crypto.secret import Secret
from covey.crypto.sharing import extend, lagrange, threshold
from covey.crypto.sharing import places as sorted_places


class Dealing:
    """One party's part in a round in which everyone deals shares of a vector to everyone.

    `seeds` has, for each peer, a secret that the peer has too and that is used for one session's one call; `label`
    keeps several dealings under the same seeds apart. With `last`, those who derive sit just before the dealer,
    otherwise just after it: two dealings, one of each kind, burden each line alike. `places` and `degree` are given
    where some who have shares are not there.
    """

    def __init__(
        self,
        me: str,
        seeds: Mapping[str, Secret],
        label: str,
        *,
        last: bool = False,
        field: Field = F61,
        places: Mapping[str, int] | None = None,
        degree: int | None = None,
    ) -> None:
        self.me = me
        self.parties = tuple(sorted((me, *seeds)))
        self.degree = threshold(len(self.parties)) if degree is None else degree
        self.field = field
        self._places = sorted_places(self.parties) if places is None else places
        self._last = last
        self._outgoing = {p: Rng(seeds[p]).stream("deal", label, me) for p in seeds if self.derives(me, p)}
        self._incoming = {p: Rng(seeds[p]).stream("deal", label, p) for p in seeds if self.derives(p, me)}

    def derives(self, dealer: str, recipient: str) -> bool:
        """True if the recipient derives its share of what the dealer deals, so that nothing is sent."""
        order = self.parties.index
        ahead = (order(recipient) - order(dealer)) % len(self.parties)
        if self._last:
            ahead = len(self.parties) - ahead
        return 1 <= ahead <= self.degree

    def deal(self, secrets: Words) -> tuple[dict[str, Words], Words]:
        """The shares to send, by recipient, and this party's own."""
        return self._deal(0, secrets)

    def deal_random(self, width: int, own: Stream) -> tuple[dict[str, Words], Words]:
        """Deals uniform secrets; `own` is a stream of this party's, from which it takes its own share."""
        return self._deal(self._places[self.me], self.field.draw(own, width))

    def derived(self, dealer: str, width: int) -> Words:
        """Our share of what the dealer dealt next, if we derive it."""
        return self.field.draw(self._incoming[dealer], width)

    def _deal(self, place: int, values: Words) -> tuple[dict[str, Words], Words]:
        known = {place: values}
        for peer, stream in self._outgoing.items():
            known[self._places[peer]] = self.field.draw(stream, len(values))
        rest = [name for name in self.parties if self._places[name] not in known]
        shares = dict(zip(rest, extend(known, [self._places[name] for name in rest], self.field), strict=True))
        own = shares.pop(self.me) if place == 0 else values
        return shares, np.asarray(own)


def common_shares(me: str, seeds: Mapping[str, Secret], label: str, width: int, field: Field) -> Words:
    """Shares, among three parties, of random numbers that none of them knows, without a message.

    Pseudo-random secret sharing (Cramer, Damgård and Ishai 2005): each pair draws a number from its common seed; the
    secret is the sum of the three. A pair's polynomial is its number at 0, and 0 at the place of the third party.
    """
    places = sorted_places((me, *seeds))
    answer = np.zeros(width, dtype=np.uint64)
    for peer, seed in sorted(seeds.items()):
        (third,) = (place for name, place in places.items() if name not in (me, peer))
        weight = lagrange((0, third), (places[me],), field)[0, 0]
        drawn = field.draw(Rng(seed).stream("common", label), width)
        answer = field.add(answer, field.scale(drawn, weight))
    return answer


def extract(dealt: Sequence[Words], field: Field) -> Words:
    """Shares of random numbers that nobody knows, from a random vector of each party, dealt with the low degree.

    Each party knows its own vector; of m, m - threshold combinations by a Vandermonde matrix are uniform to any who
    dealt `threshold` of them (Damgård and Nielsen 2007). They come one after the other.
    """
    parties = len(dealt)
    rows = [[pow(place, power, field.prime) for place in range(1, parties + 1)] for power in range(extracted(parties))]
    return field.combine(np.stack([field.elements(row) for row in rows]), np.stack(dealt)).ravel()


def extracted(parties: int) -> int:
    """The number of random vectors that `extract` makes."""
    return parties - threshold(parties)
