"""Whatever a party of `federate` says instead of what is due is refused, with its name, and nothing is released."""

from __future__ import annotations

from collections.abc import Callable

import gmpy2
import numpy as np
import pytest
from gmpy2 import mpz
from tests.harness.federate_cases import CURIOUS, FEDERATE, GYM, INSURER, draw_users, study_of, trial_of
from tests.harness.harness import run
from tests.harness.network import seed_of
from tests.harness.tiny_keys import TINY
from tests.harness.trial import Trial

from covey.arrays import Words
from covey.crypto.paillier import PublicKey, SecretKey
from covey.crypto.primes import prime
from covey.crypto.residues import Residues
from covey.crypto.rng import Rng
from covey.errors import Aborted, PeerError
from covey.protocols.as_printed.federate.comparison import Flags, MaskedCiphertexts
from covey.protocols.as_printed.federate.cutting import Above, Candidates, Halves, Scores
from covey.protocols.as_printed.federate.delivery import ClassCount, ClassLabels, ClassOrder, Summed, Veiled
from covey.protocols.as_printed.federate.meeting import MembershipBits, NumberKey
from covey.wire import MemoryNetwork, Message, Vector
from covey.wire import frame as frames
from covey.wire.message import decode, encode, tag_of

Lie = Callable[[Message], Message]


class Lying(MemoryNetwork):
    """A network on which a sender's first message of a type to a recipient says something else.

    It notes the recipient's key for numbers and the cuts that the sender considers: a liar knows both.
    """

    key: PublicKey
    own_key: PublicKey
    above: list[int]

    def __init__(
        self,
        kind: type[Message],
        sender: str,
        recipient: str,
        lie: Lie,
        parties: tuple[str, ...] = (GYM, INSURER, CURIOUS),
    ) -> None:
        super().__init__(parties)
        self.kind, self.pair, self.lie, self.told = kind, (sender, recipient), lie, False

    async def carry(self, sender: str, recipient: str, frame: bytes) -> None:
        sequence, raw = frames.split(frame)
        letter = frames.read(raw)
        if (recipient, sender) == self.pair and letter.header.tag == tag_of(NumberKey):
            self.key = decode(NumberKey, bytes(letter.payload)).key
        if (sender, recipient) == self.pair and letter.header.tag == tag_of(NumberKey):
            self.own_key = decode(NumberKey, bytes(letter.payload)).key
        if (sender, recipient) == self.pair and letter.header.tag == tag_of(Candidates):
            self.above = decode(Candidates, bytes(letter.payload)).above.words.tolist()
        if not self.told and (sender, recipient) == self.pair and letter.header.tag == tag_of(self.kind):
            self.told = True
            said = self.lie(decode(self.kind, bytes(letter.payload)))
            frame = frames.place(sequence, frames.write(letter.header, bytes(16), encode(said)).raw)
        await super().carry(sender, recipient, frame)


def longer(vector: Vector) -> Vector:
    return Vector(np.concatenate([vector.words, np.ones(1, np.uint64)]))


def raised(vector: Vector) -> Vector:
    return Vector(vector.words + np.uint64(1_000_000))


def nothing(vector: Vector) -> Vector:
    return Vector(vector.words * np.uint64(0))


def beyond(vector: Vector) -> Vector:
    """Numbers that are negative to whoever counts in signed words."""
    return Vector(vector.words + np.uint64(1 << 63))


def crowded(upper: Vector) -> Vector:
    """Somebody more in an upper half than there are."""
    return Vector(upper.words | np.uint64(1 << 63))


def ones(bits: int) -> Words:
    return np.array([(1 << bits) - 1], dtype=np.uint64)


def zeros(numbers: Residues) -> Residues:
    return Residues(bytes(len(numbers.data)), numbers.width)


def fewer(numbers: Residues) -> Residues:
    return Residues(numbers.data[: -numbers.width], numbers.width)


def other_key(message: Message) -> Message:
    return NumberKey(SecretKey(TINY + 16, Rng(seed_of(1)).stream("another"), least_bits=TINY).public, b"")


def field(name: str, change: Callable[..., object]) -> Lie:
    """The same message with one field changed."""

    def lie(message: Message) -> Message:
        kept = {key: getattr(message, key) for key in message.__struct_fields__}
        return type(message)(**{**kept, name: change(kept[name])})

    return lie


