"""Leftover records join the cheapest classes, where the study says so: their owners have agreed to that.

Classes' labels and sizes are public, so each owner finds by itself the class in which its record costs least: what the
class's records lose by wider labels, and what the record itself loses. It names the class, and the labels that cover
both, through a shuffle; then the class is published with labels that cover all who joined it. Where a class may be one
party's alone, a record joins only classes in which its owner has records already: then nobody who saw no record of
others in a class sees one afterwards. A record whose owner has none in any class stays out.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from covey.errors import PeerError
from covey.hierarchy import Hierarchy
from covey.protocols.protocol import Seat
from covey.protocols.shared.peeling.classes import PublishedClasses
from covey.protocols.shared.peeling.leftover import STAYS, Joined
from covey.secure import shuffle
from covey.wire import Channel


async def join(seat: Seat, published: PublishedClasses, trees: Sequence[Hierarchy], mine: Joined, rows: int) -> Joined:
    """The classes that all `rows` records that are left over join; some of these records are this party's.

    The ledger has said before what this teaches (`leakage.LEFTOVER`).
    """
    named = zip(mine.klass.tolist(), mine.boxes.tolist(), strict=True)
    submitted = [msgspec.msgpack.encode((klass, box)) for klass, box in named]
    channel = seat.channel.at("leftover")
    counts, length = dict.fromkeys(channel.parties, rows), 16 + 5 * len(trees)
    mixed = await shuffle.mix(channel.at("mix"), submitted, counts=counts, length=length)
    opened = await shuffle.open_rows(channel.at("open"), mixed, approved=True)
    if len(opened) != rows:
        raise _somebody(channel, f"{len(opened)} records joined a class, expected {rows}")
    read = [_read(channel, raw, published, trees) for raw in opened]
    boxes = np.array([box for _, box in read], np.int32).reshape(rows, len(trees))
    return Joined(np.array([klass for klass, _ in read], np.int64), boxes)


def _read(
    channel: Channel, raw: bytes, published: PublishedClasses, trees: Sequence[Hierarchy]
) -> tuple[int, list[int]]:
    """An opened record's class and labels. Raises PeerError for anything else."""
    try:
        klass, box = msgspec.msgpack.decode(raw, type=tuple[int, list[int]])
    except (msgspec.MsgspecError, ValueError):
        klass, box = -1, []
    if not STAYS <= klass < len(published.sizes) or len(box) != len(trees):
        raise _somebody(channel, "it named what is no class")
    if klass == STAYS:
        return klass, box
    for own, node, tree in zip(published.boxes[klass].tolist(), box, trees, strict=True):
        inside = 0 <= node < tree.nodes and tree.first[node] <= tree.first[own] and tree.last[own] <= tree.last[node]
        if not inside:
            raise _somebody(channel, "it named labels that do not cover the class")
    return klass, box


def _somebody(channel: Channel, reason: str) -> PeerError:
    return PeerError(party=" or ".join(channel.peers), step=channel.step, reason=reason)
