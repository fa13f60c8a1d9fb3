"""Threshold test: everyone learns whether joint numbers reach a bound, and nothing else about them.

Source    ours. Before the numbers matter, the parties share a random mask r, a random factor f and products of both;
          then c - r is opened, and f c (c - 1) … (c - bound + 1) follows from it by an exchange: 0 where c is one of
          0 … bound - 1, uniform among all other numbers elsewhere. As falling factorials add up like powers
          (Vandermonde), it is a sum of about sqrt(bound) products of two shared numbers, which need no exchange.
Roles     every party alike, three or more.
Security  semi-honest; up to (m - 1) // 2 of m parties may collude. Numbers are clipped just above the bound, so that
          the field, and with it every share, is as small as their sums allow. A factor may not be 0: f g is opened,
          with another random number g, and where it is 0 the test is thrown away; elsewhere f is uniform given f g. In
          the field of 2^31 - 1, where sums may be negative, factors are not looked at: one is 0 by chance in 2^31
          tests, and a number that reaches the bound then seems not to. None that does not ever seems to.
          Outcomes may be opened to one party alone: the others send it their parts and hear nothing.
Not       a party that lies changes answers unnoticed; how many tests there are is public; two parties cannot share.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from covey.arrays import Bits, Longs, Words
from covey.crypto import sharing
from covey.crypto.dealing import Dealing, common_shares, extract, extracted
from covey.crypto.factorial import field_for, shape
from covey.crypto.field import Field
from covey.crypto.rng import Rng, derive
from covey.errors import InputError
from covey.secure import shares
from covey.secure.declare import Cost, Leakage, Traffic
from covey.wire import FRAME_BYTES, Channel, Chunk
from covey.wire.chunks import messages, size
from covey.wire.depth import while_sending

MESSAGE_BYTES = FRAME_BYTES + 31

IN_LOTS = 1 << 17
"""Numbers, times the peers that would hear of them, that are opened in lots: a round more, for fewer bytes."""
PRODUCTS_IN_LOTS = 1 << 12
"""The same for tests that are prepared, where nobody waits."""

LEAKAGE = Leakage(everyone=("for each of {width} joint numbers whether it is {bound} or more, and no number",))


class Dealt(Chunk[bytes], tag="reach.dealt"):
    """Shares of the sender's random numbers or products that the recipient cannot derive: uniform to it."""

    shares: bytes


class MaskedNumbers(Chunk[bytes], tag="reach.masked"):
    """The sender's numbers less its part of the masks, under more masks that add up to nothing."""

    numbers: bytes


class MaskedProducts(Chunk[bytes], tag="reach.product"):
    """The sender's part of products less random numbers that nobody knows, under masks that add up to nothing."""

    parts: bytes


class FactorPart(Chunk[bytes], tag="reach.factor"):
    """The sender's part of random factors times random numbers, or of squares, under masks that add up to nothing."""

    parts: bytes


class Part(Chunk[bytes], tag="reach.part"):
    """The sender's part of a test's outcome, under masks that add up to nothing."""

    parts: bytes


class Opened(Chunk[bytes], tag="reach.opened"):
    """The sums of everyone's parts, or masked numbers, of the sender's lot."""

    sums: bytes


class Answers(Chunk[bytes], tag="reach.answers"):
    """Bits that say which outcomes of the sender's lot are not 0."""

    bits: bytes


@dataclass(frozen=True)
class Prepared:
    """Tests against one bound that wait for their numbers; each is used once."""

    bound: int
    field: Field
    mask: Words
    """Shares of the masks."""
    powers: Words
    """Shares of the masks' powers from 1 to stride - 1, one row each."""
    factors: Words
    """Shares of the random factor times the mask's falling factorials: none, one, two … strides."""

    def __len__(self) -> int:
        return len(self.mask)

    def split(self, width: int) -> tuple[Prepared, Prepared]:
        """The first tests, and the rest."""
        return self.only(slice(None, width)), self.only(slice(width, None))

    def only(self, which: slice | Longs) -> Prepared:
        """Some of the tests."""
        return Prepared(self.bound, self.field, self.mask[which], self.powers[:, which], self.factors[:, which])

    @classmethod
    def join(cls, parts: Sequence[Prepared]) -> Prepared:
        """All of these tests, in order."""
        if len(parts) == 1:
            return parts[0]
        return cls(
            parts[0].bound,
            parts[0].field,
            np.concatenate([part.mask for part in parts]),
            np.concatenate([part.powers for part in parts], axis=1),
            np.concatenate([part.factors for part in parts], axis=1),
        )


