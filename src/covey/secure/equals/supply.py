"""Supply: random numbers and their products, shared, which nobody knows; made in advance.

A product of two shared numbers takes all trustees (Ben-Or, Goldwasser and Wigderson 1988). With a product of random
numbers in stock it takes two openings of the low degree (Beaver 1991), which can be checked. Each product is held
against another one, which is thrown away, in a random combination that nobody could foresee.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from covey.arrays import Words
from covey.crypto.rng import Rng
from covey.crypto.scalar_field import FQ, ScalarElements, numbers
from covey.errors import Aborted
from covey.secure import coin, shares
from covey.secure.equals.trustees import Trustees
from covey.wire import Channel, Chunk


class TripleShares(Chunk[ScalarElements], tag="equals.dealt"):
    """Shares of random numbers, or of products, that the sender deals."""

    values: ScalarElements


@dataclass(frozen=True)
class Triples:
    """Shares of random numbers, of others, and of their products."""

    first: Words
    second: Words
    product: Words

    def __len__(self) -> int:
        return len(self.first)

    def slice(self, begin: int, end: int | None = None) -> Triples:
        """Those from `begin` up to but not including `end`."""
        return Triples(self.first[begin:end], self.second[begin:end], self.product[begin:end])

    def plus(self, more: Triples) -> Triples:
        """These, and more."""
        pairs = ((self.first, more.first), (self.second, more.second), (self.product, more.product))
        return Triples(*(np.concatenate(pair) for pair in pairs))


class TripleSupply:
    """A stock of triples. What was taken is gone, whatever became of it."""

    def __init__(self) -> None:
        none = numbers([])
        self._stock = Triples(none, none, none)

    def __len__(self) -> int:
        return len(self._stock)

    async def make(self, channel: Channel, trustees: Trustees, count: int) -> None:
        """Adds that many to the stock. Raises Aborted if a product is false."""
        made = await _multiply(channel.at("make"), trustees, 2 * count)
        kept, spent = made.slice(0, count), made.slice(count)
        await _compare(channel.at("check"), trustees, kept, spent)
        self._stock = self._stock.plus(kept)

    def take(self, count: int) -> Triples:
        """That many, which are in stock."""
        if count > len(self._stock):
            raise ValueError(f"{count} of {len(self._stock)} triples")
        taken, self._stock = self._stock.slice(0, count), self._stock.slice(count)
        return taken

    def secret(self) -> Words:
        """Our share of one number that nobody knows."""
        return self.take(1).first


async def _multiply(channel: Channel, trustees: Trustees, count: int) -> Triples:
    """Random numbers, dealt by everyone and added up, and their products."""
    rounds = [(trustees.dealing(channel, label, last=label == "b"), label) for label in "ab"]
    dealt = [(each, *each.deal_random(count, channel.rng.stream("own", label))) for each, label in rounds]
    first, second = [
        shares.total(parts, FQ) for parts in await shares.hand_out(channel, TripleShares, ScalarElements, dealt)
    ]
    dealing = trustees.dealing(channel, "product")
    product = FQ.multiply(first, second)
    return Triples(
        first, second, await shares.reduce(channel.at("product"), TripleShares, ScalarElements, dealing, product)
    )


async def _compare(channel: Channel, trustees: Trustees, kept: Triples, spent: Triples) -> None:
    """Holds products against others that are thrown away. Raises Aborted where one is false."""
    drawn = Rng(await coin.toss(channel.at("coin"))).stream("weights")
    factor, weights = FQ.draw(drawn, 1)[0], FQ.draw(drawn, len(kept))
    masked = np.concatenate(
        [FQ.subtract(FQ.scale(kept.first, factor), spent.first), FQ.subtract(kept.second, spent.second)]
    )
    e, f = np.split(await trustees.open(channel.at("masked"), masked), 2)
    left = FQ.subtract(FQ.scale(kept.product, factor), spent.product)
    left = FQ.subtract(left, FQ.multiply(f, spent.first))
    left = FQ.subtract(left, FQ.multiply(e, FQ.add(spent.second, f)))
    total = numbers([int(FQ.multiply(weights, left).sum()) % FQ.prime])
    if (await trustees.open(channel.at("total"), total))[0]:
        raise Aborted(
            "a product that the trustees made is false: one of them did not keep to the protocol", resumable=False
        )
