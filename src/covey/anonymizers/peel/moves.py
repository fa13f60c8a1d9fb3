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
    """Opens a box if that changes the total by less than `bound`, and returns the change; else NEVER, nothing moved."""
    part.tally[LOGGED] = 0
    found = members(part, box, part.inside)
    if not worth_a_try(part, limits, cost, found):
        return NEVER
    new = part.free[part.tally[FREE] - 1]
    part.box[new], part.cost[new] = box, cost
    change, donors = welcome(part, new, found)
    if not holds(part, limits, new):
        change += borrow(part, limits, new, part.inside[:found], bound - change)
    if part.places.shape[1] and part.size[new] >= limits.k and not holds(part, limits, new):
        change += shed(part, limits, new)
    while change < bound and not holds(part, limits, new):
        broken = largest_share(part, new, found)
        if broken < 0:
            break
        change += absorb(part, new, broken, found)
        part.touched[donors] = broken
        donors += 1
    if change < bound and holds(part, limits, new):
        enter(part, new)
        change = mend(part, trees, limits, donors, change, bound)
        if change < bound and holds(part, limits, new):
            list_classes(part)
            return int(change)
        leave(part, new)
    undo(part, 0)
    return NEVER


@jit
def worth_a_try(part: SearchPart, limits: Limits, cost: int, found: int) -> bool:
    """True if the box has k records, one of which would gain."""
    inside, weight, label, costs = part.inside, part.weight, part.label, part.cost
    size, gain = 0, False
    for place in range(found):
        size += weight[inside[place]]
        gain |= costs[label[inside[place]]] > cost
    return gain and size >= limits.k


@jit
def welcome(part: SearchPart, new: int, found: int) -> tuple[int, int]:
    """Moves in all that gain; returns the change and how many classes lost records (they are in `touched`)."""
    change, donors = 0, 0
    for place in range(found):
        atom = part.inside[place]
        source = part.label[atom]
        if part.cost[source] > part.cost[new]:
            change += move(part, atom, new)
            if part.share[source] == 0 and source != 0:
                part.share[source] = 1
                part.touched[donors] = source
                donors += 1
    for donor in range(donors):
        part.share[part.touched[donor]] = 0
    return change, donors


@jit
def borrow(part: SearchPart, limits: Limits, to: int, candidates: Longs, bound: int) -> int:
    """Moves in records that others can spare, the dearest first, until the class holds; returns the change.

    Stops early where the change reaches `bound`; the caller looks whether the class holds.
    """
    for place in range(len(candidates) - 1, -1, -1):
        number = part.label[candidates[place]]
        part.link[place] = part.head[number]
        part.head[number] = place
    live, change, done = part.tally[LIVE], 0, False
    part.tally[WORK] += len(candidates) + live
    for rank in range(live, -1, -1):
        number = 0 if rank == live else part.order[rank]
        place, part.head[number] = part.head[number], -1
        while place >= 0 and number != to and not done:
            if helps(part, limits, to, candidates[place]) and can_spare(part, limits, candidates[place]):
                change += move(part, candidates[place], to)
                done = change >= bound or holds(part, limits, to)
            place = part.link[place]
    part.head[to] = -1
    return change


@jit
def helps(part: SearchPart, limits: Limits, to: int, atom: int) -> bool:
    """True if a class needs the atom: more records, or one of its sensitive values, rarer here than in the table."""
    if part.size[to] < limits.k:
        return True
    for column in range(part.places.shape[1]):
        value = part.places[atom, column]
        if part.histogram[to, value] * limits.records < limits.whole[value] * part.size[to]:
            return True
    return False


@jit
def shed(part: SearchPart, limits: Limits, new: int) -> int:
    """Sends records back that were withheld and whose values are too frequent, until the class holds; the change."""
    change = 0
    for entry in range(part.tally[LOGGED]):
        atom, source = part.log[entry, 0], part.log[entry, 1]
        if source == 0 and part.label[atom] == new and part.size[new] - part.weight[atom] >= limits.k:
            if helps(part, limits, new, atom):
                continue
            change += move(part, atom, 0)
            if holds(part, limits, new):
                break
    return change


