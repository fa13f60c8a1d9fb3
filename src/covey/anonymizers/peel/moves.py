"""One move of the search: open a box, and mend what that breaks.

Every record in the box that costs more where it is joins gladly. If they are fewer than k, records that cost less are
borrowed: first those that their classes can spare, the dearest first; then whole classes that lie in the box for the
larger part. A class left with too few is *mended*: it borrows in turn, or it is dissolved and its records go to the
cheapest classes that cover them. If the whole chain does not cost less, it is undone.

Single moves, swaps, splits, merges, and the extension of a class over a leftover record are all special cases.
Compiled code cannot hold objects: the state is a `SearchPart` of arrays, changed in place.
"""

from __future__ import annotations

from covey.anonymizers.constraints import Limits
from covey.anonymizers.kernels import Forest, covers
from covey.anonymizers.peel.search_part import (
    FREE,
    LIVE,
    LOGGED,
    WORK,
    SearchPart,
    can_spare,
    holds,
    list_classes,
    members,
    move,
    stands,
    undo,
)
from covey.arrays import Ints, Longs
from covey.compiled import jit

NEVER = 2**62


@jit
def open_box(part: SearchPart, trees: Forest, limits: Limits, box: Ints, cost: int, bound: int) -> int:
    """Opens a box if the total changes by less than `bound`. Returns the change, or NEVER."""
    part.tally[LOGGED] = 0
    count = members(part, box, part.boxed)
    if not worth_a_try(part, limits, cost, count):
        return NEVER
    target = part.free[part.tally[FREE] - 1]
    part.box[target], part.cost[target] = box, cost
    change, donors = welcome(part, target, count)
    if not holds(part, limits, target):
        change += borrow(part, limits, target, part.boxed[:count], bound - change)
    if part.bins.shape[1] and part.size[target] >= limits.k and not holds(part, limits, target):
        change += shed(part, limits, target)
    while change < bound and not holds(part, limits, target):
        broken = largest_share(part, target, count)
        if broken < 0:
            break
        change += absorb(part, target, broken, count)
        part.touched[donors] = broken
        donors += 1
    if change < bound and holds(part, limits, target):
        enter(part, target)
        change = mend(part, trees, limits, donors, change, bound)
        if change < bound and holds(part, limits, target):
            list_classes(part)
            return int(change)
        leave(part, target)
    undo(part, 0)
    return NEVER


@jit
def worth_a_try(part: SearchPart, limits: Limits, cost: int, count: int) -> bool:
    """True if the box has k records, one of which would gain."""
    boxed, weight, label, costs = part.boxed, part.weight, part.label, part.cost
    size, gain = 0, False
    for index in range(count):
        size += weight[boxed[index]]
        gain |= costs[label[boxed[index]]] > cost
    return gain and size >= limits.k


@jit
def welcome(part: SearchPart, target: int, count: int) -> tuple[int, int]:
    """Moves in all that gain. Returns the change and how many classes lost records (they are in `touched`)."""
    change, donors = 0, 0
    for index in range(count):
        atom = part.boxed[index]
        source = part.label[atom]
        if part.cost[source] > part.cost[target]:
            change += move(part, atom, target)
            if part.share[source] == 0 and source != 0:
                part.share[source] = 1
                part.touched[donors] = source
                donors += 1
    for donor in range(donors):
        part.share[part.touched[donor]] = 0
    return change, donors


@jit
def borrow(part: SearchPart, limits: Limits, target: int, candidates: Longs, bound: int) -> int:
    """Moves in records that others can spare, the dearest first, until the class holds. Returns the change.

    Stops early where the change reaches `bound`; the caller looks whether the class holds.
    """
    for index in range(len(candidates) - 1, -1, -1):
        number = part.label[candidates[index]]
        part.link[index] = part.head[number]
        part.head[number] = index
    live, change, stop = part.tally[LIVE], 0, False
    part.tally[WORK] += len(candidates) + live
    for rank in range(live, -1, -1):
        number = 0 if rank == live else part.order[rank]
        index, part.head[number] = part.head[number], -1
        while index >= 0 and number != target and not stop:
            if helps(part, limits, target, candidates[index]) and can_spare(part, limits, candidates[index]):
                change += move(part, candidates[index], target)
                stop = change >= bound or holds(part, limits, target)
            index = part.link[index]
    part.head[target] = -1
    return change


@jit
def helps(part: SearchPart, limits: Limits, target: int, atom: int) -> bool:
    """True if a class needs the atom: more records, or a sensitive value that is rare there."""
    if part.size[target] < limits.k:
        return True
    for column in range(part.bins.shape[1]):
        value = part.bins[atom, column]
        if part.histogram[target, value] * limits.records < limits.table[value] * part.size[target]:
            return True
    return False


