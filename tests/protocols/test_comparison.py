"""Comparisons of encrypted numbers give the plain answer, and to each side alone nothing but coins."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import gmpy2
import numpy as np
import pytest
from gmpy2 import mpz
from tests.harness.network import seed_of
from tests.harness.parties import Outcome, run_parties
from tests.harness.spent import heard
from tests.harness.tiny_keys import TINY

from covey.arrays import Bits
from covey.crypto import packing
from covey.crypto.elgamal import Ciphertexts as Pairs
from covey.crypto.group import Scalars, generator_times, powers
from covey.crypto.paillier import Ciphertexts, SecretKey
from covey.crypto.reading import ReadingKey
from covey.crypto.rng import Rng, derive
from covey.errors import InputError, PeerError
from covey.protocols.as_printed.federate import comparison, largest, window
from covey.protocols.as_printed.federate.comparison import HIDING, MaskedCiphertexts, shuffled, slot_bits, spelled
from covey.secure.lists import Elements
from covey.wire import Channel

RNG = Rng(seed_of(1))
SECRET, READING = SecretKey(TINY, RNG.stream("numbers"), least_bits=TINY), ReadingKey(RNG.stream("bits"))


def encrypted(numbers: Sequence[int], label: str = "") -> Ciphertexts:
    return SECRET.encrypt(numbers, Rng(seed_of(2)).stream("numbers", label))


def signs(numbers: Sequence[int], widths: Sequence[int], seed: int = 0) -> dict[str, Outcome[Bits]]:
    ciphertexts, lengths = encrypted(numbers), np.array(widths)

    async def asker(channel: Channel) -> Bits:
        return await comparison.ask_signs(channel, "reader", READING.public, ciphertexts, lengths)

    async def reader(channel: Channel) -> Bits:
        return await comparison.answer_signs(channel, "asker", SECRET, READING, lengths)

    return run_parties({"asker": asker, "reader": reader}, seed=seed)


def joined(outcomes: dict[str, Outcome[Bits]]) -> list[bool]:
    found: list[bool] = (outcomes["asker"].unwrap() ^ outcomes["reader"].unwrap()).tolist()
    return found


@pytest.mark.thorough
def test_a_thousand_comparisons_agree_with_plain_ones_at_every_boundary() -> None:
    """For each width all that can go wrong: the ends, zero, its neighbours, powers of two; and random numbers."""
    numbers, widths = [], []
    for width in range(1, 11):
        end = (1 << width) - 1
        edges = {0, 1, -1, end, -end, end - 1, 1 - end}
        edges |= {sign * ((1 << power) + off) for power in range(width) for off in (-1, 0, 1) for sign in (1, -1)}
        edges = {edge for edge in edges if -end <= edge <= end}
        stream = Rng(seed_of(3)).stream("random", width)
        drawn = [stream.below(2 * end + 1) - end for _ in range(102 - len(edges))]
        numbers += [*sorted(edges), *drawn]
        widths += [width] * (len(edges) + len(drawn))
    assert len(numbers) >= 1000
    assert joined(signs(numbers, widths)) == [number >= 0 for number in numbers]


@pytest.mark.parametrize("seed", range(4))
def test_small_numbers_are_compared_whatever_the_coins_and_masks(seed: int) -> None:
    numbers = list(range(-7, 8))
    assert joined(signs(numbers, [3] * 15, seed)) == [number >= 0 for number in numbers]


@pytest.mark.parametrize(
    ("x", "y", "less"), [(5, 9, 1), (9, 5, 0), (7, 7, 0), (0, 1048575, 1), (123456, 123457, 1), (1048575, 0, 0)]
)
def test_the_notes_vectors(x: int, y: int, less: int) -> None:
    widths = np.full(4, 20)

    async def asker(channel: Channel) -> Bits:
        return await comparison.ask_less(channel, "reader", READING.public, [y] * 4, widths)

    async def reader(channel: Channel) -> Bits:
        return await comparison.answer_less(channel, "asker", READING, [x] * 4, widths)

    assert joined(run_parties({"asker": asker, "reader": reader})) == [bool(less)] * 4


def test_each_side_alone_sees_coins() -> None:
    """The same number compared many times: each share is as often set as not."""
    outcomes = signs([1] * 400, [4] * 400)
    for outcome in outcomes.values():
        assert 150 < int(outcome.unwrap().sum()) < 250


@pytest.mark.thorough
def test_the_readers_view_of_a_number_is_uniform() -> None:
    """Kolmogorov-Smirnov on the masked numbers, which are all the reader decrypts."""
    width, count = 5, 600
    outcomes = signs([-31] * count, [width] * count)
    room = slot_bits(np.array([width]))
    slots = packing.slots(SECRET.public, room)
    packed = [
        value
        for message in heard(outcomes["reader"], "asker", MaskedCiphertexts)
        for value in SECRET.decrypt(SECRET.public.accept(message.numbers))
    ]
    seen = np.sort(np.array(packing.unpack(packed, room, slots, count), dtype=float) / 2 ** (width + HIDING + 1))
    distance = np.abs(seen - (np.arange(count) + 0.5) / count).max()
    assert distance < 1.63 / np.sqrt(count)  # one in a hundred honest runs would fail; the seed is fixed
    assert len(set(seen.tolist())) == count


def test_at_most_one_difference_of_a_number_is_zero() -> None:
    stream = Rng(seed_of(4))
    numbers = [stream.stream("x", place).below(64) for place in range(40)]
    mine = [stream.stream("y", place).below(64) for place in range(40)]
    widths, coins = np.full(40, 6), stream.stream("coins").words(40) % np.uint64(2) == 1
    digits = READING.encrypt(spelled(numbers, widths), stream.stream("digits"))
    found = comparison.differences(digits, mine, widths, np.asarray(coins), READING.public, stream.stream("factors"))
    zeros = READING.zeros(found).reshape(40, 7).sum(axis=1)
    less = np.array([x < y for x, y in zip(numbers, mine, strict=True)])
    assert zeros.tolist() == (less ^ coins).astype(int).tolist()


def test_differences_come_in_random_order_within_each_number() -> None:
    order = shuffled(np.array([3, 4, 2]), Rng(seed_of(5)).stream("order"))
    assert [sorted(part.tolist()) for part in np.split(order, [3, 7])] == [[0, 1, 2], [3, 4, 5, 6], [7, 8]]
    orders = {tuple(shuffled(np.array([4]), Rng(seed_of(6)).stream(place)).tolist()) for place in range(200)}
    assert len(orders) == 24


@pytest.mark.parametrize("together", [1, 2, 3])
def test_a_verdict_says_whether_all_of_its_bits_are_set(together: int) -> None:
    bits = np.array([[place >> digit & 1 for digit in range(together)] for place in range(1 << together)], dtype=bool)
    shares = Rng(seed_of(7)).stream("shares").words(bits.size) % np.uint64(2) == 1

    async def asker(channel: Channel) -> Bits:
        return await comparison.ask_verdicts(channel, "reader", READING.public, shares ^ bits.ravel(), together)

    async def reader(channel: Channel) -> Bits:
        return await comparison.answer_verdicts(channel, "asker", READING, np.asarray(shares), together)

    for outcome in run_parties({"asker": asker, "reader": reader}).values():
        assert outcome.unwrap().tolist() == bits.all(axis=1).tolist()


def test_nothing_to_compare_says_nothing() -> None:
    outcomes = signs([], [])
    assert all(not outcome.tally.messages for outcome in outcomes.values())
    assert joined(outcomes) == []


def test_numbers_that_are_too_long_are_refused_at_home() -> None:
    for widths in ([0], [63]):
        error = signs([0], widths)["asker"].error
        assert isinstance(error, InputError)


def test_a_masked_number_that_is_too_long_names_the_asker() -> None:
    widths = np.full(2, 4)

    async def asker(channel: Channel) -> None:
        room = slot_bits(widths)
        long = [1 << (room - 1), (1 << room) - 1]
        packed = sum(number << (room * place) for place, number in enumerate(long))
        await channel.send("reader", MaskedCiphertexts(encrypted([packed], "long").residues()))
        await comparison.ask_less(channel, "reader", READING.public, [0, 0], widths)

    async def reader(channel: Channel) -> None:
        await comparison.answer_signs(channel, "asker", SECRET, READING, np.array([4, 3]))

    error = run_parties({"asker": asker, "reader": reader})["reader"].error
    assert isinstance(error, PeerError)
    assert error.party == "asker"


@pytest.mark.parametrize("seed", range(5))
def test_the_largest_is_found_and_the_first_of_equals(seed: int) -> None:
    stream = Rng(seed_of(seed)).stream("sums")
    sizes = [1, 2, 3, 5, 8]
    mine = [np.array([stream.below(4) for _ in range(size)]) for size in sizes]
    theirs = [np.array([stream.below(4) for _ in range(size)]) for size in sizes]
    scores = encrypted([int(number) for own in theirs for number in own], str(seed))

    async def asker(channel: Channel) -> object:
        return await largest.ask(channel, "reader", READING.public, mine, scores, 4)

    async def reader(channel: Channel) -> object:
        await largest.answer(channel, "asker", SECRET, READING, sizes, 4)
        return None

    found = run_parties({"asker": asker, "reader": reader})["asker"].unwrap()
    assert found == [int(np.argmax(a + b)) for a, b in zip(mine, theirs, strict=True)]


@pytest.mark.parametrize("common", range(6))
def test_the_window_says_whether_fewer_than_k_are_common(common: int) -> None:
    mine, theirs = np.arange(12) < 6, (np.arange(12) >= 6 - common) & (np.arange(12) < 9)

    async def asker(channel: Channel) -> bool:
        return await window.ask_below(channel, "reader", READING.public, mine, 3)

    async def reader(channel: Channel) -> bool:
        return await window.answer_below(channel, "asker", READING, theirs, 3)

    answers = {outcome.unwrap() for outcome in run_parties({"asker": asker, "reader": reader}).values()}
    assert answers == {common < 3}


def test_the_window_shows_at_most_one_zero() -> None:
    for common in range(5):
        mine, theirs = np.ones(5, dtype=bool), np.arange(5) < common

        async def asker(channel: Channel, mine: Bits = mine) -> bool:
            return await window.ask_below(channel, "reader", READING.public, mine, 4)

        async def reader(channel: Channel, theirs: Bits = theirs) -> bool:
            return await window.answer_below(channel, "asker", READING, theirs, 4)

        outcome = run_parties({"asker": asker, "reader": reader})["reader"]
        (shown,) = heard(outcome, "asker", window.Shifted)
        half = len(shown.points) // 2
        zeros = READING.zeros(Pairs(shown.points.slice(0, half), shown.points.slice(half, 2 * half)))
        assert int(zeros.sum()) == int(common < 4)


# -- what a reader could trace


def zero_part(value: mpz, secret: SecretKey = SECRET) -> mpz:
    """A Paillier ciphertext without its number: its randomness alone, which the key's holder can separate."""
    key = secret.public
    [number] = secret.decrypt(Ciphertexts(key, [value]))
    return value * gmpy2.invert(1 + number * key.n, key.square) % key.square


