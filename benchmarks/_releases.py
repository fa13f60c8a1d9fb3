"""The releases whose loss is measured, by this tree of the project or by an older one (`_measuring.apart`).

Nothing is imported here, and nothing called, that Covey 0.1.0 did not have, but where it says so.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import numpy as np

from benchmarks._peak import own_peak
from benchmarks._tables import Sample, sample
from covey.anonymizers.peel import lattice, peel
from covey.arrays import Bits, Ints, Longs
from covey.hierarchy import Hierarchy
from covey.protocols.shared.peeling import marginals, nodes
from covey.protocols.shared.peeling.classes import PublishedClasses
from covey.protocols.shared.peeling.classes import peel as peel_jointly
from covey.study import Study
from covey.table import Table

Row = dict[str, object]
Narrow = Callable[[Ints, tuple[Hierarchy, ...], Ints, Longs], Ints]
Visits = Callable[..., tuple[list[Ints], list[int], Longs]]
NODES = 2000
"""The longest list of generalizations, unless a study says otherwise."""
DEALINGS = 4
"""Ways to deal the rows among three parties."""
OTHERS = 6
"""Other names of the columns under which a table is peeled: what is drawn for the list follows from the names."""


def one_owner(name: str, k: int, effort: str | None) -> Row:
    """The release of one owner, and what it took; 0.1.0 knew no efforts."""
    problem = sample(name).problem(k)
    peel(replace(problem, k=problem.records), budget=100_000)  # compiles first
    start, cpu = time.perf_counter(), time.process_time()
    partition = peel(problem, threads=2) if effort is None else peel(problem, effort=effort, threads=2)
    return {
        "lm": round(partition.loss(problem), 5),
        "seconds": round(time.perf_counter() - start, 1),
        "cpu": round(time.process_time() - cpu, 1),
        "mb": own_peak(),
        "lattice": lattice.size(problem),
    }


def jointly(name: str, k: int, renamings: int, effort: str) -> Row:
    """The release of three parties, which is a trusted party's, and its loss under so many other column names."""
    table, suffixes = sample(name), ["", *(f"-{index}" for index in range(renamings))]
    releases = [
        _peeled(table, replace(table.study(k, suffix), effort=effort), (True,), _narrowed) for suffix in suffixes
    ]
    (length, unrefined, lm), repeats = releases[0], [release[2] for release in releases]
    spread = {"least": min(repeats), "mean": sum(repeats) / len(repeats), "most": max(repeats)} if renamings else {}
    figures = {"lm": lm, "unrefined": unrefined, **spread}
    return {**{key: round(value, 5) for key, value in figures.items()}, "nodes": length}


def _narrowed(boxes: Ints, trees: tuple[Hierarchy, ...], codes: Ints, klass: Longs) -> Ints:
    """The narrowest labels (classes x columns) that hold all records of each class."""
    out, kept = boxes.copy(), klass >= 0
    for column, tree in enumerate(trees):
        low, high = np.full(len(boxes), tree.codes), np.full(len(boxes), -1)
        np.minimum.at(low, klass[kept], codes[column, kept])
        np.maximum.at(high, klass[kept], codes[column, kept])
        for level in reversed(range(tree.height)):
            node = tree.up[level][low]
            fits = (
                (tree.first[node] <= low) & (high <= tree.last[node]) & (tree.level[node] <= tree.level[out[:, column]])
            )
            out[fits, column] = node[fits]
    return out


def jointly_before(name: str, k: int) -> Row:
    """The same by 0.1.0, which looked at no pairs of values and narrowed no labels."""
    table = sample(name)
    length, lm, _ = _peeled(table, table.study(k), ())
    return {"lm": round(lm, 5), "nodes": length}


def _peeled(
    table: Sample, study: Study, pairs: tuple[bool, ...], narrow: Narrow | None = None, visits: Visits = peel_jointly
) -> tuple[int, float, float]:
    """The length of the list, and the loss with labels as they were visited and as they are narrowed."""
    k, trees = study.privacy.k, tuple(column.tree() for column in study.quasi)
    codes = np.array(
        [
            tree.encode([old.labels[code] for code in column])
            for tree, old, column in zip(trees, table.trees, table.codes, strict=True)
        ]
    )

    def admits(rows: Longs, group: Longs, size: Longs) -> Bits:
        return size >= k

    rows = cast(Table, SimpleNamespace(trees=trees, codes=codes, rows=codes.shape[1]))
    visits_list = nodes.list_nodes(study, trees, marginals.ideal(study, [rows], *pairs), NODES)
    boxes, sizes, klass = visits(trees, visits_list, codes, k, admits)
    narrower = boxes if narrow is None else list(narrow(np.stack(boxes), trees, codes, klass))
    wide, lm = (
        float(PublishedClasses.of(len(trees), labels, sizes).figures(study, trees, codes.shape[1]).loss["lm"] or 0.0)
        for labels in (boxes, narrower)
    )
    return len(visits_list), wide, lm
