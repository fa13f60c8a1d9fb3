"""Comparison between two: an encrypted number's sign, as two random bits that only together say it.

Source    Damgard, Geisler & Kroigaard 2007, with the coin that hides from the reader which way it was asked. Masking of
          an encrypted number as in Veugen 2012. One party, the *asker*, holds a number under the other's Paillier key;
          the *reader* holds the key. The asker adds a mask; what is left is to compare the low bits of what the reader
          finds with those of the mask, bit by bit under the reader's key on ristretto255.
Roles     the asker and the reader.
Security  semi-honest. To the reader a masked number is within 2^-40 of uniform, and of each comparison it sees one bit
          that a coin of the asker's turned or not. To the asker everything is encrypted. `verdicts` opens, of several
          signs together, whether all are as wanted; `opened` gives single signs to the asker.
Not       a party that lies changes answers unnoticed. How many numbers there are, and how long they may be, is public.
          The asker skips what it knows to be none of a comparison's zeros: its time tells how many bits of a mask are
          set, which is random.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from covey.arrays import Bits, Longs
from covey.crypto import elgamal, packing
from covey.crypto.elgamal import Ciphertexts
from covey.crypto.group import Points, Scalars, generator_times
from covey.crypto.paillier import Ciphertexts as Numbers
from covey.crypto.paillier import SecretKey
from covey.crypto.reading import ReadingKey, choose, complement, trivial
from covey.crypto.rng import Stream
from covey.errors import InputError, PeerError
from covey.secure import ciphers, lists
from covey.secure.ciphers import Ciphers
from covey.secure.declare import Cost, Leakage, Traffic
from covey.secure.lists import Elements
from covey.wire import FRAME_BYTES, Channel, Chunk

HIDING = 40
"""Bits by which a mask is longer than what it hides."""

LONGEST = 62
"""Bits of the largest number whose sign is asked for."""

FLAG_BYTES = FRAME_BYTES + 27

LEAKAGE = Leakage(
    everyone=("of each of {groups} groups of {together} encrypted numbers whether all are zero or more, and no number",)
)


class Digits(Elements, tag="compare.digits"):
    """The reader's bits, encrypted: random to the asker."""


class BlindedDigits(Elements, tag="compare.blinded"):
    """For each digit something that holds zero or is random; at most one of a number's holds zero."""


class MaskedCiphertexts(Ciphers, tag="compare.masked"):
    """Numbers under masks, many in one ciphertext."""


class Flags(Chunk[bytes], tag="compare.flags"):
    """A bit for each question."""

    bits: bytes


# -- who holds the smaller number


async def ask_less(channel: Channel, reader: str, key: Points, mine: Sequence[int], widths: Longs) -> Bits:
    """The asker's share of whether the reader's number is below its own; the numbers have so many bits each."""
    if not len(widths):
        return np.zeros(0, dtype=bool)
    due = int(widths.sum())
    digits = Ciphertexts(*await lists.receive(channel, reader, Digits, columns=2, due=due, distinct=False))
    rng = channel.rng.child("less")
    coins: Bits = np.equal(rng.stream("coins").words(len(widths)) % np.uint64(2), 1)
    blinded = differences(digits, mine, widths, coins, key, rng.stream("factors"))
    blinded = blinded.take(shuffled(widths + 1, rng.stream("order")))
    await lists.send(channel, reader, BlindedDigits, [blinded.first, blinded.second])
    return coins


async def answer_less(channel: Channel, asker: str, key: ReadingKey, mine: Sequence[int], widths: Longs) -> Bits:
    """The reader's share of whether its number is below the asker's."""
    if not len(widths):
        return np.zeros(0, dtype=bool)
    digits = key.encrypt(spelled(mine, widths), channel.rng.stream("digits"))
    await lists.send(channel, asker, Digits, [digits.first, digits.second])
    due = int(widths.sum()) + len(widths)
    found = key.zeros(
        Ciphertexts(*await lists.receive(channel, asker, BlindedDigits, columns=2, due=due, distinct=False))
    )
    return np.asarray(np.logical_or.reduceat(found, starts(widths + 1)))


