"""Secure argmin in rows of sums: each has a share of each price, the pivot adds up, all learn the cheapest.

Source    Tassa & Gudes, Algorithm 4, steps 7 and 9, for many records at once.
Roles     the holders, of whom one, the pivot, adds up.
Security  semi-honest. A holder sends its shares under pairwise masks modulo 2^32, fresh at every step, which cancel
          out in the sum: the pivot sees sums alone, and the others which candidate is the cheapest.
Not       the pivot reads all prices: with two holders, the other's share of each (`covey bench columns` shows what
          that tells).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from covey.arrays import Longs
from covey.protocols.as_printed.cluster_columns.parameters import Parameters, Shares
from covey.protocols.as_printed.cluster_columns.questions import Totals, row_argmin
from covey.secure.sum import mask_streams
from covey.wire import Channel, Chunk, gather


class Shared(Chunk[bytes], tag="cluster.shares"):
    """The sender's shares of prices under its masks: uniform to everyone else."""

    values: bytes


class Chosen(Chunk[bytes], tag="cluster.least"):
    """The place of the least in each row."""

    places: bytes


async def argmin(channel: Channel, parameters: Parameters, starts: Longs, shares: Shares) -> Longs:
    """A holder's part: the cheapest place of each row. The pivot adds up and tells the others."""
    masked, rows = mask(channel, shares), len(starts) - 1
    if channel.me != parameters.pivot:
        await send(channel, parameters.pivot, Shared, masked)
        places = await receive(channel, parameters.pivot, Chosen, rows)
        return checked(channel, parameters.pivot, places, np.diff(starts))
    theirs = await gather(*(receive(channel, peer, Shared, len(shares)) for peer in channel.peers))
    answer = row_argmin(starts, add_up([masked, *theirs]))
    await gather(*(send(channel, peer, Chosen, answer) for peer in channel.peers))
    return answer


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
