"""What one of two parties sees in `peel` follows from its own records and what the ledger names: a simulator that runs.

The simulator plays the other party against the real one, from the first message to the release. It has the observed
party's table in place of the other's, which it never sees, and what the functionality answers: which tests reach k,
which tuples the other has k records of, which heavy buckets are pure, the totals, the classes' narrowest labels, and
the other's part of the coin. At each step it makes up an input of the other that fits the answer. The observed party
must not notice: the same release, messages of the same types, sizes and order, those that are bound by an answer the
same, and all others random.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pytest
from tests.harness.clock import run_jumping
from tests.harness.parties import Outcome, play
from tests.harness.spent import heard
from tests.protocols.peelers import draw_people, ends_of, study_of, tables_of

from covey.arrays import Bits, Ints, Longs, Words
from covey.crypto.group import Points
from covey.crypto.secret import Secret
from covey.hierarchy import Hierarchy
from covey.protocols.peel import choice, role, search
from covey.protocols.peel import two_party as couple
from covey.protocols.peel.choice import ObliviousTests
from covey.protocols.peel.records import OwnRecords
from covey.protocols.protocol import Proposal, Seat
from covey.protocols.shared.peeling.narrowing import Narrowing
from covey.secure import coin, match
from covey.secure import sum as secure_sum
from covey.secure.declare import Leakage
from covey.table import Table
from covey.wire import Channel, MemoryNetwork, Message, gather

Outcomes = Mapping[str, Outcome[pa.Table]]

M = TypeVar("M", bound=Message)
NAMES = ("p0", "p1")
FEW = "nodes = 4"
"""A list of so few nodes that some labels can be narrowed; tables are then all dense."""
BOUND = (couple.Alone, choice.TestAnswers, match.MatchResult)
"""What is bound by the functionality's answers and nothing else."""


class Deaf:
    """Whoever is told how far a run is and what it teaches, and does not care."""

    def phase(self, name: str, of: int = 1) -> None: ...

    def reach(self, done: int) -> None: ...

    def learns(self, leakage: Leakage, **numbers: object) -> None: ...


async def agreed(proposal: Proposal) -> None: ...


@dataclass
class Answers:
    """What the functionality says, by step: written down in a real run, read by the simulator."""

    reaches: dict[str, Bits] = field(default_factory=dict)
    named: dict[str, list[Words]] = field(default_factory=dict)
    pure: dict[str, Bits] = field(default_factory=dict)
    totals: dict[str, Words] = field(default_factory=dict)
    visited: Ints = field(default_factory=lambda: np.zeros((0, 3), dtype=np.int32))
    """The classes' labels as they were visited, and the narrowest ones that hold all their records."""
    narrowest: Ints = field(default_factory=lambda: np.zeros((0, 3), dtype=np.int32))
    questions: int = 0
    """How many labels were asked for."""
    coin: bytes = b""

    def of_all(self) -> Counter[str]:
        """How much was answered, by kind."""
        return Counter(
            tests=sum(map(len, self.reaches.values())),
            named=sum(part.shape[1] for parts in self.named.values() for part in parts),
            compared=sum(map(len, self.pure.values())),
            totals=sum(map(len, self.totals.values())),
            questions=self.questions,
            narrower=int((self.narrowest != self.visited).sum()),
        )


def questions(visited: Ints, narrowest: Ints, trees: Sequence[Hierarchy]) -> int:
    """The number of labels that are asked for: the narrowest ones alone tell each answer."""
    again, number = Narrowing(visited, trees), 0
    while len(asked := again.questions()):
        number += len(asked)
        again.narrow(asked, again.inside(asked, *ends_of(narrowest, trees)))
    assert np.array_equal(again.boxes, narrowest)
    return number