def differences(
    digits: Ciphertexts, mine: Sequence[int], widths: Longs, coins: Bits, key: Points, stream: Stream
) -> Ciphertexts:
    """For each number its digits' differences, blinded: one is zero if x < y (heads: y < x), where x is the reader's.

    At each place from the top, w is whether the digits differ and T how many did above; 1 - w + T, in which nothing is
    negative, is zero at the first place where they differ and nowhere else. A last digit, 1 of the reader's and 0 of
    the asker's, leaves no ties. Where the direction cannot be right, the asker says something random instead.
    """
    first = starts(widths)
    out = starts(widths + 1)
    bits = spelled(mine, widths)
    above = trivial(0, len(widths))
    said: list[Ciphertexts] = []
    places: list[Longs] = []
    for place in range(int(widths.max()) - 1, -2, -1):
        here = np.flatnonzero(widths > place)
        theirs = digits.take(first[here] + place) if place >= 0 else trivial(1, len(here))
        own = bits[first[here] + place] if place >= 0 else np.zeros(len(here), dtype=bool)
        opposite = complement(theirs)
        differ, same = choose(own, opposite, theirs), choose(own, theirs, opposite)
        high = above.take(here)
        useful = np.flatnonzero(own != coins[here])
        if len(useful):
            found = same.take(useful).plus(high.take(useful))
            hidden = found.scaled(Scalars.draw(stream, len(useful)))
            said.append(elgamal.rerandomise(hidden, key, stream))
            places.append(out[here[useful]] + place + 1)
        idle = np.flatnonzero(own == coins[here])
        said.append(_random(len(idle), stream))
        places.append(out[here[idle]] + place + 1)
        order = np.arange(len(widths))
        order[here] = len(widths) + np.arange(len(here))
        above = Ciphertexts.join([above, high.plus(differ)]).take(order)
    return Ciphertexts.join(said).take(np.argsort(np.concatenate(places)))


def _random(count: int, stream: Stream) -> Ciphertexts:
    if not count:
        return Ciphertexts(Points(b""), Points(b""))
    return Ciphertexts(*(generator_times(Scalars.draw(stream, count)) for _ in range(2)))


# -- an encrypted number's sign


async def ask_signs(channel: Channel, reader: str, key: Points, numbers: Numbers, widths: Longs) -> Bits:
    """The asker's share of whether each number is zero or more; each is less than 2^width, or more than -2^width."""
    if not len(widths):
        return np.zeros(0, dtype=bool)
    rng = channel.rng.child("signs")
    stream = rng.stream("masks")
    masks = [stream.below(1 << (width + HIDING + 1)) for width in widths.tolist()]
    raised = [mask + (1 << width) for mask, width in zip(masks, widths.tolist(), strict=True)]
    room = slot_bits(widths)
    packed = packing.pack(numbers.plus_numbers(raised), room, packing.slots(numbers.key, room))
    await ciphers.send(channel, reader, MaskedCiphertexts, packed.rerandomised(rng.stream("fresh")))
    low = [mask % (1 << width) for mask, width in zip(masks, widths.tolist(), strict=True)]
    turned = await ask_less(channel, reader, key, low, widths)
    return turned ^ _digit(masks, widths)


