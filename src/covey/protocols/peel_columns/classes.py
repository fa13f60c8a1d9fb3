"""The classes as a reader sees them, before anybody shows a label: those with equal labels become one.

Which classes have the same labels in everyone's columns is one more question to the evaluator, with classes in the
place of people, and with a class that has every root: whoever is in that one is suppressed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from covey.arrays import Ints, Longs
from covey.crypto.secret import Secret
from covey.errors import Aborted, Unmet
from covey.hierarchy import Hierarchy
from covey.protocols.peel_columns import asking
from covey.protocols.peel_columns.asking import HolderVisit
from covey.protocols.peel_columns.parameters import Parameters
from covey.protocols.peel_columns.tags import visit_seed
from covey.protocols.protocol import Figures
from covey.protocols.shared import publish
from covey.protocols.shared.columns import parts
from covey.secure import sum as secure_sum
from covey.study import Study
from covey.table import Table
from covey.wire import Channel

_FIXED = 1 << 24
"""The parts of a cell in which losses are added up."""


@dataclass(frozen=True)
class LabelledClasses:
    """The classes that differ: our labels of each, everyone's class or -1, and the number of the one at every root."""

    boxes: Ints  # classes x our columns
    label: Longs
    at_root: int | None

    @property
    def sizes(self) -> Longs:
        """The number of people in each class."""
        return np.bincount(self.label[self.label >= 0], minlength=len(self.boxes)).astype(np.int64)

    @property
    def withheld(self) -> int:
        """The number of people in none."""
        return int((self.label < 0).sum())


async def unite(
    channel: Channel,
    params: Parameters,
    trees: Sequence[Hierarchy],
    secrets: tuple[Secret, Secret],
    boxes: Ints,
    label: Longs,
) -> LabelledClasses:
    """Classes with the same labels in everyone's columns become one; `secrets` are all holders' and our own.

    Raises Unmet where there is no class. Each call needs a step of its own.
    """
    if not len(boxes):
        raise Unmet("no class keeps what the study asks for, not even the whole table; lower k or l")
    roots = np.array([[tree.root for tree in trees]], dtype=np.int32).reshape(1, -1)
    items = np.concatenate([boxes, roots])
    seed, key = (visit_seed(each, "classes", channel.step) for each in secrets)
    ours = [np.ascontiguousarray(column) for column in items.T]
    [same] = await asking.ask(channel, params, [HolderVisit(seed, key, [ours])], len(items), 2, 0)
    number = np.arange(len(items))
    for members in same:
        if (items[members] != items[members[0]]).any():
            reason = "it says that classes are alike that differ in our columns"
            raise channel.refusal(params.evaluator, reason)
        number[members] = members[0]
    kept, place = np.unique(number[:-1], return_inverse=True)
    at_root = np.flatnonzero(kept == number[-1])
    anew = np.where(label >= 0, place[np.maximum(label, 0)], -1)
    return LabelledClasses(boxes[kept], anew.astype(np.int64), int(at_root[0]) if len(at_root) else None)


async def figures(channel: Channel, study: Study, table: Table, found: LabelledClasses) -> Figures:
    """The figures of the release, of which the holders add up the losses. Raises Unmet as `publish.figures` does."""
    sizes, withheld, rows = found.sizes, found.withheld, int(found.sizes.sum())
    several = any(column.tree().nodes > 1 for column in study.quasi)
    lost_at_root = int(sizes[found.at_root]) if found.at_root is not None and several else 0
    publish.require_little_suppressed(study, lost_at_root + withheld, rows + withheld)
    lost, roots = parts.own_loss(table, found.boxes, sizes)
    mine = np.array([round(lost * _FIXED), roots], dtype=np.uint64)
    cells, at_roots = (int(each) for each in await secure_sum.total(channel, mine))
    if cells > rows * len(study.quasi) * _FIXED or at_roots > rows * len(study.quasi):
        raise Aborted("the figures are impossible: a party did not keep to the protocol", resumable=False)
    lm = (cells / _FIXED / len(study.quasi) + withheld) / (rows + withheld)
    return Figures(
        rows=rows,
        classes=len(sizes),
        k_reached=int(sizes.min()),
        withheld=withheld,
        suppressed_cells=at_roots,
        loss=publish.losses(study, lm, sizes, withheld=withheld),
    )
