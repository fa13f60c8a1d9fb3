"""A provider among several of `federate` that lies is named, or the run ends: no wrong release comes out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatch

import numpy as np
import pytest
from tests.harness.federate_cases import CURIOUS, GYM, INSURER, owns_of, trial_of
from tests.harness.harness import End, answers, lines, run
from tests.harness.network import seed_of
from tests.harness.several_cases import SCHOOL, SEVERAL, draw_several, several_of
from tests.harness.tiers import few_first
from tests.harness.trial import Trial
from tests.hostile.test_federate_lies import beyond, field, longer, nothing, raised

from covey.arrays import Bits, Longs, Words
from covey.crypto.field import F61, Field, FieldElements
from covey.crypto.rng import Rng
from covey.errors import Aborted, PeerError, Unmet
from covey.protocols.as_printed.federate import several, shared_numbers
from covey.protocols.as_printed.federate.checking import SPOILED, Notes, Shown
from covey.protocols.as_printed.federate.cutting import Candidates, Halves
from covey.protocols.as_printed.federate.delivery import ClassCount, ClassLabels, ClassOrder, NumberParts
from covey.protocols.as_printed.federate.groups import INFEASIBLE, Group
from covey.protocols.as_printed.federate.ideal import keeps
from covey.protocols.as_printed.federate.shared_numbers import DealtNumbers, OpenedPart
from covey.protocols.shared.agree import Digest
from covey.secure import shares
from covey.secure.threshold_test import Dealt
from covey.wire import Channel, Chunk, MemoryNetwork, Message, Vector
from covey.wire import frame as frames
from covey.wire.message import decode, encode, tag_of

Lie = Callable[[Message], Message]
NAMES = (GYM, SCHOOL, INSURER, CURIOUS)
USERS = draw_several(Rng(seed_of(5)).stream("lies"), several_of(30, options="candidates = 2", delta=0.95), 12, 4, 1)


class Liar(MemoryNetwork):
    """A network on which what a sender first says at a step is something else, to one recipient or to all."""

    def __init__(self, sender: str, kind: type[Message], step: str, lie: Lie, to: str = "*") -> None:
        super().__init__(NAMES)
        self.sender, self.kind, self.step, self.lie, self.to = sender, kind, step, lie, to
        self.lied: set[str] = set()
        self.at = ""

    async def carry(self, sender: str, recipient: str, frame: bytes) -> None:
        sequence, raw = frames.split(frame)
        letter = frames.read(raw)
        header = letter.header
        here = (sender, header.tag) == (self.sender, tag_of(self.kind)) and fnmatch(
            header.step, f"federate/{self.step}"
        )
        if here and fnmatch(recipient, self.to) and recipient not in self.lied and self.at in ("", header.step):
            self.lied.add(recipient)
            self.at = header.step
            said = encode(self.lie(decode(self.kind, bytes(letter.payload))))
            frame = frames.place(sequence, frames.write(header, bytes(16), said).raw)
        await super().carry(sender, recipient, frame)


def one_more(name: str) -> Lie:
    """The first number is one more than it is: an element of the field, and of the right length."""

    def more(numbers: bytes | FieldElements) -> bytes | FieldElements:
        words = F61.unpack(numbers) if isinstance(numbers, bytes) else numbers.words.copy()
        words[0] = (int(words[0]) + 1) % F61.prime
        return F61.pack(words) if isinstance(numbers, bytes) else FieldElements(words)

    return field(name, more)


def outside(numbers: bytes) -> bytes:
    return b"\xff" * 8 + numbers[8:]


def fewer(numbers: bytes) -> bytes:
    return numbers[:-8]


def two_shares(shares: FieldElements) -> FieldElements:
    return FieldElements(np.concatenate([shares.words, shares.words]))


def unheard(labels: list[list[str]]) -> list[list[str]]:
    return [["?"] for _ in labels]


def honest_release(trial: Trial) -> object:
    return trial.ideal[CURIOUS]


# -- what is malformed is refused, with the liar's name

REFUSED: list[tuple[str, str, type[Message], str, str, Lie, str]] = [
    ("membership outside", GYM, DealtNumbers, "enrol/bits", "*", field("shares", outside), "outside the field"),
    ("too few shares of membership", GYM, DealtNumbers, "enrol/bits", "*", field("shares", fewer), "expected"),
    ("a product outside the field", GYM, Dealt, "enrol/products", "*", field("shares", outside), "outside the field"),
    ("too few products", INSURER, Dealt, "enrol/products", "*", field("shares", fewer), "expected"),
    ("exact values outside", INSURER, DealtNumbers, "enrol/values", "*", field("shares", outside), "outside the field"),
    ("a square", GYM, OpenedPart, "divide/root/signs/bits", SCHOOL, field("parts", outside), "outside the field"),
    ("too few verdicts", GYM, OpenedPart, "divide/root/verdict", SCHOOL, field("parts", fewer), "expected"),
    ("too many cuts", GYM, Candidates, "divide/*", SCHOOL, field("counts", raised), "cuts"),
    ("fewer cuts than none", GYM, Candidates, "divide/*", SCHOOL, field("counts", beyond), "cuts"),
    ("cuts of another group", GYM, Candidates, "divide/*", INSURER, field("counts", longer), "cuts"),
    ("nobody above a cut", GYM, Candidates, "divide/*", INSURER, field("above", nothing), "members"),
    ("more members than there are", GYM, Candidates, "divide/*", SCHOOL, field("above", raised), "members"),
    ("an empty half", GYM, Halves, "divide/*", SCHOOL, field("upper", nothing), "halves"),
    ("halves of more groups", GYM, Halves, "divide/*", INSURER, field("upper", longer), "halves"),
    ("other classes", GYM, Digest, "settle/classes", SCHOOL, lambda _: Digest(bytes(32)), "other classes"),
    ("shares too many at the end", GYM, Shown, "settle/*", SCHOOL, field("shares", two_shares), "expected"),
    ("an order that is none", GYM, ClassOrder, "release/order", SCHOOL, field("order", raised), "order"),
    ("another number of classes", SCHOOL, ClassCount, "ready", CURIOUS, field("classes", lambda n: n + 1), "classes"),
    ("a label that is none", GYM, ClassLabels, "release/*", CURIOUS, field("labels", unheard), "label"),
    ("a box too many", GYM, ClassLabels, "release/*", CURIOUS, field("labels", lambda rows: [*rows, rows[0]]), "boxes"),
    ("numbers too many", GYM, NumberParts, "release/*", CURIOUS, field("values", two_shares), "values"),
]  # fmt: skip


@pytest.mark.parametrize(("why", "sender", "kind", "step", "to", "lie", "reason"), few_first(REFUSED))
def test_what_is_malformed_is_refused_with_the_liars_name(
    why: str, sender: str, kind: type[Message], step: str, to: str, lie: Lie, reason: str
) -> None:
    network = Liar(sender, kind, step, lie, to)
    ends = run(SEVERAL.smallest(), network=network)
    assert network.lied
    errors = [ends[name].error for name in network.lied]
    assert any(isinstance(error, PeerError) and error.party == sender and reason in error.reason for error in errors), (
        errors
    )
    assert ends[CURIOUS].finished is None


# -- what is well-formed and not true


def small(delta: float = 0.95) -> Trial:
    """A run in which groups are cut; with a smaller delta hardly any is."""
    return trial_of(several_of(30, options="candidates = 2", delta=delta), USERS)


def of_all() -> Bits:
    """The users whom all providers have."""
    _, owns = owns_of(small().study, USERS)
    return np.asarray(np.logical_and.reduce([own.member for own in owns]))


FIELDS: dict[type[Message], str] = {
    DealtNumbers: "shares",
    Dealt: "shares",
    OpenedPart: "parts",
    NumberParts: "values",
    Shown: "shares",
}


def said_by(sender: str) -> list[tuple[type[Message], str]]:
    """Every type of message with shares that a provider sends in a run, with its steps, numbers as stars."""
    kinds = {tag_of(kind): kind for kind in FIELDS}
    found = {
        (kinds[entry.tag], "/".join("*" if part.isdigit() else part for part in entry.step.split("/")[1:]))
        for entry in lines(run(small()))
        if entry.sender == sender and entry.tag in kinds
    }
    return sorted(found, key=lambda each: (each[1], each[0].__name__))


KINDS: dict[str, type[Message]] = {
    "enrol/bits": DealtNumbers, "enrol/products": Dealt, "settle/sums": Dealt, "settle/check/last": Shown,
    "settle/tests/verdict": OpenedPart, "settle/tests/signs/bits": OpenedPart, "release/numbers": NumberParts,
}  # fmt: skip
ALTERED = (*KINDS, "settle/tests/signs")
"""The steps that the release rests on; what is altered there is a number of the field."""


def released(trial: Trial, ends: Mapping[str, End]) -> object | None:
    return answers(trial, ends)[CURIOUS] if ends[CURIOUS].finished is not None else None


def nothing_told(ends: Mapping[str, End]) -> bool:
    """True if the recipient was sent neither a number nor a label."""
    return not {entry.tag for entry in lines(ends)} & {tag_of(NumberParts), tag_of(ClassLabels)}


@pytest.mark.slow
@pytest.mark.parametrize("to", ["*", SCHOOL, INSURER])
def test_whatever_number_a_provider_alters_no_release_comes_out_that_is_not_the_honest_one(to: str) -> None:
    """But where only the choice among cuts hangs on it: another release may come out then, tested all the same."""
    trial = small()
    for kind, step in said_by(GYM):
        network = Liar(GYM, kind, step, one_more(FIELDS[kind]), to)
        found = released(trial, run(trial, network=network))
        assert found in (None, honest_release(trial)) or step.startswith("divide/*"), (kind, step)


@pytest.mark.parametrize("step", few_first(ALTERED))
def test_a_number_that_the_release_rests_on_cannot_be_altered(step: str) -> None:
    trial = small()
    kind = KINDS.get(step, OpenedPart)
    network = Liar(GYM, kind, step, one_more(FIELDS[kind]))
    ends = run(trial, network=network)
    assert network.lied
    assert ends[CURIOUS].finished is None
    found = [str(end.error) for end in ends.values() if isinstance(end.error, Aborted | Unmet)]
    assert any(SPOILED in error or INFEASIBLE in error or "more than there are people" in error for error in found), (
        found
    )


# -- a provider that lies inside its own role

LIAR = GYM


async def unchecked(channel: Channel, notes: Notes) -> None:
    """No check."""


@pytest.fixture
def leaves(monkeypatch: pytest.MonkeyPatch) -> list[list[Longs]]:
    """The classes that an honest provider ended with, of each run."""
    found: list[list[Longs]] = []
    settle = several.settle

    async def noting(channel: Channel, held: several.ProviderShares, own: Sequence[Group]) -> several.CheckedNumbers:
        if channel.me == SCHOOL:
            found.append([group.members for group in own])
        return await settle(channel, held, own)

    monkeypatch.setattr(several, "settle", noting)
    return found


def spoil_delta(monkeypatch: pytest.MonkeyPatch) -> None:
    """The liar shifts what is opened of each test of delta, before the release too, so that all of them hold."""
    open_bytes = shares.open_bytes

    async def shifted(channel: Channel, kind: type[Chunk[bytes]], field: Field, mine: Words) -> Words:
        if channel.me == LIAR and channel.step.endswith("signs"):
            of_delta = np.arange(len(mine)) % 4 > 0  # k comes first, then delta toward each two of three providers
            mine = F61.add(mine, np.where(of_delta, np.uint64(1 << 20), np.uint64(0)))
        return await open_bytes(channel, kind, field, mine)

    monkeypatch.setattr(shares, "open_bytes", shifted)


def tell_other_halves(monkeypatch: pytest.MonkeyPatch) -> None:
    """The liar tells, instead of the half that was tested, k users who are common to all."""
    tell, common = several.Level.tell_halves, of_all()

    async def lying(level: several.Level, channel: Channel, kept: Sequence[int], upper: several.Found) -> several.Found:
        if channel.me == LIAR and len(level.groups) == 1:
            members = level.groups[0].members
            chosen = np.flatnonzero(common[members])[:2]
            upper = {0: np.isin(np.arange(len(members)), chosen)} if 0 in upper else upper
        return await tell(level, channel, kept, upper)

    monkeypatch.setattr(several.Level, "tell_halves", lying)


def count_somebody_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """The liar says that it has somebody two times, whom all have."""
    deal, common = shared_numbers.deal, of_all()

    async def lying(channel: Channel, mine: Words, due: Mapping[str, int]) -> dict[str, Words]:
        if channel.me == LIAR and channel.step == "federate/enrol/bits":
            mine = np.where(np.arange(len(mine)) == np.flatnonzero(common)[0], np.uint64(2), mine)
        return await deal(channel, mine, due)

    monkeypatch.setattr(several, "deal", lying)


def pretend(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everyone believes that the last tests hold, and nothing is checked."""
    none_negative = shared_numbers.none_negative

    async def fine(channel: Channel, numbers: Words, notes: Notes) -> Bits:
        found = await none_negative(channel, numbers, notes)
        return np.ones(len(found), dtype=bool) if "settle" in channel.step else found

    monkeypatch.setattr(shared_numbers, "none_negative", fine)
    monkeypatch.setattr(several, "check", unchecked)


