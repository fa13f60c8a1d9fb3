"""One of three computing parties deviates: the run ends before an honest party is shown anything else than in truth.

Every message of a run of all kernels is changed by a bit; and a party computes something else and says so consistently.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import cache

import numpy as np
import pytest
from tests.harness.deviations import Message, Outcome, Traced, callers, flipped, play, repeated
from tests.unit.mpc.boxes import holds

from covey.arrays import Longs, Words
from covey.errors import PeerError
from covey.mpc import Disclosure, Shared, joined
from covey.mpc.rounds import Parcel

TEST = Disclosure("test")
RECORDS, WIDTH = 9, 6
X, Y = (np.random.default_rng(seed).integers(0, 1 << WIDTH, RECORDS).astype(np.uint64) for seed in (1, 2))
HARMLESS = {"token"}
"""A token says by its arrival alone that its sender has everything."""


async def everything(box: Traced) -> None:
    """Takes every way on which words travel."""
    a = await box.share(holds(box.number, 0, X), WIDTH, RECORDS, 0)
    b = await box.share(holds(box.number, 1, Y), WIDTH, RECORDS, 1)
    less, total, both = await box.together(box.less(a, b), box.add(a, b), box.both(a, b))
    moved, shuffled = await box.shuffle(joined(less, total, both))
    await box.open_order(moved, joined(moved.bits(slice(1, None)), moved.bits([0])), says=TEST)
    back = await box.unshuffle(moved.bits(slice(0, 3)), shuffled)
    await box.open(await (back & less), says=TEST)
    await box.open_to(2, total, says=TEST)
    await box.open(joined(less, total, both), says=TEST)


def boxes(liar: int | None = None, backend: type[Traced] = Traced) -> list[Traced]:
    """Returns three boxes, of which the liar's is of another kind."""
    return [(backend if place == liar else Traced)(place) for place in range(3)]


@cache
def honest() -> tuple[tuple[tuple[bytes, ...], ...], tuple[tuple[Message, ...], ...]]:
    """Returns what each party is shown, and what it sends."""
    three = boxes()
    for outcome in play(everything, three):
        assert outcome.error is None
    return tuple(tuple(box.shown) for box in three), tuple(tuple(box.line.sent) for box in three)


def kept(outcomes: Sequence[Outcome], liar: int) -> bool:
    """Returns True if honest parties were shown nothing else than in truth, and less, or all of it."""
    shown, _ = honest()
    for place in {0, 1, 2} - {liar}:
        error, seen = outcomes[place].error, tuple(outcomes[place].shown)
        if seen != shown[place][: len(seen)] or (error is None) != (seen == shown[place]):
            return False
    return True


def stopped(outcomes: Sequence[Outcome], liar: int) -> bool:
    """Returns True if an honest party said that another one deviates."""
    return any(isinstance(outcomes[place].error, PeerError) for place in {0, 1, 2} - {liar})


def kinds() -> list[str]:
    """Returns the kinds of messages of a run."""
    return sorted({message.kind for sent in honest()[1] for message in sent if message.size})


KINDS = (
    "coin", "comparison of an input", "difference of a shuffle", "factors of an AND", "hash of what is opened", "input",
    "keys of a shuffle", "opened comparison", "opening", "opening to one", "product of a check", "shuffle", "tags",
    "token", "triples", "way back",
)  # fmt: skip


def test_the_run_has_messages_of_all_kinds() -> None:
    assert tuple(kinds()) == KINDS


def test_keys_and_coins_are_drawn_anew_each_time() -> None:
    three = boxes()
    play(everything, three)
    coins = three[0].coins
    assert len(set(coins)) == len(coins) > 20
    assert three[1].coins == three[2].coins == coins


def messages(kind: str, liar: int) -> list[Message]:
    return [message for message in honest()[1][liar] if message.kind == kind and message.size]


def flip(liar: int, message: Message, bit: int) -> list[Outcome]:
    """Returns the outcomes of a run in which one bit of one message is another."""
    three = boxes()
    three[liar].line.meddle = flipped(message, bit)
    return play(everything, three)


def kept_or_stopped(outcomes: Sequence[Outcome], liar: int) -> bool:
    """Returns True if honest parties were not misled. They may not have noticed what nobody reads."""
    return kept(outcomes, liar) and (stopped(outcomes, liar) or not any(outcome.error for outcome in outcomes))


def bit_of(message: Message, number: int) -> int:
    """Returns a bit of a message, of the first records of its planes."""
    return 64 * (number % message.size) + number % RECORDS


