"""How the release reaches the recipient: boxes from both providers, and numbers that only their difference shows.

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
from covey.crypto import packing
from covey.crypto.paillier import Ciphertexts
from covey.errors import InputError, PeerError
from covey.protocols.federate.comparison import HIDING
from covey.protocols.federate.follow import answer_tests
from covey.protocols.federate.groups import Group, joined
from covey.protocols.federate.lead import ask_tests
from covey.protocols.federate.pair import CountingPair
from covey.protocols.federate.said import read_numbers, room_for, width_of
from covey.protocols.federate.users import OwnUsers
from covey.secure import ciphers
from covey.secure.ciphers import Ciphers
from covey.wire import FRAME_BYTES, Channel, Chunk, Count, Message, Vector

CHUNK = 4096
"""Boxes per message."""

READY_BYTES = FRAME_BYTES + 34

Label = Annotated[str, Meta(max_length=1024)]
Labels = Annotated[list[Label], Meta(max_length=256)]


class Ready(Message, tag="federate.ready"):
    """How many classes there will be."""

    classes: Count


class Order(Message, tag="federate.order"):
    """In which order the classes go to the recipient: it carries nothing of how they came about."""

    order: Vector


class Summed(Ciphers, tag="federate.summed"):
    """Common users of each class and exact value, under masks and the recipient's key, many in one ciphertext."""


class Veiled(Chunk[Vector], tag="federate.veiled"):
    """The numbers under their masks."""

    values: Vector


class Veils(Chunk[Vector], tag="federate.veils"):
    """The masks."""

    values: Vector


class Boxes(Message, tag="federate.boxes"):
    """Some classes' labels in the sender's columns."""

    labels: Annotated[list[Labels], Meta(max_length=CHUNK)]


# -- the providers


async def keep_exact_values(channel: Channel, pair: CountingPair, leaves: list[Group]) -> list[Group]:
    """Joins groups again until delta holds for each exact value in them; both learn which were joined."""
    width, turn = pair.params.width, 0
    while True:
        at = channel.at(turn)
        widths = [width_of(pair.params, len(group.members)) for group in leaves for _ in range(width)]
        if pair.is_first:
            kept = await answer_tests(at, pair, widths, width)
        else:
            kept = await ask_tests(at, pair, [exact_tests(pair, group) for group in leaves], widths, width)
        failing = [group for group, good in zip(leaves, kept.tolist(), strict=True) if not good]
        if not failing:
            return leaves
        leaves = joined(leaves, failing)
        turn += 1


def exact_tests(pair: CountingPair, group: Group) -> Ciphertexts:
    """For each exact value what must be zero or more: delta times our users that have it, less the common ones."""
    delta = pair.params.delta
    if delta is None:
        raise InputError("presence of exact values is tested only where the study has a delta")
    cells = by_value(pair.users, group)
    common = pair.theirs.totals(cells).scaled([-delta.denominator] * len(cells))
    return common.plus_numbers([delta.numerator * len(cell) for cell in cells])


def by_value(own: OwnUsers, group: Group) -> list[list[int]]:
    """The members of a group that this provider has, by their exact values."""
    cells: list[list[int]] = [[] for _ in range(own.params.width)]
    mine = own.holding(group.members)
    for member, value in zip(mine.tolist(), own.exact[own.row[mine]].tolist(), strict=True):
        cells[value].append(member)
    return cells


async def send_release(channel: Channel, pair: CountingPair, leaves: Sequence[Group], recipient: str) -> None:
    """This provider's part of the release."""
    order = await agree_on_order(channel.at("order"), pair.is_first, pair.peer, len(leaves))
    shown = [leaves[place] for place in order.tolist()]
    room = room_for([len(group.members) for group in leaves]) + HIDING + 1
    numbers = len(shown) * pair.params.width
    at = channel.at("numbers")
    if pair.is_first:
        slots = packing.slots(pair.secret.public, room)
        packed = await ciphers.receive(at, pair.peer, Summed, pair.secret.public, -(-numbers // slots))
        veiled = read_numbers(at, pair.peer, pair.secret, packed, room, numbers)
        await at.send_all(recipient, Veiled, Vector(np.array(veiled, dtype=np.uint64)))
    else:
        sums = pair.theirs.totals(cell for group in shown for cell in by_value(pair.users, group))
        stream = at.rng.stream("veils")
        veils = [stream.below(1 << (room - 1)) for _ in range(numbers)]
        packed = packing.pack(sums.plus_numbers(veils), room, packing.slots(sums.key, room))
        await ciphers.send(at, pair.peer, Summed, packed.rerandomised(at.rng.stream("fresh")))
        await at.send_all(recipient, Veils, Vector(np.array(veils, dtype=np.uint64)))
    await send_boxes(channel.at("boxes"), pair.users, shown, recipient)


async def agree_on_order(channel: Channel, mine: bool, peer: str, classes: int) -> Longs:
    """A random order of the classes, which the first provider draws."""
    if mine:
        order = channel.rng.stream("order").permutation(classes)
        await channel.send(peer, Order(Vector(order.astype(np.uint64))))
        return order
    order = (await channel.receive(peer, Order)).order.words.astype(np.int64)
    if not np.array_equal(np.sort(order), np.arange(classes)):
        raise PeerError(party=peer, step=channel.step, reason="its order of the classes is none")
    return order


async def send_boxes(channel: Channel, own: OwnUsers, shown: Sequence[Group], recipient: str) -> None:
    """The classes' labels in our columns."""
    boxes = [list(own.box(group.members)) for group in shown]
    for first in range(0, len(boxes), CHUNK):
        await channel.send(recipient, Boxes(boxes[first : first + CHUNK]))


# -- the recipient


async def receive_numbers(channel: Channel, first: str, second: str, classes: int, width: int) -> Longs:
    """Common users of each class and exact value: what was masked less the masks."""
    veiled = (await channel.receive_all(first, Veiled, classes * width)).words
    veils = (await channel.receive_all(second, Veils, classes * width)).words
    return (veiled - veils).astype(np.int64).reshape(classes, width)


async def receive_boxes(channel: Channel, sender: str, classes: int, columns: int) -> list[tuple[str, ...]]:
    """The classes' labels in a provider's columns. Raises PeerError for another number of them."""
    boxes: list[tuple[str, ...]] = []
    while len(boxes) < classes:
        labels = (await channel.receive(sender, Boxes)).labels
        due = min(CHUNK, classes - len(boxes))
        if len(labels) != due or any(len(row) != columns for row in labels):
            raise PeerError(party=sender, step=channel.step, reason=f"not {due} boxes of {columns} labels")
        boxes += [tuple(row) for row in labels]
    return boxes