class Workshop:
    """One party's place at one call: random numbers that nobody knows, drawn once, and products of shares."""

    def __init__(self, channel: Channel, field: Field) -> None:
        shares.refuse_two(channel)
        self.channel, self.field = channel, field
        self.seeds = channel.pairwise_seeds()
        self.layers = 0
        self.spare: list[Words] = []
        """Shares of random numbers for products that are opened under them; where none is left, shares are dealt."""

    async def random(self, rows: int, width: int) -> list[Words]:
        """Shares of random numbers, in rows."""
        channel, number = self.channel, rows * width
        if len(channel.parties) == 3:
            found = common_shares(channel.me, self.seeds, "random", number, self.field)
        else:
            dealing = Dealing(channel.me, self.seeds, "random", field=self.field)
            call = derive(self.seeds[channel.peers[0]], "call").reveal()  # a label that no other call has
            drawn = dealing.deal_random(
                -(-number // extracted(len(channel.parties))), channel.rng.stream("random", call)
            )
            (dealt,) = await shares.hand_out(channel, Dealt, self.field, [(dealing, *drawn)])
            found = extract(dealt, self.field)[:number]
        return list(found.reshape(rows, width))

    async def multiply(self, left: Words, right: Words) -> Words:
        """Shares of the products, row by row."""
        return (await self.reduce(self.field.multiply(left.ravel(), right.ravel()))).reshape(left.shape)

    async def reduce(self, product: Words) -> Words:
        """Shares of the low degree of what shares of the high degree stand for."""
        self.layers += 1
        if self.spare:
            rows = len(product) // len(self.spare[0])
            under = np.concatenate([self.spare.pop() for _ in range(rows)])
            part = own_part(self.channel, self.field.subtract(product, under), self.field)
            opened = await shares.open_lots(self.channel, MaskedProducts, Opened, self.field, part, bits=False)
            return self.field.add(opened, under)
        last = self.layers % 2 == 0
        dealing = Dealing(self.channel.me, self.seeds, f"layer {self.layers}", last=last, field=self.field)
        return await shares.reduce(self.channel, Dealt, self.field, dealing, product)


async def prepare(channel: Channel, bound: int, width: int, field: Field | None = None) -> Prepared:
    """That many tests against the bound. Each call needs a step of its own; no number is needed yet.

    Where numbers may be negative the field is F31, or where one party takes 1 off, `field_for` one more than the bound.
    """
    field = field_for(len(channel.parties), bound) if field is None else field
    found: list[Prepared] = []
    while (lack := width - sum(map(len, found))) > 0 or not found:
        found.append(await _prepare(Workshop(channel, field), bound, lack))
    return Prepared.join(found).split(width)[0]


async def _prepare(workshop: Workshop, bound: int, width: int) -> Prepared:
    """As many tests as are asked for, or a few more; once in millions of times by chance a few less."""
    channel, field = workshop.channel, workshop.field
    more = _made(width, field)
    mask, factor, *rest = await workshop.random(_rows(len(channel.parties), bound, width, field), more)
    if not field.small:
        workshop.spare = rest
        return await _chain(workshop, bound, mask, factor)
    workshop.spare = rest[1:]
    good: list[Bits] = []

    async def check() -> None:
        at = channel.at("check")
        part = own_part(at, field.multiply(factor, rest[0]), field)
        good.append(np.asarray(await open_part(at, FactorPart, part, field, bits=True) != 0))

    made = await while_sending(check(), _chain(workshop, bound, mask, factor))
    return made.only(np.flatnonzero(good[0]))


async def _chain(workshop: Workshop, bound: int, mask: Words, factor: Words) -> Prepared:
    """The products of a preparation, layer by layer."""
    field = workshop.field
    cut, powers = shape(bound, field), mask[np.newaxis]
    while len(powers) < cut.highest:
        more = powers[: cut.highest - len(powers)]
        highest = np.repeat(powers[-1:], len(more), axis=0)
        powers = np.concatenate([powers, await workshop.multiply(highest, more)])
    factors = [factor]
    with_one = np.concatenate([np.ones((1, len(mask)), dtype=np.uint64), powers])
    for stride in range(cut.strides):
        below = field.combine(cut.shifts[stride, -1:], with_one)
        factors.append((await workshop.multiply(factors[-1][np.newaxis], below))[0])
    return Prepared(bound, field, mask, np.ascontiguousarray(powers[: cut.stride - 1]), np.stack(factors))


async def reaches(channel: Channel, prepared: Prepared, mine: Words | Longs) -> Bits:
    """The places where the parties' numbers add up to the bound or more, or to less than nothing.

    In a small field numbers count as far as it has room, and none but one party's may be negative: -1, where the field
    has room for more than the bound.
    """
    opened = await open_products(channel, prepared, mine)
    return np.asarray(opened != 0)


async def reaches_for(receiver: str, channel: Channel, prepared: Prepared, mine: Words | Longs) -> Bits | None:
    """The same for one party alone; None for all others."""
    _fits(prepared, mine, 1)
    if not len(mine):
        return np.zeros(0, dtype=bool) if channel.me == receiver else None
    part = own_part(channel, await _products(channel, prepared, mine), prepared.field)
    opened = await shares.open_to(channel, receiver, Part, prepared.field, part)
    return None if opened is None else np.asarray(opened != 0)


async def none_below(channel: Channel, prepared: Prepared, mine: Words | Longs, *, together: int) -> Bits:
    """For each `together` numbers in a row whether none of them is below the bound; which is stays hidden.

    The products of a row are multiplied with each other before the outcome is opened.
    """
    _fits(prepared, mine, together)
    if not len(mine):
        return np.zeros(0, dtype=bool)
    field = prepared.field
    workshop = Workshop(channel.at("multiply"), field)
    factors = (await workshop.reduce(await _products(channel, prepared, mine))).reshape(-1, together).T
    while len(factors) > 2:
        half = len(factors) // 2
        first, second = (np.ascontiguousarray(factors[start : start + half]) for start in (0, half))
        factors = np.concatenate([await workshop.multiply(first, second), factors[2 * half :]])
    last = [np.ascontiguousarray(row) for row in factors]
    product = field.multiply(last[0], last[1]) if len(last) > 1 else last[0]
    return np.asarray(await open_part(channel, Part, own_part(channel, product, field), field, bits=True) != 0)


async def open_products(channel: Channel, prepared: Prepared, mine: Words | Longs, *, together: int = 1) -> Words:
    """0 where a sum is below the bound, another number elsewhere; of sums of `together` such numbers the same.

    What is opened elsewhere is uniform. Where it is opened in lots, only whose lot it is sees it, the others 1.
    """
    _fits(prepared, mine, together)
    if not len(mine):
        return np.zeros(0, dtype=np.uint64)
    if together > 1 and prepared.field.small:
        raise InputError("sums of random numbers are 0 too often in a small field: prepare the tests in F31")
    products = await _products(channel, prepared, mine)
    summed = shares.total(products.reshape(-1, together).T, prepared.field)
    return await open_part(channel, Part, own_part(channel, summed, prepared.field), prepared.field, bits=True)


async def _products(channel: Channel, prepared: Prepared, mine: Words | Longs) -> Words:
    """This party's shares, of the high degree, of the products: opens the masked sums."""
    field, counted = prepared.field, mine.astype(np.int64)
    if field.small:
        room = (field.prime - 1) // len(channel.parties)
        if len(mine) and counted.min() < (-1 if room > prepared.bound else 0):
            raise InputError("numbers are negative: prepare the tests in F31")
        counted = np.minimum(counted, room)
    numbers = (counted % field.prime).astype(np.uint64)
    masked = field.subtract(numbers, own_part(channel, prepared.mask, field))
    return multiply_out(prepared, await open_part(channel, MaskedNumbers, masked, field, bits=False))


async def open_part(channel: Channel, kind: type[Chunk[bytes]], part: Words, field: Field, *, bits: bool) -> Words:
    """The total of everyone's parts; with `bits` it matters only where that is 0."""
    if _lots(len(channel.parties), len(part)):
        return await shares.open_lots(channel, kind, Answers if bits else Opened, field, part, bits=bits)
    return await shares.open_bytes(channel, kind, field, part)


def _fits(prepared: Prepared, mine: Words | Longs, together: int) -> None:
    if len(mine) != len(prepared) or len(mine) % together:
        raise InputError(f"{len(mine)} numbers, {len(prepared)} tests, {together} together: they do not fit")


def multiply_out(prepared: Prepared, opened: Words) -> Words:
    """This party's share, of the high degree, of the factor times c (c - 1) … (c - bound + 1), given c - r."""
    return shape(prepared.bound, prepared.field).evaluate(opened, prepared.powers, prepared.factors)


def own_part(channel: Channel, products: Words, field: Field) -> Words:
    """Shares of the low or the high degree as summands, under masks that add up to nothing and hide the polynomials."""
    streams = {peer: Rng(seed).stream("mask") for peer, seed in channel.pairwise_seeds().items()}
    return shares.summand(channel, products, streams, field)


def ideal(inputs: Mapping[str, Words], bound: int) -> Bits:
    """A trusted party's answer."""
    return np.asarray(sum(each.astype(np.int64) for each in inputs.values()) >= bound)


def _lots(parties: int, width: int) -> bool:
    """True if so many numbers are opened in lots: that saves bytes and costs a round."""
    return (parties - 1) * width >= IN_LOTS


def _multiplies_in_lots(parties: int, width: int) -> bool:
    """True if products are opened under random masks, in lots; else they are dealt anew: by few parties, or few."""
    return dealt_to(parties) > 2 and width >= PRODUCTS_IN_LOTS


def _made(width: int, field: Field) -> int:
    """The number of tests that are begun, so that enough have a factor that is not 0."""
    if not field.small or not width:
        return width
    thrown = width * ((1 - 1 / field.prime) ** -2 - 1)
    return width + math.ceil(thrown + 6 * math.sqrt(thrown) + 6)


def _rows(parties: int, bound: int, width: int, field: Field) -> int:
    """The random numbers of a test: mask and factor, one to look at the factor with, one for each product in lots."""
    many = _multiplies_in_lots(parties, _made(width, field))
    return 2 + int(field.small) + (shape(bound, field).products if many else 0)


def dealt_to(parties: int) -> int:
    """The peers to whom a party sends what it deals; the others derive their shares."""
    return parties - 1 - sharing.threshold(parties)


def _layers(bound: int, field: Field) -> list[int]:
    """Products of each layer of a preparation, for each test."""
    cut, powers, rows = shape(bound, field), 1, []
    while powers < cut.highest:
        rows.append(min(powers, cut.highest - powers))
        powers += rows[-1]
    return rows + [1] * cut.strides


def opening(parties: int, width: int, field: Field, *, bits: bool) -> list[int]:
    """The bytes of each list that travels when so many numbers are opened."""
    if not _lots(parties, width):
        return [field.size(width)] * parties * (parties - 1)
    return _opening_in_lots(parties, width, field, bits=bits)


def _opening_in_lots(parties: int, width: int, field: Field, *, bits: bool) -> list[int]:
    lots = [width * (place + 1) // parties - width * place // parties for place in range(parties)]
    back = [-(-lot // 8) if bits else field.size(lot) for lot in lots]
    return [*(field.size(lot) for lot in lots), *back] * (parties - 1)


def _preparation(parties: int, bound: int, width: int, field: Field | None = None) -> Traffic:
    field = field_for(parties, bound) if field is None else field
    made, dealt = _made(width, field), parties * dealt_to(parties)
    in_lots = _multiplies_in_lots(parties, made)
    lists = []
    if parties > 3:
        lists += [field.size(-(-_rows(parties, bound, width, field) * made // extracted(parties)))] * dealt
    for rows in _layers(bound, field):
        if in_lots:
            lists += _opening_in_lots(parties, rows * made, field, bits=False)
        else:
            lists += [field.size(rows * made)] * dealt
    products, check = shape(bound, field).layers * (2 if in_lots else 1), 0
    if field.small:
        lists += opening(parties, made, field, bits=True)
        check = 2 if _lots(parties, made) else 1
    return traffic(int(parties > 3) + max(products, check), lists)


def _test(parties: int, bound: int, width: int, field: Field | None = None, one: bool = False) -> Traffic:
    if not width:
        return Traffic()
    field = field_for(parties, bound) if field is None else field
    last = [field.size(width)] * (parties - 1) if one else opening(parties, width, field, bits=True)
    rounds = 2 if _lots(parties, width) else 1
    return traffic(rounds + (1 if one else rounds), opening(parties, width, field, bits=False) + last)


def traffic(rounds: int, lists: list[int]) -> Traffic:
    """The traffic of lists of so many bytes each."""
    return Traffic(
        rounds, sum(messages(each, 1) for each in lists), sum(size(each, 1, MESSAGE_BYTES) for each in lists)
    )


PREPARATION_COST = Cost(_preparation)
"""Of one `prepare`."""
COST = Cost(_test)
"""Of one `reaches`, or with `one` of one `reaches_for`, once it is prepared."""
