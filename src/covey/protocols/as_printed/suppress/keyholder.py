"""The keyholder (the paper's Alice): lists its rare tuples encrypted under its own key, and opens the answers."""

from __future__ import annotations

import numpy as np

from covey.arrays import Bits, Longs
from covey.protocols.as_printed.suppress.messages import CiphertextPart, TableVerdict
from covey.protocols.as_printed.suppress.run import HolderRun, in_lanes
from covey.secure import listing
from covey.wire import Channel, gather

Entry = tuple[int, int]
"""The number of a tuple, and how many rows it counts for."""


async def keep(run: HolderRun, key: bytes, given_up: Bits, remaining: Longs) -> Bits:
    """The rows that the keyholder keeps."""
    channel, own, k = run.channel, run.own, run.parameters.k
    anonymous = await test(run, key, remaining)
    await channel.at("verdict").send(run.peer, TableVerdict(anonymous))
    if anonymous:
        return np.ones(own.rows, dtype=bool)
    if not run.bounds.given_up:
        return np.zeros(own.rows, dtype=bool)
    asked = np.flatnonzero((remaining > 0) & (remaining < k) & ~run.named_by_peer)
    matched = np.zeros(len(own.keys), dtype=bool)
    matched[asked] = await compare(run, key, asked, remaining)
    keeps: Bits = (remaining >= k) | run.named_by_peer | matched
    kept: Bits = keeps[own.place] & ~given_up
    return kept


async def test(run: HolderRun, key: bytes, remaining: Longs) -> bool:
    """Phase 1: tells whether both tables together are k-anonymous as they stand."""
    run.seat.progress.phase("test", 2 * run.bounds.test_chunks)
    for which, entries in enumerate(lists(run, remaining)):
        await _send_list(run, run.channel.at("test", which), entries, run.bounds.test_chunk)
    with run.channel.at("answer") as channel:
        items = await run.hear(channel, 2)
        opened = await run.do(channel, listing.FindZeros(run.encryption, run.seed(channel, "open"), key, items))
    return any(opened)


def lists(run: HolderRun, remaining: Longs) -> tuple[list[Entry], list[Entry] | None]:
    """The two lists of phase 1, filled up; None for one that holds nothing anyone knows.

    The rare tuples in the order of their spelling; and the same with the tuple that becomes rare by what is given up.
    """
    own, k = run.own, run.parameters.k
    rare = np.flatnonzero((own.counts < k) & ~run.named_by_peer)
    cut = np.flatnonzero((own.counts >= k) & (remaining < k))
    both = np.sort(np.concatenate([rare, cut]))
    return _filled(run, rare), _filled(run, both) if len(cut) else None


def _filled(run: HolderRun, tuples: Longs) -> list[Entry]:
    """Entries for these own tuples, and as many that stand for no tuple as make the public length."""
    entries = [(run.number(run.own.keys[each]), int(run.own.counts[each])) for each in tuples.tolist()]
    return entries + [(run.filler, run.parameters.k)] * (run.bounds.tested - len(entries))


async def compare(run: HolderRun, key: bytes, asked: Longs, remaining: Longs) -> Bits:
    """Phase 2: the tuples among these of which the comparer has enough rows."""
    layout, bounds = run.bounds.layout, run.bounds
    run.seat.progress.phase("compare", bounds.compare_chunks)
    if not layout.bins:  # one of the two has no rare rows: nothing can match
        return np.zeros(len(asked), dtype=bool)
    channel = run.channel.at("list")
    place = layout.place([run.own.keys[each] for each in asked.tolist()], channel.session, channel.rng.stream("place"))
    entries = [(run.filler, run.parameters.k)] * layout.bins
    for each, where in zip(asked.tolist(), place.tolist(), strict=True):
        entries[where] = (run.number(run.own.keys[each]), int(remaining[each]))
    found = np.zeros(layout.bins, dtype=bool)
    done = 0

    async def read(at: Channel, chunk: int) -> None:
        nonlocal done
        first = chunk * bounds.compare_chunk
        bins = min(bounds.compare_chunk, layout.bins - first)
        for start in range(0, layout.slots, bounds.piece):
            places = min(bounds.piece, layout.slots - start)
            items = await run.hear(at, bins * places)
            opened = await run.do(at, listing.FindZeros(run.encryption, run.seed(at, "open", chunk, start), key, items))
            found[first : first + bins] |= np.frombuffer(opened, np.uint8).reshape(bins, places).any(axis=1)
        done += 1
        run.seat.progress.reach(done)

    await gather(
        _send_list(run, channel, entries, bounds.compare_chunk),
        in_lanes(run.channel.at("compare"), bounds.compare_chunks, read),
    )
    return found[place]


async def _send_list(run: HolderRun, channel: Channel, entries: list[Entry] | None, chunk: int) -> None:
    """Each entry as one ciphertext of its tuple and k - 1 of its count: zeros for as many rows as there are."""
    k, length = run.parameters.k, run.bounds.tested if entries is None else len(entries)

    async def write(at: Channel, number: int) -> None:
        first, last = number * chunk, min((number + 1) * chunk, length)
        part = [(run.filler, k)] * (last - first) if entries is None else entries[first:last]
        numbers = [each for what, _ in part for each in (what, *[0] * (k - 1))]
        known = bytes(each for _, rows in part for each in (1, *(j <= rows for j in range(1, k))))
        if entries is None:
            known = bytes(len(known))
        job = listing.EncryptNumbers(
            run.encryption, run.seed(at, "seal", number), listing.spell_numbers(numbers), known
        )
        await at.send(run.peer, CiphertextPart(await run.do(at, job)))

    await in_lanes(channel, -(-length // chunk), write)