def listened(patch: pytest.MonkeyPatch, answers: Answers, other: str) -> None:
    """Writes the answers down as the other party gets them."""
    reaches, named, same = ObliviousTests.reaches, couple.name_own, couple.same_tuple
    total, narrow = secure_sum.total, role.narrow

    async def noted_reaches(self: ObliviousTests, channel: Channel, mine: Words, bound: int) -> Bits:
        found = await reaches(self, channel, mine, bound)
        if channel.me == other:
            answers.reaches[channel.step] = found
        return found

    async def noted_names(channel: Channel, keys: Sequence[Words], counts: Sequence[Longs], k: int) -> list[Words]:
        if channel.me == other:
            answers.named[channel.step] = [couple._own(*each, k) for each in zip(keys, counts, strict=True)]
        return await named(channel, keys, counts, k)

    async def noted_same(
        channel: Channel, keys: Sequence[Words], place: Sequence[Longs], widths: Sequence[int]
    ) -> Bits:
        found = await same(channel, keys, place, widths)
        if channel.me == other:
            answers.pure[channel.step] = found
        return found

    async def noted_total(channel: Channel, mine: Words) -> Words:
        found = await total(channel, mine)
        if channel.me == other:
            answers.totals[channel.step] = found
        return found

    async def noted_labels(channel: Channel, boxes: Ints, trees: Sequence[Hierarchy], own: OwnRecords) -> Ints:
        found = await narrow(channel, boxes, trees, own)
        if channel.me == other:
            answers.visited, answers.narrowest = boxes, found
            answers.questions = questions(boxes, found, trees)
        return found

    patch.setattr(ObliviousTests, "reaches", noted_reaches)
    patch.setattr(search, "name_own", noted_names)
    patch.setattr(search, "same_tuple", noted_same)
    patch.setattr(secure_sum, "total", noted_total)
    patch.setattr(role, "narrow", noted_labels)


def simulated(patch: pytest.MonkeyPatch, answers: Answers, ghost: str) -> None:
    """Lets the ghost make up what it needs: all that it is given at a step is the observed party's own input."""
    reaches, named, total, toss = ObliviousTests.reaches, couple.name_own, secure_sum.total, coin.toss
    narrow = role.narrow

    async def made_up_reaches(self: ObliviousTests, channel: Channel, theirs: Words, bound: int) -> Bits:
        if channel.me == ghost:  # enough by itself, or nothing
            theirs = np.where(answers.reaches[channel.step], np.uint64(bound), np.uint64(0))
        return await reaches(self, channel, theirs, bound)

    async def made_up_names(channel: Channel, keys: Sequence[Words], counts: Sequence[Longs], k: int) -> list[Words]:
        if channel.me == ghost:
            keys = answers.named[channel.step]
            counts = [np.full(each.shape[1], k, dtype=np.int64) for each in keys]
        return await named(channel, keys, counts, k)

    async def made_up_same(
        channel: Channel, keys: Sequence[Words], place: Sequence[Longs], widths: Sequence[int]
    ) -> Bits:
        if channel.me != ghost:
            return await couple.same_tuple(channel, keys, place, widths)
        texts: list[bytes | None] = []
        for own, where, width in zip(keys, place, widths, strict=True):
            low, _ = couple.lowest(own, where, width)
            texts += [low[:, bucket].tobytes() for bucket in range(width)]
        pure = answers.pure[channel.step].tolist()
        found = await match.matches(channel, [text if same else None for text, same in zip(texts, pure, strict=True)])
        return np.zeros(0, dtype=bool) if found is None else found

    async def made_up_total(channel: Channel, theirs: Words) -> Words:
        return await total(channel, answers.totals[channel.step] - theirs if channel.me == ghost else theirs)

    async def made_up_labels(channel: Channel, boxes: Ints, trees: Sequence[Hierarchy], theirs: OwnRecords) -> Ints:
        if channel.me == ghost:
            codes, klass = ends_of(answers.narrowest, trees)
            theirs = replace(theirs, codes=codes, label=klass)
        return await narrow(channel, boxes, trees, theirs)

    async def made_up_coin(channel: Channel) -> Secret:
        if channel.me != ghost:
            return await toss(channel)
        mine, (peer,) = answers.coin, channel.peers
        await channel.exchange(coin.Commitment(coin.commit(channel, ghost, mine)))
        theirs = (await channel.exchange(coin.Opening(mine)))[peer].part
        return coin.combine({ghost: mine, peer: theirs}, channel.session, channel.step)

    patch.setattr(ObliviousTests, "reaches", made_up_reaches)
    patch.setattr(search, "name_own", made_up_names)
    patch.setattr(search, "same_tuple", made_up_same)
    patch.setattr(secure_sum, "total", made_up_total)
    patch.setattr(role, "narrow", made_up_labels)
    patch.setattr(coin, "toss", made_up_coin)


