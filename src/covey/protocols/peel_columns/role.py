"""The roles: holders of columns, an evaluator without data, and a recipient where the study names one."""

from __future__ import annotations

import numpy as np

from covey.crypto.secret import Secret
from covey.plain import some
from covey.protocols.peel_columns import asking, classes, leakage, leftover, marginals, pairs, visits
from covey.protocols.peel_columns.parameters import Parameters
from covey.protocols.protocol import Figures, Proposal, Recognition, Result, Seat
from covey.protocols.shared.agree import agree
from covey.protocols.shared.columns import meeting, parts, recognition, release
from covey.protocols.shared.diversity import require_diverse
from covey.protocols.shared.peeling.narrowing import narrowed
from covey.protocols.shared.peeling.nodes import digest, list_nodes
from covey.secure import coin
from covey.wire import Channel, Count, Message


async def holder(seat: Seat) -> Result:
    """A holder of columns. Raises Unmet for fewer than k common people, or where no class keeps what is asked for."""
    study, channel, params = seat.study, seat.channel, Parameters.of(seat.study)
    among = channel.among(*params.holders)
    seat.progress.phase("alignment")
    mine = await meeting.meet(seat, channel.at("meet"))
    if mine is None:
        raise TypeError(f"party {seat.party!r} has no columns; its role is another")

    seat.progress.phase("list")
    looks = params.looks_at_pairs(mine.table.rows)
    seat.note(*leakage.before(params, looks))
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
    told = Told(
        figures.rows, figures.classes, figures.withheld, peeling.visits, peeling.people, len(boxes), peeling.unpublished
    )
    await tell(channel.at("told"), params, told)
    kept = np.flatnonzero(found.label >= 0)
    table, label = mine.table.select(kept), found.label[kept]
    part = parts.contribution_of(label, found.boxes, table, leads=seat.party == params.leader)
    recognised = recognition.count(study, [label], table.carried)
    return await publish(seat, channel.at("rows"), params, told, part, figures, recognised)


async def evaluator(seat: Seat) -> Result:
    """A party without data: tells which unnamed people are alike, and gets no release."""
    channel, params = seat.channel, Parameters.of(seat.study)
    seat.progress.phase("alignment")
    people = await meeting.hear_common(seat, channel.at("meet"))
    looks = params.looks_at_pairs(people)
    seat.note(*leakage.before(params, looks))
    if looks:
        seat.progress.phase("list")
        await pairs.answer(channel.at("pairs"), params, people)
    seat.progress.phase("visits")
    seen = await visits.evaluate(channel.at("visit"), params, people)
    seat.progress.phase("release")
    await asking.answer_classes(channel.at("classes"), params, people)
    if params.merge and await leftover.judge(channel.at("leftover"), params, people):
        await asking.answer_classes(channel.at("united"), params, people)
    told = await hear(channel.at("told"), params)
    if (told.visits, told.people) != (seen.visits, seen.people):
        raise channel.refusal(params.leader, "the holders count other visits than it asked for")
    return await publish(seat, channel.at("rows"), params, told, None, None)


async def recipient(seat: Seat) -> Result:
    """A party without columns, who alone gets the release."""
    channel, params = seat.channel, Parameters.of(seat.study)
    seat.progress.phase("alignment")
    people = await meeting.hear_common(seat, channel.at("meet"))
    seat.note(*leakage.before(params, params.looks_at_pairs(people)))
    seat.progress.phase("visits")
    told = await hear(channel.at("told"), params)
    seat.progress.phase("release")
    return await publish(seat, channel.at("rows"), params, told, None, None)


class Told(Message, tag="peel.told"):
    """The numbers of the run and its release, which a holder tells whoever does not know them: for its ledger too."""

    rows: Count
    classes: Count
    withheld: Count
    visits: Count
    people: Count
    """In play, all visits together."""
    groups: Count
    """That became classes, some of which have the same labels,"""
    unpublished: Count
    """and that did not."""


async def tell(channel: Channel, params: Parameters, told: Told) -> None:
    """A holder tells the evaluator and the recipient."""
    for party in channel.peers:
        if party not in params.holders:
            await channel.send(party, told)


async def hear(channel: Channel, params: Parameters) -> Told:
    """The numbers as all holders tell them. Raises PeerError where they differ."""
    said = {name: await channel.receive(name, Told) for name in params.holders}
    first = said[params.leader]
    for name, told in said.items():
        if told != first:
            raise channel.refusal(name, "it tells other numbers of the run than the other holders")
    return first


async def publish(
    seat: Seat,
    channel: Channel,
    params: Parameters,
    told: Told,
    mine: parts.Contribution | None,
    known: Figures | None,
    recognised: Recognition | None = None,
) -> Result:
    """Asks for approval, shows our part, if we have one, and puts all parts together, if we get the release."""
    counted: dict[str, object] = {
        "visits": told.visits, "people": some(told.people, "person", "people"), "groups": some(told.groups, "group"),
        "unpublished": some(told.unpublished, "group"),
    }  # fmt: skip
    seat.ledger.learns(leakage.COUNTED, k=params.k, **counted)
    seat.ledger.learns(leakage.FIGURES)
    learned, numbers = leakage.of_release(params, told.rows)
    figures = known if seat.party in params.receivers else None
    await seat.propose(Proposal(learned, numbers, figures, recognition=recognised))
    rows = await parts.exchange(channel, seat.study, params.leader, mine, told.rows, told.classes, to=params.receivers)
    if rows is None:
        return Result()
    found = release.result(seat.study, rows, withheld=told.withheld, approved=told.rows)
    require_diverse(seat.study, found.figures)
    return found
