"""Synthetic tables: records like those that nobody sees, drawn from what is public of them.

Each column is drawn on its own or given another one. In wide tables more hangs together than a column with one other:
people who agree in some columns tend to agree in many. So records may come in *families*: each has some of its cells,
all to none, of one of a few records. A node that matters for families raises the columns in which people differ and
keeps all others; among records without families it publishes nobody. How many families there are to be is seen from
the pairs of values that are shared in the real table and not in the synthetic one, or the other way round.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from covey.arrays import Bits, Ints, Longs
from covey.crypto.rng import Rng, derive
from covey.crypto.secret import Secret
from covey.hierarchy import Hierarchy
from covey.protocols.shared.peeling.marginals import Marginals
from covey.protocols.shared.peeling.pairs import MASS, dependences, pairs_of
from covey.table import group

DIE = 30
"""Bits of a die."""
CHANCE = 1.2
"""Tables differ by more than chance where they do so this many times as much as two that are drawn alike."""
FEWEST = 4
"""The fewest families are two to the power of this."""


def synthesize(trees: tuple[Hierarchy, ...], marginals: Marginals, rows: int, seed: Secret) -> Ints:
    """The leaf codes of so many records (columns x records).

    Each column is drawn on its own or, where it is known which pairs of values are shared, given another one.
    """
    ends = [_mass(marginals.weights(column)).cumsum() for column in range(len(trees))]
    streams = [Rng(derive(seed, "column", column)).stream("rows") for column in range(len(trees))]

    def alone(column: int) -> Ints:
        drawn = streams[column].words_below(int(ends[column][-1]), rows).astype(np.int64)
        return np.searchsorted(ends[column], drawn, side="right").astype(np.int32)

    if not marginals.shared:
        return np.stack([alone(column) for column in range(len(trees))])
    least = max(1, MASS * marginals.k // max(marginals.records, 1))
    mass = [np.diff(own, prepend=0) for own in ends]
    columns = {0: alone(0)}
    for each in dependences(trees, mass, marginals.shared, least):
        dice = streams[each.column].words_below(1 << DIE, 2 * rows).astype(np.int64)
        given = columns[each.given]
        columns[each.column] = each.draw(trees[each.column], ends[each.column], given, (dice[:rows], dice[rows:]))
    return np.stack([columns[column] for column in range(len(trees))])


def count_families(trees: tuple[Hierarchy, ...], marginals: Marginals, tables: Sequence[Ints], seed: Secret) -> int:
    """The number of families that synthetic tables (at least two) are to have; 0 where the pairs do not suggest any.

    Some pairs of values are shared in one table and not in another. Two synthetic tables differ so by chance; if the
    real one differs more from them, more hangs together than a column with one other. The fewer families, the more a
    table differs: there are as many as make it differ as the real one does. It is always a power of two.
    """
    if not marginals.shared:
        return 0
    pairs, rows = pairs_of(trees), int(tables[0].shape[1])

    def shared(records: Ints) -> Bits:
        least = marginals.k * rows
        return np.concatenate([pair.count(trees, records) * marginals.records >= least for pair in pairs])

    here = shared(tables[0])
    real, chance = (int((here ^ other).sum()) for other in (np.concatenate(marginals.shared), shared(tables[-1])))
    if real <= CHANCE * chance:
        return 0
    low, high = FEWEST, max(FEWEST, rows.bit_length() - 1)
    while low < high:
        middle = (low + high) // 2
        if int((here ^ shared(in_families(tables[-1], 1 << middle, seed))).sum()) > real:
            low = middle + 1
        else:
            high = middle
    return min(1 << low, rows)


def in_families(records: Ints, families: int, seed: Secret) -> Ints:
    """Records that keep some of their cells, all to none, and have the others of one of the first records.

    The first families are the largest. Without families, records stay as they are.
    """
    if not families:
        return records
    dice = Rng(derive(seed, "families")).stream("rows")
    share, own = dice.words_below(1 << DIE, 2 * records.shape[1]).astype(np.int64).reshape(2, -1)
    head = families * (share * share >> DIE) >> DIE
    cells = dice.words_below(1 << DIE, records.size).astype(np.int64).reshape(records.shape)
    return np.where(cells < own, records, records[:, head])


def _mass(weights: Longs) -> Longs:
    """The same frequencies in units of which the whole table has about MASS; what occurs has one unit at least."""
    total = max(int(weights.sum()), 1)
    return np.array([max(weight * MASS // total, int(weight > 0)) for weight in weights.tolist()], dtype=np.int64)


def distinct(records: Ints) -> tuple[Ints, Longs]:
    """The distinct records of a table (columns x records), and how often each occurs."""
    own, first = group([*records], records.shape[1])
    return np.ascontiguousarray(records[:, first]), np.bincount(own, minlength=len(first)).astype(np.int64)
