"""Bins: every tuple finds its place, sizes depend on public bounds only, and workers change nothing."""

from __future__ import annotations

import asyncio
import math

import numpy as np
import pytest

from covey.crypto.rng import Rng
from covey.errors import Aborted
from covey.protocols.suppress import role
from covey.protocols.suppress.bounds import Bounds
from covey.protocols.suppress.layout import CHANCE, HASHES, Layout, bins_for, choices, cuckoo, slots_for
from covey.testing.harness import answers, lines, over_memory, play
from covey.testing.network import seed_of
from covey.testing.suppress_cases import draw_people, study_of, trial_of
from covey.wire import MemoryNetwork


def keys(count: int, kind: str = "key") -> list[bytes]:
    return [f"{kind} {number}".encode() for number in range(count)]


@pytest.mark.parametrize("size", [60, 100, 300, 1000, 3000])
def test_every_tuple_has_its_bin_and_meets_its_equal_there(size: int) -> None:
    layout = Layout.of(size, size)
    mine, theirs = keys(size), keys(size // 2) + keys(size - size // 2, "other")
    place = layout.place(mine, b"seed", Rng(seed_of(1)).stream("place"))
    table = layout.fill(theirs, b"seed", Rng(seed_of(1)).stream("fill"))
    assert len(set(place.tolist())) == size and table.shape == (layout.bins, layout.slots)
    for number in range(size // 2):
        assert (table[place[number]] == number).sum() == 1


def test_a_list_that_is_not_hashed_stands_in_random_order() -> None:
    layout = Layout(20, 20, hashed=False)
    orders = {tuple(layout.place(keys(12), b"seed", Rng(seed_of(n)).stream("place")).tolist()) for n in range(5)}
    assert len(orders) == 5 and all(len(set(order)) == 12 and max(order) < 20 for order in orders)


def test_hashing_is_taken_where_it_is_cheaper() -> None:
    assert Layout.of(20, 20) == Layout(20, 20, hashed=False)
    large = Layout.of(1000, 1000)
    assert large.hashed and large.comparisons < 1000 * 1000 / 20
    assert Layout.of(0, 50) == Layout.of(50, 0) == Layout(0, 0, hashed=False)


def test_three_different_bins_for_each_tuple_and_all_bins_alike() -> None:
    found = choices(keys(3000), b"seed", 30)
    assert all(len(set(row)) == HASHES for row in found.tolist())
    counts = np.bincount(found.ravel(), minlength=30)
    assert float(((counts - 300) ** 2 / 300).sum()) < 58.3  # 29 degrees of freedom, p = 0.001
    assert not np.array_equal(found, choices(keys(3000), b"another", 30))


def test_the_places_of_a_bin_overflow_less_than_once_in_2_to_the_40() -> None:
    for compared, bins in ((100, 253), (1000, 1500), (10_000, 12_700)):
        slots = slots_for(compared, bins)
        for places, within in ((slots, True), (slots - 1, False)):
            assert (bins * _tail(compared, HASHES / bins, places) < CHANCE) is within


def _tail(n: int, p: float, above: int) -> float:
    """The chance of more than `above` of n, by exact binomial terms."""
    return math.fsum(math.comb(n, m) * p**m * (1 - p) ** (n - m) for m in range(above + 1, min(n, above + 60) + 1))


def test_bins_are_many_enough_and_no_more_than_a_half_above_for_large_tables() -> None:
    assert bins_for(10_000) == 12_700 and bins_for(1000) == 1500
    for listed in (10, 50, 100, 300):
        assert math.comb(listed, 4) / math.comb(bins_for(listed), 3) ** 3 < CHANCE


def test_what_cannot_be_placed_stops_the_run() -> None:
    with pytest.raises(Aborted, match="bins"):
        cuckoo(np.array([[0, 1, 2]] * 4), 10)
    assert sorted(cuckoo(np.array([[0, 1, 2]] * 3), 10).tolist()) == [0, 1, 2]
    with pytest.raises(Aborted, match="bins"):
        Layout(10, 1, hashed=True).fill(keys(30), b"seed", Rng(seed_of(1)).stream("fill"))


def test_bounds_count_rare_rows_only_and_never_more_than_there_are_tuples() -> None:
    bounds = Bounds(5, 5, 40, 30, None)
    assert (bounds.tested, bounds.layout) == (40, Layout.of(35, 30))
    capped = Bounds(5, 5, 40, 30, 12)
    assert (capped.tested, capped.layout) == (12, Layout.of(12, 12))


@pytest.mark.parametrize("encryption", ["elgamal", "waters"])
def test_worker_processes_send_the_same_bytes_as_none(encryption: str, monkeypatch: pytest.MonkeyPatch) -> None:
    people = draw_people(Rng(seed_of(5)).stream("workers"), 12, 12, 9)
    trial = trial_of(study_of(encryption, k=3), people)
    seen = []
    for worth in (10**9, 0):
        monkeypatch.setattr(role, "WORTH_A_CREW", worth)
        ends = asyncio.run(play(trial, over_memory(MemoryNetwork(trial.names)), 3))
        assert answers(trial, ends) == trial.ideal
        seen.append([line.digest for line in lines(ends) if not line.step.startswith("approval")])
    assert seen[0] == seen[1]
