"""A store of values by key that does not tell which keys it has: ask it for any, and something comes back.

Source    the 3-hash garbled cuckoo table of Garimella et al. (CRYPTO 2021), by peeling, without its dense part.
A value is the exclusive or of three cells, one from each third of the table. Where the stored values look
random, so does the whole table, and an answer for a key that was never stored. The cells of a key follow from
a digest of it, which has to look random to whoever holds the table.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from covey.arrays import Longs, Words
from covey.crypto.rng import Stream

VALUE_BYTES = 16
DIGEST_BYTES = 24
"""Of a key: eight bytes for each of its three cells."""

_SLACK = 384
"""Spare cells, so that small stores can be laid out at the first attempt as well as large ones."""


def cells(keys: int) -> int:
    """Cells of a store of that many keys: three tenths more than keys, and some."""
    return 3 * _third(keys)


def lay_out(digests: Sequence[bytes], values: Words, stream: Stream) -> Words | None:
    """The table, two words a cell, or None if these digests cannot be laid out: take others for the keys.

    `values` has two words for each key. Cells that no key needs are random.
    """
    places = _places(digests, len(digests))
    order = _peel(places, cells(len(digests)))
    if order is None:
        return None
    table = stream.words(2 * cells(len(digests))).reshape(-1, 2)
    wanted = values.reshape(-1, 2)
    for key, cell in reversed(order):
        first, second, third = places[key]
        table[cell] ^= table[first] ^ table[second] ^ table[third] ^ wanted[key]
    return table.reshape(-1)


def look_up(table: Words, keys: int, digests: Sequence[bytes]) -> Words:
    """For each digest two words: what was stored under it, or something that looks random."""
    places = _places(digests, keys)
    rows = table.reshape(-1, 2)
    found: Words = rows[places[:, 0]] ^ rows[places[:, 1]] ^ rows[places[:, 2]]
    return found.reshape(-1)


def _third(keys: int) -> int:
    return -(-(13 * keys + 10 * _SLACK) // 30)


def _places(digests: Sequence[bytes], keys: int) -> Longs:
    third = _third(keys)
    words = np.frombuffer(b"".join(digests), dtype="<u8").reshape(-1, 3)
    inside = (words % np.uint64(third)).astype(np.int64)
    return inside + np.array([0, third, 2 * third], dtype=np.int64)


def _peel(places: Longs, size: int) -> list[tuple[int, int]] | None:
    """Keys in an order in which each has a cell that no later one uses, with that cell; None if there is none."""
    degree = np.bincount(places.reshape(-1), minlength=size).tolist()
    keys_at = np.zeros(size, dtype=np.int64)
    for column in places.T:
        np.bitwise_xor.at(keys_at, column, np.arange(len(places)))
    xor, rows = keys_at.tolist(), places.tolist()
    free = [cell for cell, count in enumerate(degree) if count == 1]
    order = []
    while free:
        cell = free.pop()
        if degree[cell] != 1:
            continue
        key = xor[cell]
        order.append((key, cell))
        for other in rows[key]:
            degree[other] -= 1
            xor[other] ^= key
            if degree[other] == 1:
                free.append(other)
    return order if len(order) == len(rows) else None