def test_a_masked_number_cannot_be_traced_to_what_the_reader_encrypted() -> None:
    """Without new randomness a masked number has the randomness of the ciphertext that it was made from."""
    numbers = encrypted([7])
    outcomes = signs([7], [4])
    [message] = heard(outcomes["reader"], "asker", MaskedCiphertexts)
    [said] = SECRET.public.accept(message.numbers).values
    assert zero_part(said) != zero_part(numbers.values[0])
    assert zero_part(numbers.plus_numbers([5]).values[0]) == zero_part(numbers.values[0])  # the attack works


def traced(pairs: Pairs, fresh: Scalars) -> list[bool]:
    """Which ciphertexts are multiples of ones that the reader made of 1 with this randomness, or of their complements.

    A multiple of (t G, G + t K) holds r G beside r t G: the reader knows t, and so whether it is one.
    """
    held = pairs.second.minus(pairs.first.times(READING._secret))  # a test may look
    found = held.times(fresh)
    negative = found.minus(found).minus(found)
    rows = zip(pairs.first, found, negative, held, strict=True)
    return [first in (one, two) and any(plain) for first, one, two, plain in rows]


def test_a_difference_cannot_be_traced_to_the_readers_digit() -> None:
    """One digit of 1 against 1, heads down: the difference is no zero, and a multiple of the digit's ciphertext."""
    count = 8
    fresh = Scalars.draw(RNG.stream("traced"), count)
    digits = READING.encrypt(np.ones(count, dtype=bool), Rng(seed_of(1)).stream("traced"))
    widths, coins = np.ones(count, dtype=np.int64), np.zeros(count, dtype=bool)
    said = comparison.differences(digits, [1] * count, widths, coins, READING.public, RNG.stream("factors"))
    assert not any(traced(said.take(np.arange(1, 2 * count, 2)), fresh))
    assert all(traced(digits.scaled(Scalars.draw(RNG.stream("some"), count)), fresh))  # the attack works