LIES: list[tuple[str, type[Message], str, str, Lie, str]] = [
    ("a key of another size", NumberKey, GYM, INSURER, other_key, "the study says"),
    ("membership of zeros", MembershipBits, GYM, INSURER, field("numbers", zeros), "out of range"),
    ("membership of too few", MembershipBits, INSURER, GYM, field("numbers", fewer), "expected"),
    ("too many cuts", Candidates, GYM, INSURER, field("counts", raised), "cuts"),
    ("cuts of another group", Candidates, GYM, INSURER, field("counts", longer), "cuts"),
    ("more members above a cut than there are", Candidates, GYM, INSURER, field("above", raised), "members"),
    ("a number of cuts below zero", Candidates, GYM, INSURER, field("counts", beyond), "cuts"),
    ("no members above a cut", Candidates, GYM, INSURER, field("above", nothing), "members"),
    ("too many numbers above cuts", Candidates, GYM, INSURER, field("above", longer), "members"),
    ("users above cuts of zeros", Above, GYM, INSURER, field("numbers", zeros), "out of range"),
    ("scores of zeros", Scores, INSURER, GYM, field("numbers", zeros), "out of range"),
    ("too few scores", Scores, INSURER, GYM, field("numbers", fewer), "expected"),
    ("masked numbers of zeros", MaskedCiphertexts, GYM, INSURER, field("numbers", zeros), "out of range"),
    ("flags that are too long", Flags, INSURER, GYM, field("bits", lambda bits: bits + b"\x00"), "2 bytes, expected 1"),
    ("an empty half", Halves, GYM, INSURER, field("upper", nothing), "halves"),
    ("the other half empty", Halves, GYM, INSURER, field("upper", lambda _: Vector(ones(12))), "halves"),
    (
        "somebody who is in no group",
        Halves,
        GYM,
        INSURER,
        field("upper", lambda v: Vector(v.words | ones(64))),
        "halves",
    ),
    ("halves of more groups", Halves, GYM, INSURER, field("upper", longer), "halves"),
    (
        "a group id twice",
        ClassOrder,
        GYM,
        INSURER,
        field("order", raised),
        "order",
    ),
    ("a group id too many", ClassOrder, GYM, INSURER, field("order", longer), "order"),
    ("sums of zeros", Summed, INSURER, GYM, field("numbers", zeros), "out of range"),
    ("another number of classes", ClassCount, INSURER, CURIOUS, field("classes", lambda n: n + 1), "number of classes"),
    (
        "a label that is none",
        ClassLabels,
        GYM,
        CURIOUS,
        field("labels", lambda rows: [["?", "*"] for _ in rows]),
        "label",
    ),
    (
        "a label too few",
        ClassLabels,
        INSURER,
        CURIOUS,
        field("labels", lambda rows: [row[:1] for row in rows]),
        "boxes",
    ),
    ("a box too many", ClassLabels, GYM, CURIOUS, field("labels", lambda rows: [*rows, rows[0]]), "boxes"),
    ("too many numbers", Veiled, GYM, CURIOUS, field("values", longer), "values"),
]


@pytest.mark.few(8)
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


# -- numbers of users that cannot be


def few() -> Trial:
    """Twelve people of whom the insurer has five; the gym divides them first."""
    study = study_of(12, options="candidates = 2", delta=0.99)
    return trial_of(study, draw_users(Rng(seed_of(FEW)).stream("few"), 12, 4, 1))


FEW, HAVE, PEOPLE, ROOM = 4, 5, 12, 4
USERS = [
    ("more users above a cut than members", lambda cut, cuts: cut + 1 if cut == min(cuts) else HAVE - 2),
    ("more users above a cut than there are", lambda cut, cuts: HAVE + 1 if cut == max(cuts) else 2),
    ("more users below a cut than members", lambda cut, cuts: 0 if cut == max(cuts) else 2),
]


@pytest.mark.parametrize(("why", "of"), USERS, ids=[why for why, _ in USERS])
def test_users_above_a_cut_that_cannot_be_there_are_refused(why: str, of: Callable[[int, list[int]], int]) -> None:
    def lie(message: Message) -> Message:
        numbers = [of(cut, network.above) for cut in network.above]
        packed = sum(number << (ROOM * place) for place, number in enumerate(numbers))
        return Above(network.key.encrypt([packed], Rng(seed_of(1)).stream("lie")).residues())

    network = Lying(Above, GYM, INSURER, lie)
    ends = run(few(), network=network)
    assert network.told
    cuts = network.above
    assert min(cuts) < HAVE < max(cuts)
    assert PEOPLE - max(cuts) < HAVE
    error = ends[INSURER].error
    assert isinstance(error, PeerError), error
    assert (error.party, error.reason) == (GYM, "more users than there can be above a cut")


@pytest.mark.parametrize(("kind", "sender", "recipient"), [(Above, GYM, INSURER), (Summed, INSURER, GYM)])
def test_a_pack_that_holds_more_than_its_numbers_is_refused(
    kind: type[Above | Summed], sender: str, recipient: str
) -> None:
    def lie(message: Message) -> Message:
        return kind(network.key.encrypt([1 << (TINY - 3)], Rng(seed_of(1)).stream("lie")).residues())

    network = Lying(kind, sender, recipient, lie)
    error = run(few(), network=network)[recipient].error
    assert isinstance(error, PeerError), error
    assert (error.party, error.reason) == (sender, "a pack holds more than its numbers")


# -- other schedules


def another(options: str, kind: type[Message], lie: Lie) -> PeerError:
    """What the insurer says of the gym's lie."""
    users = draw_users(Rng(seed_of(12)).stream("smallest"), PEOPLE, 6, 3)
    trial = trial_of(study_of(PEOPLE, options=options, delta=0.99), users)
    network = Lying(kind, GYM, INSURER, lie)
    error = run(trial, network=network)[INSURER].error
    assert network.told
    assert isinstance(error, PeerError), error
    assert error.party == GYM
    return error


