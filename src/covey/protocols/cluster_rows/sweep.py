"""One turn's work on a party's own records: which are critical, and single moves that lower the loss.

A record is *critical* in a column if without it its party's own closure there would be lower. There are at most two
for each cluster and column: the own records must lie below two children of the closure's node, one of them alone.

The loops are compiled: they visit records in their order, and each move changes what the next record sees, so that they
cannot be written as operations on whole arrays.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from covey.anonymizers.kernels import Forest, box_cost, lowest_above
from covey.arrays import Bits, Ints, Longs
from covey.compiled import jit
from covey.protocols.cluster_rows.descent import NOTHING
from covey.protocols.cluster_rows.kernels import Children, above, above_both, child_place, close_own

SLOTS = 2
ENDLESS = 2**62


class Critical(NamedTuple):
    """For each slot, cluster and column the critical own record, or -1, and the closure of the other own ones."""

    record: Longs
    left: Ints


@jit
def find_critical(trees: Forest, children: Children, codes: Ints, label: Longs, clusters: int) -> Critical:
    """All critical records; where a party has one record only, it is critical and NOTHING is left."""
    columns = codes.shape[0]
    own = close_own(trees, codes, label, clusters)
    branch = np.full((clusters, columns, SLOTS), -1, np.int32)
    many = np.zeros((clusters, columns, SLOTS), np.int64)
    alone = np.full((clusters, columns, SLOTS), -1, np.int64)
    low = np.zeros((clusters, columns, SLOTS), np.int32)
    high = np.zeros((clusters, columns, SLOTS), np.int32)
    crowded = np.zeros((clusters, columns), np.bool_)
    for record in range(codes.shape[1]):
        cluster = label[record]
        for column in range(columns):
            node, code = own[cluster, column], codes[column, record]
            below = 0
            if children.starts[node + 1] > children.starts[node]:
                below = child_place(trees, children, node, code)
            slot = 0
            while slot < SLOTS and branch[cluster, column, slot] not in (-1, below):
                slot += 1
            if slot == SLOTS:
                crowded[cluster, column] = True
                continue
            if branch[cluster, column, slot] == -1:
                branch[cluster, column, slot] = below
                low[cluster, column, slot] = high[cluster, column, slot] = code
            many[cluster, column, slot] += 1
            alone[cluster, column, slot] = record
            low[cluster, column, slot] = min(low[cluster, column, slot], code)
            high[cluster, column, slot] = max(high[cluster, column, slot], code)
    record_of = np.full((SLOTS, clusters, columns), -1, np.int64)
    left = np.full((SLOTS, clusters, columns), NOTHING, np.int32)
    for cluster in range(clusters):
        for column in range(columns):
            if crowded[cluster, column] or many[cluster, column, 0] == 0:
                continue
            for slot in range(SLOTS):
                other = many[cluster, column, 1 - slot]
                if many[cluster, column, slot] == 1:
                    record_of[slot, cluster, column] = alone[cluster, column, slot]
                    if other > 0:
                        ends = low[cluster, column, 1 - slot], high[cluster, column, 1 - slot]
                        left[slot, cluster, column] = lowest_above(trees, column, ends[0], ends[1])
    return Critical(record_of, left)


class Rules(NamedTuple):
    """The rules that a move keeps."""

    keep: int  # no cluster falls below this many records; 0 lets clusters dissolve
    window: int  # how far from its own cluster, in the clusters' order, a record looks for a better one
    monotone: bool  # whether no node costs less than a child of its


class Slack(NamedTuple):
    """A party's part of the clusters' slack for l, which its moves spend; without sensitive columns all are allowed."""

    places: Longs  # records x sensitive columns: each record's values
    left: Longs  # clusters x values
    leaving: int  # what a record that leaves takes from every value but its own
    joining: int  # what one that joins takes from its own


NO_LIMIT = Slack(np.zeros((0, 0), dtype=np.int64), np.zeros((0, 0), dtype=np.int64), 0, 0)


@jit
def may_leave(slack: Slack, record: int, cluster: int) -> bool:
    """Tells whether the cluster keeps l without the record."""
    if slack.places.shape[1] == 0:
        return True
    for value in range(slack.left.shape[1]):
        if slack.left[cluster, value] < slack.leaving:
            own = False
            for column in range(slack.places.shape[1]):
                own |= slack.places[record, column] == value
            if not own:
                return False
    return True


@jit
def may_join(slack: Slack, record: int, cluster: int) -> bool:
    """Tells whether the cluster keeps l with the record."""
    for column in range(slack.places.shape[1]):
        if slack.left[cluster, slack.places[record, column]] < slack.joining:
            return False
    return True


@jit
def spend(slack: Slack, record: int, source: int, target: int) -> None:
    """Books the record's move: what each cluster's slack loses and gains by it."""
    if slack.places.shape[1] == 0:
        return
    both = slack.leaving + slack.joining
    slack.left[source] -= slack.leaving
    slack.left[target] += slack.leaving
    for column in range(slack.places.shape[1]):
        value = slack.places[record, column]
        slack.left[source, value] += both
        slack.left[target, value] -= both


@jit
def addition(trees: Forest, codes: Ints, record: int, size: int, box: Ints, limit: int, monotone: bool) -> int:
    """The growth of a cluster's cost if the record joins; any number from `limit` on where it is not less."""
    more = 0
    for column in range(len(box)):
        node = box[column]
        lifted = above(trees, node, codes[column, record])
        more += (size + 1) * trees.cost[lifted] - size * trees.cost[node]
        if monotone and more >= limit:
            break
    return int(more)


