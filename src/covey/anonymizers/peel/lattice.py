"""The nodes of the generalization lattice that are visited, and their order.

A node is one level per column. Its cost is the mean over the leaves of each column, weighted alike: no data enters it,
and on the tables tried that order was at least as good as one that knows the data.

A lattice is listed whole up to a size that does not take longer than the search that follows, or than probing it. A
lattice of 10^9 nodes is not: *probes* then look for the nodes that matter. A probe starts at a record and the root and
lowers one column after another, in random order and as far as k records still share the record's tuple. The node where
it gets stuck is one at which a class can form. Some probes ask for 2k or 4k records, because those that leave earlier
are missing later; and after a trial peel more probes start at what was left over.
"""

from __future__ import annotations

import math

import numpy as np

from covey.anonymizers.constraints import Limits
from covey.anonymizers.kernels import Forest, draw
from covey.anonymizers.peel.strip import Atoms, strip
from covey.anonymizers.problem import Cancel, Problem, Progress, report, silent
from covey.arrays import Floats, Ints, Longs, Words
from covey.compiled import jit

LISTED = 200_000  # a lattice up to this size is listed whole,
VISITED = 2_500_000_000  # if its nodes times the atoms are no more than this,
FEW = 1_000  # or its nodes no more than this: thousands of probes through all atoms take longer than so many visits
PROBES = {"quick": 2_000, "normal": 4_000, "thorough": 12_000}  # in each of the passes, by effort
PASSES = 3
SHUFFLED = 0.15  # how far a column's weight changes for another order: the deviation of its logarithm
COMPANY = (1, 2, 4)  # how many times k records a probe asks for


def size(problem: Problem) -> int:
    """The number of nodes of the lattice."""
    return math.prod(tree.levels for tree in problem.trees)


def whole(problem: Problem) -> Ints:
    """Every node, by increasing cost."""
    grids = np.indices([tree.levels for tree in problem.trees], dtype=np.int32)
    return _sorted(problem, np.ascontiguousarray(grids.reshape(problem.columns, -1).T))


def is_listed(problem: Problem, items: int) -> bool:
    """True if the lattice is small enough to list for so many items or atoms."""
    return is_small(size(problem), items)


def is_small(nodes: int, items: int) -> bool:
    """True if a lattice of so many nodes is listed whole."""
    return nodes <= min(LISTED, max(FEW, VISITED // max(items, 1)))


def by_cost(problem: Problem, nodes: Ints) -> Ints:
    """These nodes, each once, by increasing cost; ties by levels."""
    return _sorted(problem, np.unique(nodes, axis=0))


def shuffled(problem: Problem, nodes: Ints, seed: int) -> Ints:
    """These nodes in a similar order, in which each column weighs a little more or less."""
    return _sorted(problem, nodes, np.exp(np.random.default_rng(seed).normal(0.0, SHUFFLED, problem.columns)))


def costs(problem: Problem, nodes: Ints, factors: Floats | None = None) -> Floats:
    """The cost of each node, with each column's part times a factor, if these are given."""
    cost = np.zeros(len(nodes))
    for column, tree in enumerate(problem.trees):
        leaves = max(tree.leaves, 1)
        per_level = problem.costs[column][tree.up[:, :leaves]].sum(axis=1) / leaves
        cost += per_level[nodes[:, column]] * (1.0 if factors is None else factors[column])
    return cost


def _sorted(problem: Problem, nodes: Ints, factors: Floats | None = None) -> Ints:
    """These nodes by increasing cost; those that cost the same stay in their order."""
    return np.ascontiguousarray(nodes[np.argsort(costs(problem, nodes, factors), kind="stable")])


def searched(
    problem: Problem,
    trees: Forest,
    atoms: Atoms,
    limits: Limits,
    seed: int,
    progress: Progress,
    cancel: Cancel,
    effort: str = "normal",
) -> Ints:
    """The nodes that probes find, by cost. After each pass the next one starts at the records that were left over."""
    nodes, sample = np.empty((0, problem.columns), dtype=np.int32), np.arange(atoms.number)
    for number in range(PASSES):
        report(f"looking for nodes, since {size(problem):,} are too many to visit", number / PASSES, progress, cancel)
        probes = probed(trees, atoms, limits.k, sample, seed + number, PROBES[effort])
        nodes = by_cost(problem, np.concatenate([nodes, probes]))
        remaining = np.flatnonzero(strip(problem, atoms, limits, nodes[:-1], silent, cancel) == 0)
        if atoms.weight[remaining].sum() < limits.k:
            break
        sample = remaining
    return nodes


def probed(trees: Forest, atoms: Atoms, k: int, sample: Longs, seed: int, probes: int) -> Ints:
    """The nodes that so many probes among these atoms find, not yet sorted. The root is always one."""
    random = np.random.default_rng([seed, len(sample)])
    state = np.array([random.integers(2**62)], dtype=np.uint64)
    codes, weight = np.ascontiguousarray(atoms.codes[:, sample]), atoms.weight[sample]
    starts = random.integers(len(sample), size=probes)
    nodes = np.tile(trees.heights.astype(np.int32), (probes + 1, 1))
    probe_all(trees, codes, weight, k * np.array(COMPANY), starts, state, nodes)
    return nodes


@jit
def probe_all(
    trees: Forest, codes: Ints, weight: Longs, company: Longs, starts: Longs, state: Words, nodes: Ints
) -> None:
    """A probe from each of these records. The amounts of company are asked for in turn."""
    members = np.empty(len(weight), np.int64)
    for number in range(len(starts)):
        amount = company[number % len(company)]
        probe(trees, codes, weight, amount, starts[number], state, members, nodes[number])


@jit
def probe(
    trees: Forest, codes: Ints, weight: Longs, k: int, record: int, state: Words, members: Longs, node: Ints
) -> None:
    """Lowers a node from the root while k records are with the record there."""
    columns = len(node)
    number = len(weight)
    members[:] = np.arange(number)
    open_columns = np.arange(columns)
    choices = columns
    while choices:
        pick = draw(state, choices)
        column = open_columns[pick]
        level = node[column] - 1
        if level < 0:
            count, shared = 0, 0
        else:
            count, shared = narrow(trees, codes, weight, record, column, level, members[:number])
        if shared >= k:
            node[column], number = level, count
        else:
            choices -= 1
            open_columns[pick], open_columns[choices] = open_columns[choices], column


@jit
def narrow(
    trees: Forest, codes: Ints, weight: Longs, record: int, column: int, level: int, members: Longs
) -> tuple[int, int]:
    """Moves the members that share the record's node to the front. Returns their number and their records."""
    base = trees.starts[column] + level * trees.widths[column]
    node = trees.up[base + codes[column, record]]
    count, shared = 0, 0
    for index in range(len(members)):
        atom = members[index]
        if trees.up[base + codes[column, atom]] == node:
            members[index], members[count] = members[count], atom
            count += 1
            shared += weight[atom]
    return count, shared
