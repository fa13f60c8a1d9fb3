"""Delivery: the release reaches the recipient as boxes from both providers, and numbers that only a difference shows.

Source    Takenouchi, Kawamura & Ohsuga, section 5.1, step 3 and joining. Ours: the paper's provider B learns how many
          common users each class has per exact value; here it sends the other provider masked sums, which that one
          reads and passes on, while the masks go to the recipient directly. Neither provider learns a number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np
from msgspec import Meta

from covey.arrays import Longs
from covey.errors import InputError, PeerError
from covey.protocols.federate import paper
from covey.protocols.federate.comparison import HIDING
from covey.protocols.federate.groups import Group
from covey.protocols.federate.meeting import CountingPair, Pair, room_for
from covey.protocols.federate.parameters import Parameters
from covey.protocols.federate.release import costs
from covey.protocols.federate.thresholds import by_value
from covey.protocols.federate.users import OwnUsers
from covey.secure.ciphers import Ciphers
from covey.wire import FRAME_BYTES, Channel, Chunk, Count, Message, Vector

DIVISION_SECONDS = 86_400.0
"""Seconds that the recipient waits for the providers as long as they give signs of life."""

CHUNK = 4096
"""Boxes per message."""

READY_BYTES = FRAME_BYTES + 34

Label = Annotated[str, Meta(max_length=1024)]
Labels = Annotated[list[Label], Meta(max_length=256)]


class ClassCount(Message, tag="federate.ready"):
    """The number of classes that there will be."""

    classes: Count


class ClassOrder(Message, tag="federate.order"):
    """The order in which the classes go to the recipient: it carries nothing of how they came about."""

    order: Vector


class Summed(Ciphers, tag="federate.summed"):
    """Common users of each class and exact value, under masks and the recipient's key, many in one ciphertext."""


class Veiled(Chunk[Vector], tag="federate.veiled"):
    """The numbers under their masks."""

    values: Vector


class Veils(Chunk[Vector], tag="federate.veils"):
    """The masks."""

    values: Vector


class ClassLabels(Message, tag="federate.boxes"):
    """Some classes' labels in the sender's columns."""

    labels: Annotated[list[Labels], Meta(max_length=CHUNK)]


# -- the providers


async def send_release(channel: Channel, pair: CountingPair, leaves: Sequence[Group], recipient: str) -> None:
    """This provider's part of the release."""
    order = await agree_on_order(channel.at("order"), pair.is_first, pair.peer, len(leaves))
    shown = [leaves[place] for place in order.tolist()]
    room = room_for([len(group.members) for group in leaves]) + HIDING + 1
    numbers = len(shown) * pair.params.width
    at = channel.at("numbers")
    if pair.is_first:
        veiled = await pair.receive_numbers(at, Summed, room, numbers)
        await at.send_all(recipient, Veiled, Vector(np.array(veiled, dtype=np.uint64)))
    else:
        sums = pair.theirs.totals(cell for group in shown for cell in by_value(pair.users, group))
        stream = at.rng.stream("veils")
        veils = [stream.below(1 << (room - 1)) for _ in range(numbers)]
        await pair.send_numbers(at, Summed, sums.plus_numbers(veils), room, at.rng.stream("fresh"))
        await at.send_all(recipient, Veils, Vector(np.array(veils, dtype=np.uint64)))
    await send_boxes(channel.at("boxes"), pair.users, shown, recipient)


async def send_paper_release(channel: Channel, pair: Pair, leaves: list[Group]) -> None:
    """The paper's way: the provider with exact values learns the numbers and sends them."""
    params = pair.params
    order = await agree_on_order(channel.at("order"), pair.is_first, pair.peer, len(leaves))
    shown = [leaves[place] for place in order.tolist()]
    counts = await paper.count_exactly(channel.at("count"), pair, shown)
    if not pair.is_first:
        told = Vector(counts.ravel().astype(np.uint64))
        await channel.at("numbers").send_all(params.recipient, Veils, told)
    await send_boxes(channel.at("boxes"), pair.users, shown, params.recipient)


async def agree_on_order(channel: Channel, mine: bool, peer: str, classes: int) -> Longs:
    """A random order of the classes, which the first provider draws."""
    if mine:
        order = channel.rng.stream("order").permutation(classes)
        await channel.send(peer, ClassOrder(Vector(order.astype(np.uint64))))
        return order
    order = (await channel.receive(peer, ClassOrder)).order.words.astype(np.int64)
    if not np.array_equal(np.sort(order), np.arange(classes)):
        raise PeerError(party=peer, step=channel.step, reason="its order of the classes is none")
    return order


async def send_boxes(channel: Channel, own: OwnUsers, shown: Sequence[Group], recipient: str) -> None:
    """The classes' labels in our columns."""
    boxes = [list(own.box(group.members)) for group in shown]
    for first in range(0, len(boxes), CHUNK):
        await channel.send(recipient, ClassLabels(boxes[first : first + CHUNK]))


# -- the recipient


async def receive_classes(channel: Channel, params: Parameters) -> int:
    """The number of classes that the providers announce. Raises PeerError where they differ."""
    classes = (await channel.receive(params.first, ClassCount, patience=DIVISION_SECONDS)).classes
    if (await channel.receive(params.second, ClassCount)).classes != classes or not classes:
        reason = f"it announces another number of classes than {params.first!r}"
        raise PeerError(party=params.second, step=channel.step, reason=reason)
    if classes > len(params.population) // params.k:
        raise PeerError(party=params.first, step=channel.step, reason="more classes than k allows for the population")
    return classes


async def receive_numbers(channel: Channel, params: Parameters, classes: int) -> Longs:
    """Common users of each class and exact value: the masked numbers less the masks, or as the paper's way tells."""
    count = classes * params.width
    veiled = (await channel.receive_all(params.first, Veiled, count)).words if params.by_level else np.uint64(0)
    told = (await channel.receive_all(params.second, Veils, count)).words
    numbers = veiled - told if params.by_level else told
    return numbers.astype(np.int64).reshape(classes, params.width)


async def receive_boxes(channel: Channel, params: Parameters, sender: str, classes: int) -> list[tuple[str, ...]]:
    """The classes' labels in a provider's columns. Raises PeerError for another number of them, or another label."""
    columns = params.columns(sender)
    boxes: list[tuple[str, ...]] = []
    while len(boxes) < classes:
        labels = (await channel.receive(sender, ClassLabels)).labels
        due = min(CHUNK, classes - len(boxes))
        if len(labels) != due or any(len(row) != len(columns) for row in labels):
            raise PeerError(party=sender, step=channel.step, reason=f"not {due} boxes of {len(columns)} labels")
        boxes += [tuple(row) for row in labels]
    try:
        costs(columns, boxes)
    except InputError as error:
        raise PeerError(party=sender, step=channel.step, reason=str(error)) from None
    return boxes
