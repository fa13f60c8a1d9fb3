"""People who are left over join the cheapest classes, where the study says so.

A holder knows what joining a class costs in its own columns: what the class's people lose by wider labels, and what
the person loses. The evaluator adds up: it gets the prices of each person in a random order of classes, scaled by a
random factor and with less than one unit of noise, and answers with the place of the least. On equal prices the class
whose labels come first is taken, as a trusted party would.
"""

from __future__ import annotations

from math import prod

import numpy as np

from covey.arrays import Ints, Longs
from covey.crypto.group import ORDER, SCALAR_BYTES
from covey.crypto.rng import Rng, Stream, derive
from covey.crypto.secret import Secret
from covey.measures import integer_costs
from covey.protocols.peel_columns import tags
from covey.protocols.peel_columns.asking import Due, MaskedPositions
from covey.protocols.peel_columns.classes import LabelledClasses
from covey.protocols.peel_columns.parameters import Parameters
from covey.study import Study
from covey.table import Table
from covey.wire import Channel, Chunk, gather

SCALE = 1 << 64
"""Prices are scaled by a factor from half of this up to it."""
_PRICE_BITS = 62


class Cheapest(Chunk[bytes], tag="peel.cheapest"):
    """The place of the least price of each person."""

    places: bytes


def fits(study: Study) -> bool:
    """True if the largest scaled price stays below the group's order."""
    return _PRICE_BITS + prod(column.tree().nodes for column in study.quasi).bit_length() + 64 < ORDER.bit_length() - 1


async def join(channel: Channel, params: Parameters, table: Table, secret: Secret, found: LabelledClasses) -> Longs:
    """A holder's part: the class that each person joins who is in none. Raises PeerError for an answer that is none."""
    people, classes = np.flatnonzero(found.label < 0), len(found.boxes)
    if channel.me == params.leader:
        await channel.send(params.evaluator, Due(len(people), classes))
    if not len(people):
        return people
    seed = tags.visit_seed(secret, "leftover")
    disguise = tags.Disguise(seed, len(params.holders), len(people) * classes)
    me, sent, orders = params.holders.index(channel.me), [], []
    rows = prices(params, channel.me, table, found, people)
    for row, own in enumerate(rows):
        draws = Rng(derive(seed, "row", row))
        orders.append(draws.stream("order").permutation(classes))
        scale = SCALE // 2 + draws.stream("scale").below(SCALE // 2)
        noise = _below(draws.stream("noise"), scale, classes) if channel.me == params.leader else [0] * classes
        sent += [own[place] * scale + extra for place, extra in zip(orders[-1].tolist(), noise, strict=True)]
    masked = [(price + mask) % ORDER for price, mask in zip(sent, disguise.masks(0, me), strict=True)]
    await channel.send_all(params.evaluator, MaskedPositions, tags.spelled(masked))
    raw = await channel.receive_all(params.evaluator, Cheapest, 4 * len(people))
    places = np.frombuffer(raw, dtype="<u4").astype(np.int64)
    if (places >= classes).any():
        raise channel.refusal(params.evaluator, "it names a place that there is not")
    return np.array([order[place] for order, place in zip(orders, places.tolist(), strict=True)], dtype=np.int64)


async def judge(channel: Channel, params: Parameters, people: int) -> bool:
    """The evaluator's part: the place of each person's least price. Returns False where nobody is left over."""
    due = await channel.receive(params.leader, Due)
    if due.people >= params.k or due.visits > people:
        raise channel.refusal(params.leader, f"{due.people} people are left over, expected fewer than {params.k}")
    if not due.people:
        return False

    async def receive(holder: str) -> list[int]:
        raw = await channel.receive_all(holder, MaskedPositions, SCALAR_BYTES * due.people * due.visits)
        try:
            return tags.read(raw)
        except ValueError as error:
            raise channel.refusal(holder, str(error)) from None

    sums = tags.add_up(await gather(*(receive(holder) for holder in params.holders)))
    rows = [sums[first : first + due.visits] for first in range(0, len(sums), due.visits)]
    raw = np.array([row.index(min(row)) for row in rows]).astype("<u4").tobytes()
    await gather(*(channel.send_all(holder, Cheapest, raw) for holder in params.holders))
    return True


def prices(params: Parameters, holder: str, table: Table, found: LabelledClasses, people: Longs) -> list[list[int]]:
    """Our part of what each person would cost in each class, with our part of the class's place among labels."""
    study, own = params.study, params.own_places(holder)
    trees = [column.tree() for column in study.quasi]
    costs, _ = integer_costs(trees, "lm", None, [column.weight for column in study.quasi])
    spans = [prod(tree.nodes for tree in trees[place + 1 :]) for place in range(len(trees))]
    whole, sizes = prod(tree.nodes for tree in trees), found.sizes
    rank = [sum(spans[place] * int(node) for place, node in zip(own, box, strict=True)) for box in found.boxes.tolist()]
    answer = []
    for person in people.tolist():
        wide = widest(table, found.boxes, person)
        price = np.zeros(len(found.boxes), dtype=np.int64)
        for column, place in enumerate(own):
            after, before = costs[place][wide[:, column]], costs[place][found.boxes[:, column]]
            price += (after - before) * sizes + after
        answer.append([each * whole + place for each, place in zip(price.tolist(), rank, strict=True)])
    return answer


def widest(table: Table, boxes: Ints, person: int) -> Ints:
    """Our labels of each class (classes x columns) if this person joined it."""
    columns = [
        tree.common_ancestor(boxes[:, place], np.full(len(boxes), tree.up[0, table.codes[place, person]]))
        for place, tree in enumerate(table.trees)
    ]
    return np.stack(columns, axis=1) if columns else boxes


def widened(table: Table, found: LabelledClasses, joined: Longs) -> tuple[Ints, Longs]:
    """Our labels of the classes, and everyone's class, once these people have joined."""
    boxes, label = found.boxes.copy(), found.label.copy()
    for person, klass in zip(np.flatnonzero(found.label < 0).tolist(), joined.tolist(), strict=True):
        boxes[klass] = widest(table, boxes[klass : klass + 1], person)[0]
        label[person] = klass
    return boxes, label


def _below(stream: Stream, bound: int, count: int) -> list[int]:
    """Numbers below a bound of at most 64 bits."""
    return [int(word) for word in stream.words_below(bound, count)]
