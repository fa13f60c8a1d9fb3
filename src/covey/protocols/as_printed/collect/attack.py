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
from covey.protocols.as_printed.collect.grid import Grid
from covey.protocols.as_printed.collect.line import boxes, cut_line
from covey.protocols.as_printed.collect.parameters import Parameters

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
    """The part by distance to a person whose cell is known."""
    edge: float
    """The part for a person at the beginning of the curve, by the position alone."""


def simulate(parameters: Parameters, trees: Sequence[Hierarchy], codes: Ints, seed: int = 1) -> Success:
    """The attack on these people's codes (columns x people), with random numbers of our own.

    Fewer people than a class has are one class.
    """
    draws = np.random.default_rng(seed)
    cells = parameters.grid.rank(codes)
    line = _Line.draw(parameters, cells, draws)
    size = min(parameters.class_size(len(line.order)), len(line.order))
    group = cut_line(line.images[line.order], size, parameters.cut)
    low, high = _boxes(parameters.grid, trees, codes[:, line.order], group)
    inside = [_cells_inside(parameters.grid, low[own], high[own]) for own in range(len(low))]
    alone = float(np.mean([1 / len(inside[own]) for own in group]))
    truth = cells[line.order]
    seen = line.images[line.order]
    position = [line.likely(parameters, image, None) for image in seen]
    both = [line.likely(parameters, image, inside[own]) for image, own in zip(seen, group, strict=True)]
    together = _all_together(parameters, line, seen, [inside[own] for own in group])
    return Success(
        alone=alone,
        position=float(np.mean(np.array(position) == truth)),
        both=float(np.mean(np.array(both) == truth)),
        all=float(np.mean(together == truth)),
        anchors={distance: anchor(parameters.low, parameters.high, distance, draws) for distance in DISTANCES},
        edge=edge(parameters.low, parameters.high, max(parameters.b, 1), draws),
    )


def sample_size(parameters: Parameters, number: int) -> int:
    """The number of people that the attack is tried on: two classes, unless that is too much work."""
    affordable = _WORK // (parameters.grid.cells + _COMPARED)
    return min(number, max(SIMULATED, min(2 * (parameters.k + parameters.spare), affordable)))


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
    """The chance that the collector finds the cell of a person so many cells behind a known one."""
    return _found(low, high, 0, distance, draws, trials)


def edge(low: int, high: int, b: int, draws: np.random.Generator, trials: int = _TRIALS) -> float:
    """The chance that the collector finds the curve's first cell by a position alone."""
    return _found(low, high, b, 0, draws, trials)


def interior(low: int, high: int, b: int, cell: int, draws: np.random.Generator, trials: int = _TRIALS) -> float:
    """The chance that the collector finds a cell in the middle of the curve by a position alone."""
    return _found(low, high, b, cell, draws, trials)


def _found(low: int, high: int, before: int, cell: int, draws: np.random.Generator, trials: int) -> float:
    """The nearest guess from `before + cell` numbers of respondents; candidates are the cells from 0 on."""
    mean, deviation = (low + high) / 2, (high - low) / np.sqrt(12)
    reach = int(6 * deviation * np.sqrt(before + cell + 1) / max(mean, 1e-9)) + 4
    first, last = max(0, cell - reach), cell + reach
    summands = before + cell
    unknown = _sums(low, high, summands, draws, trials)
    own = draws.integers(low, high + 1, (trials, last - first))
    known = np.concatenate([np.zeros((trials, 1)), np.cumsum(own, axis=1)], axis=1)
    image = unknown + known[:, cell - first]
    error = np.abs(image[:, np.newaxis] - known - mean * (before + np.arange(first, last + 1)))
    return float(np.mean(np.argmin(error, axis=1) == cell - first))


