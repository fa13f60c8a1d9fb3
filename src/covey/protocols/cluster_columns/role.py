"""The roles: holders of columns, of whom the pivot is one, and an evaluator without data."""

from __future__ import annotations

import hashlib

import numpy as np

from covey import measures
from covey.arrays import Longs
from covey.crypto.secret import Secret
from covey.errors import Aborted
from covey.protocols.cluster_columns import argmin, leakage
from covey.protocols.cluster_columns.algorithm import search
from covey.protocols.cluster_columns.own_columns import OwnColumns
from covey.protocols.cluster_columns.parameters import Parameters
from covey.protocols.cluster_columns.questions import ArgMin, Cuts, Decision, Question, Search
from covey.protocols.cluster_columns.randomness import pivot_draws, public_draws
from covey.protocols.protocol import Figures, Proposal, Recognition, Result, RoleProgress, Seat
from covey.protocols.shared.agree import agree
from covey.protocols.shared.columns import meeting, parts, recognition, release
from covey.secure import coin
from covey.secure import sum as secure_sum
from covey.wire import Channel, gather

PHASES = {"division": 16, "moves": 12, "merging": 16}
"""The phases of a search, each with about the most steps that it has."""

_FIXED = 1 << 24
"""The parts of a cell in which losses are added up."""


async def holder(seat: Seat) -> Result:
    """A holder of columns, the pivot included: searches with the others, and shows its part of the release."""
    parameters, channel = Parameters.of(seat.study), seat.channel.at("cluster")
    seat.progress.phase("alignment")
    mine = await meeting.meet(seat, channel.at("meet"), *leakage.HOLDERS)
    if mine is None:
        raise TypeError(f"party {seat.party!r} has no columns; its role is another")
    own = OwnColumns.of(parameters, mine.table, seat.party)
    own.require_diverse()
    among = channel.among(*parameters.holders)
    seed = await coin.toss(among.at("coin")) if parameters.evaluator is not None else None

    seat.ledger.learns(leakage.of_search(parameters), **leakage.numbers(parameters))
    searching = search(own, seat.party, public_draws(mine.ids), pivot_draws(own, mine.ids, seat.lasting))
    label = await run_search(channel, parameters, searching, seed, seat.progress)
    await agree(among.at("agree"), hashlib.sha256(label.astype("<i8").tobytes()).digest())

    seat.progress.phase("release")
    seat.ledger.learns(leakage.FIGURES)
    part = parts.contribution_of(label, own.nodes(label), mine.table, leads=own.pivot)
    known = await add_up_figures(channel.at("figures"), parameters, own, label)
    found = recognition.count(seat.study, [label], mine.table.carried)
    return await publish(seat, channel.at("rows"), parameters, part, known, found)


async def evaluator(seat: Seat) -> Result:
    """A party without data: finds the least of unnamed sums, and gets the release like everyone."""
    parameters, channel = Parameters.of(seat.study), seat.channel.at("cluster")
    seat.progress.phase("alignment")
    await meeting.meet(seat, channel.at("meet"), *leakage.HOLDERS)
    seat.ledger.learns(leakage.of_search(parameters), **leakage.numbers(parameters))
    seat.progress.phase("moves")
    await argmin.evaluate(channel.at("evaluate"), parameters)
    seat.progress.phase("release")
    seat.ledger.learns(leakage.FIGURES)
    known = await add_up_figures(channel.at("figures"), parameters)
    return await publish(seat, channel.at("rows"), parameters, None, known)


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
        await gather(*(parts.send_numbers(channel, peer, question.mine, question.bound) for peer in channel.peers))
        return question.mine
    return await parts.receive_numbers(channel, parameters.pivot, question.due, question.bound)


async def collect_cuts(channel: Channel, parameters: Parameters, question: Cuts) -> Longs:
    """The cuts of all blocks, from the holders that won them. Raises PeerError for parts that are no cut."""
    lengths = [int(question.lengths[question.by == place].sum()) for place in range(len(parameters.holders))]
    mine = [part for part in question.mine if part is not None]
    own = np.concatenate(mine) if mine else np.zeros(0, dtype=np.int64)

    async def hear(place: int) -> Longs:
        if parameters.holders[place] == channel.me or not lengths[place]:
            return own if parameters.holders[place] == channel.me else np.zeros(0, dtype=np.int64)
        return await parts.receive_numbers(channel, parameters.holders[place], lengths[place], question.bound)

    speaking = [parts.send_numbers(channel, peer, own, question.bound) for peer in channel.peers] if len(own) else []
    heard = await gather(*(hear(place) for place in range(len(parameters.holders))), *speaking)
    taken = [0] * len(parameters.holders)
    found = []
    for place, length in zip(question.by.tolist(), question.lengths.tolist(), strict=True):
        part = heard[place][taken[place] : taken[place] + length]
        taken[place] += length
        counts = np.bincount(part)
        if len(counts) < 2 or int(counts.min()) < question.fewest:
            reason = f"its cut leaves a part with fewer than {question.fewest} records, or is none"
            raise channel.refusal(parameters.holders[place], reason)
        found.append(part)
    return np.concatenate(found) if found else np.zeros(0, dtype=np.int64)


async def add_up_figures(
    channel: Channel, parameters: Parameters, own: OwnColumns | None = None, label: Longs | None = None
) -> Figures:
    """The figures of the release, added up by everyone; a party without data adds nothing.

    Every holder adds what its columns lose. The pivot alone adds what all holders know, so that it counts once.
    """
    mine = np.zeros(6, dtype=np.uint64)
    if own is not None and label is not None:
        sizes = np.bincount(label).astype(np.int64)
        lost, roots = parts.own_loss(own.table, own.nodes(label), sizes)
        mine[4:] = [round(lost * _FIXED), roots]
        if own.pivot:
            mine[:4] = [int(sizes.sum()), len(sizes), int(sizes.min()), measures.discernibility(sizes)]
    rows, classes, smallest, squares, lost_parts, roots = (int(each) for each in await secure_sum.total(channel, mine))
    if not 0 < classes <= rows:
        raise Aborted("the figures are impossible: a party did not keep to the protocol", resumable=False)
    return Figures(
        rows=rows,
        classes=classes,
        k_reached=smallest,
        suppressed_cells=roots,
        loss={
            "lm": lost_parts / _FIXED / (rows * len(parameters.study.quasi)),
            "em": None,
            "dm": float(squares),
            "c_avg": rows / classes / parameters.k,
        },
    )


async def publish(
    seat: Seat,
    channel: Channel,
    parameters: Parameters,
    mine: parts.Contribution | None,
    known: Figures,
    found: Recognition | None = None,
) -> Result:
    """Asks for approval, shows our part to everyone, if we have one, and puts all parts together."""
    await seat.propose(Proposal(*leakage.of_release(parameters, known.rows), known, recognition=found))
    everyone = channel.parties
    rows = await parts.exchange(channel, seat.study, parameters.pivot, mine, known.rows, known.classes, to=everyone)
    if rows is None:
        raise TypeError("everyone gets the release")
    return release.result(parameters.study, rows, approved=known.rows)
