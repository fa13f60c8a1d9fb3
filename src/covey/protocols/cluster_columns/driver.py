"""Runs a holder's search over the channel: each question is a step, answered by other holders or an evaluator."""

from __future__ import annotations

import numpy as np

from covey.arrays import Longs
from covey.crypto.secret import Secret
from covey.protocols.cluster_columns import argmin
from covey.protocols.cluster_columns.parameters import Parameters
from covey.protocols.cluster_columns.questions import ArgMin, Cuts, Decision, Question, Search
from covey.protocols.protocol import RoleProgress
from covey.protocols.shared.columns.parts import receive_numbers, send_numbers
from covey.wire import Channel, gather

PHASES = {"division": 16, "moves": 12, "merging": 16}
"""The phases of a search, each with about the most steps that it has."""


async def run_search(
    channel: Channel, parameters: Parameters, search: Search, seed: Secret | None, progress: RoleProgress
) -> Longs:
    """Asks the search's questions until it ends. Returns each record's class."""
    phase, step, asked = "", 0, 0
    question = next(search)
    while True:
        if isinstance(question, ArgMin):
            if question.phase != phase:
                phase = question.phase
                progress.phase(phase, PHASES[phase])
            progress.reach(min(question.done, PHASES[phase]))
        where = channel.at("evaluate", asked) if isinstance(question, ArgMin) else channel.at("tell", step)
        with where as at:
            answer = await _answer(at, parameters, question, argmin.seed_of(seed, asked))
        asked, step = asked + isinstance(question, ArgMin), step + (not isinstance(question, ArgMin))
        try:
            question = search.send(answer)
        except StopIteration as end:
            await argmin.dismiss(channel.at("evaluate", asked), parameters)
            return np.asarray(end.value, dtype=np.int64)


async def _answer(channel: Channel, parameters: Parameters, question: Question, seed: Secret | None) -> Longs:
    if isinstance(question, ArgMin):
        return await argmin.argmin(channel, parameters, seed, question.starts, question.shares)
    if isinstance(question, Decision):
        return await decide(channel.among(*parameters.holders), parameters, question)
    return await collect_cuts(channel.among(*parameters.holders), parameters, question)


async def decide(channel: Channel, parameters: Parameters, question: Decision) -> Longs:
    """The numbers that the pivot decided on."""
    if question.mine is not None:
        await gather(*(send_numbers(channel, peer, question.mine, question.bound) for peer in channel.peers))
        return question.mine
    return await receive_numbers(channel, parameters.pivot, question.due, question.bound)


async def collect_cuts(channel: Channel, parameters: Parameters, question: Cuts) -> Longs:
    """The cuts of all blocks, from the holders that won them. Raises PeerError for parts that are no cut."""
    lengths = [int(question.lengths[question.by == place].sum()) for place in range(len(parameters.holders))]
    mine = [part for part in question.mine if part is not None]
    own = np.concatenate(mine) if mine else np.zeros(0, dtype=np.int64)

    async def hear(place: int) -> Longs:
        if parameters.holders[place] == channel.me or not lengths[place]:
            return own if parameters.holders[place] == channel.me else np.zeros(0, dtype=np.int64)
        return await receive_numbers(channel, parameters.holders[place], lengths[place], question.bound)

    speaking = [send_numbers(channel, peer, own, question.bound) for peer in channel.peers] if len(own) else []
    heard = await gather(*(hear(place) for place in range(len(parameters.holders))), *speaking)
    taken = [0] * len(parameters.holders)
    parts = []
    for place, length in zip(question.by.tolist(), question.lengths.tolist(), strict=True):
        part = heard[place][taken[place] : taken[place] + length]
        taken[place] += length
        counts = np.bincount(part)
        if len(counts) < 2 or int(counts.min()) < question.fewest:
            reason = f"its cut leaves a part with fewer than {question.fewest} records, or is none"
            raise channel.refusal(parameters.holders[place], reason)
        parts.append(part)
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)
