"""Kernels and what is composed of them: equal to numpy, in the open and on shares, at the declared cost."""

from __future__ import annotations

import operator
from functools import reduce

import numpy as np
import pytest
from tests.harness.spent import heard
from tests.unit.mpc.boxes import PARTIES, among_three, holds, run

from covey.arrays import Words
from covey.mpc import Box, Disclosure, copied, joined, stacked
from covey.mpc.parcels import Part

TEST = Disclosure("test")


def numbers(width: int, records: int, seed: int = 0) -> Words:
    return np.random.default_rng([width, records, seed]).integers(0, 1 << width, records, dtype=np.uint64)


@pytest.mark.parametrize("records", [0, 1, 63, 64, 65, 200])
@pytest.mark.parametrize("width", [1, 2, 5, 13, 33, 63])
def test_kernels_compute_what_numpy_computes(width: int, records: int) -> None:
    x, y = numbers(width, records), numbers(width, records, 1)
    y[::3] = x[::3]

    async def role(box: Box, place: int) -> list[Words]:
        a = await box.share(holds(place, 0, x), width, records, 0)
        b = await box.share(holds(place, 2, y), width, records, 2)
        flag = await (a < b)
        out = [a ^ b, ~a, await (a & b), await (a | b), flag, await box.equal(a, b), await box.all(a)]
        out += [await box.add(a, b), await box.subtract(a, b), await box.select(flag, a, b)]
        out += [await box.argmin([a, b, a]), a.reversed(), a.later(7), joined(a, b).bits(slice(width, None))]
        out += [stacked(a, b).at(np.arange(records, 2 * records)), a.mixed(np.ones((1, width), bool))]
        out += [a.ahead(2), a.padded(width + 1), await box.both(a.bits([0]), b), a.where(np.arange(records) % 2 == 0)]
        return [await box.open(value, says=TEST) for value in out]

    full = np.uint64((1 << width) - 1)
    late = np.concatenate([np.zeros(min(7, records), np.uint64), x[: max(records - 7, 0)]])
    soon = np.concatenate([x[2:], np.zeros(min(2, records), np.uint64)])
    parity = [int(value).bit_count() & 1 for value in x]
    wanted = [x ^ y, x ^ full, x & y, x | y, x < y, x == y, x == full, x + y, (x - y) & full, np.where(x < y, x, y)]
    wanted += [y < x, x[::-1], late, y, y, parity, soon, x, np.where(x >> np.uint64(width - 1), y, 0)]
    wanted += [np.where(np.arange(records) % 2 == 0, x, 0)]
    for computed, expected in zip(run(role), wanted, strict=True):
        np.testing.assert_array_equal(computed, expected)


@pytest.mark.parametrize("width", [0, 64, 65, 130])
def test_words_of_any_width_move_and_compare(width: int) -> None:
    records, chunks = 70, -(-width // 64)
    last = np.uint64(0xFFFFFFFFFFFFFFFF) >> np.uint64(-width % 64)
    words = [numbers(63, records, chunk) & (last if chunk == chunks - 1 else ~np.uint64(0)) for chunk in range(chunks)]
    x = np.stack(words) if words else np.zeros((1, records), np.uint64)
    values = [reduce(lambda high, low: (high << 64) | low, map(int, column)) for column in x.T]

    async def role(box: Box, place: int) -> list[Words]:
        a = await box.share(holds(place, 1, x), width, records, 1)
        b = a.reversed()
        kept = await box.open(b, says=TEST)
        return [kept, await box.open(await (a < b), says=TEST), await box.open(await box.equal(a, b), says=TEST)]

    kept, less, equal = run(role)
    np.testing.assert_array_equal(np.atleast_2d(kept), x[:, ::-1])
    if chunks < 2:
        assert less.tolist() == [a < b for a, b in zip(values, values[::-1], strict=True)]
    assert equal.tolist() == [a == b for a, b in zip(values, values[::-1], strict=True)]


@pytest.mark.parametrize("holder", [0, 1, 2])
def test_every_computing_party_can_share(holder: int) -> None:
    x = numbers(9, 70)

    async def role(box: Box, place: int) -> Words:
        return await box.open(await box.share(holds(place, holder, x), 9, 70, holder), says=TEST)

    np.testing.assert_array_equal(run(role), x)


@pytest.mark.parametrize("records", [0, 1, 2, 9, 64, 150, 700])
@pytest.mark.parametrize("pivots", [1, 2, 8])
def test_what_is_sorted_comes_home_and_groups_are_counted(records: int, pivots: int) -> None:
    x, groups = numbers(3, records), np.arange(records) % 3

    async def role(box: Box, place: int) -> list[Words]:
        a = await box.share(holds(place, 0, x), 3, records, 0)
        base, shuffled = await box.shuffle(a)
        back = await box.unshuffle(base, shuffled)
        run = await box.sort(a, joined(a, a))
        home = await run.home(run.rows)
        one, two = await box.together(box.grouped(a, 3), box.grouped(a.bits([0]), records // 2 + 1))
        most = await box.fold(a, groups, operator.or_) if records > 2 else a
        out = [back, run.key, home, one, two, await box.count(a), await box.count(a.bits([2])), most]
        return [await box.open(value, says=TEST) for value in out]

    sizes = np.array([(x == value).sum() for value in x])
    tops = np.array([(x >> 2 == value >> 2).sum() for value in x])
    wanted = [x, np.sort(x), x * 9, sizes >= 3, tops > records // 2, [x.sum()], [(x & 1).sum()]]
    wanted += [[np.bitwise_or.reduce(x[i::3]) for i in range(3)] if records > 2 else x]
    for computed, expected in zip(run(role, records, pivots), wanted, strict=True):
        np.testing.assert_array_equal(computed, expected)


@pytest.mark.parametrize("halvings", [0, 1, 2])
@pytest.mark.parametrize("records", [1, 2, 3, 66, 131])
def test_a_scan_copies_the_first_value_of_each_group(records: int, halvings: int) -> None:
    x, first = numbers(5, records), np.arange(records) % 7 % 3 == 0

    async def role(box: Box, place: int) -> Words:
        a, starts = await box.share(holds(place, 0, x), 5, records, 0), box.public(first, 1)
        return await box.open(await box.scan(a.where(first), starts, copied, halvings), says=TEST)

    place = np.maximum.accumulate(np.where(first, np.arange(records), 0))
    np.testing.assert_array_equal(run(role), x[place])


def test_an_opening_carries_nothing_behind_the_last_record() -> None:
    x = numbers(4, 70)

    async def role(box: Box, place: int) -> None:
        a = (await box.share(holds(place, 0, x), 4, 70, 0)).later(3)
        await box.open(a, says=TEST)
        await box.open_order(a, ~a, says=TEST)

    outcomes, _ = among_three(role)
    for party, following in zip(PARTIES, (*PARTIES[1:], PARTIES[0]), strict=True):
        parts = [part.words.words for part in heard(outcomes[party], following, Part)]
        opened, _, ordered = parts[-3:]
        assert opened.size == 8 and not np.any(opened[1::2] >> np.uint64(6))
        assert ordered.size == 2 and not np.any(ordered[1] >> np.uint64(6))