@dataclass(frozen=True)
class Both:
    """A real run, and one in which the other party is made up."""

    me: str
    other: str
    answers: Answers
    real: Outcomes
    ideal: Outcomes


def run(tables: Mapping[str, Table], seeds: Mapping[str, int], mode: str, options: str) -> Outcomes:
    """Both parties, from the first message to the release."""
    study = study_of(2, k=3, privacy="k_insider = 1", options=f'mode = "{mode}"\nbuckets = 1\n{options}')

    async def holder(channel: Channel) -> pa.Table:
        lasting = Secret(bytes(32))
        seat = Seat(study, tables[channel.me], channel, Deaf(), Deaf(), agreed, lasting)
        release = (await role.holder(seat)).release
        assert release is not None
        return release

    async def everyone() -> list[Outcome[pa.Table]]:
        network = MemoryNetwork(NAMES)
        return list(await gather(*(play(network.link(name), holder, seeds[name]) for name in NAMES)))

    return dict(zip(NAMES, run_jumping(everyone()), strict=True))


@cache
def compare(me: str, mode: str, options: str = "") -> Both:
    """A real run and a simulated one, as one party sees both; made once for all tests."""
    other = next(name for name in NAMES if name != me)
    answers, tables = Answers(), tables_of(study_of(2, k=3), draw_people(2, 90, 5))
    with pytest.MonkeyPatch.context() as patch:
        listened(patch, answers, other)
        real = run(tables, {me: 1, other: 2}, mode, options)
    answers.coin = heard(real[me], other, coin.Opening)[0].part
    with pytest.MonkeyPatch.context() as patch:
        simulated(patch, answers, other)
        ideal = run({me: tables[me], other: tables[me]}, {me: 1, other: 3}, mode, options)
    return Both(me, other, answers, real, ideal)


def shapes(outcomes: Outcomes, me: str, other: str) -> list[tuple[str, str, int, int]]:
    """Every message that this party had: step, type, number and size, in the order of each step's own."""
    sent = outcomes[other].notebook.sent_entries
    return sorted(
        (entry.header.step, entry.header.tag, entry.header.number, entry.size)
        for entry in sent
        if entry.header.recipient == me
    )


def messages(outcomes: Outcomes, me: str, other: str, kind: type[M]) -> list[M]:
    return heard(outcomes[me], other, kind)


def looks_random(raw: bytes) -> bool:
    """Whether as many bits are set as chance sets, and neighbours agree as often (a miss in about 10^5)."""
    bits = np.unpackbits(np.frombuffer(raw, dtype=np.uint8)).astype(int)
    far = 4.5 * 0.5 * math.sqrt(len(bits))
    agree = int((bits[1:] == bits[:-1]).sum())
    return abs(int(bits.sum()) - len(bits) / 2) < far and abs(agree - (len(bits) - 1) / 2) < far


def insides(points: Points) -> bytes:
    """The middle of each point's encoding: its ends are not free."""
    return b"".join(point[2:30] for point in points)


def hidden(outcomes: Outcomes, me: str, other: str) -> dict[str, bytes]:
    """What this party had that no answer binds, by kind."""

    def all_of(kind: type[M]) -> list[M]:
        return messages(outcomes, me, other, kind)

    kinds = {
        "offer": b"".join(insides(each.key) for each in all_of(choice.Offer)),
        "picks": b"".join(insides(each.points) for each in all_of(choice.Picks)),
        "columns": b"".join(each.columns for each in all_of(choice.Columns)),
        "sealed": b"".join(each.bits for each in all_of(choice.SealedAnswers)),
        "ask": b"".join(insides(each.points) for each in all_of(match.Ask)),
        "reply": b"".join(insides(each.points) for each in all_of(match.Reply)),
        "masked": b"".join(each.values.words.tobytes() for each in all_of(secure_sum.Masked)),
    }  # fmt: skip
    return {kind: raw for kind, raw in kinds.items() if raw}


