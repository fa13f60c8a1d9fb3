"""A trusted party's peeling: the list of nodes, the classes, and who joins them, on all records at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from covey.arrays import Ints, Longs
from covey.hierarchy import Hierarchy
from covey.protocols.shared.peeling import leftover, marginals
from covey.protocols.shared.peeling.classes import Admits, PublishedClasses, peel
from covey.protocols.shared.peeling.narrowing import narrowed
from covey.protocols.shared.peeling.nodes import list_nodes
from covey.study import Study

Close = Callable[[list[Ints], list[int], Longs], tuple[list[Ints], list[int], Longs]]
"""What becomes of the classes' boxes and sizes, and of each record's class, once all nodes were visited."""

Visits = Callable[[Sequence[Hierarchy], Ints, Ints, int, Admits], tuple[list[Ints], list[int], Longs]]
"""The boxes and sizes of the classes, and each record's class or -1, from trees, nodes, records, k and a rule."""


def peel_all(
    study: Study,
    trees: tuple[Hierarchy, ...],
    codes: Ints,
    admits: Admits,
    *,
    nodes: int,
    merge: bool,
    pairs: bool = False,
    owner: Longs | None = None,
    close: Close | None = None,
    refine: bool = False,
    visits: Visits = peel,
) -> tuple[PublishedClasses, Longs]:
    """The classes of all records (columns x records), and each record's class, or -1 if it is withheld.

    At most `nodes` generalizations are visited; the list of them may know which `pairs` of values k records share. With
    `merge`, records that are left over join the cheapest classes, where each record's `owner` is given only those in
    which the owner has records. `close` says what becomes of the classes before that; with `refine`, their labels are
    narrowed as far as all their records allow. `visits` peels the records at the nodes of the list.
    """
    listed = list_nodes(study, trees, marginals.of_records(study, trees, codes, pairs), nodes)
    boxes, sizes, klass = visits(trees, listed, codes, study.privacy.k, admits)
    if close is not None:
        boxes, sizes, klass = close(boxes, sizes, klass)
    if refine and boxes:
        boxes = list(narrowed(np.stack(boxes), trees, codes, klass))
    published = PublishedClasses.of(len(trees), boxes, sizes)
    klass = published.of_records(klass)
    left = np.flatnonzero(klass < 0)
    if merge and len(left) and len(published.sizes):
        if owner is None:
            joined = leftover.cheapest(study, trees, published, codes[:, left])
        else:
            joined = leftover.cheapest_of_owners(study, trees, published, codes, klass, owner)
        klass[left] = joined.klass
        published = leftover.widened(published, trees, joined)
        klass = published.of_records(klass)
    return published, klass