@jit
def best_cluster(
    trees: Forest, codes: Ints, record: int, own: int, sizes: Longs, boxes: Ints, price: Longs, limit: int,
    rules: Rules, slack: Slack, among: Longs,
) -> int:  # fmt: skip
    """The first of these clusters whose cost grows least, by less than `limit`, if the record joins; -1 for none.

    `among` has the clusters to look at, in ascending order.
    """
    found = -1
    for place in range(np.searchsorted(among, own - rules.window), len(among)):
        other = among[place]
        if other > own + rules.window:
            break
        if other == own or sizes[other] == 0 or (rules.monotone and price[other] >= limit):
            continue
        if not may_join(slack, record, other):
            continue
        more = addition(trees, codes, record, sizes[other], boxes[other], limit, rules.monotone)
        if more < limit:
            found, limit = other, more
    return found


@jit
def sweep_guarded(
    trees: Forest, codes: Ints, label: Longs, sizes: Longs, boxes: Ints, critical: Longs, answers: Ints, rules: Rules,
    slack: Slack, fresh: Bits,
) -> Bits:  # fmt: skip
    """Moves own records where that lowers the loss for sure; returns the clusters that were touched.

    Changes `label`, `sizes`, `boxes` and `slack` in place.

    `answers` has for each critical record the joint closure without it, NOTHING where it was not asked: there the
    cluster's box is taken to stay, which only overestimates. A record whose cluster is not `fresh`, that is as it was
    when the record was last examined, looks at fresh clusters alone: the others were not better then.
    """
    columns = codes.shape[0]
    joined = np.full(boxes.shape, NOTHING, np.int32)  # the closure of own records that joined in this turn
    price = np.empty(len(sizes), np.int64)
    for cluster in range(len(sizes)):
        price[cluster] = box_cost(trees, boxes[cluster])
    shrunk = np.empty(columns, np.int32)
    touched = np.zeros(len(sizes), np.bool_)
    everywhere, changed = np.arange(len(sizes)), np.flatnonzero(fresh)
    for record in range(codes.shape[1]):
        own = label[record]
        if sizes[own] <= rules.keep or (price[own] == 0 and sizes[own] > 1) or not may_leave(slack, record, own):
            continue
        without(trees, critical, answers, joined, boxes, record, own, shrunk)
        after = 0 if sizes[own] == 1 else (sizes[own] - 1) * box_cost(trees, shrunk)
        limit = ENDLESS if sizes[own] == 1 else sizes[own] * price[own] - after
        among = everywhere if fresh[own] else changed
        target = best_cluster(trees, codes, record, own, sizes, boxes, price, limit, rules, slack, among)
        if target < 0:
            continue
        if not (fresh[own] and fresh[target]):
            fresh[own] = fresh[target] = True
            changed = np.flatnonzero(fresh)
        touched[own] = touched[target] = True
        spend(slack, record, own, target)
        label[record] = target
        sizes[own] -= 1
        sizes[target] += 1
        for column in range(columns):
            code = codes[column, record]
            boxes[own, column] = shrunk[column]
            boxes[target, column] = above(trees, boxes[target, column], code)
            node = joined[target, column]
            joined[target, column] = trees.offsets[column] + code if node == NOTHING else above(trees, node, code)
        price[own] = box_cost(trees, shrunk)
        price[target] = box_cost(trees, boxes[target])
    return touched


