"""Secure argmin in rows of sums: every holder has a share of each price, one party adds up, all learn the cheapest.

Source    Tassa & Gudes, Algorithm 4, steps 7 and 9, for many records at once; the evaluator is ours.
Roles     the holders, who know what a row is about; and the party that adds up: the pivot, who is one of them, or an
          evaluator, who has no data and does not know the rows.
Security  semi-honest. A holder sends its shares under pairwise masks modulo 2^32, fresh at every step, which cancel
          out in the sum: the party that adds up sees sums alone. The pivot sees the sums as they are. The evaluator
          sees them disguised: rows, and candidates in each row, come in an order that the holders draw from a seed of
          their own; each row is scaled by a random factor, and less than one unit of noise is added to each price. It
          answers with a place in each row. Holders learn which candidate that is, and nothing about the others.
Not       the pivot reads all prices: with two holders, the other's share of each (`covey bench columns` shows what
          that tells). The evaluator sees the numbers of rows and candidates, and in each row the order of unnamed
          prices and about how far apart they are: rows of one shape are people who cost every cluster the same. An
          evaluator that colludes with one holder is a pivot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np

from covey.arrays import Longs
from covey.compiled import jit
from covey.crypto.rng import Rng, derive
from covey.crypto.secret import Secret
from covey.protocols.cluster_columns.own_columns import row_starts
from covey.protocols.cluster_columns.parameters import SCALE, Parameters, Shares
from covey.protocols.cluster_columns.questions import Totals, row_argmin
from covey.secure.sum import mask_streams
from covey.wire import Channel, Chunk, Message, chunks, gather

CHUNK = chunks.per_message(4)
"""Numbers of a message."""
LARGEST = 1 << 26
"""Numbers that the evaluator is ready to add up at once."""


class CandidateCounts(Message, tag="cluster.rows"):
    """The number of candidates of each row; no row when the search is over."""

    widths: bytes


class Shared(Chunk[bytes], tag="cluster.shares"):
    """The sender's shares of prices under its masks: uniform to everyone else."""

    values: bytes


class Chosen(Chunk[bytes], tag="cluster.least"):
    """The place of the least in each row."""

    places: bytes


async def argmin(channel: Channel, parameters: Parameters, seed: Secret | None, starts: Longs, shares: Shares) -> Longs:
    """A holder's part: the cheapest place of each row. The pivot adds up; with a seed, the evaluator does."""
    among = channel.among(*parameters.holders)
    if seed is not None and parameters.evaluator is not None:
        disguise = RowDisguise.draw(seed, starts)
        worn = mask(among, disguise.wear(shares, noisy=channel.me == parameters.pivot))
        if channel.me == parameters.pivot:
            await send_rows(channel, parameters.evaluator, disguise.widths)
        await send(channel, parameters.evaluator, Shared, worn)
        places = await receive(channel, parameters.evaluator, Chosen, len(starts) - 1)
        return disguise.undo(checked(channel, parameters.evaluator, places, disguise.widths))
    masked = mask(among, shares)
    widths = np.diff(starts)
    if channel.me != parameters.pivot:
        await send(channel, parameters.pivot, Shared, masked)
        return checked(channel, parameters.pivot, await receive(channel, parameters.pivot, Chosen, len(widths)), widths)
    theirs = await gather(*(receive(among, peer, Shared, len(shares)) for peer in among.peers))
    answer = row_argmin(starts, add_up([masked, *theirs]))
    await gather(*(send(among, peer, Chosen, answer) for peer in among.peers))
    return answer


async def evaluate(channel: Channel, parameters: Parameters) -> None:
    """The evaluator's part, until the pivot says that the search is over."""
    for step in count():
        with channel.at(step) as at:
            widths = await receive_rows(at, parameters.pivot)
            if not len(widths):
                return
            starts = row_starts(widths.astype(np.int64))
            parts = await gather(*(receive(at, name, Shared, int(starts[-1])) for name in parameters.holders))
            answer = row_argmin(starts, add_up(parts))
            await gather(*(send(at, name, Chosen, answer) for name in parameters.holders))


async def dismiss(channel: Channel, parameters: Parameters) -> None:
    """The pivot tells the evaluator that the search is over."""
    if parameters.evaluator is not None and channel.me == parameters.pivot:
        await channel.send(parameters.evaluator, CandidateCounts(b""))


def add_up(parts: Sequence[Shares]) -> Totals:
    """The sums of all holders' shares: the masks cancel out."""
    return np.asarray(np.sum(parts, axis=0, dtype=np.uint32))


