"""The comparer (the paper's Bob): holds its own rare tuples against the encrypted lists, and learns nothing by it."""

from __future__ import annotations

import numpy as np

from covey.arrays import Longs
from covey.protocols.as_printed.suppress.messages import CiphertextPart, TableVerdict
from covey.protocols.as_printed.suppress.run import HolderRun, in_lanes
from covey.secure import listing
from covey.wire import Channel


async def answer(run: HolderRun) -> bool:
    """Runs the phases that are needed; tells whether both tables together were k-anonymous as they stood."""
    await test(run)
    anonymous = (await run.channel.at("verdict").receive(run.peer, TableVerdict)).anonymous
    if not anonymous and run.bounds.given_up:
        await compare(run)
    return anonymous


async def test(run: HolderRun) -> None:
    """Phase 1: one ciphertext for each of the two lists, which holds zero if it matches ours, count by count."""
    bounds, k = run.bounds, run.parameters.k
    run.seat.progress.phase("test", 2 * bounds.test_chunks)
    rare = np.flatnonzero((run.own.counts < k) & ~run.named_by_peer)
    numbers = [run.number(run.own.keys[each]) for each in rare.tolist()]
    numbers += [run.filler] * (bounds.tested - len(numbers))
    picks = np.ones(bounds.tested, dtype="<i4")  # where nothing is to be compared any z does: the keyholder's are zero
    picks[: len(rare)] = k - run.own.counts[rare]
    sums = [[b""] * bounds.test_chunks for _ in range(2)]
    for which in range(2):

        async def add(at: Channel, chunk: int, which: int = which) -> None:
            first, last = chunk * bounds.test_chunk, min((chunk + 1) * bounds.test_chunk, bounds.tested)
            entries = await run.hear(at, k * (last - first))
            spelled = listing.spell_numbers(numbers[first:last])
            seed = run.seed(at, "test", chunk)
            job = listing.Test(run.encryption, seed, entries, k, spelled, picks[first:last].tobytes())
            sums[which][chunk] = await run.do(at, job)

        await in_lanes(run.channel.at("test", which), bounds.test_chunks, add)
    channel = run.channel.at("answer")
    settled = [
        await run.do(channel, listing.Settle(run.encryption, run.seed(channel, "settle", which), b"".join(sums[which])))
        for which in range(2)
    ]
    if channel.rng.stream("swap").below(2):
        settled.reverse()
    await channel.send(run.peer, CiphertextPart(b"".join(settled)))


async def compare(run: HolderRun) -> None:
    """Phase 2: for each entry of the list one ciphertext for each place of its bin, zero where both make k."""
    bounds, layout, k = run.bounds, run.bounds.layout, run.parameters.k
    run.seat.progress.phase("compare", bounds.compare_chunks)
    own, channel = run.own, run.channel.at("compare")
    rare = np.flatnonzero(own.counts < k)
    table = layout.fill([own.keys[each] for each in rare.tolist()], channel.session, channel.rng.stream("fill"))
    numbers = [run.number(own.keys[each]) for each in rare.tolist()] + [run.other_filler]  # -1 is the last
    picks: Longs = np.append(k - own.counts[rare], 1)
    done = 0

    async def read(at: Channel, chunk: int) -> None:
        nonlocal done
        first = chunk * bounds.compare_chunk
        bins = min(bounds.compare_chunk, layout.bins - first)
        entries = await run.hear(at, k * bins)
        lane = at.step.rpartition("/")[2]
        for start in range(0, layout.slots, bounds.piece):
            here = table[first : first + bins, start : start + bounds.piece].ravel()
            spelled = listing.spell_numbers([numbers[each] for each in here.tolist()])
            chosen = picks[here].astype("<i4").tobytes()
            seed = run.seed(at, "compare", chunk, start)
            answer = await run.do(at, listing.Compare(run.encryption, seed, entries, k, spelled, chosen))
            await channel.at(lane).send(run.peer, CiphertextPart(answer))
        done += 1
        run.seat.progress.reach(done)

    await in_lanes(run.channel.at("list"), bounds.compare_chunks, read)
