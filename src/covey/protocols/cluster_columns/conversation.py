"""A holder's search, driven over the channel: each question is a step, answered by others, or by an evaluator."""

from __future__ import annotations

import numpy as np

from covey.arrays import Longs
from covey.crypto.secret import Secret
from covey.errors import PeerError
from covey.protocols.cluster_columns import least
from covey.protocols.cluster_columns.asking import Least, Question, Say, Search, Tell
from covey.protocols.cluster_columns.terms import Terms
from covey.protocols.protocol import Pace
from covey.wire import Channel, Chunk, gather

PHASES = {"division": 16, "moves": 12, "merging": 16}
"""The phases of a search, each with the steps it has at the most, or about so many."""


class Said(Chunk[bytes], tag="cluster.said"):
    """Numbers that the sender decided on: one byte each, or four where they may be larger."""

    numbers: bytes


async def converse(channel: Channel, terms: Terms, search: Search, seed: Secret | None, pace: Pace) -> Longs:
    """Asks what the search wants to know until it ends; each record's class."""
    phase, step, asked = "", 0, 0
    question = next(search)
    while True:
        if isinstance(question, Least):
            if question.phase != phase:
                phase = question.phase
                pace.phase(phase, PHASES[phase])
            pace.reach(min(question.done, PHASES[phase]))
        where = channel.at("evaluate", asked) if isinstance(question, Least) else channel.at("tell", step)
        with where as at:
            answer = await _answer(at, terms, question, least.seed_of(seed, asked))
        asked, step = asked + isinstance(question, Least), step + (not isinstance(question, Least))
        try:
            question = search.send(answer)
        except StopIteration as end:
            await least.dismiss(channel.at("evaluate", asked), terms)
            return np.asarray(end.value, dtype=np.int64)


async def _answer(channel: Channel, terms: Terms, question: Question, seed: Secret | None) -> Longs:
    if isinstance(question, Least):
        return await least.least(channel, terms, seed, question.starts, question.shares)
    if isinstance(question, Say):
        return await say(channel.among(*terms.holders), terms, question)
    return await tell(channel.among(*terms.holders), terms, question)


async def say(channel: Channel, terms: Terms, question: Say) -> Longs:
    """What the pivot decided."""
    if question.mine is not None:
        await gather(*(send(channel, peer, question.mine, question.bound) for peer in channel.peers))
        return question.mine
    return await receive(channel, terms.pivot, question.due, question.bound)


async def tell(channel: Channel, terms: Terms, question: Tell) -> Longs:
    """Everyone's parts, put together. Raises PeerError for parts that are no cut."""
    lengths = [int(question.lengths[question.by == place].sum()) for place in range(len(terms.holders))]
    mine = [part for part in question.mine if part is not None]
    own = np.concatenate(mine) if mine else np.zeros(0, dtype=np.int64)

    async def hear(place: int) -> Longs:
        if terms.holders[place] == channel.me or not lengths[place]:
            return own if terms.holders[place] == channel.me else np.zeros(0, dtype=np.int64)
        return await receive(channel, terms.holders[place], lengths[place], question.bound)

    speaking = [send(channel, peer, own, question.bound) for peer in channel.peers] if len(own) else []
    heard = await gather(*(hear(place) for place in range(len(terms.holders))), *speaking)
    taken = [0] * len(terms.holders)
    parts = []
    for place, length in zip(question.by.tolist(), question.lengths.tolist(), strict=True):
        part = heard[place][taken[place] : taken[place] + length]
        taken[place] += length
        counts = np.bincount(part)
        if len(counts) < 2 or int(counts.min()) < question.fewest:
            reason = f"its cut leaves a part with fewer than {question.fewest} records, or is none"
            raise PeerError(party=terms.holders[place], step=channel.step, reason=reason)
        parts.append(part)
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)


async def send(channel: Channel, to: str, numbers: Longs, bound: int) -> None:
    """Sends numbers below a bound."""
    kind = "<u1" if bound <= 256 else "<u4"
    await channel.send_all(to, Said, numbers.astype(kind).tobytes())


async def receive(channel: Channel, sender: str, due: int, bound: int) -> Longs:
    """So many numbers below a bound. Raises PeerError for anything else."""
    kind = "<u1" if bound <= 256 else "<u4"
    raw = await channel.receive_all(sender, Said, due * np.dtype(kind).itemsize)
    numbers = np.frombuffer(raw, dtype=kind).astype(np.int64)
    if len(numbers) and int(numbers.max()) >= bound:
        raise PeerError(party=sender, step=channel.step, reason=f"a number of {bound} or more")
    return numbers
