"""A party killed at any message or in the midst of any record: everyone stops safely, and resumes to the ideal."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.harness.cases import CASES
from tests.harness.safety import Point, kill, points, some_points
from tests.harness.tiers import some


def tried(name: str, folder: Path, most: int | None = None) -> list[str]:
    """Kills at every point, or at that many of them. Returns what was unsafe; prints what was left out."""
    trial = CASES[name].smallest()
    chosen, omitted = points(trial, folder / "counting")
    for sentence in omitted:
        print(f"{name}: left out {sentence}")
    stride = 1 if most is None else max(1, len(chosen) // most)
    offset = sorted(CASES).index(name) % stride  # not the same ones everywhere
    unsafe = []
    for place, point in list(enumerate(chosen))[offset::stride][:most]:
        unsafe += kill(trial, point, folder / str(place))
    return unsafe


@pytest.mark.parametrize("name", some(CASES, 2))
def test_a_party_is_killed_before_a_message_after_one_and_in_a_record(name: str, quick_path: Path) -> None:
    """A case whose runs take long is killed at one of the three, another one for each case."""
    case, place = CASES[name], sorted(CASES).index(name)
    trial, unsafe = case.smallest(), []
    chosen = some_points(trial, place, quick_path / "counting")
    for number, point in enumerate(chosen if case.is_quick else [chosen[place % 3]]):
        unsafe += kill(trial, point, quick_path / str(number))
    assert unsafe == []


@pytest.mark.few(1)
@pytest.mark.parametrize("limit", [0, 3000])
def test_a_party_whose_journal_keeps_hashes_alone_is_killed_and_resumes_to_the_ideal(
    limit: int, quick_path: Path
) -> None:
    """What was read beyond the limit is asked for again, whichever message or record was the last."""
    trial = CASES["count"].smallest()
    chosen, _ = points(trial, quick_path / "counting")
    for place, point in list(enumerate(chosen))[limit % 7 :: 7]:
        assert kill(trial, point, quick_path / str(place), limit=limit) == []


@pytest.mark.thorough
@pytest.mark.parametrize("name", some(CASES, 0, every=3, rest="slow"))
def test_a_party_is_killed_here_and_there(name: str, quick_path: Path) -> None:
    assert tried(name, quick_path, max(1, CASES[name].quick // 4)) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(CASES))
def test_a_party_of_any_case_is_killed_at_every_message_and_record(name: str, quick_path: Path) -> None:
    assert tried(name, quick_path) == []


def test_every_type_of_message_is_among_the_points(quick_path: Path) -> None:
    chosen, omitted = points(CASES["count"].smallest(), quick_path)
    assert omitted == []
    assert {point.what for point in chosen} >= {
        "handshake.hello", "handshake.nonce", "handshake.confirm", "covey.public-key", "approval.vote", "sum.masked",
        "covey.farewell", "covey.seal", "a record",
    }  # fmt: skip


def test_a_point_that_is_never_reached_is_reported(quick_path: Path) -> None:
    point = Point("east", "before send", 10_000, "nothing")
    assert any("never reached" in sentence for sentence in kill(CASES["count"].smallest(), point, quick_path))
