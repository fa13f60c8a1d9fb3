"""l-site diversity of one column: no published label of it can be linked to fewer than l sites.

Source    Tassa & Gudes, section 6.2, on the column with `site = true`. A site supports a node of the column's tree if
          it has a record below it. The children of a node are shown only if each is supported by l sites or more, or
          by none; whatever lies below a node whose children are not shown is lifted to it, before anything else is
          computed: marginals, list and visits know only what is shown.
Roles     every party alike, three or more.
Security  everyone learns of each node whether none or l or more support it; never how many, nor who.
Not       with several such columns a combination of labels could still tell: `cluster` looks at them together.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from covey.arrays import Bits, Ints, Longs
from covey.crypto.factorial import field_for
from covey.errors import Unmet
from covey.hierarchy import Hierarchy
from covey.protocols.peel.parameters import Parameters
from covey.secure import threshold_test
from covey.secure.declare import Leakage
from covey.table import Table
from covey.wire import Channel

LEAKAGE = Leakage(
    everyone=(
        "for each of the {nodes} values and ranges of column {column!r}: whether no party, or {sites} parties or more, "
        "have a record with it; not which parties, nor how many",
    )
)


async def lift(channel: Channel, params: Parameters, table: Table) -> Table:
    """This party's records with nothing below what may be shown. Raises Unmet where not even the root may be."""
    if params.sites is None:
        return table
    column, sites = params.sites
    mine = support(table.trees[column], table.codes[column])
    if channel.me == channel.parties[0]:
        mine = mine - 1  # 1 to sites - 1 are to be avoided, and tests know 0 to a bound
    prepared = await threshold_test.prepare(
        channel.at("before"), sites - 1, len(mine), field_for(len(channel.parties), sites)
    )
    fits = await threshold_test.reaches(channel.at("test"), prepared, mine)
    return lifted(table, column, fits, sites)


def ideal(params: Parameters, tables: list[Table]) -> list[Table]:
    """The tables as a trusted party would lift them."""
    if params.sites is None:
        return tables
    column, sites = params.sites
    total = np.sum([support(table.trees[column], table.codes[column]) for table in tables], axis=0)
    return [lifted(table, column, (total == 0) | (total >= sites), sites) for table in tables]


def support(tree: Hierarchy, codes: Ints) -> Longs:
    """1 for every node with a record below it, 0 for the others."""
    seen = np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=tree.codes))])
    return (seen[tree.last + 1] > seen[tree.first]).astype(np.int64)


def lifted(table: Table, column: int, fits: Bits, sites: int) -> Table:
    """The table with the column's tree cut back to what may be shown, and its records lifted."""
    tree = table.trees[column]
    if not fits[tree.root]:
        raise Unmet(f"fewer than site_l = {sites} parties have records; nothing can be released")
    shown = shown_nodes(tree, fits)
    cut = Hierarchy(
        tree.labels, shown[tree.up], kind=tree.kind, missing=tree.missing is not None, sizes=tree.sizes.copy()
    )
    codes = table.codes.copy()
    codes[column] = tree.first[shown[tree.up[0]]][codes[column]]  # one leaf stands for all that were lifted with it
    trees = tuple(cut if place == column else own for place, own in enumerate(table.trees))
    return replace(table, trees=trees, codes=codes)


def shown_nodes(tree: Hierarchy, fits: Bits) -> Ints:
    """For each node the lowest one at or above it that may be shown."""
    opens = np.ones(tree.nodes, dtype=bool)
    below = np.flatnonzero(np.arange(tree.nodes) != tree.root)
    np.logical_and.at(opens, tree.parent[below], fits[below])
    shown = np.arange(tree.nodes, dtype=np.int32)
    for node in below[np.argsort(tree.depth[below], kind="stable")].tolist():
        parent = int(tree.parent[node])
        if shown[parent] != parent or not opens[parent]:
            shown[node] = shown[parent]
    return shown
