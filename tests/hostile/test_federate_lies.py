"""Whatever a party of `federate` says instead of what is due is refused, with its name, and nothing is released."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from covey.crypto.paillier import TINY, SecretKey
from covey.crypto.residues import Residues
from covey.crypto.rng import Rng
from covey.errors import Aborted, PeerError
from covey.protocols.federate.finish import Boxes, Order, Ready, Summed, Veiled
from covey.protocols.federate.pair import Membership, NumberKey
from covey.protocols.federate.said import Above, Candidates, Halves, Scores
from covey.secure.comparison import Flags, Masked
from covey.testing.federate_cases import CURIOUS, FEDERATE, GYM, INSURER
from covey.testing.harness import run
from covey.testing.network import seed_of
from covey.wire import MemoryNetwork, Message, Vector
from covey.wire import frame as frames
from covey.wire.message import decode, encode, tag_of

Lie = Callable[[Message], Message]


class Lying(MemoryNetwork):
    """A network on which a sender's first message of a type to a recipient says something else."""

    def __init__(self, kind: type[Message], sender: str, recipient: str, lie: Lie) -> None:
        super().__init__((GYM, INSURER, CURIOUS))
        self.kind, self.pair, self.lie, self.told = kind, (sender, recipient), lie, False

    async def carry(self, sender: str, recipient: str, frame: bytes) -> None:
        sequence, raw = frames.split(frame)
        letter = frames.read(raw)
        if not self.told and (sender, recipient) == self.pair and letter.header.tag == tag_of(self.kind):
            self.told = True
            said = self.lie(decode(self.kind, bytes(letter.payload)))
            frame = frames.place(sequence, frames.write(letter.header, bytes(16), encode(said)).raw)
        await super().carry(sender, recipient, frame)


def longer(vector: Vector) -> Vector:
    return Vector(np.concatenate([vector.words, np.ones(1, np.uint64)]))


def raised(vector: Vector) -> Vector:
    return Vector(vector.words + np.uint64(1_000_000))


def zeros(numbers: Residues) -> Residues:
    return Residues(bytes(len(numbers.data)), numbers.width)


def fewer(numbers: Residues) -> Residues:
    return Residues(numbers.data[: -numbers.width], numbers.width)


def other_key(message: Message) -> Message:
    return NumberKey(SecretKey(TINY + 16, Rng(seed_of(1)).stream("another")).public)


def field(name: str, change: Callable[..., object]) -> Lie:
    """The same message with one field changed."""

    def lie(message: Message) -> Message:
        kept = {key: getattr(message, key) for key in message.__struct_fields__}
        return type(message)(**{**kept, name: change(kept[name])})

    return lie


LIES: list[tuple[str, type[Message], str, str, Lie, str]] = [
    ("a key of another size", NumberKey, GYM, INSURER, other_key, "the study says"),
    ("membership of zeros", Membership, GYM, INSURER, field("numbers", zeros), "out of range"),
    ("membership of too few", Membership, INSURER, GYM, field("numbers", fewer), "expected"),
    ("too many cuts", Candidates, GYM, INSURER, field("counts", raised), "cuts"),
    ("cuts of another group", Candidates, GYM, INSURER, field("counts", longer), "cuts"),
    ("more members above a cut than there are", Candidates, GYM, INSURER, field("above", raised), "members"),
    ("too many numbers above cuts", Candidates, GYM, INSURER, field("above", longer), "members"),
    ("users above cuts of zeros", Above, GYM, INSURER, field("numbers", zeros), "out of range"),
    ("scores of zeros", Scores, INSURER, GYM, field("numbers", zeros), "out of range"),
    ("too few scores", Scores, INSURER, GYM, field("numbers", fewer), "expected"),
    ("masked numbers of zeros", Masked, GYM, INSURER, field("numbers", zeros), "out of range"),
    ("flags that are too long", Flags, INSURER, GYM, field("bits", lambda bits: bits + b"\x00"), "flags"),
    ("an empty half", Halves, GYM, INSURER, field("upper", lambda upper: Vector(upper.words * np.uint64(0))), "halves"),
    ("halves of more groups", Halves, GYM, INSURER, field("upper", longer), "halves"),
    (
        "a group id twice",
        Order,
        GYM,
        INSURER,
        field("order", raised),
        "order",
    ),
    ("a group id too many", Order, GYM, INSURER, field("order", longer), "order"),
    ("sums of zeros", Summed, INSURER, GYM, field("numbers", zeros), "out of range"),
    ("another number of classes", Ready, INSURER, CURIOUS, field("classes", lambda n: n + 1), "number of classes"),
    ("a label that is none", Boxes, GYM, CURIOUS, field("labels", lambda rows: [["?", "*"] for _ in rows]), "label"),
    ("a label too few", Boxes, INSURER, CURIOUS, field("labels", lambda rows: [row[:1] for row in rows]), "boxes"),
    ("a box too many", Boxes, GYM, CURIOUS, field("labels", lambda rows: [*rows, rows[0]]), "boxes"),
    ("too many numbers", Veiled, GYM, CURIOUS, field("values", longer), "values"),
]


@pytest.mark.parametrize(("why", "kind", "sender", "recipient", "lie", "reason"), LIES, ids=[why for why, *_ in LIES])
def test_a_lie_is_refused_with_the_liars_name(
    why: str, kind: type[Message], sender: str, recipient: str, lie: Lie, reason: str
) -> None:
    network = Lying(kind, sender, recipient, lie)
    ends = run(FEDERATE.smallest(), network=network)
    assert network.told
    error = ends[recipient].error
    assert isinstance(error, PeerError), error
    assert error.party == sender
    assert reason in error.reason
    assert all(end.finished is None for end in ends.values())


def test_numbers_that_leave_a_class_below_k_are_not_released() -> None:
    network = Lying(Veiled, GYM, CURIOUS, field("values", lambda vector: Vector(vector.words - np.uint64(5))))
    ends = run(FEDERATE.smallest(), network=network)
    assert isinstance(ends[CURIOUS].error, Aborted)
    assert "fewer than k" in str(ends[CURIOUS].error)
    assert ends[CURIOUS].finished is None
