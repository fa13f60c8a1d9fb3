"""The collector's attack on positions, carried out on people who do not exist: what a run would really give away.

The collector knows its own random numbers, every position, and the released classes. Of each respondent it guesses the
cell that is the most likely one

    alone      from the released class only: any of its cells
    position   from the position only
    both       from the position, within the class
    all        from everyone's positions and classes together: forward and backward along the line, since the
               difference of two positions tells how many cells lie between them

and, knowing someone's cell, that of a person some cells away (an *anchor*), or of a person at the curve's beginning.
Guesses are made as a semi-honest collector could make them; there may be better ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from covey.arrays import Floats, Ints, Longs
from covey.compiled import jit
from covey.hierarchy import Hierarchy
from covey.protocols.collect.divide import cut_line
from covey.protocols.collect.grid import Grid
from covey.protocols.collect.terms import Terms

CANDIDATES = 200
"""Cells that are weighed for each respondent, the most likely ones."""
DISTANCES = (1, 10, 100)
SIMULATED = 600
"""People that an attack is tried on where there are more, unless their classes are too large for that."""
_WORK, _COMPARED = SIMULATED << 20, 1 << 17
"""Cells weighed at most, those of 600 people on the finest grid; and what comparing neighbours costs, in cells."""
_DRAWN = 1 << 22
"""Random numbers in memory at the same time."""
_TRIALS = 4000


@dataclass(frozen=True)
class Success:
    """The part of respondents whose cell was guessed right."""

    alone: float
    position: float
    both: float
    all: float
    anchors: Mapping[int, float]
    """By distance to a person whose cell is known."""
    edge: float
    """Of a person at the beginning of the curve, by the position alone."""


def simulate(terms: Terms, trees: Sequence[Hierarchy], codes: Ints, seed: int = 1) -> Success:
    """The attack on these people's codes (columns x people), with random numbers of our own.

    Fewer people than a class has are one class.
    """
    draws = np.random.default_rng(seed)
    cells = terms.grid.rank(codes)
    line = _Line.draw(terms, cells, draws)
    size = min(terms.class_size(len(line.order)), len(line.order))
    group = cut_line(line.images[line.order], size, terms.cut)
    low, high = _boxes(terms.grid, trees, codes[:, line.order], group)
    inside = [_cells_inside(terms.grid, low[own], high[own]) for own in range(len(low))]
    alone = float(np.mean([1 / len(inside[own]) for own in group]))
    truth = cells[line.order]
    seen = line.images[line.order]
    position = [line.likely(terms, image, None) for image in seen]
    both = [line.likely(terms, image, inside[own]) for image, own in zip(seen, group, strict=True)]
    together = _all_together(terms, line, seen, [inside[own] for own in group])
    return Success(
        alone=alone,
        position=float(np.mean(np.array(position) == truth)),
        both=float(np.mean(np.array(both) == truth)),
        all=float(np.mean(together == truth)),
        anchors={distance: anchor(terms.low, terms.high, distance, draws) for distance in DISTANCES},
        edge=edge(terms.low, terms.high, max(terms.b, 1), draws),
    )


def sample_size(terms: Terms, number: int) -> int:
    """How many of so many people the attack is tried on: two classes of them, unless that is too much work."""
    affordable = _WORK // (terms.grid.cells + _COMPARED)
    return min(number, max(SIMULATED, min(2 * (terms.k + terms.spare), affordable)))


def people(trees: Sequence[Hierarchy], number: int, seed: int = 1) -> Ints:
    """People whose values are drawn evenly and column by column, for a plan that has seen no one."""
    draws = np.random.default_rng(seed)
    return np.stack([draws.integers(0, tree.leaves, number) for tree in trees]).astype(np.int32)


def people_of(trees: Sequence[Hierarchy], boxes: Ints, sizes: Longs, seed: int = 1) -> Ints:
    """People drawn evenly within released classes (classes x columns of nodes), as many as each has."""
    draws = np.random.default_rng(seed)
    nodes = np.repeat(boxes, sizes, axis=0)
    columns = []
    for column, tree in enumerate(trees):
        first, last = tree.first[nodes[:, column]], tree.last[nodes[:, column]]
        columns.append(draws.integers(first, last + 1))
    return np.stack(columns).astype(np.int32)


def anchor(low: int, high: int, distance: int, draws: np.random.Generator, trials: int = _TRIALS) -> float:
    """How often the collector finds the cell of a person so many cells behind a known one."""
    return _found(low, high, 0, distance, draws, trials)


def edge(low: int, high: int, b: int, draws: np.random.Generator, trials: int = _TRIALS) -> float:
    """How often the collector finds the curve's first cell by a position alone."""
    return _found(low, high, b, 0, draws, trials)