@jit
def largest_share(part: SearchPart, new: int, found: int) -> int:
    """The class that lies in the box with the largest share of its cost, or -1."""
    for place in range(found):
        part.share[part.label[part.inside[place]]] += part.weight[part.inside[place]]
    best, most = -1, -1.0
    for place in range(found):
        number = part.label[part.inside[place]]
        if part.share[number] > 0:
            worth = part.share[number] / part.size[number] * part.cost[number]
            if number != new and worth > most:
                best, most = number, worth
            part.share[number] = 0
    return best


@jit
def absorb(part: SearchPart, new: int, broken: int, found: int) -> int:
    """Moves in all of a class that lies in the box; returns the change."""
    change = 0
    for place in range(found):
        if part.label[part.inside[place]] == broken:
            change += move(part, part.inside[place], new)
    return change


@jit
def mend(part: SearchPart, trees: Forest, limits: Limits, donors: int, change: int, bound: int) -> int:
    """Mends the classes that lost records, each the cheaper way; returns the change so far, NEVER if it is too much."""
    for donor in range(donors):
        number = part.touched[donor]
        if holds(part, limits, number):
            continue
        found = members(part, part.box[number], part.beside)
        start, room = part.tally[LOGGED], bound - change
        apart = parting(part, trees, limits, number, found, room)
        price = borrow(part, limits, number, part.beside[:found], min(apart, room))
        if price >= apart or not holds(part, limits, number):
            undo(part, start)
            price = dissolve(part, trees, limits, number, found) if apart < room else room
        change += price
        if change >= bound:
            return NEVER
    return change


@jit
def parting(part: SearchPart, trees: Forest, limits: Limits, number: int, found: int, bound: int) -> int:
    """The cost of dissolving a class, or `bound` if that is reached."""
    change = 0
    for place in range(found):
        atom = part.beside[place]
        if part.label[atom] == number:
            target = cheapest_other(part, trees, limits, atom, part.cost[0])
            change += part.weight[atom] * (part.cost[target] - part.cost[number])
            if change >= bound:
                return bound
    return change


@jit
def dissolve(part: SearchPart, trees: Forest, limits: Limits, number: int, found: int) -> int:
    """Sends a class's records to the cheapest others that cover them; returns the change."""
    change = 0
    for place in range(found):
        atom = part.beside[place]
        if part.label[atom] == number:
            change += move(part, atom, cheapest_other(part, trees, limits, atom, part.cost[0]))
    return change


@jit
def cheapest_other(part: SearchPart, trees: Forest, limits: Limits, atom: int, below: int) -> int:
    """The cheapest class but its own that covers an atom and keeps l and t with it; 0 if all cost `below` or more."""
    order, size, boxes, codes, own = part.order, part.size, part.box, part.codes, part.label[atom]
    first, last, live = trees.first, trees.last, part.tally[LIVE]
    watched, costs = part.places.shape[1] > 0, part.cost
    for place in range(live):
        number = order[place]
        if costs[number] >= below:
            part.tally[WORK] += place
            return 0
        if number == own or size[number] == 0 or not covers(first, last, boxes, number, codes, atom):
            continue
        if not watched or stands(part, limits, number, atom, part.weight[atom]):
            part.tally[WORK] += place
            return int(number)
    part.tally[WORK] += live
    return 0


@jit
def enter(part: SearchPart, new: int) -> None:
    """Enters a class into the list by cost."""
    place = part.tally[LIVE]
    while place > 0 and part.cost[part.order[place - 1]] > part.cost[new]:
        part.order[place] = part.order[place - 1]
        place -= 1
    part.order[place] = new
    part.tally[LIVE] += 1


@jit
def leave(part: SearchPart, new: int) -> None:
    """Takes a class out of the list."""
    place = 0
    while part.order[place] != new:
        place += 1
    part.tally[LIVE] -= 1
    for later in range(place, part.tally[LIVE]):
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
