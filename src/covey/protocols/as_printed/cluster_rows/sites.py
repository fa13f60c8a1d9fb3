"""l-site diversity: no published node, and no published combination of them, can be linked to fewer than l sites.

Source    Tassa & Gudes, section 6.2, on columns with `site = true`. A site supports a node if it has a record below it.
Pruning   the children of a node are shown only if each of them is supported by l sites or more, or by none; whatever
          lies below a node whose children are not shown is lifted to it, before anything is opened.
Together  with several such columns, in the study's order: a node of the next column is shown only if each sibling on
          the way down to it, together with the nodes chosen so far, is supported by l sites or more, or by none. A
          site supports nodes together if it has records below each, not necessarily the same. What no site supports
          is never published, so it forbids nothing: as in the paper's San Francisco.
Security  support is counted jointly and compared with l; how many sites support a node is not learned.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from covey.arrays import Bits, Ints, Longs
from covey.errors import Unmet
from covey.protocols.as_printed.cluster_rows.kernels import Children
from covey.protocols.as_printed.cluster_rows.party import Joint
from covey.protocols.as_printed.cluster_rows.problem import ClusterProblem, PublicClusters
from covey.study import Study


def site_columns(study: Study) -> list[int]:
    """The quasi columns that may tell a site, by their place."""
    return [place for place, column in enumerate(study.quasi) if column.site]


def supported(problem: ClusterProblem, codes: Ints) -> Bits:
    """The nodes, of all columns, below which a party has a record."""
    forest = problem.forest
    bits = np.zeros(len(forest.cost), dtype=bool)
    for column in range(problem.columns):
        first, size = int(forest.offsets[column]), problem.trees[column].nodes
        seen = np.concatenate([[0], np.cumsum(np.bincount(codes[column], minlength=problem.trees[column].codes))])
        nodes = slice(first, first + size)
        bits[nodes] = seen[forest.last[nodes] + 1] > seen[forest.first[nodes]]
    return bits


async def prune(joint: Joint, study: Study, problem: ClusterProblem, codes: Ints, sites: int) -> ClusterProblem:
    """The problem in which nothing is shown that fewer than `sites` sites support. Raises Unmet where the roots are."""
    offsets = problem.forest.offsets
    nodes = np.concatenate([offsets[c] + np.arange(problem.trees[c].nodes) for c in site_columns(study)])
    fine = await joint.tests.none_or_many(supported(problem, codes)[nodes].astype(np.int64), sites)
    if not fine[np.isin(nodes, problem.forest.roots)].all():
        raise Unmet(f"site_l = {sites} cannot be kept: fewer sites have records at all; lower site_l")
    return _lifted(problem, nodes[~fine])


def _lifted(problem: ClusterProblem, hidden: Longs) -> ClusterProblem:
    """The problem without these nodes and their siblings: each is lifted to the lowest node that may be shown."""
    forest = problem.forest
    ok = np.ones(len(forest.cost), dtype=bool)
    ok[hidden] = False
    starts = problem.children.starts
    opens = np.array([ok[problem.children.nodes[starts[v] : starts[v + 1]]].all() for v in range(len(ok))])
    lift = np.arange(len(ok), dtype=np.int32)
    for node in np.argsort(-forest.level, kind="stable"):  # parents first
        parent = forest.parent[node]
        if parent != node and not (opens[parent] and lift[parent] == parent):
            lift[node] = lift[parent]
    shown = lift[forest.parent] != forest.parent
    children = Children.of(forest, hidden=shown | ~opens[forest.parent])
    return replace(problem, lift=lift, children=children)


async def raise_together(
    joint: Joint, study: Study, problem: ClusterProblem, codes: Ints, clusters: PublicClusters, sites: int
) -> PublicClusters:
    """The clusters as they may be published: later site columns raised where a combination tells too much."""
    columns = site_columns(study)
    own = supported(problem, codes)
    boxes = clusters.boxes.copy()
    for place in range(1, len(columns)):
        chosen, ways, steps = siblings(problem, boxes[:, columns[:place]], boxes[:, columns[place]])
        both = own[chosen].all(axis=1) & own[steps]
        fine = await joint.tests.none_or_many(both.astype(np.int64), sites)
        boxes[:, columns[place]] = raised(problem, boxes[:, columns[place]], ways, fine)
    return PublicClusters(clusters.sizes, boxes)


def siblings(problem: ClusterProblem, chosen: Ints, last: Ints) -> tuple[Ints, list[Mapping[int, Longs]], Ints]:
    """The tests to make: for each cluster the children of every node above its own, with what was chosen before.

    Returns for each test the chosen nodes and the child; and for each cluster, by node above, the tests' numbers.
    """
    forest, starts = problem.forest, problem.children.starts
    number: dict[tuple[int, ...], int] = {}
    ways: list[Mapping[int, Longs]] = []
    for row, shown in zip(chosen.tolist(), last.tolist(), strict=True):
        way: dict[int, Longs] = {}
        node = int(shown)
        while forest.parent[node] != node:
            node = int(forest.parent[node])
            below = problem.children.nodes[starts[node] : starts[node + 1]].tolist()
            way[node] = np.array([number.setdefault((*row, child), len(number)) for child in below], dtype=np.int64)
        ways.append(way)
    tests = np.array(list(number), dtype=np.int32).reshape(len(number), chosen.shape[1] + 1)
    return tests[:, :-1], ways, tests[:, -1]


def raised(problem: ClusterProblem, nodes: Ints, ways: list[Mapping[int, Longs]], fine: Bits) -> Ints:
    """Each cluster's node, or the highest node above it of which a child is not fine."""
    shown = nodes.copy()
    for place, way in enumerate(ways):
        blocked = [node for node, tests in way.items() if not fine[tests].all()]
        if blocked:
            shown[place] = max(blocked, key=lambda node: int(problem.forest.level[node]))
    return shown