@pytest.mark.parametrize("kind", KINDS)
def test_a_message_with_another_bit_ends_the_run_before_anything_wrong_is_opened(kind: str) -> None:
    noticed = 0
    for liar in range(3):
        sent = messages(kind, liar)
        for number, message in enumerate(sent[:: max(1, len(sent) // 4)]):
            outcomes = flip(liar, message, bit_of(message, 7 * number + liar))
            assert kept_or_stopped(outcomes, liar)
            noticed += stopped(outcomes, liar)
    assert noticed or kind in HARMLESS


@pytest.mark.parametrize("kind", sorted(set(KINDS) - {"token", "hash of what is opened"}))
def test_an_earlier_message_in_place_of_another_ends_the_run(kind: str) -> None:
    for liar in range(3):
        sent = messages(kind, liar)
        if len(sent) > 1:
            three = boxes()
            three[liar].line.meddle = repeated(sent[-2], sent[-1])
            assert kept_or_stopped(play(everything, three), liar)


@pytest.mark.parametrize("value", [0, (1 << WIDTH) - 1])
def test_every_bit_that_is_sent_is_random_whatever_the_values(value: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """But for tokens, and bits behind the last record of an opening, which are cut."""
    for name in ("X", "Y"):
        monkeypatch.setattr(f"tests.hostile.test_deviations.{name}", np.full(64, value, np.uint64))
    monkeypatch.setattr("tests.hostile.test_deviations.RECORDS", 64)
    ones: dict[str, list[float]] = {}
    for number in range(64):
        three = [Traced(place, number) for place in range(3)]
        play(everything, three)
        for box in three:
            for message, words in zip(box.line.sent, box.line.contents, strict=True):
                ones.setdefault(message.kind, []).append(np.unpackbits(words.view(np.uint8)))  # type: ignore[arg-type]
    for kind, bits in ones.items():
        drawn = np.concatenate(bits)
        assert abs(drawn.mean() - 0.5) < 2.5 / np.sqrt(drawn.size) or kind in ("token",), kind


Change = Callable[[Words], Words]


class Deviates(Traced):
    """A party that does something else at one place, and stands by it towards everybody."""

    kind, turn = "", 0
    order: Callable[[Longs], Longs] = staticmethod(lambda order: order)
    words: Change = staticmethod(lambda words: words)
    calls = 0

    def _now(self, *names: str) -> bool:
        """Returns True where it deviates: at that kind of step, for that time."""
        if self.kind not in names:
            return False
        self.calls += 1
        return self.calls == self.turn + 1

    async def reshare(self, part: Words, masks: Words) -> Words:
        name = "tags" if "_tagged" in callers() else "triples"
        return await super().reshare(self.words(part) if self._now(name) else part, masks)

    async def exactly(self, shares: Words) -> Words:
        return await super().exactly(self.words(shares) if self._now(f"exactly {callers()[0]}") else shares)

    def _shown(self, parcel: Parcel) -> tuple[Words, Callable[[Words], Words]]:
        shares, finish = super()._shown(parcel)
        return (self.words(shares) if shares.size and self._now("factors") else shares), finish

    async def _pass(self, value: Shared, order: Longs | None, leader: int) -> Shared:
        if order is not None and self._now("way back" if "unshuffle" in callers() else "shuffle"):
            order = self.order(order)
            value = Shared(self, self.words(value.planes), value.records)
        return await super()._pass(value, order, leader)


def first_bit(words: Words) -> Words:
    """Returns words of which the first bit of each copy is another."""
    changed = words.copy()
    changed[..., 0] ^= np.uint64(1)
    return changed


def one_copy(words: Words) -> Words:
    """Returns words of which one bit of the share that goes to the previous party is another."""
    changed = words.copy()
    changed.reshape(2, -1)[1, 0] ^= np.uint64(1)
    return changed


ORDERS: dict[str, Callable[[Longs], Longs]] = {
    "two rows change places": lambda order: np.r_[order[1], order[0], order[2:]],
    "rows move on": lambda order: np.roll(order, 1),
    "a row stands twice": lambda order: np.r_[order[1], order[1:]],
    "another order": lambda order: order[::-1].copy(),
}
WORDS: dict[str, Change] = {"a bit in all shares": first_bit, "a bit of the share that is sent": one_copy}
PASSES = ("shuffle", "way back")
LIES = [
    *(
        (kind, turn, what)
        for kind in PASSES
        for turn in (0, 1)
        for what in (*ORDERS, "a bit of the share that is sent")
    ),
    *(("triples", turn, "a bit in all shares") for turn in range(4)),
    *(("tags", turn, "a bit in all shares") for turn in range(2)),
    *(("factors", turn, what) for turn in (0, 5) for what in WORDS),
    *(
        (f"exactly {step}", 0, what)
        for step in ("coin", "batch", "_verified", "_reveal", "_and_opened")
        for what in WORDS
    ),
]


@pytest.mark.parametrize(("kind", "turn", "what"), LIES)
@pytest.mark.parametrize("liar", range(3))
def test_a_party_that_computes_something_else_ends_the_run(kind: str, turn: int, what: str, liar: int) -> None:
    change = {"order": staticmethod(ORDERS[what])} if what in ORDERS else {"words": staticmethod(WORDS[what])}
    three = boxes(liar, type("Lies", (Deviates,), {"kind": kind, "turn": turn, **change}))
    outcomes, lies = play(everything, three), three[liar]
    assert isinstance(lies, Deviates)
    assert lies.calls > turn
    assert kept(outcomes, liar)
    assert stopped(outcomes, liar)


def test_a_holder_that_gives_two_parties_different_columns_is_named_with_the_one_who_says_so() -> None:
    message = messages("input", 0)[0]
    outcomes = flip(0, message, 5)
    assert stopped(outcomes, 0)
    assert "'north' gave us another column" in str(outcomes[1].error) + str(outcomes[2].error)


@pytest.mark.parametrize("kind", ["triples", "tags", "shuffle", "way back"])
@pytest.mark.parametrize("liar", range(3))
def test_nobody_sends_its_share_of_a_coin_while_a_message_is_missing(kind: str, liar: int) -> None:
    """The liar keeps a message back and goes on reading: what it gets before the run ends has no share of the coin.

    A coin of triples that are made meanwhile does not hang on the message.
    """
    three = boxes()
    late = messages(kind, liar)[-1]
    three[liar].line.keeps = late
    play(everything, three)
    others = [box for box in three if box.number != liar]
    coin = "coin" if kind == "triples" else "keys of a shuffle"
    assert not any(message.kind == coin for box in others for message in box.line.sent if message.round > late.round)


ABORTS = [("factors of an AND", 1), ("shuffle", 2), ("triples", 0), ("opening", 1), ("tags", 1)]


@pytest.mark.parametrize(("kind", "liar"), ABORTS)
def test_how_a_run_ends_does_not_depend_on_secrets(kind: str, liar: int, monkeypatch: pytest.MonkeyPatch) -> None:
    message, seen = messages(kind, liar)[-1], set()
    for x, y in ((X, Y), (Y, X), (0 * X, 0 * Y), (X ^ np.uint64(1), Y)):
        monkeypatch.setattr("tests.hostile.test_deviations.X", x)
        monkeypatch.setattr("tests.hostile.test_deviations.Y", y)
        outcomes = flip(liar, message, bit_of(message, 1))
        seen.add(tuple((str(outcome.error), len(outcome.shown)) for outcome in outcomes))
    assert len(seen) == 1


async def shares(box: Traced) -> None:
    await box.open(await box.share(holds(box.number, 0, X), WIDTH, RECORDS, 0), says=TEST)


async def multiplies(box: Traced) -> None:
    value = box.public(X, WIDTH)
    await box.open(await (value & value), says=TEST)


async def shuffles(box: Traced) -> None:
    moved, _ = await box.shuffle(box.public(X, WIDTH))
    await box.open(moved, says=TEST)


async def goes_back(box: Traced) -> None:
    moved, shuffled = await box.shuffle(box.public(X, WIDTH))
    await box.open(await box.unshuffle(moved, shuffled), says=TEST)


async def compares(box: Traced) -> None:
    value = box.public(X, WIDTH)
    await box.open_order(value, ~value, says=TEST)


@pytest.mark.parametrize("role", [shares, multiplies, shuffles, goes_back, compares])
@pytest.mark.parametrize("number", [30, pytest.param(100_000, marks=[pytest.mark.slow, pytest.mark.timeout(7200)])])
def test_single_bits_that_are_changed_at_random_mislead_nobody(
    role: Callable[[Traced], Awaitable[None]], number: int
) -> None:
    draw = np.random.default_rng(7)
    truth = [Traced(place) for place in range(3)]
    assert not any(outcome.error for outcome in play(role, truth))
    for _ in range(number):
        liar, three = int(draw.integers(3)), boxes()
        message = truth[liar].line.sent[int(draw.integers(len(truth[liar].line.sent)))]
        if not message.size:
            continue
        three[liar].line.meddle = flipped(message, int(draw.integers(64 * message.size)))
        outcomes = play(role, three)
        for place in {0, 1, 2} - {liar}:
            shown = outcomes[place].shown
            assert shown == truth[place].shown[: len(shown)]
            assert outcomes[place].error is not None or shown == truth[place].shown
