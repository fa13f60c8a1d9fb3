"""Bins: every tuple finds its place, sizes depend on public bounds only, and workers change nothing."""

from __future__ import annotations

import asyncio
import math

import numpy as np
import pytest
from tests.harness.harness import answers, lines, over_memory, play, run, spent
from tests.harness.network import seed_of
from tests.harness.suppress_cases import draw_people, study_of, trial_of

from covey.crypto.rng import Rng
from covey.errors import Aborted
from covey.protocols.as_printed.suppress import layout as suppress_layout
from covey.protocols.as_printed.suppress import role
from covey.protocols.as_printed.suppress.layout import (
    CHANCE,
    HASHES,
    BinLayout,
    Bounds,
    bins_for,
    choices,
    cuckoo,
    slots_for,
)
from covey.secure.sealing import Waters
from covey.wire import MemoryNetwork
from covey.wire.message import PAYLOAD_BYTES


def keys(count: int, kind: str = "key") -> list[bytes]:
    return [f"{kind} {number}".encode() for number in range(count)]


@pytest.mark.parametrize("size", [60, 100, 300, 1000, 3000])
def test_every_tuple_has_its_bin_and_meets_its_equal_there(size: int) -> None:
    layout = BinLayout.of(size, size)
    mine, theirs = keys(size), keys(size // 2) + keys(size - size // 2, "other")
    place = layout.place(mine, b"seed", Rng(seed_of(1)).stream("place"))
    table = layout.fill(theirs, b"seed", Rng(seed_of(1)).stream("fill"))
    assert len(set(place.tolist())) == size and table.shape == (layout.bins, layout.slots)
    for number in range(size // 2):
        assert (table[place[number]] == number).sum() == 1


def test_a_list_that_is_not_hashed_stands_in_random_order() -> None:
    layout = BinLayout(20, 20, hashed=False)
    orders = {tuple(layout.place(keys(12), b"seed", Rng(seed_of(n)).stream("place")).tolist()) for n in range(5)}
    assert len(orders) == 5 and all(len(set(order)) == 12 and max(order) < 20 for order in orders)


def test_hashing_is_taken_where_it_is_cheaper() -> None:
    assert BinLayout.of(20, 20) == BinLayout(20, 20, hashed=False)
    large = BinLayout.of(1000, 1000)
    assert large.hashed and large.comparisons < 1000 * 1000 / 20
    assert BinLayout.of(0, 50) == BinLayout.of(50, 0) == BinLayout(0, 0, hashed=False)


def test_three_different_bins_for_each_tuple_and_all_bins_alike() -> None:
    found = choices(keys(3000), b"seed", 30)
    assert all(len(set(row)) == HASHES for row in found.tolist())
    counts = np.bincount(found.ravel(), minlength=30)
    assert float(((counts - 300) ** 2 / 300).sum()) < 58.3  # 29 degrees of freedom, p = 0.001
    assert not np.array_equal(found, choices(keys(3000), b"another", 30))


@pytest.mark.parametrize(
    ("compared", "bins"),
    [(100, 253), (1000, 1500), (10_000, 12_700), (1000, 5), (5000, 85), (15_000, 85), (40_000, 253), (3, 75_000)],
)
def test_the_places_of_a_bin_overflow_less_than_once_in_2_to_the_40(compared: int, bins: int) -> None:
    """Where few tuples meet many, a bin's mean load may be in the hundreds, or beyond."""
    slots = slots_for(compared, bins)
    assert suffice(slots, compared, bins) and not suffice(slots - 1, compared, bins)


def suffice(slots: int, n: int, bins: int) -> bool:
    """Whether the chance of more than so many of n in a bin, times the bins, is below 2^-40: in whole numbers."""
    within = term = (bins - HASHES) ** n
    for m in range(min(slots, n)):
        term = term * (n - m) * HASHES // ((m + 1) * (bins - HASHES))
        within += term
    return bool(bins * (bins**n - within) << 40 < bins**n)


def test_all_that_is_compared_has_a_place_where_few_bins_must_hold_it() -> None:
    assert slots_for(10, 4) == slots_for(10, 3) == 10  # all of them in one bin is likely
    assert BinLayout.of(1, 1000) == BinLayout(1, 1000, hashed=False)


@pytest.mark.parametrize(("listed", "compared"), [(10, 15_000), (5, 6000), (1000, 40)])
def test_few_tuples_meet_many_in_their_bins(listed: int, compared: int) -> None:
    layout, common = BinLayout.of(listed, compared), min(listed, compared)
    assert layout.hashed and layout.comparisons < listed * compared
    place = layout.place(keys(listed), b"seed", Rng(seed_of(1)).stream("place"))
    table = layout.fill(keys(compared), b"seed", Rng(seed_of(1)).stream("fill"))
    assert all((table[place[number]] == number).sum() == 1 for number in range(common))


@pytest.mark.parametrize(
    ("size", "bins", "slots"), [(100, 253, 17), (300, 450, 21), (1000, 1500, 21), (10_000, 12_700, 24)]
)
def test_equal_sides_take_the_layouts_of_the_page(size: int, bins: int, slots: int) -> None:
    assert BinLayout.of(size, size) == BinLayout(bins, slots, hashed=True)


def test_bins_are_many_enough_and_no_more_than_a_half_above_for_large_tables() -> None:
    assert bins_for(10_000) == 12_700 and bins_for(1000) == 1500
    for listed in (10, 50, 100, 300):
        assert math.comb(listed, 4) / math.comb(bins_for(listed), 3) ** 3 < CHANCE


def test_what_cannot_be_placed_stops_the_run() -> None:
    with pytest.raises(Aborted, match="bins"):
        cuckoo(np.array([[0, 1, 2]] * 4), 10)
    assert sorted(cuckoo(np.array([[0, 1, 2]] * 3), 10).tolist()) == [0, 1, 2]
    with pytest.raises(Aborted, match="bins"):
        BinLayout(10, 1, hashed=True).fill(keys(30), b"seed", Rng(seed_of(1)).stream("fill"))


def test_bounds_count_rare_rows_only_and_never_more_than_there_are_tuples() -> None:
    bounds = Bounds(5, 5, 40, 30, None)
    assert (bounds.tested, bounds.layout) == (40, BinLayout.of(35, 30))
    capped = Bounds(5, 5, 40, 30, 12)
    assert (capped.tested, capped.layout) == (12, BinLayout.of(12, 12))


@pytest.mark.parametrize("k", [2, 1024, 4096])
@pytest.mark.parametrize("sides", [(1, 2_000_000), (3, 2_000_000), (100, 2_000_000), (2_000_000, 5), (9000, 9000)])
def test_no_message_of_the_lists_is_longer_than_one_may_be(k: int, sides: tuple[int, int]) -> None:
    bounds = Bounds(k, k, sides[0] + k, sides[1], None)
    together = bounds.compare_chunk * min(bounds.piece, bounds.layout.slots)
    most = max(k * bounds.test_chunk, k * bounds.compare_chunk, together)
    assert most * Waters.width < PAYLOAD_BYTES // 4
    assert bounds.pieces == 1 or bounds.compare_chunk == 1


def test_a_bin_in_several_answers_gives_the_same_release_at_the_foreseen_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suppress_layout, "CHUNK", 2)
    people = {"north": [1, 2, 3, 4, 5, 6, 7], "south": [12, 7, 5, 9, 10, 3]}
    ill = {name: [(age, "F", "flu") for age in ages] for name, ages in people.items()}
    trial = trial_of(study_of("elgamal", k=2), ill)
    ends = run(trial, seed=3)
    assert answers(trial, ends) == trial.ideal
    assert trial.cost is not None and spent(ends).messages == trial.cost.messages
    assert spent(ends).bytes == pytest.approx(trial.cost.bytes, rel=0.02)
    steps = [line.step.partition("/")[0] for line in lines(ends)]
    assert steps.count("compare") == 3 * steps.count("list") > 0  # six places in each bin, two in an answer


@pytest.mark.thorough
@pytest.mark.parametrize("encryption", ["elgamal", "waters"])
def test_worker_processes_send_the_same_bytes_as_none(encryption: str, monkeypatch: pytest.MonkeyPatch) -> None:
    people = draw_people(Rng(seed_of(5)).stream("workers"), 12, 12, 9)
    trial = trial_of(study_of(encryption, k=3), people)
    seen = []
    for worth in (10**9, 0):
        monkeypatch.setattr(role, "WORTH_WORKERS", worth)
        ends = asyncio.run(play(trial, over_memory(MemoryNetwork(trial.names)), 3))
        assert answers(trial, ends) == trial.ideal
        seen.append([line.digest for line in lines(ends) if not line.step.startswith("approval")])
    assert seen[0] == seen[1]
