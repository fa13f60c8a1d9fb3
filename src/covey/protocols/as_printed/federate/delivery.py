"""Delivery: the release reaches the recipient as boxes from each provider, and numbers that only all together show.

Source    Takenouchi, Kawamura & Ohsuga, section 5.1, step 3 and joining. Ours: the paper's provider B learns how many
          common users each class has per exact value; here it sends the other provider masked sums, which that one
          reads and passes on, while the masks go to the recipient directly. Three providers or more send shares of the
          numbers, and the recipient sees that all fit. No provider learns a number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np
from msgspec import Meta

from covey.arrays import Longs
from covey.crypto import sharing
from covey.crypto.field import FieldElements
from covey.errors import InputError, PeerError
from covey.protocols.as_printed.federate import paper
from covey.protocols.as_printed.federate.checking import fitting
from covey.protocols.as_printed.federate.comparison import HIDING
from covey.protocols.as_printed.federate.groups import Group
from covey.protocols.as_printed.federate.meeting import CountingPair, Pair, room_for
from covey.protocols.as_printed.federate.parameters import LONGEST_LABEL, Parameters
from covey.protocols.as_printed.federate.release import costs
from covey.protocols.as_printed.federate.several import CheckedNumbers
from covey.protocols.as_printed.federate.thresholds import by_value
from covey.protocols.as_printed.federate.users import OwnUsers
from covey.secure.ciphers import Ciphers
from covey.wire import FRAME_BYTES, Channel, Chunk, Count, Message, Vector

DIVISION_SECONDS = 86_400.0
"""Seconds that the recipient waits for the providers as long as they give signs of life."""

CHUNK = 4096
"""Boxes per message."""

READY_BYTES = FRAME_BYTES + 34

Label = Annotated[str, Meta(max_length=LONGEST_LABEL)]
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


class NumberParts(Chunk[FieldElements], tag="federate.parts"):
    """The sender's shares of the numbers."""

    values: FieldElements


class ClassLabels(Message, tag="federate.boxes"):
    """Some classes' labels in the sender's columns."""

    labels: Annotated[list[Labels], Meta(max_length=CHUNK)]


# -- the providers


async def send_release(channel: Channel, held: Pair | CheckedNumbers, leaves: Sequence[Group]) -> None:
    """This provider's part of the release."""
    params = held.params
    order = await agree_on_order(channel.at("order").among(*params.providers), params.first, len(leaves))
    shown = [leaves[place] for place in order.tolist()]
    if isinstance(held, CheckedNumbers):
        told = FieldElements(held.numbers[order].ravel())
        await channel.at("numbers").send_all(params.recipient, NumberParts, told)
    elif isinstance(held, CountingPair):
        await _send_numbers(channel.at("numbers"), held, shown)
    else:
        await _send_paper_numbers(channel, held, shown)
    await send_boxes(channel.at("boxes"), held.users, shown, params.recipient)


async def _send_numbers(channel: Channel, pair: CountingPair, shown: Sequence[Group]) -> None:
    """Sends the numbers, one of two providers under masks, the other one the masks."""
    room = room_for([len(group.members) for group in shown]) + HIDING + 1
    numbers, recipient = len(shown) * pair.params.width, pair.params.recipient
    if pair.is_first:
        veiled = await pair.receive_numbers(channel, Summed, room, numbers)
        await channel.send_all(recipient, Veiled, Vector(np.array(veiled, dtype=np.uint64)))
    else:
        sums = pair.theirs.totals(cell for group in shown for cell in by_value(pair.users, group))
        stream = channel.rng.stream("veils")
        veils = [stream.below(1 << (room - 1)) for _ in range(numbers)]
        await pair.send_numbers(channel, Summed, sums.plus_numbers(veils), room, channel.rng.stream("fresh"))
        await channel.send_all(recipient, Veils, Vector(np.array(veils, dtype=np.uint64)))


async def _send_paper_numbers(channel: Channel, pair: Pair, shown: list[Group]) -> None:
    """Sends the numbers in the paper's way: the provider with exact values learns them."""
    counts = await paper.count_exactly(channel.at("count"), pair, shown)
    if not pair.is_first:
        told = Vector(counts.ravel().astype(np.uint64))
        await channel.at("numbers").send_all(pair.params.recipient, Veils, told)


async def agree_on_order(channel: Channel, first: str, classes: int) -> Longs:
    """A random order of the classes, which the first provider draws."""
    if channel.me == first:
        order = channel.rng.stream("order").permutation(classes)
        await channel.broadcast(ClassOrder(Vector(order.astype(np.uint64))))
        return order
    order = (await channel.receive(first, ClassOrder)).order.words.astype(np.int64)
    if not np.array_equal(np.sort(order), np.arange(classes)):
        raise channel.refusal(first, "its order of the classes is none")
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
    for name in params.providers[1:]:
        if (await channel.receive(name, ClassCount)).classes != classes or not classes:
            raise channel.refusal(name, f"it announces another number of classes than {params.first!r}")
    if classes > len(params.population) // params.k:
        raise PeerError(party=params.first, step=channel.step, reason="more classes than k allows for the population")
    return classes


async def receive_numbers(channel: Channel, params: Parameters, classes: int) -> Longs:
    """Common users of each class and exact value: from all shares, or masked numbers less masks, or as told.

    Raises Aborted where a provider's shares do not fit the others'.
    """
    count = classes * params.width
    if params.several:
        places = sharing.places(params.providers)
        parts = {places[name]: (await channel.receive_all(name, NumberParts, count)).words for name in params.providers}
        return fitting(parts).astype(np.int64).reshape(classes, params.width)
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
