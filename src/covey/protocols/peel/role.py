"""The one role: a holder of rows, from the first sum to the release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import count

import numpy as np

from covey.arrays import Ints
from covey.hierarchy import Hierarchy
from covey.protocols.peel import closeness, leakage, leftover, marginals, site
from covey.protocols.peel.choice import ObliviousTests
from covey.protocols.peel.closeness import Closeness
from covey.protocols.peel.lending import Lending
from covey.protocols.peel.parameters import Parameters
from covey.protocols.peel.records import OwnRecords
from covey.protocols.peel.search import Finder
from covey.protocols.peel.supply import LANES, Supply
from covey.protocols.peel.tuples import Lattice
from covey.protocols.peel.two_party import TwoPartyTests
from covey.protocols.peel.visits import Peeling
from covey.protocols.protocol import Result, Seat
from covey.protocols.shared import insiders, publish, query_errors, rows
from covey.protocols.shared.closeness import require_close
from covey.protocols.shared.diversity import require_diverse
from covey.protocols.shared.peeling.classes import PublishedClasses
from covey.protocols.shared.peeling.leftover import cheapest, widened
from covey.protocols.shared.peeling.narrowing import Narrowing
from covey.protocols.shared.peeling.nodes import digest, list_nodes, looks_at_pairs
from covey.protocols.shared.peeling.pairs import cells_of
from covey.secure import coin, conjunction
from covey.study import Study
from covey.wire import Channel, gather


async def holder(seat: Seat) -> Result:
    """A holder of rows. Raises Unmet if the parties have fewer than k, or no class keeps what is asked for."""
    study, channel, table = seat.study, seat.channel, seat.records
    params, trees = Parameters.of(study), table.trees

    seat.progress.phase("marginals")
    seat.ledger.learns(marginals.LEAKAGE, leaves=sum(tree.codes for tree in trees), k=params.k)
    if params.two:
        seat.ledger.learns(leakage.TWO, k=params.k)
        couple = TwoPartyTests(await ObliviousTests.meet(channel.at("meet")), params.k)
    reaches = couple.reaches if params.two else marginals.by_shares(params.k)
    if params.sites is not None:
        column, sites = params.sites
        names = {"nodes": trees[column].nodes, "column": study.quasi[column].name, "sites": sites}
        seat.ledger.learns(site.LEAKAGE, **names)
        table = await site.lift(channel.at("site"), params, table)
        trees = table.trees
    records = await marginals.total(channel.at("marginals"), params.k, table)
    if pairs := looks_at_pairs(study, trees, records):
        seat.ledger.learns(marginals.PAIRS, cells=cells_of(trees), k=params.k)
    known = await marginals.learn(channel.at("marginals"), study, table, records, reaches, pairs)
    own, near = OwnRecords.of(table, params), None
    if params.near is not None:
        seat.ledger.learns(closeness.LEAKAGE, values=own.width, k=params.k)
        counts = own.value_counts(params.watched)
        values = await closeness.learn(channel.at("values"), study, records, counts, reaches)
        near = Closeness.of(params.near, values, len(study.parties))

    seat.progress.phase("list")
    nodes = list_nodes(study, trees, known, params.nodes)
    await marginals.agree(channel.at("list"), digest(nodes))
    seed = await coin.toss(channel.at("coin"))

    seat.progress.phase("visits", len(nodes))
    seat.note(*leakage.before(params, len(nodes)))
    supply = couple if params.two else Supply(channel.at("prepare"), params.k)
    finder = Finder(params, Lattice.of(trees), nodes, own, seed, supply, known, near=near)
    peeling = Peeling(finder, lending=lending_of(study, finder, channel) if params.lend else None)
    await gather(peeling.run(channel.at("visit"), seat.progress.reach), *(supply.work() for _ in range(LANES)))
    seat.note(*leakage.after(params, finder.openings, len(peeling.classes.sizes)))

    seat.progress.phase("release")
    boxes = peeling.classes.boxes
    if params.refine and boxes:
        boxes = list(await narrow(channel.at("refine"), np.stack(boxes), trees, own))
    published = PublishedClasses.of(len(trees), boxes, peeling.classes.sizes)
    klass = published.of_records(own.label[own.item_of_row])
    if params.merge and finder.remaining and len(published.sizes):
        among = None if params.none_or_many is None else published.count(klass) > 0
        mine = cheapest(study, trees, published, table.codes[:, klass < 0], among)
        each = mine.of_each(None if table.counts is None else table.counts[klass < 0])
        joined = await leftover.join(seat, published, trees, each, finder.remaining)
        klass[klass < 0] = mine.klass
        published = widened(published, trees, joined)
        klass = published.of_records(klass)
    figures = published.figures(study, trees, known.records)
    conjoin = partial(conjunction.conjoin, channel.at("insider"))
    insider_k = await insiders.learn(seat.ledger, study, conjoin, published.sizes, published.count(klass, table.counts))
    figures = replace(figures, insider_k=insider_k)
    figures = await query_errors.learn(seat, trees, published.boxes, published.sizes, table, figures)
    preview = publish.preview(study, trees, published.boxes, published.sizes, figures.withheld)
    opened = await rows.release(seat, klass, published.sizes, figures, preview)
    found = published.result(study, trees, figures, opened)
    require_diverse(study, found.figures)
    require_close(study, opened.klass, opened.cells)
    return found


def lending_of(study: Study, finder: Finder, channel: Channel) -> Lending:
    """The spare records of this party: none before the first visit."""
    place = channel.parties.index(channel.me)
    owner = np.full(len(finder.own.counts), place)
    return Lending.of(study, finder.params, finder.own, owner, finder.lattice, finder.nodes)


async def narrow(channel: Channel, boxes: Ints, trees: Sequence[Hierarchy], own: OwnRecords) -> Ints:
    """The narrowest labels that hold all records of each class.

    Whose records a label does not hold stays hidden among three or more; between two each knows its own.
    """
    narrowing = Narrowing(boxes, trees)
    for turn in count():
        if not len(asked := narrowing.questions()):
            break
        answers = await conjunction.conjoin(channel.at(turn), narrowing.inside(asked, own.codes, own.label))
        narrowing.narrow(asked, np.zeros(len(asked), dtype=bool) if answers is None else answers)
    return narrowing.boxes
