"""The one role: a holder of rows, from the first sum to the release."""

from __future__ import annotations

import numpy as np

from covey.protocols.peel import leaks, leftover, marginals, site
from covey.protocols.peel.choice import Pair
from covey.protocols.peel.course import Course
from covey.protocols.peel.find import Finder
from covey.protocols.peel.nodes import digest, list_nodes
from covey.protocols.peel.own import Own
from covey.protocols.peel.pair import Couple
from covey.protocols.peel.release import Published, figures, result
from covey.protocols.peel.supply import LANES, Supply
from covey.protocols.peel.terms import Terms
from covey.protocols.peel.tuples import Grid
from covey.protocols.peel.visit import Peeling
from covey.protocols.protocol import Result, Seat
from covey.protocols.shared import rows
from covey.protocols.shared.diversity import require_diverse
from covey.secure import coin
from covey.wire import gather


async def holder(seat: Seat) -> Result:
    """A holder of rows. Raises Unmet if the parties have fewer than k, or no class keeps what is asked for."""
    study, channel, table = seat.study, seat.channel, seat.records
    terms, trees = Terms.of(study), table.trees

    seat.pace.phase("marginals")
    seat.book.learns(marginals.LEAKAGE, leaves=sum(tree.codes for tree in trees), k=terms.k)
    if terms.two:
        seat.book.learns(leaks.TWO, k=terms.k)
        couple = Couple(await Pair.meet(channel.at("meet")), terms.k, Course())
    reaches = couple.reaches if terms.two else marginals.by_shares(terms.k)
    if terms.sites is not None:
        column, sites = terms.sites
        names = {"nodes": trees[column].nodes, "column": study.quasi[column].name, "sites": sites}
        seat.book.learns(site.LEAKAGE, **names)
        table = await site.lift(channel.at("site"), terms, table)
        trees = table.trees
    known = await marginals.learn(channel.at("marginals"), study, table, reaches)

    seat.pace.phase("list")
    nodes = list_nodes(study, trees, known, terms.nodes)
    await marginals.agree(channel.at("list"), digest(nodes))
    seed = await coin.toss(channel.at("coin"))

    seat.pace.phase("visits", len(nodes))
    for leakage, numbers in leaks.before(terms, len(nodes)):
        seat.book.learns(leakage, **numbers)
    own = Own.of(table, terms)
    supply = couple if terms.two else Supply(channel.at("prepare"), terms.k, Course())
    finder = Finder(terms, Grid.of(trees), nodes, own, seed, supply, known.records)
    peeling = Peeling(finder)
    await gather(peeling.run(channel.at("visit"), seat.pace.reach), *(supply.work() for _ in range(LANES)))
    for leakage, numbers in leaks.after(terms, finder.openings, len(peeling.classes.sizes)):
        seat.book.learns(leakage, **numbers)

    seat.pace.phase("release")
    published = Published.of(len(trees), peeling.classes.boxes, peeling.classes.sizes)
    label = own.label[own.item_of_row]
    klass = np.where(label >= 0, published.number[np.maximum(label, 0)], -1) if len(published.sizes) else label
    if terms.merge and finder.remaining and len(published.sizes):
        mine = leftover.cheapest(study, trees, published, table.codes[:, klass < 0])
        joined = await leftover.join(seat, published, trees, mine, finder.remaining)
        klass[klass < 0] = mine.klass
        published = leftover.widened(published, trees, joined)
        klass = published.number[klass]
    of_release = figures(study, trees, published, known.records)
    opened = await rows.release(seat, klass, published.sizes, of_release)
    found = result(study, trees, published, of_release, opened)
    require_diverse(study, found.figures)
    return found