def test_a_verdict_cannot_be_traced_to_the_readers_share() -> None:
    shares = np.ones(6, dtype=bool)

    async def asker(channel: Channel) -> Bits:
        return await comparison.ask_verdicts(channel, "reader", READING.public, shares, 1)

    async def reader(channel: Channel) -> Bits:
        return await comparison.answer_verdicts(channel, "asker", READING, shares, 1)

    outcome = run_parties({"asker": asker, "reader": reader})["reader"]
    [message] = heard(outcome, "asker", comparison.BlindedDigits)
    fresh = Scalars.draw(Rng(derive(seed_of(0), "reader")).child("step", "").stream("shares"), 6)
    said = Pairs(message.points.slice(0, 6), message.points.slice(6, 12))
    assert outcome.unwrap().tolist() == [False] * 6
    assert not any(traced(said, fresh))


def shown(mine: Bits, theirs: Bits, k: int, seed: int = 0) -> Pairs:
    """What the window test shows its reader."""

    async def asker(channel: Channel) -> bool:
        return await window.ask_below(channel, "reader", READING.public, mine, k)

    async def reader(channel: Channel) -> bool:
        return await window.answer_below(channel, "asker", READING, theirs, k)

    [message] = heard(run_parties({"asker": asker, "reader": reader}, seed=seed)["reader"], "asker", window.Shifted)
    return Pairs(message.points.slice(0, k), message.points.slice(k, 2 * k))