def mask(among: Channel, shares: Shares) -> Shares:
    """Our shares under masks that all holders' add up to nothing."""
    masked = shares.copy()
    for sign, stream in mask_streams(among.me, among.pairwise_seeds()):
        words = stream.words(-(-len(shares) // 2)).view(np.uint32)[: len(shares)]
        masked = masked + words if sign > 0 else masked - words
    return masked


@dataclass(frozen=True)
class RowDisguise:
    """Rows as the evaluator sees them: rows and candidates in another order, scaled, and with a little noise."""

    starts: Longs
    order: Longs  # where each row of the disguise comes from
    within: Longs  # where each price of the disguise comes from
    widths: Longs
    scale: Shares
    noise: Shares

    @classmethod
    def draw(cls, seed: Secret, starts: Longs) -> RowDisguise:
        """A disguise that all holders draw alike."""
        draws = Rng(seed)
        total, rows = int(starts[-1]), len(starts) - 1
        scale = (SCALE // 2 + draws.stream("scale").words_below(SCALE // 2, rows)).astype(np.uint32)
        words = draws.stream("within").words(-(-total // 2)).view(np.uint32)[:total]
        noise = draws.stream("noise").words(-(-total // 2)).view(np.uint32)[:total]
        order = draws.stream("order").permutation(rows)
        within, faint = shuffled(starts, order, words, noise, scale)
        return cls(starts, order, within, np.diff(starts)[order], scale, faint)

    def wear(self, shares: Shares, *, noisy: bool) -> Shares:
        """Our shares as the evaluator is to get them; one holder adds the noise."""
        scaled = shares * np.repeat(self.scale, np.diff(self.starts))
        return (scaled + self.noise if noisy else scaled)[self.within]

    def undo(self, places: Longs) -> Longs:
        """The places in our rows that these places in the disguise stand for."""
        answer = np.empty(len(places), dtype=np.int64)
        answer[self.order] = self.within[row_starts(self.widths)[:-1] + places] - self.starts[:-1][self.order]
        return answer


@jit
def shuffled(starts: Longs, order: Longs, words: Shares, noise: Shares, scale: Shares) -> tuple[Longs, Shares]:
    """Each row's candidates in random order (Fisher and Yates), rows in this order; and each price's noise.

    The first candidate of a row gets none, the others at least one: on equal terms it stays the least.
    """
    within = np.empty(starts[-1], np.int64)
    faint = np.zeros(starts[-1], np.uint32)
    filled = 0
    for row in order:
        begun = filled
        for place in range(starts[row], starts[row + 1]):
            pick = begun + ((np.uint64(words[place]) * np.uint64(filled - begun + 1)) >> np.uint64(32))
            within[filled] = within[pick]
            within[pick] = place
            if place > starts[row]:
                span = np.uint64(scale[row] - np.uint32(1))
                faint[place] = np.uint32(1) + np.uint32((np.uint64(noise[place]) * span) >> np.uint64(32))
            filled += 1
    return within, faint


def seed_of(seed: Secret | None, step: int) -> Secret | None:
    """The seed of one step's disguise."""
    return None if seed is None else derive(seed, "disguise", step)


def checked(channel: Channel, sender: str, places: Shares, widths: Longs) -> Longs:
    """The places as numbers. Raises PeerError for one that its row does not have."""
    if (places >= widths).any():
        raise channel.refusal(sender, "it names a place that a row does not have")
    return places.astype(np.int64)


async def send(channel: Channel, to: str, kind: type[Chunk[bytes]], numbers: Longs | Shares) -> None:
    """Sends numbers, four bytes each."""
    await channel.send_all(to, kind, numbers.astype("<u4").tobytes())


async def receive(channel: Channel, sender: str, kind: type[Chunk[bytes]], due: int) -> Shares:
    """Receives `due` numbers. Raises PeerError for more or fewer."""
    raw = await channel.receive_all(sender, kind, 4 * due)
    return np.frombuffer(raw, dtype="<u4").astype(np.uint32, copy=False)


async def send_rows(channel: Channel, evaluator: str, widths: Longs) -> None:
    """Sends the widths of the rows; the last message is shorter than the others."""
    for start in range(0, len(widths) + 1, CHUNK):
        await channel.send(evaluator, CandidateCounts(widths[start : start + CHUNK].astype("<u4").tobytes()))


async def receive_rows(channel: Channel, pivot: str) -> Shares:
    """The widths of the rows that are to be judged. Raises PeerError for rows that cannot be."""
    parts: list[Shares] = []
    while True:
        raw = (await channel.receive(pivot, CandidateCounts)).widths
        if len(raw) % 4 or len(raw) > 4 * CHUNK:
            raise channel.refusal(pivot, f"{len(raw)} bytes are no numbers of candidates")
        parts.append(np.frombuffer(raw, dtype="<u4").astype(np.uint32))
        if len(raw) < 4 * CHUNK:
            break
    widths = np.concatenate(parts)
    if len(widths) and (widths.min() < 1 or int(widths.astype(np.int64).sum()) > LARGEST):
        raise channel.refusal(pivot, "a row without candidates, or too many of them")
    return widths