def tags(outcomes: Outcomes, me: str, other: str) -> list[bytes]:
    size = match.TAG
    rows = [each.tags for each in messages(outcomes, me, other, match.Reply)]
    return [row[start : start + size] for row in rows for start in range(0, len(row), size)]


@pytest.mark.few(2)
@pytest.mark.parametrize(("mode", "options"), [("visit", ""), ("visit", FEW), ("wave", "")])
@pytest.mark.parametrize("me", NAMES)
def test_a_simulator_without_the_others_records_cannot_be_told_from_the_other_party(
    me: str, mode: str, options: str
) -> None:
    both = compare(me, mode, options)
    me, other = both.me, both.other
    asked = both.answers.of_all()
    hashed = [asked["narrower"]] if options == FEW else [asked["named"], asked["compared"]]
    assert min(asked["tests"] // 50, asked["totals"] // 8, asked["questions"] // 20, *hashed) > 3  # all kinds matter
    assert both.real[me].unwrap().equals(both.ideal[me].unwrap())
    assert shapes(both.real, me, other) == shapes(both.ideal, me, other)
    for told in BOUND:
        assert messages(both.real, me, other, told) == messages(both.ideal, me, other, told)
    views = [hidden(outcomes, me, other) for outcomes in (both.real, both.ideal)]
    assert set(views[0]) == set(views[1])
    for kind, raw in views[0].items():
        assert raw != views[1][kind]
        assert looks_random(raw)
        assert looks_random(views[1][kind])


def test_the_two_see_different_kinds_of_messages_and_none_is_left_out() -> None:
    told = {"covey.public-key", "peel.alone", "coin.commitment", "coin.opening", "peel.listed", "sum.masked"}
    kinds = {
        "p0": {"choice.picks", "choice.sealed", "match.reply"},
        "p1": {"choice.offer", "choice.columns", "choice.answers", "match.ask", "match.result"},
    }
    for me, own in kinds.items():
        both = compare(me, "visit")
        assert {tag for _, tag, _, _ in shapes(both.real, both.me, both.other)} == told | own


@pytest.mark.few(1)
@pytest.mark.parametrize("me", NAMES)
def test_every_narrowest_label_stands_in_the_release_and_no_other(me: str) -> None:
    both = compare(me, "visit", FEW)
    trees = tables_of(study_of(2), draw_people(2, 1, 1))[me].trees
    told = {
        tuple(tree.labels[node] for tree, node in zip(trees, box, strict=True))
        for box in both.answers.narrowest.tolist()
    }
    release = both.real[me].unwrap().select(["age", "sex", "town"])
    assert told == set(zip(*(column.to_pylist() for column in release.columns), strict=True))


def test_tags_agree_with_ones_own_at_pure_buckets_alone_in_both_worlds() -> None:
    both = compare("p0", "visit")
    for outcomes in (both.real, both.ideal):
        found = tags(outcomes, "p0", "p1")
        assert len(found) == len(set(found)) == both.answers.of_all()["compared"] + both.answers.questions
        assert looks_random(b"".join(found))


def test_the_statistics_notice_answers_without_pads_and_texts_without_a_blind() -> None:
    both = compare("p0", "visit")
    sealed = hidden(both.real, "p0", "p1")["sealed"]
    bits = np.unpackbits(np.frombuffer(sealed, dtype=np.uint8))
    bare = np.packbits(
        np.where(np.arange(len(bits)) % 4 == 3, 1, bits)
    )  # an answer in the clear for one choice of four
    assert not looks_random(bare.tobytes())
    assert not looks_random(b"the same text at every place" * 20)
