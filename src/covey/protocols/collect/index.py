"""The encrypted index: for every cell its position on the line, which nobody knows and everyone can read encrypted.

Source    Xue and others, section 4.2. A joint number is the sum of one that a respondent drew and one that the
          collector drew, both uniform on rho; a cell's position is the sum of all joint numbers up to it, behind b that
          precede. Each respondent draws the numbers of a block of cells and encrypts them; the collector adds its own
          to the sums.
Fixed     each published entry is re-randomised: else the owner of a number would find the collector's from the ratio of
          neighbouring entries. Of the b numbers only the sum matters, and each respondent encrypts its part of it.
"""

from __future__ import annotations

import numpy as np

from covey.arrays import Longs, Octets
from covey.crypto.elgamal import Ciphertexts, encrypt, rerandomise
from covey.crypto.group import POINT_BYTES, Points
from covey.crypto.rng import Stream
from covey.errors import PeerError
from covey.protocols.collect.terms import Terms
from covey.wire import Channel, Message

ENTRY_BYTES = 2 * POINT_BYTES


class Numbers(Message, tag="collect.numbers"):
    """A respondent's random numbers for its block of cells, and its part of those before the first cell, encrypted."""

    first: Points
    second: Points


def block(cells: int, respondents: int, number: int) -> tuple[int, int]:
    """The cells whose numbers that respondent draws: from the first up to but not including the last."""
    return cells * number // respondents, cells * (number + 1) // respondents


def draw(terms: Terms, stream: Stream, count: int) -> Longs:
    """That many random numbers from rho."""
    return stream.words_below(terms.high - terms.low + 1, count).astype(np.int64) + terms.low


def contribute(terms: Terms, key: Points, respondents: int, number: int, numbers: Stream, fresh: Stream) -> Ciphertexts:
    """A respondent's encrypted numbers."""
    return encrypt(drawn(terms, respondents, number, numbers), key, fresh)


def drawn(terms: Terms, respondents: int, number: int, numbers: Stream) -> list[int]:
    """A respondent's numbers: one for each cell of its block, and then its part of the beginning."""
    first, last = block(terms.grid.cells, respondents, number)
    before, after = block(terms.b, respondents, number)
    own = draw(terms, numbers, last - first + after - before)
    return [*own[: last - first].tolist(), int(own[last - first :].sum())]


async def receive(channel: Channel, terms: Terms, handle: str, respondents: int, number: int) -> Ciphertexts:
    """One respondent's numbers, as the collector reads them."""
    message = await channel.receive(handle, Numbers)
    first, last = block(terms.grid.cells, respondents, number)
    due = last - first + 1
    if len(message.first) != due or len(message.second) != due:
        reason = f"{len(message.first)} and {len(message.second)} halves of numbers, expected {due}"
        raise PeerError(party=handle, step=channel.step, reason=reason)
    return Ciphertexts(message.first, message.second)


def build(terms: Terms, key: Points, theirs: list[Ciphertexts], own: Longs, fresh: Stream) -> Ciphertexts:
    """The index, from everyone's numbers in the order of respondents, and the collector's: b first, then the cells'."""
    beginnings = Ciphertexts.join([part.slice(len(part) - 1, len(part)) for part in theirs]).total()
    steps = Ciphertexts.join([part.slice(0, len(part) - 1) for part in theirs])
    before, mine = int(own[: terms.b].sum()), np.cumsum(own[terms.b :])
    begun = Ciphertexts.join([steps.slice(0, 1).plus(beginnings), steps.slice(1, len(steps))])
    return rerandomise(begun.running_totals().plus_numbers((mine + before).tolist()), key, fresh)


def _rows(points: Points) -> Octets:
    return np.frombuffer(points.data, dtype=np.uint8).reshape(-1, POINT_BYTES)


def entry(raw: bytes, place: int) -> Ciphertexts:
    """One entry of an index in bytes. Raises InputError if it is no ciphertext."""
    own = raw[place * ENTRY_BYTES : (place + 1) * ENTRY_BYTES]
    return Ciphertexts(Points(own[:POINT_BYTES]), Points(own[POINT_BYTES:]))


def spell(index: Ciphertexts) -> bytes:
    """The index in bytes, an entry after the other."""
    return np.concatenate([_rows(index.first), _rows(index.second)], axis=1).tobytes()
