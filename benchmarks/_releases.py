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
    begun, cpu = time.perf_counter(), time.process_time()
    found = peel(problem, threads=2) if effort is None else peel(problem, effort=effort, threads=2)
    return {
        "lm": round(found.loss(problem), 5),
        "seconds": round(time.perf_counter() - begun, 1),
        "cpu": round(time.process_time() - cpu, 1),
        "mb": own_peak(),
        "lattice": lattice.size(problem),
    }


def jointly(name: str, k: int, others: int, effort: str) -> Row:
    """The release of three parties, which is a trusted party's, and its loss under so many other column names."""
    from covey.protocols.shared.peeling.narrowing import narrowed  # since 0.2.0

    table, named = sample(name), ["", *(f"-{place}" for place in range(others))]
    found = [_peeled(table, replace(table.study(k, more), effort=effort), (True,), narrowed) for more in named]
    (listed, unrefined, lm), again = found[0], [each[2] for each in found]
    spread = {"least": min(again), "mean": sum(again) / len(again), "most": max(again)} if others else {}
    figures = {"lm": lm, "unrefined": unrefined, **spread}
    return {**{key: round(value, 5) for key, value in figures.items()}, "nodes": listed}


def jointly_before(name: str, k: int) -> Row:
    """The same by 0.1.0, which looked at no pairs of values and narrowed no labels."""
    table = sample(name)
    listed, lm, _ = _peeled(table, table.study(k), ())
    return {"lm": round(lm, 5), "nodes": listed}


def _peeled(
    table: Sample, study: Study, pairs: tuple[bool, ...], narrow: Narrow | None = None, visits: Visits = peel_jointly
) -> tuple[int, float, float]:
    """The length of the list, and the loss with labels as they were visited and as they are narrowed."""
    k, trees = study.privacy.k, tuple(column.tree() for column in study.quasi)
    codes = np.array(
        [
            tree.encode([old.labels[code] for code in own])
            for tree, old, own in zip(trees, table.trees, table.codes, strict=True)
        ]
    )

    def admits(rows: Longs, place: Longs, size: Longs) -> Bits:
        return size >= k

    rows = cast(Table, SimpleNamespace(trees=trees, codes=codes, rows=codes.shape[1]))
    listed = nodes.list_nodes(study, trees, marginals.ideal(study, [rows], *pairs), NODES)
    boxes, sizes, klass = visits(trees, listed, codes, k, admits)
    narrower = boxes if narrow is None else list(narrow(np.stack(boxes), trees, codes, klass))
    wide, lm = (
        float(PublishedClasses.of(len(trees), each, sizes).figures(study, trees, codes.shape[1]).loss["lm"] or 0.0)
        for each in (boxes, narrower)
    )
    return len(listed), wide, lm