async def answer_signs(channel: Channel, asker: str, secret: SecretKey, key: ReadingKey, widths: Longs) -> Bits:
    """The reader's share of whether each of the asker's numbers is zero or more."""
    if not len(widths):
        return np.zeros(0, dtype=bool)
    room = slot_bits(widths)
    slots = packing.slots(secret.public, room)
    packed = await ciphers.receive(channel, asker, MaskedCiphertexts, secret.public, -(-len(widths) // slots))
    try:
        masked = packing.unpack(secret.decrypt(packed), room, slots, len(widths))
    except InputError as error:
        raise PeerError(party=asker, step=channel.step, reason=str(error)) from None
    for number, width in zip(masked, widths.tolist(), strict=True):
        if number >> (width + HIDING + 2):
            raise PeerError(party=asker, step=channel.step, reason="a masked number is longer than any can be")
    low = [number % (1 << width) for number, width in zip(masked, widths.tolist(), strict=True)]
    borrowed = await answer_less(channel, asker, key, low, widths)
    return borrowed ^ _digit(masked, widths)


def slot_bits(widths: Longs) -> int:
    """Bits that a masked number takes in a pack."""
    if int(widths.min()) < 1 or int(widths.max()) > LONGEST:
        raise InputError(f"numbers of {int(widths.min())} to {int(widths.max())} bits; 1 to {LONGEST} can be compared")
    return int(widths.max()) + HIDING + 2


def _digit(numbers: Sequence[int], widths: Longs) -> Bits:
    """Each number's bit at its width."""
    return np.array([number >> width & 1 == 1 for number, width in zip(numbers, widths.tolist(), strict=True)])


# -- what is opened


async def ask_verdicts(channel: Channel, reader: str, key: Points, shares: Bits, together: int) -> Bits:
    """For each `together` shared bits in a row whether all are set; which are not stays hidden."""
    if not len(shares):
        return np.zeros(0, dtype=bool)
    due = len(shares)
    theirs = Ciphertexts(*await lists.receive(channel, reader, Digits, columns=2, due=due, distinct=False))
    failed = choose(shares, theirs, complement(theirs))
    rows = np.arange(due).reshape(-1, together)
    total = failed.take(rows[:, 0])
    for place in range(1, together):
        total = total.plus(failed.take(rows[:, place]))
    stream = channel.rng.stream("verdicts")
    total = elgamal.rerandomise(total.scaled(Scalars.draw(stream, len(total))), key, stream)
    await lists.send(channel, reader, BlindedDigits, [total.first, total.second])
    return await channel.receive_bits(reader, Flags, len(rows))


async def answer_verdicts(channel: Channel, asker: str, key: ReadingKey, shares: Bits, together: int) -> Bits:
    """The same, for the reader, who reads and tells the outcome."""
    if not len(shares):
        return np.zeros(0, dtype=bool)
    mine = key.encrypt(shares, channel.rng.stream("shares"))
    await lists.send(channel, asker, Digits, [mine.first, mine.second])
    due = len(shares) // together
    found = key.zeros(
        Ciphertexts(*await lists.receive(channel, asker, BlindedDigits, columns=2, due=due, distinct=False))
    )
    await channel.send_bits(asker, Flags, found)
    return found


async def tell(channel: Channel, to: str, shares: Bits) -> None:
    """Gives our shares to the other party, who then knows the bits."""
    if len(shares):
        await channel.send_bits(to, Flags, shares)


async def opened(channel: Channel, sender: str, shares: Bits) -> Bits:
    """The bits, from our shares and those that the other party gives us."""
    return shares ^ await channel.receive_bits(sender, Flags, len(shares)) if len(shares) else shares


# -- pure


def starts(lengths: Longs) -> Longs:
    """The place at which each of several stretches begins, one after the other."""
    return np.asarray(np.cumsum(lengths) - lengths, dtype=np.int64)


def spelled(numbers: Sequence[int], widths: Longs) -> Bits:
    """The numbers' bits, the lowest first, each number after the other."""
    return np.array(
        [
            number >> place & 1 == 1
            for number, width in zip(numbers, widths.tolist(), strict=True)
            for place in range(width)
        ],
        dtype=bool,
    )


def shuffled(lengths: Longs, stream: Stream) -> Longs:
    """Places in random order within each stretch."""
    item = np.repeat(np.arange(len(lengths)), lengths)
    return np.asarray(np.lexsort((stream.words(len(item)), item)), dtype=np.int64)


def ideal_signs(numbers: Sequence[int]) -> Bits:
    """The answer of a trusted party."""
    return np.array([number >= 0 for number in numbers], dtype=bool)


# -- cost


def packs(widths: Longs, bits: int) -> int:
    """Ciphertexts that masked numbers take under a key of that many bits."""
    return -(-len(widths) // ((bits - 1) // slot_bits(widths))) if len(widths) else 0


def _sign_traffic(widths: Longs, bits: int) -> Traffic:
    if not len(widths):
        return Traffic()
    packed, digits = packs(widths, bits), int(widths.sum())
    masked = Traffic(1, ciphers.messages(packed, bits), ciphers.size(packed, bits))
    return masked + lists.traffic(digits, 2) + lists.traffic(digits + len(widths), 2)


SIGN_COST = Cost(_sign_traffic)


def _verdict_traffic(count: int, together: int) -> Traffic:
    told = count // together
    flags = Traffic(1, 1, FLAG_BYTES + told // 8)
    return lists.traffic(count, 2) + lists.traffic(told, 2) + flags if count else Traffic()


VERDICT_COST = Cost(_verdict_traffic)


def flags_size(count: int) -> int:
    """Bytes of one message of flags."""
    return FLAG_BYTES + -(-count // 8) if count else 0
