"""The roles: holders of columns, an evaluator without data, and a recipient where the study names one."""

from __future__ import annotations

import numpy as np

from covey.crypto.secret import Secret
from covey.protocols.peel_columns import asking, classes, leakage, leftover, marginals, pairs, release, visits
from covey.protocols.peel_columns.parameters import Parameters
from covey.protocols.protocol import Result, Seat
from covey.protocols.shared import columns
from covey.protocols.shared.agree import agree
from covey.protocols.shared.peeling.narrowing import narrowed
from covey.protocols.shared.peeling.nodes import digest, list_nodes
from covey.secure import coin


async def holder(seat: Seat) -> Result:
    """A holder of columns. Raises Unmet for fewer than k common people, or where no class keeps what is asked for."""
    study, channel, params = seat.study, seat.channel, Parameters.of(seat.study)
    among = channel.among(*params.holders)
    seat.progress.phase("alignment")
    mine = await columns.meet(seat, channel.at("meet"))
    if mine is None:
        raise TypeError(f"party {seat.party!r} has no columns; its role is another")

    seat.progress.phase("list")
    looks = params.looks_at_pairs(mine.table.rows)
    for learned, numbers in leakage.before(params, looks):
        seat.ledger.learns(learned, **numbers)
    secret = await coin.toss(among.at("coin"))
    own = Secret(channel.at("visit").rng.stream("own").bytes(32))
    shared = await pairs.learn(channel.at("pairs"), params, mine.table, (secret, own)) if looks else []
    known = await marginals.learn(among.at("marginals"), params, mine.table, shared)
    nodes = list_nodes(study, tuple(column.tree() for column in study.quasi), known, params.nodes)
    await agree(among.at("list"), digest(nodes), "it lists other nodes than we do")

    seat.progress.phase("visits", len(nodes))
    levels = np.ascontiguousarray(nodes[:, params.own_places(seat.party)])
    peeling = visits.HolderPeeling(params, mine.table, levels, secret, own)
    await peeling.run(channel.at("visit"), seat.progress.reach)
    await agree(among.at("agree"), peeling.digest(), f"{params.evaluator!r} told it other groups than us, or it lies")

    seat.progress.phase("release")
    boxes = np.stack(peeling.boxes) if peeling.boxes else np.zeros((0, levels.shape[1]), np.int32)
    trees = mine.table.trees
    if params.refine:  # everyone knows who is in which class, and narrows its own columns' labels
        boxes = narrowed(boxes, trees, mine.table.codes, peeling.label)
    found = await classes.unite(channel.at("classes"), params, trees, (secret, own), boxes, peeling.label)
    if params.merge:
        joined = await leftover.join(channel.at("leftover"), params, mine.table, secret, found)
        if len(joined):
            boxes, label = leftover.widened(mine.table, found, joined)
            found = await classes.unite(channel.at("united"), params, trees, (secret, own), boxes, label)
    figures = await classes.figures(among.at("figures"), study, mine.table, found)
    told = release.Told(
        figures.rows, figures.classes, figures.withheld, peeling.visits, peeling.people, len(boxes), peeling.unpublished
    )
    await release.tell(channel.at("told"), params, told)
    part = release.part_of(params, seat.party, mine.table, found)
    return await release.publish(seat, channel.at("rows"), params, told, part, figures)


async def evaluator(seat: Seat) -> Result:
    """A party without data: tells which unnamed people are alike, and gets no release."""
    channel, params = seat.channel, Parameters.of(seat.study)
    seat.progress.phase("alignment")
    people = await columns.hear_common(seat, channel.at("meet"))
    looks = params.looks_at_pairs(people)
    for learned, numbers in leakage.before(params, looks):
        seat.ledger.learns(learned, **numbers)
    if looks:
        seat.progress.phase("list")
        await pairs.answer(channel.at("pairs"), params, people)
    seat.progress.phase("visits")
    seen = await visits.evaluate(channel.at("visit"), params, people)
    seat.progress.phase("release")
    await asking.answer_classes(channel.at("classes"), params, people)
    if params.merge and await leftover.judge(channel.at("leftover"), params, people):
        await asking.answer_classes(channel.at("united"), params, people)
    told = await release.hear(channel.at("told"), params)
    if (told.visits, told.people) != (seen.visits, seen.people):
        raise channel.refusal(params.leader, "the holders count other visits than it asked for")
    return await release.publish(seat, channel.at("rows"), params, told, None, None)


async def recipient(seat: Seat) -> Result:
    """A party without columns, who alone gets the release."""
    channel, params = seat.channel, Parameters.of(seat.study)
    seat.progress.phase("alignment")
    people = await columns.hear_common(seat, channel.at("meet"))
    for learned, numbers in leakage.before(params, params.looks_at_pairs(people)):
        seat.ledger.learns(learned, **numbers)
    seat.progress.phase("visits")
    told = await release.hear(channel.at("told"), params)
    seat.progress.phase("release")
    return await release.publish(seat, channel.at("rows"), params, told, None, None)
