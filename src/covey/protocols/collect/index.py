"""The encrypted index: the position of every cell on the line, which nobody knows and everyone can read encrypted.

Source    Xue and others, section 4.2. A joint number is the sum of one that a respondent drew and one that the
          collector drew, both uniform on rho; a cell's position is the sum of all joint numbers up to it, behind b that
          precede. Each respondent draws the numbers of a block of cells and encrypts them; the collector adds its own
          to the sums.
Fixed     each published entry is re-randomised; otherwise the owner of a number would find the collector's number
          from the ratio of neighbouring entries. Of the b numbers only the sum matters, and each respondent encrypts
          its part of it.
"""

from __future__ import annotations

import numpy as np

from covey.arrays import Longs, Octets
from covey.crypto.elgamal import Ciphertexts, encrypt, rerandomise
from covey.crypto.group import POINT_BYTES, Points
from covey.crypto.rng import Stream
from covey.protocols.collect.parameters import Parameters
from covey.wire import Channel, Message

ENTRY_BYTES = 2 * POINT_BYTES


class Encrypted(Message):
    """Numbers of a respondent, encrypted: the first halves of the ciphertexts, and the second halves."""

    first: Points
    second: Points


class Numbers(Encrypted, tag="collect.numbers"):
    """A respondent's random numbers for its block of cells, and its part of those before the first cell."""


def block(cells: int, respondents: int, number: int) -> tuple[int, int]:
    """The cells whose numbers that respondent draws: from the first up to but not including the last."""
    return cells * number // respondents, cells * (number + 1) // respondents


def draw(parameters: Parameters, stream: Stream, count: int) -> Longs:
    """Draws that many random numbers from rho."""
    return stream.words_below(parameters.high - parameters.low + 1, count).astype(np.int64) + parameters.low


def contribute(
    parameters: Parameters, key: Points, respondents: int, number: int, numbers: Stream, fresh: Stream
) -> Ciphertexts:
    """A respondent's encrypted numbers."""
    return encrypt(drawn(parameters, respondents, number, numbers), key, fresh)


def drawn(parameters: Parameters, respondents: int, number: int, numbers: Stream) -> list[int]:
    """A respondent's numbers: one for each cell of its block, and then its part of the beginning."""
    first, last = block(parameters.grid.cells, respondents, number)
    before, after = block(parameters.b, respondents, number)
    own = draw(parameters, numbers, last - first + after - before)
    return [*own[: last - first].tolist(), int(own[last - first :].sum())]


async def receive(channel: Channel, parameters: Parameters, handle: str, respondents: int, number: int) -> Ciphertexts:
    """One respondent's numbers, as the collector reads them."""
    first, last = block(parameters.grid.cells, respondents, number)
    return await receive_ciphertexts(channel, handle, Numbers, last - first + 1, "numbers")


async def receive_ciphertexts(channel: Channel, handle: str, kind: type[Encrypted], due: int, what: str) -> Ciphertexts:
    """A respondent's ciphertexts. Raises PeerError unless there are `due` of them."""
    message = await channel.receive(handle, kind)
    if len(message.first) != due or len(message.second) != due:
        raise channel.refusal(
            handle, f"{len(message.first)} and {len(message.second)} halves of {what}, expected {due}"
        )
    return Ciphertexts(message.first, message.second)


def build(parameters: Parameters, key: Points, theirs: list[Ciphertexts], own: Longs, fresh: Stream) -> Ciphertexts:
    """The index, from everyone's numbers in the order of respondents, and the collector's: b first, then the cells'."""
    beginnings = Ciphertexts.join([part.slice(len(part) - 1, len(part)) for part in theirs]).total()
    steps = Ciphertexts.join([part.slice(0, len(part) - 1) for part in theirs])
    before, mine = int(own[: parameters.b].sum()), np.cumsum(own[parameters.b :])
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