def test_the_window_shows_nothing_but_a_zero_in_a_random_place() -> None:
    small = set(powers([number for number in range(-20, 21) if number]))
    places = set()
    for seed in range(12):
        pairs = shown(np.array([True, True, True]), np.array([True, True, False]), 4, seed)
        held = pairs.second.minus(pairs.first.times(READING._secret))
        assert not any(point in small for point in held)
        places |= set(np.flatnonzero(held.identities()).tolist())
    assert len(places) > 2


def test_the_window_cannot_be_traced_to_what_the_reader_has() -> None:
    """One of a list in common: what is returned for zero holds r G, and must not hold r times its randomness."""
    for seed in range(4):
        pairs = shown(np.array([True]), np.array([True]), 1, seed)
        fresh = Scalars.draw(Rng(derive(seed_of(seed), "reader")).child("step", "").stream("has"), 1)
        assert not any(traced(pairs, fresh))


def test_the_window_of_nobody_is_below() -> None:
    nobody, everybody = np.zeros(3, dtype=bool), np.ones(3, dtype=bool)
    for mine, theirs in ((nobody, everybody), (everybody, nobody), (nobody, nobody)):
        pairs = shown(mine, theirs, 2)
        assert int(READING.zeros(pairs).sum()) == 1


# -- lists of another length


def wrong(kind: type[Elements], rows: int) -> Elements:
    points = generator_times(Scalars.draw(Rng(seed_of(9)).stream("points"), 2 * rows))
    return kind(rows, points)


Role = Callable[[Channel], Awaitable[object]]


async def send_digits(channel: Channel) -> None:
    await channel.send("asker", wrong(comparison.Digits, 5))


async def send_blinded(channel: Channel) -> None:
    await channel.receive("reader", comparison.Digits)
    await channel.send("reader", wrong(comparison.BlindedDigits, 9))


async def send_shifted(channel: Channel) -> None:
    await channel.receive("reader", window.Has)
    await channel.send("reader", wrong(window.Shifted, 5))


async def send_has(channel: Channel) -> None:
    await channel.send("asker", wrong(window.Has, 5))


TWO, THREES = np.zeros(2, dtype=bool), np.full(2, 3)
LENGTHS: list[tuple[str, Role, Role, str]] = [
    ("digits", lambda c: comparison.ask_less(c, "reader", READING.public, [1, 2], THREES), send_digits, "reader"),
    ("shares", lambda c: comparison.ask_verdicts(c, "reader", READING.public, TWO, 1), send_digits, "reader"),
    ("differences", send_blinded, lambda c: comparison.answer_less(c, "asker", READING, [1, 2], THREES), "asker"),
    ("verdicts", send_blinded, lambda c: comparison.answer_verdicts(c, "asker", READING, TWO, 1), "asker"),
    ("a window's list", lambda c: window.ask_below(c, "reader", READING.public, TWO, 2), send_has, "reader"),
    ("a window's numbers", send_shifted, lambda c: window.answer_below(c, "asker", READING, TWO, 2), "asker"),
]


@pytest.mark.parametrize(("what", "asker", "reader", "liar"), LENGTHS, ids=[what for what, *_ in LENGTHS])
def test_a_list_of_another_length_names_its_sender(what: str, asker: Role, reader: Role, liar: str) -> None:
    outcomes = run_parties({"asker": asker, "reader": reader})
    error = outcomes["reader" if liar == "asker" else "asker"].error
    assert isinstance(error, PeerError), error
    assert error.party == liar


def test_a_pack_that_holds_more_than_masked_numbers_names_the_asker() -> None:
    async def asker(channel: Channel) -> None:
        await channel.send("reader", MaskedCiphertexts(encrypted([1 << (TINY - 3)], "more").residues()))

    async def reader(channel: Channel) -> None:
        await comparison.answer_signs(channel, "asker", SECRET, READING, np.array([4]))

    error = run_parties({"asker": asker, "reader": reader})["reader"].error
    assert isinstance(error, PeerError)
    assert (error.party, error.reason) == ("asker", "a pack holds more than its numbers")