@pytest.mark.parametrize(
    "lie",
    [
        spoil_delta,
        pytest.param(tell_other_halves, marks=pytest.mark.thorough),
        pytest.param(count_somebody_twice, marks=pytest.mark.thorough),
    ],
)
def test_a_lie_that_breaks_the_promise_ends_the_run_and_would_not_without_the_last_tests_and_checks(
    lie: Callable[[pytest.MonkeyPatch], None], leaves: list[list[Longs]], monkeypatch: pytest.MonkeyPatch
) -> None:
    trial = small(delta=0.8 if lie is spoil_delta else 0.95)
    lie(monkeypatch)
    ends = run(trial)
    assert ends[CURIOUS].finished is None
    assert nothing_told(ends)
    assert any(isinstance(end.error, Aborted) and str(end.error) == SPOILED for end in ends.values())
    pretend(monkeypatch)
    ends = run(trial)
    if lie is count_somebody_twice:
        assert released(trial, ends) not in (None, honest_release(trial))
        return
    assert ends[CURIOUS].finished is not None
    assert not keeps(*owns_of(trial.study, USERS), leaves[-1])


def test_a_provider_that_tells_others_different_halves_releases_nothing() -> None:
    def swapped(upper: Vector) -> Vector:
        bits = np.unpackbits(upper.words.astype("<u8").view(np.uint8), bitorder="little")[:30]
        one, none = int(np.flatnonzero(bits)[0]), int(np.flatnonzero(bits == 0)[0])
        return Vector(upper.words ^ np.uint64(1 << one | 1 << none))

    network = Liar(LIAR, Halves, "divide/*", field("upper", swapped), SCHOOL)
    ends = run(small(), network=network)
    assert network.lied
    assert ends[CURIOUS].finished is None
    assert nothing_told(ends)
    assert all(end.error is not None for end in ends.values())