def _sums(low: int, high: int, summands: int, draws: np.random.Generator, trials: int) -> Longs:
    """The sum of so many random numbers, in each trial."""
    lot = max(1, _DRAWN // max(summands, 1))
    sizes = [min(lot, trials - start) for start in range(0, trials, lot)]
    return np.concatenate([draws.integers(low, high + 1, (size, summands)).sum(axis=1) for size in sizes])


@dataclass(frozen=True)
class _Line:
    """Everyone's positions, and what the collector knows of them."""

    images: Longs
    order: Longs
    known: Floats
    """The sums of the collector's own numbers up to each cell."""

    @classmethod
    def draw(cls, parameters: Parameters, cells: Longs, draws: np.random.Generator) -> _Line:
        size = parameters.grid.cells
        theirs = np.cumsum(draws.integers(parameters.low, parameters.high + 1, size))
        own = np.cumsum(draws.integers(parameters.low, parameters.high + 1, size))
        before = (
            int(draws.integers(parameters.low, parameters.high + 1, max(parameters.b, 1)).sum()) if parameters.b else 0
        )
        ours = (
            int(draws.integers(parameters.low, parameters.high + 1, max(parameters.b, 1)).sum()) if parameters.b else 0
        )
        known = (own + ours).astype(np.float64)
        images = (theirs + own + before + ours)[cells].astype(np.int64)
        if parameters.jitter:
            images = images + draws.integers(0, 2 * parameters.low, len(images))
        return cls(images, np.argsort(images, kind="stable"), known)

    def scores(self, parameters: Parameters, image: int, cells: Longs) -> Floats:
        """The log-likelihood of each cell by the position alone, but for a constant."""
        count = parameters.b + cells + 1
        variance = parameters.variance * count
        error = image - self.known[cells] - parameters.mean * count - (parameters.low if parameters.jitter else 0)
        return np.asarray(-(error**2) / (2 * variance) - 0.5 * np.log(variance))

    def likely(self, parameters: Parameters, image: int, among: Longs | None) -> int:
        """The most likely cell."""
        cells = np.arange(parameters.grid.cells) if among is None else among
        return int(cells[int(np.argmax(self.scores(parameters, image, cells)))])


def _boxes(grid: Grid, trees: Sequence[Hierarchy], codes: Ints, group: Longs) -> tuple[Longs, Longs]:
    """The released classes' lowest and highest cell in each column; classes x columns."""
    nodes = boxes(trees, codes, group)
    columns = list(zip(trees, grid.cell_of_code, nodes.T, strict=True))
    low = [cell[tree.first[own]] for tree, cell, own in columns]
    high = [cell[tree.last[own]] for tree, cell, own in columns]
    return np.stack(low, axis=1), np.stack(high, axis=1)


def _cells_inside(grid: Grid, low: Longs, high: Longs) -> Longs:
    """The ranks of all cells of a box, sorted."""
    block = grid.ranks[tuple(slice(int(a), int(b) + 1) for a, b in zip(low, high, strict=True))]
    return np.sort(block.ravel())


def _all_together(parameters: Parameters, line: _Line, seen: Longs, inside: Sequence[Longs]) -> Longs:
    """Everyone's most likely cell, given all positions and classes. Equal positions are of one cell."""
    distinct, which = np.unique(seen, return_inverse=True)
    allowed: list[Longs | None] = [None] * len(distinct)
    for place, own in zip(which.tolist(), inside, strict=True):
        before = allowed[place]
        allowed[place] = own if before is None else np.intersect1d(before, own, assume_unique=True)
    cells = np.full((len(distinct), CANDIDATES), -1, dtype=np.int64)
    start = np.full((len(distinct), CANDIDATES), -np.inf)
    for place, possible in enumerate(allowed):
        among = possible if possible is not None and len(possible) else np.arange(parameters.grid.cells)
        score = line.scores(parameters, int(distinct[place]), among)
        best = np.sort(np.argsort(-score, kind="stable")[:CANDIDATES])
        cells[place, : len(best)] = among[best]
        start[place, : len(best)] = score[best]
    rest = distinct[:, np.newaxis] - line.known[np.maximum(cells, 0)]
    noise = (2 * parameters.low) ** 2 / 6 if parameters.jitter else 0.0
    choice = _forward_backward(cells, rest, start[0], parameters.mean, parameters.variance, noise)
    return np.asarray(cells[np.arange(len(distinct)), choice][which])


@jit
def _forward_backward(cells: Longs, rest: Floats, start: Floats, mean: float, variance: float, noise: float) -> Longs:
    """The most likely candidate at each place of the line; `rest` is the position less what the collector added.

    This is the forward-backward algorithm of hidden Markov models, in logarithms. Where no candidate fits what came
    before, it begins anew.
    """
    places, width = cells.shape
    forward = np.full((places, width), -np.inf)
    forward[0] = start
    for place in range(1, places):
        forward[place] = _pass_on(forward[place - 1], cells, rest, place, True, mean, variance, noise)
        if forward[place].max() == -np.inf:
            forward[place] = np.where(cells[place] >= 0, 0.0, -np.inf)
    choice = np.empty(places, dtype=np.int64)
    backward = np.zeros(width)
    choice[places - 1] = np.argmax(forward[places - 1])
    for place in range(places - 2, -1, -1):
        backward = _pass_on(backward, cells, rest, place + 1, False, mean, variance, noise)
        if backward.max() == -np.inf:
            backward[:] = 0.0
        choice[place] = np.argmax(forward[place] + backward)
    return choice


@jit
def _pass_on(
    message: Floats, cells: Longs, rest: Floats, place: int, ahead: bool, mean: float, variance: float, noise: float
) -> Floats:
    """The message on the other side of the step from `place - 1` to `place`: sums of likelihoods, as logarithms.

    The largest term is factored out of each sum, so that no exponential overflows.
    """
    width = cells.shape[1]
    found = np.full(width, -np.inf)
    for one in range(width):
        if cells[place if ahead else place - 1, one] < 0:
            continue
        top, total = -np.inf, 0.0
        for other in range(width):
            at, to = (other, one) if ahead else (one, other)
            step = _step(cells, rest, place, at, to, mean, variance, noise) + message[other]
            if step > top:
                total = total * np.exp(top - step) + 1.0 if top > -np.inf else 1.0
                top = step
            elif step > -np.inf:
                total += np.exp(step - top)
        if top > -np.inf:
            found[one] = top + np.log(total)
    return found


@jit
def _step(
    cells: Longs, rest: Floats, place: int, at: int, to: int, mean: float, variance: float, noise: float
) -> float:
    """The log-likelihood of a step from one candidate to the next; minus infinity where there is no such step."""
    first, second = cells[place - 1, at], cells[place, to]
    if first < 0 or second < first or (second == first and noise == 0.0):
        return -np.inf
    count = second - first
    spread = variance * count + noise
    error = rest[place, to] - rest[place - 1, at] - mean * count
    return float(-error * error / (2.0 * spread) - 0.5 * np.log(spread))
