"""The list of lattice nodes to visit: those that matter on synthetic tables like the one that nobody sees.

Everyone computes the list alike from what is public: the columns, k and the `Marginals`, which are the number of
records, the counts of frequent values, and, where the parties look, which pairs of values k or more records share. So
the same people have the same list in every run, whoever takes part and however their rows are split. Where a table and
its lattice are small, all nodes are listed: few made-up records say little about which of them matter, and a visit
costs little.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence

import numpy as np

from covey.anonymizers.kernels import Forest, forest, hash_tuples, number_groups, signs
from covey.anonymizers.peel import lattice
from covey.anonymizers.problem import Problem
from covey.arrays import Ints, Longs, Words
from covey.compiled import jit
from covey.crypto.rng import Rng, derive
from covey.crypto.secret import Secret
from covey.hierarchy import Hierarchy
from covey.measures import integer_costs
from covey.option import Flag, Whole
from covey.protocols.shared.peeling.marginals import Marginals, measure_of, study_seed
from covey.protocols.shared.peeling.pairs import MASS, dependences
from covey.study import Study
from covey.table import group

NODES = Whole("nodes", 2000, "generalizations that are visited at most (default 2000)", 1, 100_000)
PAIRS = Flag(
    "pairs",
    True,
    "look first which pairs of values k or more records share (default true): the list of generalizations is then "
    "shorter and fits better; false: everyone learns less, and the release loses a little more",
)
MULTIPLES = (0.4, 0.7, 1.0, 1.5, 2.5)
"""The synthetic tables are peeled for these multiples of k: real columns are not independent."""
TABLES = 2
SAMPLE = 200_000
"""Rows of a synthetic table at most; beyond that k is scaled down with them."""
FEW = 100
"""All nodes are listed where they are no more than this,"""
WHOLE = 1 << 18
"""or where their number times the number of records is no more than this."""
PROBES = 1500
"""Searches for a node on each synthetic table and for each multiple, where the lattice is too large to be listed."""


TAIL = 40
"""Nodes at which few synthetic records are published are not visited: all of them together have one of so many."""


def lists_all(trees: Sequence[Hierarchy], records: int, most: int) -> bool:
    """True if the list has every node of the lattice, whatever the marginals are."""
    return math.prod(tree.levels for tree in trees) <= min(most, max(FEW, WHOLE // max(records, 1)))


def looks_at_pairs(study: Study, trees: Sequence[Hierarchy], records: int) -> bool:
    """True if the list needs to know which pairs of values are shared: not where it has every node."""
    return PAIRS.of(study.options) and not lists_all(trees, records, NODES.of(study.options))


def list_nodes(study: Study, trees: tuple[Hierarchy, ...], marginals: Marginals, most: int) -> Ints:
    """The nodes to visit (nodes x columns: a level each), by increasing public cost; the root is the last.

    Those nodes stay at which most synthetic records were published, until what the next ones would save is little
    against what visits cost (`TAIL`), and `most` at most.
    """
    if lists_all(trees, marginals.records, most):
        every = _problem(study, trees, np.zeros((len(trees), 0), dtype=np.int32), np.zeros(0, dtype=np.int64))
        return lattice.whole(every)
    rows = min(marginals.records, SAMPLE)
    k = study.privacy.k * rows / max(marginals.records, 1)
    found: list[Ints] = []
    gained: list[Longs] = []
    for number in range(TABLES):
        base = derive(study_seed(study), "peel synthetic", number)
        problem = _problem(study, trees, *synthesize(trees, marginals, rows, base))
        for bound in sorted({max(2, round(k * multiple)) for multiple in MULTIPLES}):
            nodes = _candidates(problem, bound, base)
            gain = _peel(problem, bound, nodes)
            found.append(nodes[gain > 0])
            gained.append(gain[gain > 0])
    return _chosen(problem, np.concatenate(found), np.concatenate(gained), most)


def records_published(study: Study, trees: tuple[Hierarchy, ...], codes: Ints, counts: Longs, nodes: Ints) -> Longs:
    """The number of records of a table that each node of a list publishes."""
    return _peel(_problem(study, trees, codes, counts), study.privacy.k, nodes)


def synthesize(trees: tuple[Hierarchy, ...], marginals: Marginals, rows: int, seed: Secret) -> tuple[Ints, Longs]:
    """Distinct records (columns x records) with their counts.

    Each column is drawn on its own or, where it is known which pairs of values are shared, given another one.
    """
    ends = [_mass(marginals.weights(column)).cumsum() for column in range(len(trees))]
    streams = [Rng(derive(seed, "column", column)).stream("rows") for column in range(len(trees))]

    def alone(column: int) -> Ints:
        drawn = streams[column].words_below(int(ends[column][-1]), rows).astype(np.int64)
        return np.searchsorted(ends[column], drawn, side="right").astype(np.int32)

    if not marginals.shared:
        return distinct([alone(column) for column in range(len(trees))])
    least = max(1, MASS * marginals.k // max(marginals.records, 1))
    mass = [np.diff(own, prepend=0) for own in ends]
    columns = {0: alone(0)}
    for each in dependences(trees, mass, marginals.shared, least):
        dice = streams[each.column].words_below(1 << 30, 2 * rows).astype(np.int64)
        given = columns[each.given]
        columns[each.column] = each.draw(trees[each.column], ends[each.column], given, (dice[:rows], dice[rows:]))
    return distinct([columns[column] for column in range(len(trees))])


def _mass(weights: Longs) -> Longs:
    """The same frequencies in units of which the whole table has about MASS; what occurs has one unit at least."""
    total = max(int(weights.sum()), 1)
    return np.array([max(weight * MASS // total, int(weight > 0)) for weight in weights.tolist()], dtype=np.int64)


def distinct(columns: Sequence[Ints]) -> tuple[Ints, Longs]:
    """The distinct records of a table (columns x records), and how often each occurs."""
    own, first = group([*columns], len(columns[0]))
    return np.ascontiguousarray(np.stack(columns)[:, first]), np.bincount(own, minlength=len(first)).astype(np.int64)


def digest(nodes: Ints) -> bytes:
    """The hash of a list, which parties compare before the first visit."""
    return hashlib.sha256(b"covey peel list/3" + str(nodes.shape).encode() + nodes.astype("<i4").tobytes()).digest()


def _problem(study: Study, trees: tuple[Hierarchy, ...], codes: Ints, counts: Longs) -> Problem:
    """A table with costs that no data enters."""
    costs, scale = integer_costs(trees, measure_of(study), None, [column.weight for column in study.quasi])
    return Problem(trees, codes, counts, costs, scale, study.privacy.k)


def _peel(problem: Problem, bound: int, nodes: Ints) -> Longs:
    flat, gain = forest(problem), np.zeros(len(nodes), dtype=np.int64)
    _peel_all(flat, signs(flat), problem.codes, problem.counts, bound, nodes, gain)
    return gain


def _candidates(problem: Problem, bound: int, seed: Secret) -> Ints:
    """The whole lattice where it can be listed, else what probes find."""
    if lattice.is_listed(problem, problem.items):
        return lattice.whole(problem)
    flat = forest(problem)
    stream = Rng(derive(seed, "probe", bound)).stream("starts")
    starts = stream.words_below(problem.items, PROBES).astype(np.int64)
    state = stream.words(1) >> np.uint64(2)
    nodes = np.tile(flat.heights.astype(np.int32), (PROBES + 1, 1))
    _probe_all(flat, problem.codes, problem.counts, bound, starts, state, nodes)
    return lattice.by_cost(problem, nodes)


def _chosen(problem: Problem, nodes: Ints, gain: Longs, most: int) -> Ints:
    root = np.array([[tree.height for tree in problem.trees]], dtype=np.int32)
    each, own = np.unique(nodes, axis=0, return_inverse=True)
    total = np.bincount(own.ravel(), weights=gain, minlength=len(each))
    order = np.argsort(-total, kind="stable")
    from_here = np.cumsum(total[order][::-1])[::-1]  # records at a node and at all that come after it
    kept = each[order[from_here * TAIL > total.sum()][:most]]
    return lattice.by_cost(problem, np.concatenate([kept, root]))


@jit
def _peel_all(trees: Forest, sign: Longs, codes: Ints, weight: Longs, k: int, nodes: Ints, gain: Longs) -> None:
    """Peels a table, and writes down how many records each node published.

    The anonymizer's own kernel does this too, but carries all its constraints, which take nine seconds to compile.
    """
    number, total = len(weight), weight.sum()
    which, hashes, group = np.arange(number), np.empty(number, np.int64), np.empty(number, np.int64)
    room = 16
    while room < 2 * number:
        room *= 2
    table, owner, size = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(number, np.int64)
    for turn in range(len(nodes)):
        if total < k:
            return
        hash_tuples(trees, sign, codes, nodes[turn], which[:number], hashes)
        while room > 16 and room // 2 >= 2 * number:
            room //= 2
        groups = number_groups(hashes[:number], table[:room], owner[:room], group)
        size[:groups] = 0
        for place in range(number):
            size[group[place]] += weight[which[place]]
        stay = 0
        for place in range(number):
            if size[group[place]] >= k:
                gain[turn] += weight[which[place]]
            else:
                which[stay] = which[place]
                stay += 1
        number = stay
        total -= gain[turn]


@jit
def _probe_all(trees: Forest, codes: Ints, weight: Longs, k: int, starts: Longs, state: Words, nodes: Ints) -> None:
    members = np.empty(len(weight), np.int64)
    for number in range(len(starts)):
        lattice.probe(trees, codes, weight, k, starts[number], state, members, nodes[number])
