"""The backend on shares that stops one cheating party before anything is opened that hangs on a deviation.

Three rules. A share that is opened comes from one of its two holders and its hash from the other, in the same round: it
is right, or the run stops. An AND opens its factors under masks, and takes a triple that was checked before (see
`covey.mpc.triples`). A shuffle carries a tag of 64 bits a record, a secret linear function of it, fresh each time, and
is checked before anything of it is used. No check is put off: what opens without a mask hangs on checked state alone.
A coin that chooses a check's weights is opened after everybody has told both others that it has everything.
Not: a party that stops, or that lies about its own rows before they are shared; two parties that cheat together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from covey.arrays import Words
from covey.crypto.rng import Rng
from covey.crypto.secret import Secret
from covey.errors import PeerError
from covey.mpc.binary_field import dot, weighed
from covey.mpc.gates import from_masks, under_masks, units
from covey.mpc.kernels import DIGEST_WORDS, Shuffled
from covey.mpc.outside import digest_of
from covey.mpc.planes import blocks, cut, planes_of, words_of
from covey.mpc.quicksort import PIVOTS
from covey.mpc.rounds import NOTHING, Answer, Parcel
from covey.mpc.sealed import FIRST, SECOND, Sealed
from covey.mpc.shared import Shared, joined
from covey.mpc.supply import Supply
from covey.mpc.tags import CHANCES, POWERS, TAG, tags
from covey.mpc.triples import COIN, Store, batch
from covey.wire import Channel

TOKEN = np.ones(1, np.uint64)
"""Says that its sender has everything that it was due."""
NAME_LENGTH = 64
"""Of a party that a message names."""
OPENED = ""
"""Under this name an answer has what all three opened, or the shares of an AND."""


@dataclass(frozen=True, kw_only=True)
class Exposed(Parcel):
    """Shares (copies x words) to be opened to all three."""

    shares: Words


@dataclass(frozen=True, kw_only=True)
class Product(Parcel):
    """Factors of an AND, each (copies x planes x words)."""

    x: Words
    y: Words

    @property
    def units(self) -> int:
        """The units of triples that it takes."""
        return int(units(self.x.shape[1], self.y.shape[1]) * self.y.shape[2])


class Checked(Sealed):
    """One party's box, which notices a deviation of one of the others."""

    def __init__(
        self,
        channel: Channel,
        parties: Sequence[str],
        seeds: tuple[Secret, Secret],
        *,
        attempt: int = 1,
        pivots: int = PIVOTS,
    ) -> None:
        super().__init__(channel, parties, seeds, attempt=attempt, pivots=pivots)
        self._store, self._batches = Store(), 0
        self.supply = Supply[Parcel, Answer](self._steps, self._round, self._batch)

    @property
    def soundness_bits(self) -> int | None:
        """A deviation passes all checks so far with a chance of at most 2^-bits."""
        return self.supply.soundness_bits

    # rounds, and what is opened in them

    async def _carry(self, parcels: Sequence[Parcel]) -> list[Answer]:
        """Takes a round, after the triples for all its ANDs are there."""
        needed = sum(parcel.units for parcel in parcels if isinstance(parcel, Product))
        return [*await self.supply.carry(parcels, needed)]

    async def _round(self, parcels: Sequence[Parcel]) -> list[Answer]:
        """Takes a round. All that is opened in it goes to the previous party, and its hash to the next."""
        shown = {place: self._shown(parcel) for place, parcel in enumerate(parcels)}
        opening = {place: shares for place, (shares, _) in shown.items() if shares.size}
        plain = [parcel for place, parcel in enumerate(parcels) if place not in opening]
        if not opening:
            return await super()._carry(plain)
        first, second = (np.concatenate([shares[copy].ravel() for shares in opening.values()]) for copy in range(2))
        sent = {self._previous: second, self._next: digest_of(first)}
        due = {self._next: first.size, self._previous: DIGEST_WORDS}
        answer, *answers = await super()._carry([Parcel(sent, due), *plain])
        missing = self._agreed(answer[self._next], answer[self._previous])
        opened, rest, out, start = first ^ second ^ missing, iter(answers), list[Answer](), 0
        for place, (shares, finish) in shown.items():
            if place in opening:
                end = start + shares[FIRST].size
                out.append({OPENED: finish(opened[start:end].reshape(shares.shape[1:]))})
                start = end
            else:
                out.append(next(rest))
        return out

    def _shown(self, parcel: Parcel) -> tuple[Words, Callable[[Words], Words]]:
        """Returns the shares that a strand opens, nothing for most parcels, and what is made of their opening."""
        if isinstance(parcel, Exposed):
            return parcel.shares, _itself
        if not isinstance(parcel, Product):
            return NOTHING, _itself
        x, y = (np.ascontiguousarray(factor) for factor in (parcel.x, parcel.y))
        u, vs, ws = self._store.take(units(x.shape[1], y.shape[1]), y.shape[2])
        return under_masks(x, y, u, vs), lambda opened: from_masks(opened, x.shape[1], u, vs, ws, self.ones)

    def _agreed(self, words: Words, digest: Words) -> Words:
        """Returns a share from the next party. Raises PeerError unless the previous one, who holds it too, has it."""
        if not np.array_equal(digest_of(words), digest):
            raise self._one_of_two("both hold a share, and do not say the same of it; the run ends")
        return words

    async def exactly(self, shares: Words) -> Words:
        """Returns shared words (copies x words) for everybody."""
        if not shares.size:
            return NOTHING
        (answer,) = await self._steps.exchange([Exposed(shares=shares)])
        return answer[OPENED]

    async def coin(self, secret: Words) -> tuple[Words, Rng]:
        """Opens shared words, of which the last are a coin, once both others have all that was sent so far.

        A party that reads a coin while another one waits for its message could choose that message by the coin.
        """
        others = (self._previous, self._next)
        await self._swap(dict.fromkeys(others, TOKEN), dict.fromkeys(others, TOKEN.size))
        opened = await self.exactly(secret)
        return opened[:-COIN], Rng(Secret(opened[-COIN:].astype("<u8").tobytes()))

    async def reshare(self, part: Words, masks: Words) -> Words:
        """Returns shares of the sum of all three parties' parts; a deviation adds to it what does not know it."""
        part = part ^ masks[FIRST] ^ masks[SECOND]
        answer = await self._swap({self._previous: part}, {self._next: part.size})
        return np.stack([part, answer[self._next]])

    async def _batch(self, size: int) -> None:
        """Makes and checks so many units of triples."""
        self._batches += 1
        made = await batch(self, [rng.stream("triples", self._batches) for rng in self._rngs], size)
        if made is None:
            raise self._one_of_two("a product of random numbers is wrong; nothing was opened that hangs on it")
        self._store.add(made)

    def _one_of_two(self, reason: str) -> PeerError:
        """Returns the error for a deviation of which this party cannot tell who made it."""
        return PeerError(party=f"{self._next} or {self._previous}"[:NAME_LENGTH], step=self._step, reason=reason)

    # where secrets come in, meet, move and go out

    async def share(self, values: Words | None, width: int, records: int, holder: int) -> Shared:
        """Returns the holder's column, after neighbours compared what it gave to both."""
        value = await super().share(values, width, records, holder)
        if value.planes.size:
            await self._same([value], f"{self._parties[holder]!r} gave us another column than it did to this party")
        return value

    async def _and(self, x: Words, y: Words) -> Words:
        """Returns the shares of x & y; plane j of y goes with plane j of x, again and again. Takes one round."""
        if not y.size:
            return y
        (answer,) = await self._steps.exchange([Product(x=x, y=y)])
        return answer[OPENED]

    async def _and_opened(self, x: Words, y: Words, plus: Words, records: int) -> Words:
        """Returns (x & y) ^ plus for everybody, in two rounds: no AND is opened before it is known to be right."""
        planes = cut(await self._and(x, y) ^ plus, records)
        return (await self.exactly(planes.reshape(2, -1))).reshape(plus.shape[1:])

    async def _reveal(self, value: Shared, to: int | None = None) -> Words | None:
        """Returns the planes of a column for everybody, or for one party; both holders of a share say the same."""
        first, second = value.planes
        if to is None:
            return (await self.exactly(value.planes.reshape(2, -1))).reshape(first.shape)
        if not first.size:
            return np.zeros_like(first) if to == self.number else None
        if to >= 3:
            await self._swap({self._parties[to]: np.concatenate([first.ravel(), digest_of(second)])}, {})
            return None
        role = (self.number - to) % 3
        if role == 1:
            await self._swap({self._previous: second}, {})
        elif role == 2:
            await self._swap({self._next: digest_of(first)}, {})
        else:
            answer = await self._swap({}, {self._next: first.size, self._previous: DIGEST_WORDS})
            missing = self._agreed(answer[self._next], answer[self._previous])
            planes: Words = first ^ second ^ missing.reshape(first.shape)
            return planes
        return None

    async def shuffle(self, value: Shared) -> tuple[Shared, Shuffled]:
        """Returns the records in an order that nobody knows, after nobody could have changed one."""
        if not value.planes.size:
            return await super().shuffle(value)
        keys, tagged = await self._tagged(value)
        moved, shuffled = await super().shuffle(tagged)
        return await self._verified(moved, keys), shuffled

    async def unshuffle(self, value: Shared, shuffled: Shuffled) -> Shared:
        """Returns the records in the order from before that shuffle, after nobody could have changed one."""
        if not value.planes.size:
            return value
        keys, tagged = await self._tagged(value)
        return await self._verified(await super().unshuffle(tagged, shuffled), keys)

    async def _tagged(self, value: Shared) -> tuple[Words, Shared]:
        """Returns shares of secret keys, one a bit, and the records with their tags behind them."""
        keys = self._masked(value.width)
        words = words_of(value.planes)[:, :, : value.records]
        shares = await self.reshare(tags(words, keys), self._masked(value.records))
        return keys, joined(value, Shared(self, planes_of(shares[:, np.newaxis], TAG), value.records))

    def _masked(self, size: int) -> Words:
        """Returns shares of random words that nobody knows."""
        return np.stack([self._draw(copy, (size,)) for copy in (FIRST, SECOND)])

    async def _verified(self, tagged: Shared, keys: Words) -> Shared:
        """Returns the records without their tags. The keys are opened with the coin; neither was known before."""
        keys, rng = await self.coin(np.concatenate([keys, self._masked(COIN)], 1))
        sums = weighed(tagged.cut().planes, rng.stream("weights").words(blocks(tagged.records)))
        factors = np.concatenate([keys, POWERS])
        difference = np.array([[dot(share, factors)] for share in sums], np.uint64)
        if (await self.exactly(difference)).any():
            raise self._one_of_two("a shuffle is wrong; nothing was opened that hangs on it")
        self.supply.count(CHANCES)
        return tagged.bits(slice(0, keys.size))


def _itself(opened: Words) -> Words:
    return opened
