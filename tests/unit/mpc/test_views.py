"""What a party sees: random bits, besides what is opened; and the order that a sort opens is random, ties or not."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from tests.harness.parties import run_parties
from tests.harness.spent import heard
from tests.unit.mpc.boxes import EVERYBODY, PARTIES, among_three, holds, seeds_of

from covey.arrays import Longs, Words
from covey.crypto.rng import Rng
from covey.mpc import Box, Clear, Disclosure, Sealed, gates, joined, sealed
from covey.mpc.parcels import Part
from covey.mpc.streams import permutation
from covey.wire import Channel

TEST = Disclosure("test")
RUNS = 64
FIVE_IN_A_MILLION = 4.5
"""Standard deviations."""


async def works(box: Box, place: int, values: Words) -> None:
    """Takes every way on which words travel; all rounds have the same size, whatever the values."""
    a, b = [await box.share(holds(place, holder, values), 7, len(values), holder) for holder in (0, 1)]
    less, total = await box.together(box.less(a, b), box.add(a, b))
    moved, shuffled = await box.shuffle(joined(less, total))
    await box.unshuffle(moved.bits([0]), shuffled)
    await box.open_order(a, joined(b, less).bits(slice(1, None)), says=TEST)
    await box.open(await box.all(a), says=TEST)


def views(values: Words) -> dict[str, Words]:
    """Returns what each party received in many runs on these values: runs x words."""
    received: dict[str, list[Words]] = {party: [] for party in PARTIES}
    for number in range(RUNS):
        outcomes, _ = among_three(lambda box, place: works(box, place, values), number)
        for party, outcome in outcomes.items():
            outcome.unwrap()
            parts = [part.words.words for peer in PARTIES if peer != party for part in heard(outcome, peer, Part)]
            received[party].append(np.concatenate(parts))
    return {party: np.stack(runs) for party, runs in received.items()}


def oddity(bits: Words) -> float:
    """Returns how many standard deviations the spread of counts of ones is from that of random bits; runs x words."""
    unpacked = np.unpackbits(np.ascontiguousarray(bits).view(np.uint8), axis=1)
    squares = (unpacked.sum(0) - len(bits) / 2) ** 2 / (len(bits) / 4)
    return float((squares.sum() - squares.size) / np.sqrt(2 * squares.size))


@pytest.mark.parametrize("value", [0, 127])
def test_every_bit_that_a_party_receives_is_random_whatever_the_values(value: int) -> None:
    for runs in views(np.full(64, value, np.uint64)).values():
        assert abs(oddity(runs)) < FIVE_IN_A_MILLION
        assert abs(oddity(runs[:, 1:] ^ runs[:, :-1])) < FIVE_IN_A_MILLION


def test_bits_without_masks_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def bare(x: Words, y: Words, mine: Words, following: Words) -> Words:
        return gates.product(x, y, np.zeros_like(mine), np.zeros_like(following))

    monkeypatch.setattr(sealed, "product", bare)
    runs = views(np.full(64, 127, np.uint64))
    assert max(abs(oddity(view)) for view in runs.values()) > 50


def order(key: list[int], number: int) -> tuple[int, ...]:
    """Returns the order that a sort of this column opens."""
    box = Clear(seeds_of(number))
    return tuple(asyncio.run(box.sort(box.public(key, 4))).order.tolist())


def surprise(seen: Counter[tuple[int, ...]], orders: int) -> float:
    """Returns chi-square of counts that should all be the same."""
    expected = seen.total() / orders
    return sum((count - expected) ** 2 / expected for count in seen.values()) + expected * (orders - len(seen))


BOUND = 58
"""Chi-square of 23 degrees of freedom: one in 13,000."""


@pytest.mark.few(2)
@pytest.mark.parametrize("key", [[0, 0, 0, 0], [0, 1, 2, 3], [5, 5, 1, 1], [7, 7, 7, 2]])
def test_the_order_that_a_sort_opens_is_uniform_whatever_the_keys(key: list[int]) -> None:
    assert surprise(Counter(order(key, number) for number in range(1200)), 24) < BOUND


def test_without_the_secret_place_equal_keys_tell_their_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Clear, "positions", lambda box, records: box.zeros(2, records))
    assert surprise(Counter(order([0, 0, 0, 0], number) for number in range(480)), 24) > BOUND


def test_both_backends_open_the_same_order() -> None:
    async def role(box: Box, place: int) -> Longs:
        return (await box.sort(box.public(np.arange(90) // 7, 4))).order

    outcomes, _ = among_three(role, 5)
    expected = asyncio.run(role_of_clear(role, 5))
    for outcome in outcomes.values():
        np.testing.assert_array_equal(outcome.unwrap(), expected)


async def role_of_clear(role: Callable[[Box, int], object], number: int) -> Longs:
    return await role(Clear(seeds_of(number)), EVERYBODY)  # type: ignore[misc,no-any-return]


def test_two_orders_of_one_base_tell_nothing_of_each_other() -> None:
    async def role(number: int) -> float:
        box = Clear(seeds_of(number))
        base = box.public(np.arange(200) // 5, 6)
        one, two = await box.together(box.sort(base), box.sort(base))
        return float(np.corrcoef(np.argsort(one.order), np.argsort(two.order))[0, 1])

    both = [asyncio.run(role(number)) for number in range(60)]
    assert abs(np.mean(both)) < FIVE_IN_A_MILLION / np.sqrt(60 * 200)


@pytest.mark.parametrize("size", [0, 1, 2, 100, 5000])
def test_a_permutation_has_every_position_once(size: int) -> None:
    assert sorted(permutation(Rng(seeds_of(1)[0]).stream("order"), size)) == list(range(size))


def test_permutations_are_uniform_and_all_who_know_the_seed_draw_them_alike() -> None:
    def drawn(number: int) -> tuple[int, ...]:
        return tuple(permutation(Rng(seeds_of(number)[1]).stream("order"), 4).tolist())

    assert surprise(Counter(drawn(number) for number in range(1200)), 24) < BOUND
    assert drawn(7) == drawn(7)


def test_attempts_of_one_session_draw_other_masks_and_shuffles() -> None:
    async def role(box: Box, place: int) -> Words:
        shuffled, _ = await box.shuffle(box.public(np.arange(50), 6))
        return await box.open(shuffled, says=TEST)

    def masked(attempt: int) -> list[bytes]:
        outcomes, _ = among_three(role, attempt=attempt)
        parts = [part.words.words.tobytes() for part in heard(outcomes["north"], "south", Part)]
        return [*parts, outcomes["north"].unwrap().tobytes()]

    assert masked(1) == masked(1)
    assert not set(masked(1)) & set(masked(2))


def test_a_box_has_its_seeds_from_session_and_step_and_other_parties_look_on() -> None:
    async def play(channel: Channel) -> Words:
        if channel.me not in PARTIES:
            return np.zeros((2, 50), np.uint64)
        boxes = [Sealed.among(channel.at("peel", step), PARTIES) for step in (1, 2)]
        moved = [(await box.shuffle(box.public(np.arange(50), 6)))[0] for box in boxes]
        return np.stack([await box.open(value, says=TEST) for box, value in zip(boxes, moved, strict=True)])

    outcomes = run_parties(dict.fromkeys((*PARTIES, "fourth"), play))
    first, second = outcomes["north"].unwrap()
    assert sorted(first) == sorted(second) == list(range(50))
    assert not np.array_equal(first, second)
    for party in PARTIES[1:]:
        np.testing.assert_array_equal(outcomes[party].unwrap(), [first, second])
