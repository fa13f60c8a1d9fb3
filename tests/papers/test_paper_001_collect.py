"""Xue and others, "Distributed privacy preserving data collection": joint numbers, Tables II to IV, corrected."""

from __future__ import annotations

import numpy as np
import pytest
from tests.harness.network import seed_of

from covey.crypto.elgamal import Ciphertexts, KeyShare, Logarithms, encrypt, opened
from covey.crypto.rng import Rng
from covey.protocols.as_printed.collect import attack, index, privacy
from covey.protocols.as_printed.collect.line import cut_line
from covey.protocols.as_printed.collect.parameters import Parameters
from covey.study import Study

EIGHT = """
[study]
name = "eight cells"
protocol = "collect"
partition = "respondents"
[privacy]
k = 2
[protocol]
as_printed = true
b = 2
rho = [10, 30]
[columns.c]
role = "quasi"
hierarchy = { min = 1, max = 8, steps = [2] }
missing = "error"
[parties.v]
role = "collector"
"""
NUMBERS = [11, 14, 17, 12, 19, 13, 16, 18]
COLLECTORS = [15, 12, 11, 18, 13, 17, 14, 16]
IMAGES = [114, 140, 168, 198, 230, 260, 290, 324]


def test_t1_the_encrypted_index_holds_the_notes_positions() -> None:
    parameters = Parameters.of(Study.parse(EIGHT))
    own, rng = KeyShare(Rng(seed_of(1)).stream("key")), Rng(seed_of(2))
    beginnings = [20, 25]  # of the respondents; the collector adds 22 and 21: an offset of 88
    theirs = [
        encrypt([*NUMBERS[4 * half : 4 * half + 4], beginnings[half]], own.public, rng.stream("numbers", half))
        for half in range(2)
    ]
    assert [index.block(8, 2, half) for half in range(2)] == [(0, 4), (4, 8)]
    made = index.build(parameters, own.public, theirs, np.array([22, 21, *COLLECTORS]), rng.stream("fresh"))
    points = opened(made, [own.unlock(made)])
    assert Logarithms(400).of(points).tolist() == IMAGES


def test_t1_an_entry_is_found_in_the_bytes_that_everyone_is_sent() -> None:
    own, rng = KeyShare(Rng(seed_of(1)).stream("key")), Rng(seed_of(2))
    made = encrypt(IMAGES, own.public, rng.stream("index"))
    raw = index.spell(made)
    for cell, image in enumerate(IMAGES):
        entry = index.entry(raw, cell)
        assert Logarithms(400).of(opened(entry, [own.unlock(entry)])).tolist() == [image]
    assert isinstance(index.entry(raw, 0), Ciphertexts)


@pytest.mark.parametrize(("k", "groups"), [(2, [0, 0, 1, 1, 2, 2]), (3, [0, 0, 0, 1, 1, 1])])
def test_t2_the_images_of_six_respondents_are_cut_as_the_note_says(k: int, groups: list[int]) -> None:
    images = np.array([IMAGES[cell - 1] for cell in (1, 1, 2, 5, 6, 8)])
    assert images.tolist() == [114, 114, 140, 230, 260, 324]
    assert cut_line(images, k).tolist() == groups


def test_the_cut_does_not_mind_a_shift_or_a_scale() -> None:
    images = np.array([0, 1, 10, 11, 12, 13, 30])
    assert cut_line(images, 2).tolist() == cut_line(7 * images + 1000, 2).tolist() == [0, 0, 1, 1, 1, 2, 2]


# Table II: rho, with b = 200 and c = 100; printed, then the note's corrected values for the collector
TABLE_2 = [
    ((100, 200), 0.119235, 0.236),
    ((50, 250), 0.0598, 0.119),
    ((0, 300), 0.0399, 0.080),
    ((100, 400), 0.0664, 0.132),
    ((150, 450), 0.0797, 0.159),
    ((200, 500), 0.0929, 0.185),
]
# Table III: rho = 100-300; b + c
TABLE_3 = [(300, 0.0797, 0.159), (400, 0.0690, 0.138), (500, 0.0617, 0.123), (200, 0.0975, 0.194)]


@pytest.mark.parametrize(("rho", "printed", "honest"), TABLE_2)
def test_t6_table_2_is_reproduced_and_the_collectors_chance_is_twice_as_high(
    rho: tuple[int, int], printed: float, honest: float
) -> None:
    assert privacy.paper_chance(*rho, 300) == pytest.approx(printed, abs=6e-5)
    assert privacy.collector_chance(*rho, 300) == pytest.approx(honest, abs=6e-4)
    assert privacy.outsider_chance(*rho, 300) == pytest.approx(printed * 2**0.5, rel=0.02)
    measured = attack.interior(*rho, 200, 100, np.random.default_rng(1), trials=20_000)
    assert measured == pytest.approx(honest, abs=0.01)


@pytest.mark.parametrize(("steps", "printed", "honest"), TABLE_3)
def test_table_3_is_reproduced_and_the_collectors_chance_is_twice_as_high(
    steps: int, printed: float, honest: float
) -> None:
    assert privacy.paper_chance(100, 300, steps) == pytest.approx(printed, abs=6e-5)
    assert privacy.collector_chance(100, 300, steps) == pytest.approx(honest, abs=6e-4)


@pytest.mark.parametrize(
    ("rho", "needed"), [((0, 300), 190), ((50, 250), 428), ((100, 400), 528), ((100, 300), 760), ((100, 200), 1710)]
)
def test_x1_the_offset_that_honesty_needs(rho: tuple[int, int], needed: int) -> None:
    assert privacy.offset_needed(*rho) == pytest.approx(needed, abs=1)
    assert privacy.collector_chance(*rho, privacy.offset_needed(*rho)) <= 0.1


@pytest.mark.parametrize(
    ("rho", "chances"),
    [((0, 300), (0.87, 0.40, 0.14)), ((100, 300), (1.0, 0.72, 0.27)), ((200, 500), (1.0, 0.79, 0.31))],
)
def test_x2_someone_known_nearby_undoes_the_offset(rho: tuple[int, int], chances: tuple[float, ...]) -> None:
    draws = np.random.default_rng(2)
    for distance, chance in zip((1, 10, 100), chances, strict=True):
        assert attack.anchor(*rho, distance, draws) == pytest.approx(chance, abs=0.03)


def test_x1_at_the_lines_beginning_more_than_half_are_found() -> None:
    draws = np.random.default_rng(3)
    assert 0.5 < attack.edge(0, 300, 190, draws) < 0.62
    assert attack.edge(0, 300, 190, draws) > 5 * privacy.collector_chance(0, 300, 190)