def interior(low: int, high: int, b: int, cell: int, draws: np.random.Generator, trials: int = _TRIALS) -> float:
    """How often the collector finds a cell in the midst of the curve by a position alone."""
    return _found(low, high, b, cell, draws, trials)


def _found(low: int, high: int, before: int, cell: int, draws: np.random.Generator, trials: int) -> float:
    """The nearest guess from `before + cell` numbers of respondents; candidates are the cells from 0 on."""
    mean, deviation = (low + high) / 2, (high - low) / np.sqrt(12)
    reach = int(6 * deviation * np.sqrt(before + cell + 1) / max(mean, 1e-9)) + 4
    first, last = max(0, cell - reach), cell + reach
    terms = before + cell
    unknown = _sums(low, high, terms, draws, trials)
    own = draws.integers(low, high + 1, (trials, last - first))
    known = np.concatenate([np.zeros((trials, 1)), np.cumsum(own, axis=1)], axis=1)
    image = unknown + known[:, cell - first]
    error = np.abs(image[:, np.newaxis] - known - mean * (before + np.arange(first, last + 1)))
    return float(np.mean(np.argmin(error, axis=1) == cell - first))


def _sums(low: int, high: int, terms: int, draws: np.random.Generator, trials: int) -> Longs:
    """In each trial the sum of so many random numbers."""
    lot = max(1, _DRAWN // max(terms, 1))
    sizes = [min(lot, trials - start) for start in range(0, trials, lot)]
    return np.concatenate([draws.integers(low, high + 1, (size, terms)).sum(axis=1) for size in sizes])


@dataclass(frozen=True)
class _Line:
    """Everyone's positions, and what the collector knows of them."""

    images: Longs
    order: Longs
    known: Floats
    """What the collector itself added up to each cell."""

    @classmethod
    def draw(cls, terms: Terms, cells: Longs, draws: np.random.Generator) -> _Line:
        size = terms.grid.cells
        theirs = np.cumsum(draws.integers(terms.low, terms.high + 1, size))
        own = np.cumsum(draws.integers(terms.low, terms.high + 1, size))
        before = int(draws.integers(terms.low, terms.high + 1, max(terms.b, 1)).sum()) if terms.b else 0
        ours = int(draws.integers(terms.low, terms.high + 1, max(terms.b, 1)).sum()) if terms.b else 0
        known = (own + ours).astype(np.float64)
        images = (theirs + own + before + ours)[cells].astype(np.int64)
        if terms.jitter:
            images = images + draws.integers(0, 2 * terms.low, len(images))
        return cls(images, np.argsort(images, kind="stable"), known)

    def scores(self, terms: Terms, image: int, cells: Longs) -> Floats:
        """How likely each cell is by the position alone: the logarithm, but for a constant."""
        count = terms.b + cells + 1
        variance = terms.variance * count
        error = image - self.known[cells] - terms.mean * count - (terms.low if terms.jitter else 0)
        return np.asarray(-(error**2) / (2 * variance) - 0.5 * np.log(variance))

    def likely(self, terms: Terms, image: int, among: Longs | None) -> int:
        """The most likely cell."""
        cells = np.arange(terms.grid.cells) if among is None else among
        return int(cells[int(np.argmax(self.scores(terms, image, cells)))])


def _boxes(grid: Grid, trees: Sequence[Hierarchy], codes: Ints, group: Longs) -> tuple[Ints, Ints]:
    """The released classes' lowest and highest cell in each column; classes x columns."""
    classes = int(group.max()) + 1
    starts = np.searchsorted(group, np.arange(classes))
    low = np.empty((classes, len(trees)), dtype=np.int32)
    high = np.empty((classes, len(trees)), dtype=np.int32)
    for column, tree in enumerate(trees):
        lowest, highest = (kind.reduceat(codes[column], starts) for kind in (np.minimum, np.maximum))
        nodes = tree.common_ancestor(lowest, highest)
        low[:, column] = grid.cell_of_code[column][tree.first[nodes]]
        high[:, column] = grid.cell_of_code[column][tree.last[nodes]]
    return low, high


def _cells_inside(grid: Grid, low: Ints, high: Ints) -> Longs:
    """The ranks of all cells of a box, sorted."""
    block = grid.ranks[tuple(slice(int(a), int(b) + 1) for a, b in zip(low, high, strict=True))]
    return np.sort(block.ravel())


def _all_together(terms: Terms, line: _Line, seen: Longs, inside: Sequence[Longs]) -> Longs:
    """Everyone's most likely cell, given all positions and classes. Equal positions are of one cell."""
    distinct, which = np.unique(seen, return_inverse=True)
    allowed: list[Longs | None] = [None] * len(distinct)
    for place, own in zip(which.tolist(), inside, strict=True):
        before = allowed[place]
        allowed[place] = own if before is None else np.intersect1d(before, own, assume_unique=True)
    cells = np.full((len(distinct), CANDIDATES), -1, dtype=np.int64)
    start = np.full((len(distinct), CANDIDATES), -np.inf)
    for place, possible in enumerate(allowed):
        among = possible if possible is not None and len(possible) else np.arange(terms.grid.cells)
        score = line.scores(terms, int(distinct[place]), among)
        best = np.sort(np.argsort(-score, kind="stable")[:CANDIDATES])
        cells[place, : len(best)] = among[best]
        start[place, : len(best)] = score[best]
    rest = distinct[:, np.newaxis] - line.known[np.maximum(cells, 0)]
    noise = (2 * terms.low) ** 2 / 6 if terms.jitter else 0.0
    choice = _forward_backward(cells, rest, start[0], terms.mean, terms.variance, noise)
    return np.asarray(cells[np.arange(len(distinct)), choice][which])


@jit
def _forward_backward(cells: Longs, rest: Floats, start: Floats, mean: float, variance: float, noise: float) -> Longs:
    """The most likely candidate at each place of the line; `rest` is the position less what the collector added."""
    places, width = cells.shape
    forward = np.full((places, width), -np.inf)
    forward[0] = start
    for place in range(1, places):
        for to in range(width):
            if cells[place, to] < 0:
                continue
            top, total = -np.inf, 0.0
            for at in range(width):
                step = _step(cells, rest, place, at, to, mean, variance, noise) + forward[place - 1, at]
                if step > top:
                    total = total * np.exp(top - step) + 1.0 if top > -np.inf else 1.0
                    top = step
                elif step > -np.inf:
                    total += np.exp(step - top)
            if top > -np.inf:
                forward[place, to] = top + np.log(total)
        if forward[place].max() == -np.inf:  # nothing fits: begin anew here
            forward[place] = np.where(cells[place] >= 0, 0.0, -np.inf)
    choice = np.empty(places, dtype=np.int64)
    backward = np.zeros(width)
    choice[places - 1] = np.argmax(forward[places - 1])
    for place in range(places - 2, -1, -1):
        before = np.full(width, -np.inf)
        for at in range(width):
            if cells[place, at] < 0:
                continue
            top, total = -np.inf, 0.0
            for to in range(width):
                step = _step(cells, rest, place + 1, at, to, mean, variance, noise) + backward[to]
                if step > top:
                    total = total * np.exp(top - step) + 1.0 if top > -np.inf else 1.0
                    top = step
                elif step > -np.inf:
                    total += np.exp(step - top)
            if top > -np.inf:
                before[at] = top + np.log(total)
        if before.max() == -np.inf:
            before[:] = 0.0
        backward = before
        choice[place] = np.argmax(forward[place] + backward)
    return choice


@jit
def _step(
    cells: Longs, rest: Floats, place: int, at: int, to: int, mean: float, variance: float, noise: float
) -> float:
    """How likely the line goes from one candidate to the next: both exist, and in this order."""
    first, second = cells[place - 1, at], cells[place, to]
    if first < 0 or second < first or (second == first and noise == 0.0):
        return -np.inf
    count = second - first
    spread = variance * count + noise
    error = rest[place, to] - rest[place - 1, at] - mean * count
    return float(-error * error / (2.0 * spread) - 0.5 * np.log(spread))
