"""The role of every holder of columns, of whom the pivot is one."""

from __future__ import annotations

import hashlib

import numpy as np

from covey import measures
from covey.arrays import Longs
from covey.errors import Aborted
from covey.protocols.as_printed.cluster_columns import argmin, leakage
from covey.protocols.as_printed.cluster_columns.algorithm import search
from covey.protocols.as_printed.cluster_columns.own_columns import OwnColumns
from covey.protocols.as_printed.cluster_columns.parameters import Parameters
from covey.protocols.as_printed.cluster_columns.questions import ArgMin, Decision, Question, Search
from covey.protocols.as_printed.cluster_columns.randomness import pivot_draws, public_draws
from covey.protocols.protocol import Figures, Proposal, Recognition, Result, RoleProgress, Seat
from covey.protocols.shared.agree import agree
from covey.protocols.shared.columns import meeting, parts, recognition, release
from covey.secure import sum as secure_sum
from covey.wire import Channel, gather

PHASES = {"moves": 12, "merging": 16}
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

    seat.ledger.learns(leakage.of_search(parameters), **leakage.numbers(parameters))
    searching = search(own, public_draws(mine.ids), pivot_draws(own, mine.ids, seat.lasting))
    label = await run_search(channel, parameters, searching, seat.progress)
    await agree(among.at("agree"), hashlib.sha256(label.astype("<i8").tobytes()).digest())

    seat.progress.phase("release")
    seat.ledger.learns(leakage.FIGURES)
    part = parts.contribution_of(label, own.nodes(label), mine.table, leads=own.pivot)
    known = await add_up_figures(channel.at("figures"), parameters, own, label)
    found = recognition.count(seat.study, [label], mine.table.carried)
    return await publish(seat, channel.at("rows"), parameters, part, known, found)


async def run_search(channel: Channel, parameters: Parameters, search: Search, progress: RoleProgress) -> Longs:
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
            answer = await _answer(at, parameters, question)
        asked, step = asked + isinstance(question, ArgMin), step + (not isinstance(question, ArgMin))
        try:
            question = search.send(answer)
        except StopIteration as end:
            return np.asarray(end.value, dtype=np.int64)


async def _answer(channel: Channel, parameters: Parameters, question: Question) -> Longs:
    if isinstance(question, ArgMin):
        return await argmin.argmin(channel, parameters, question.starts, question.shares)
    return await decide(channel, parameters, question)


async def decide(channel: Channel, parameters: Parameters, question: Decision) -> Longs:
    """The numbers that the pivot decided on."""
    if question.mine is not None:
        await gather(*(parts.send_numbers(channel, peer, question.mine, question.bound) for peer in channel.peers))
        return question.mine
    return await parts.receive_numbers(channel, parameters.pivot, question.due, question.bound)


async def add_up_figures(channel: Channel, parameters: Parameters, own: OwnColumns, label: Longs) -> Figures:
    """The figures of the release, added up by everyone.

    Every holder adds what its columns lose. The pivot alone adds what all holders know, so that it counts once.
    """
    mine = np.zeros(6, dtype=np.uint64)
    sizes = np.bincount(label).astype(np.int64)
    lost, roots_here = parts.own_loss(own.table, own.nodes(label), sizes)
    mine[4:] = [round(lost * _FIXED), roots_here]
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
    mine: parts.Contribution,
    known: Figures,
    found: Recognition | None,
) -> Result:
    """Asks for approval, shows our part to everyone, and puts all parts together."""
    await seat.propose(Proposal(*leakage.of_release(parameters, known.rows), known, recognition=found))
    everyone = channel.parties
    rows = await parts.exchange(channel, seat.study, parameters.pivot, mine, known.rows, known.classes, to=everyone)
    if rows is None:
        raise TypeError("everyone gets the release")
    return release.result(parameters.study, rows, approved=known.rows)