def test_a_second_cut_where_one_is_due_is_refused() -> None:
    twice = field("counts", lambda counts: Vector(counts.words * np.uint64(2)))
    assert "cuts" in another("alpha = 1", Candidates, twice).reason


def test_more_cuts_than_the_study_allows_are_refused() -> None:
    def lie(message: Message) -> Message:
        assert isinstance(message, Candidates)
        return Candidates(Vector(message.counts.words + np.uint64(1)), longer(message.above))

    assert "cuts" in another("candidates = 2", Candidates, lie).reason


def many(count: int) -> Words:
    return np.ones(count, dtype=np.uint64)


PAPER = 'schedule = "paper"\ncandidates = 2'
NO_CUTS: list[tuple[str, Lie]] = [
    ("no number of cuts", field("counts", lambda counts: Vector(counts.words[:0]))),
    (
        "as many cuts as members",
        lambda _: Candidates(Vector(np.array([12], np.uint64)), Vector(np.ones(12, np.uint64))),
    ),
    ("a number too many", field("above", longer)),
    ("no members above a cut", field("above", nothing)),
    ("all members above a cut", field("above", lambda above: Vector(above.words * np.uint64(0) + np.uint64(12)))),
]


@pytest.mark.parametrize(("why", "lie"), NO_CUTS, ids=[why for why, _ in NO_CUTS])
def test_the_papers_calls_refuse_cuts_that_cannot_be(why: str, lie: Lie) -> None:
    assert "cuts" in another(PAPER, Candidates, lie).reason


def test_the_papers_calls_refuse_an_empty_half() -> None:
    assert "halves" in another(PAPER, Halves, field("upper", nothing)).reason


# -- the recipient


class Boasting(Lying):
    """Both providers announce a thousand classes."""

    async def carry(self, sender: str, recipient: str, frame: bytes) -> None:
        sequence, raw = frames.split(frame)
        letter = frames.read(raw)
        if letter.header.tag == tag_of(ClassCount):
            frame = frames.place(sequence, frames.write(letter.header, bytes(16), encode(ClassCount(1000))).raw)
        await MemoryNetwork.carry(self, sender, recipient, frame)


def test_more_classes_than_k_allows_are_refused_before_they_are_waited_for() -> None:
    network = Boasting(ClassCount, GYM, CURIOUS, lambda message: message)
    error = run(FEDERATE.smallest(), network=network)[CURIOUS].error
    assert isinstance(error, PeerError)
    assert "more classes than k allows" in error.reason


def test_numbers_that_leave_a_class_below_k_are_not_released() -> None:
    network = Lying(Veiled, GYM, CURIOUS, field("values", lambda vector: Vector(vector.words - np.uint64(5))))
    ends = run(FEDERATE.smallest(), network=network)
    assert isinstance(ends[CURIOUS].error, Aborted)
    assert "fewer than k" in str(ends[CURIOUS].error)
    assert ends[CURIOUS].finished is None


# -- keys and bits that would let a provider read which users the other has


def test_a_provider_with_numbers_for_bits_is_refused_by_name() -> None:
    """Each user weighs a power of two of its own: without a proof a masked sum's high bits name the users in it."""

    def lie(message: Message) -> Message:
        assert isinstance(message, MembershipBits)
        count = len(message.numbers.data) // message.numbers.width
        numbers = [1 << (60 + 5 * place) for place in range(count)]
        return MembershipBits(network.own_key.encrypt(numbers, Rng(seed_of(1)).stream("lie")).residues())

    network = Lying(MembershipBits, GYM, INSURER, lie)
    error = run(few(), network=network)[INSURER].error
    assert network.told
    assert isinstance(error, PeerError), error
    assert (error.party, error.reason) == (GYM, "it does not prove that its membership bits are bits")


def double_modulus() -> PublicKey:
    """A modulus p q where p divides q - 1: its ciphertexts have room for a second number modulo p."""
    stream = Rng(seed_of(1)).stream("double")
    while True:
        p = prime(TINY // 2 - 16, stream, residue=3, modulus=4)
        for factor in range(1 << 31, (1 << 31) + 4000):
            q = 2 * factor * p + 1
            if q % 4 == 3 and gmpy2.is_prime(q) and (p * q).bit_length() == TINY:
                return PublicKey(p * q, mpz(4), least_bits=TINY)


@pytest.mark.parametrize("shown", ["its own key's roots", "nothing"])
def test_a_provider_whose_modulus_is_none_of_paillier_is_refused_by_name(shown: str) -> None:
    def lie(message: Message) -> Message:
        assert isinstance(message, NumberKey)
        return NumberKey(double_modulus(), message.roots if shown != "nothing" else b"")

    network = Lying(NumberKey, GYM, INSURER, lie)
    error = run(few(), network=network)[INSURER].error
    assert network.told
    assert isinstance(error, PeerError), error
    assert (error.party, error.reason) == (GYM, "it does not prove that its key's modulus is one of Paillier's")