@jit
def shed(part: SearchPart, limits: Limits, target: int) -> int:
    """Withholds again records with too frequent values, until the class holds. Returns the change."""
    change = 0
    for entry in range(part.tally[LOGGED]):
        atom, source = part.log[entry, 0], part.log[entry, 1]
        if source == 0 and part.label[atom] == target and part.size[target] - part.weight[atom] >= limits.k:
            if helps(part, limits, target, atom):
                continue
            change += move(part, atom, 0)
            if holds(part, limits, target):
                break
    return change


@jit
def largest_share(part: SearchPart, target: int, count: int) -> int:
    """The class with the largest share of its cost in the box, or -1."""
    for index in range(count):
        part.share[part.label[part.boxed[index]]] += part.weight[part.boxed[index]]
    best, maximum = -1, -1.0
    for index in range(count):
        number = part.label[part.boxed[index]]
        if part.share[number] > 0:
            worth = part.share[number] / part.size[number] * part.cost[number]
            if number != target and worth > maximum:
                best, maximum = number, worth
            part.share[number] = 0
    return best


@jit
def absorb(part: SearchPart, target: int, broken: int, count: int) -> int:
    """Moves in all of a class that lies in the box; returns the change."""
    change = 0
    for index in range(count):
        if part.label[part.boxed[index]] == broken:
            change += move(part, part.boxed[index], target)
    return change


@jit
def mend(part: SearchPart, trees: Forest, limits: Limits, donors: int, change: int, bound: int) -> int:
    """Mends the classes that lost records, each the cheaper way. Returns the change so far, NEVER if it is too much."""
    for donor in range(donors):
        number = part.touched[donor]
        if holds(part, limits, number):
            continue
        count = members(part, part.box[number], part.beside)
        start, room = part.tally[LOGGED], bound - change
        parting_cost = parting(part, trees, limits, number, count, room)
        price = borrow(part, limits, number, part.beside[:count], min(parting_cost, room))
        if price >= parting_cost or not holds(part, limits, number):
            undo(part, start)
            price = dissolve(part, trees, limits, number, count) if parting_cost < room else room
        change += price
        if change >= bound:
            return NEVER
    return change


@jit
def parting(part: SearchPart, trees: Forest, limits: Limits, number: int, count: int, bound: int) -> int:
    """The cost of dissolving a class, or `bound` if that is reached."""
    change = 0
    for index in range(count):
        atom = part.beside[index]
        if part.label[atom] == number:
            target = cheapest_other(part, trees, limits, atom, part.cost[0])
            change += part.weight[atom] * (part.cost[target] - part.cost[number])
            if change >= bound:
                return bound
    return change


@jit
def dissolve(part: SearchPart, trees: Forest, limits: Limits, number: int, count: int) -> int:
    """Sends a class's records to the cheapest others that cover them; returns the change."""
    change = 0
    for index in range(count):
        atom = part.beside[index]
        if part.label[atom] == number:
            change += move(part, atom, cheapest_other(part, trees, limits, atom, part.cost[0]))
    return change


@jit
def cheapest_other(part: SearchPart, trees: Forest, limits: Limits, atom: int, bound: int) -> int:
    """The cheapest other class that covers an atom and keeps l and t, or 0."""
    order, size, boxes, codes, label = part.order, part.size, part.box, part.codes, part.label[atom]
    first, last, live = trees.first, trees.last, part.tally[LIVE]
    watched, costs = part.bins.shape[1] > 0, part.cost
    for index in range(live):
        number = order[index]
        if costs[number] >= bound:
            part.tally[WORK] += index
            return 0
        if number == label or size[number] == 0 or not covers(first, last, boxes, number, codes, atom):
            continue
        if not watched or stands(part, limits, number, atom, part.weight[atom]):
            part.tally[WORK] += index
            return int(number)
    part.tally[WORK] += live
    return 0


@jit
def enter(part: SearchPart, target: int) -> None:
    """Enters a class into the list by cost."""
    index = part.tally[LIVE]
    while index > 0 and part.cost[part.order[index - 1]] > part.cost[target]:
        part.order[index] = part.order[index - 1]
        index -= 1
    part.order[index] = target
    part.tally[LIVE] += 1


@jit
def leave(part: SearchPart, target: int) -> None:
    """Takes a class out of the list."""
    index = 0
    while part.order[index] != target:
        index += 1
    part.tally[LIVE] -= 1
    for later in range(index, part.tally[LIVE]):
        part.order[later] = part.order[later + 1]


@jit
def gather(part: SearchPart, trees: Forest, limits: Limits) -> None:
    """Moves every atom that can be spared into the cheapest class that takes it."""
    for atom in range(len(part.label)):
        part.tally[LOGGED] = 0
        if can_spare(part, limits, atom):
            target = cheapest_other(part, trees, limits, atom, part.cost[part.label[atom]])
            if target > 0:
                move(part, atom, target)
