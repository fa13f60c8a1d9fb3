"""Marginals: each holder tells the others how many people have each of its values that k or more have, but for some."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from covey.arrays import Bits, Longs, Words
from covey.protocols.peel_columns.parameters import Parameters
from covey.protocols.shared.peeling.marginals import RARE, WITHHELD, Marginals, count_leaves, opened_of
from covey.secure.declare import TOTALS, Leakage
from covey.table import Table
from covey.wire import Channel, Chunk, Vector, gather, while_sending

LEAKAGE = Leakage(
    roles={
        "holder": (
            "which of the {leaves} values of the other holders' quasi columns {k} or more people have, and how many "
            "have each of these; one such value is left out in every column that also has a rarer one",
        )
    },
    about=TOTALS,
)


class Frequencies(Chunk[Vector], tag="peel.frequencies"):
    """The number of people that have each value of the sender's columns; 0 if it is rare, 1 if it is withheld."""

    counts: Vector


async def learn(channel: Channel, params: Parameters, table: Table, shared: Sequence[Bits]) -> Marginals:
    """The public part of the values' frequencies in everyone's columns, beside the `shared` pairs of values.

    Raises PeerError for what cannot be.
    """
    study, k, rows = params.study, params.k, table.rows
    counts: list[Longs] = [np.zeros(0, dtype=np.int64)] * len(study.quasi)
    for place, column in zip(params.own_places(channel.me), count_leaves(table.trees, table.codes), strict=True):
        frequent = column >= k
        counts[place] = np.where(opened_of(study, place, frequent), column, np.where(frequent, WITHHELD, RARE))
    mine = np.concatenate([np.zeros(0, np.int64), *(counts[place] for place in params.own_places(channel.me))])
    said = np.where(mine == RARE, 0, np.where(mine == WITHHELD, 1, mine)).astype(np.uint64)

    async def hear(peer: str) -> None:
        places = params.own_places(peer)
        ends = np.cumsum([0, *(study.quasi[place].tree().codes for place in places)]).tolist()
        words = (await channel.receive_all(peer, Frequencies, ends[-1])).words
        for place, first, last in zip(places, ends[:-1], ends[1:], strict=True):
            part = words[first:last]
            opened = opened_of(study, place, part > 0)
            if not _possible(part, opened, k, rows):
                raise channel.refusal(peer, f"its counts of column {study.quasi[place].name!r} cannot be")
            counts[place] = np.where(opened, part.astype(np.int64), np.where(part > 0, WITHHELD, RARE))

    hearing = gather(*(hear(peer) for peer in channel.peers))
    await while_sending(channel.broadcast_all(Frequencies, Vector(said)), hearing)
    return Marginals(rows, k, tuple(counts), tuple(shared))


def _possible(part: Words, opened: Bits, k: int, rows: int) -> bool:
    """True if so many people can have each value: k or more where a count is opened, all of them if every one is."""
    known = part[opened]
    if (known < k).any() or (known > rows).any() or (part[(part > 0) & ~opened] != 1).any():
        return False
    total = int(known.sum())
    return total == rows if opened.all() else total <= rows
