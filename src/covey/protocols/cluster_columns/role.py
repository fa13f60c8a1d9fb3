"""The roles: holders of columns, of whom the pivot is one, and an evaluator without data."""

from __future__ import annotations

import hashlib

from covey.protocols.cluster_columns import argmin, leakage, release
from covey.protocols.cluster_columns.algorithm import search
from covey.protocols.cluster_columns.driver import run_search
from covey.protocols.cluster_columns.own_columns import OwnColumns
from covey.protocols.cluster_columns.parameters import Parameters
from covey.protocols.cluster_columns.randomness import pivot_draws, public_draws
from covey.protocols.protocol import Result, Seat
from covey.protocols.shared import columns
from covey.protocols.shared.agree import agree
from covey.protocols.shared.columns import parts
from covey.secure import coin


async def holder(seat: Seat) -> Result:
    """A holder of columns, the pivot included: searches with the others, and shows its part of the release."""
    parameters, channel = Parameters.of(seat.study), seat.channel.at("cluster")
    seat.progress.phase("alignment")
    mine = await columns.meet(seat, channel.at("meet"), *leakage.HOLDERS)
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
    known = await release.add_up_figures(channel.at("figures"), parameters, own, label)
    return await release.publish(seat, channel.at("rows"), parameters, part, known)


async def evaluator(seat: Seat) -> Result:
    """A party without data: finds the least of unnamed sums, and gets the release like everyone."""
    parameters, channel = Parameters.of(seat.study), seat.channel.at("cluster")
    seat.progress.phase("alignment")
    await columns.meet(seat, channel.at("meet"), *leakage.HOLDERS)
    seat.ledger.learns(leakage.of_search(parameters), **leakage.numbers(parameters))
    seat.progress.phase("moves")
    await argmin.evaluate(channel.at("evaluate"), parameters)
    seat.progress.phase("release")
    seat.ledger.learns(leakage.FIGURES)
    known = await release.add_up_figures(channel.at("figures"), parameters)
    return await release.publish(seat, channel.at("rows"), parameters, None, known)