@jit
def without(
    trees: Forest, critical: Longs, answers: Ints, joined: Ints, boxes: Ints, record: int, cluster: int, shrunk: Ints
) -> None:
    """The cluster's box without the record, as far as it is known: never too small."""
    for column in range(len(shrunk)):
        shrunk[column] = boxes[cluster, column]
        for slot in range(SLOTS):
            node = answers[slot, cluster, column]
            if critical[slot, cluster, column] == record and node != NOTHING:
                if joined[cluster, column] != NOTHING:
                    node = above_both(trees, node, joined[cluster, column])
                if trees.first[node] >= trees.first[shrunk[column]] and trees.last[node] <= trees.last[shrunk[column]]:
                    shrunk[column] = node


@jit
def sweep_exact(
    trees: Forest, shown: Ints, codes: Ints, label: Longs, sizes: Longs, boxes: Ints, others: Ints, monotone: bool
) -> int:
    """The paper's steps 5 to 18: each own record in turn goes where the loss is lowest; returns the moves.

    `others` has the closures of the other parties' records, NOTHING where they have none: with the own records that
    stay they make every closure exact. A record that is a cluster of its own always goes, and the cluster with it.
    `shown` has for each node the lowest above it that may be shown; boxes and closures of others are such nodes.
    """
    columns = codes.shape[0]
    head, following = list_members(label, len(sizes))
    price = np.empty(len(sizes), np.int64)
    for cluster in range(len(sizes)):
        price[cluster] = box_cost(trees, boxes[cluster]) if sizes[cluster] else 0
    rules, everywhere = Rules(0, len(sizes), monotone), np.arange(len(sizes))
    everything = Slack(np.zeros((0, 0), np.int64), np.zeros((0, 0), np.int64), 0, 0)
    shrunk = np.empty(columns, np.int32)
    moves = 0
    for record in range(codes.shape[1]):
        own = label[record]
        alone = sizes[own] == 1
        if monotone and price[own] == 0 and not alone:
            continue  # nothing is lost there, so nothing can be gained by going
        limit = ENDLESS
        if not alone:
            close_rest(trees, shown, codes, head, following, record, own, others, boxes, shrunk)
            limit = sizes[own] * price[own] - (sizes[own] - 1) * box_cost(trees, shrunk)
        target = best_cluster(trees, codes, record, own, sizes, boxes, price, limit, rules, everything, everywhere)
        if target < 0:
            continue
        moves += 1
        relink(head, following, record, own, target)
        label[record] = target
        sizes[own] -= 1
        sizes[target] += 1
        for column in range(columns):
            boxes[target, column] = above(trees, boxes[target, column], codes[column, record])
            if not alone:
                boxes[own, column] = shrunk[column]
        price[own] = 0 if alone else box_cost(trees, shrunk)
        price[target] = box_cost(trees, boxes[target])
    return moves


@jit
def list_members(label: Longs, clusters: int) -> tuple[Longs, Longs]:
    """Each cluster's own records as a chain: the first of each, and each record's next; -1 ends it."""
    head = np.full(clusters, -1, np.int64)
    following = np.full(len(label), -1, np.int64)
    for record in range(len(label) - 1, -1, -1):
        following[record] = head[label[record]]
        head[label[record]] = record
    return head, following


@jit
def relink(head: Longs, following: Longs, record: int, own: int, target: int) -> None:
    """The record leaves one chain and heads another."""
    if head[own] == record:
        head[own] = following[record]
    else:
        before = head[own]
        while following[before] != record:
            before = following[before]
        following[before] = following[record]
    following[record] = head[target]
    head[target] = record


@jit
def close_rest(
    trees: Forest, shown: Ints, codes: Ints, head: Longs, following: Longs, record: int, own: int, others: Ints,
    boxes: Ints, shrunk: Ints,
) -> None:  # fmt: skip
    """The closure of a cluster without one of its own records: of the others' records and the own that stay."""
    columns = codes.shape[0]
    for column in range(columns):
        shrunk[column] = others[own, column]
    member = head[own]
    while member >= 0:
        if member != record:
            lower = False
            for column in range(columns):
                node, code = shrunk[column], codes[column, member]
                shrunk[column] = shown[trees.offsets[column] + code] if node == NOTHING else above(trees, node, code)
                lower |= shrunk[column] != boxes[own, column]
            if not lower:
                return  # no closure is higher than the cluster's own
        member = following[member]
