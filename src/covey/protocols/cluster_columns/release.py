"""The release and its figures: every holder shows its part of each class (`covey.protocols.shared.columns.parts`)."""

from __future__ import annotations

import numpy as np

from covey import measures
from covey.arrays import Longs
from covey.errors import Aborted
from covey.protocols.cluster_columns.leakage import of_release
from covey.protocols.cluster_columns.own_columns import OwnColumns
from covey.protocols.cluster_columns.parameters import Parameters
from covey.protocols.protocol import Figures, Proposal, Result, Seat
from covey.protocols.shared import columns
from covey.protocols.shared.columns import parts
from covey.secure import sum as secure_sum
from covey.wire import Channel

_FIXED = 1 << 24
"""The parts of a cell in which losses are added up."""


async def add_up_figures(
    channel: Channel, parameters: Parameters, own: OwnColumns | None = None, label: Longs | None = None
) -> Figures:
    """The figures of the release, added up by everyone; a party without data adds nothing.

    Every holder adds what its columns lose. The pivot alone adds what all holders know, so that it counts once.
    """
    mine = np.zeros(6, dtype=np.uint64)
    if own is not None and label is not None:
        sizes = np.bincount(label).astype(np.int64)
        lost, roots = parts.own_loss(own.table, own.nodes(label), sizes)
        mine[4:] = [round(lost * _FIXED), roots]
        if own.pivot:
            mine[:4] = [int(sizes.sum()), len(sizes), int(sizes.min()), measures.discernibility(sizes)]
    rows, classes, smallest, squares, lost_parts, roots = (int(each) for each in await secure_sum.total(channel, mine))
    if not 0 < classes <= rows:
        raise Aborted("the figures are impossible: a party did not keep to the protocol", resumable=False)
    return Figures(
        rows=rows,
        classes=classes,
        k_reached=smallest,
        suppressed_cells=roots,
        loss={
            "lm": lost_parts / _FIXED / (rows * len(parameters.study.quasi)),
            "em": None,
            "dm": float(squares),
            "c_avg": rows / classes / parameters.k,
        },
    )


async def publish(
    seat: Seat, channel: Channel, parameters: Parameters, mine: parts.Contribution | None, known: Figures
) -> Result:
    """Asks for approval, shows our part to everyone, if we have one, and puts all parts together."""
    leakage, numbers = of_release(parameters, known.rows)
    await seat.approve(Proposal(leakage, numbers, known))
    seat.ledger.learns(leakage, **numbers)
    everyone = channel.parties
    rows = await parts.exchange(channel, seat.study, parameters.pivot, mine, known.rows, known.classes, to=everyone)
    if rows is None:
        raise TypeError("everyone gets the release")
    return columns.result(parameters.study, rows, approved=known.rows)
