"""A disk that fills up, writes short or fails to sync, at every call: no part of a release is ever seen."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.harness.cases import CASES
from tests.harness.disk import Disk, How, failing
from tests.harness.harness import run
from tests.harness.safety import break_disk

from covey.errors import Aborted

VICTIM = "north"


def calls(name: str, how: How, folder: Path) -> int:
    """How many calls of that kind a run makes in the victim's folder."""
    with failing(Disk(folder.resolve() / VICTIM, how)) as disk:
        run(CASES[name].smallest(), folder=folder)
    return disk.calls


@pytest.mark.parametrize(
    ("name", "stride"),
    [
        pytest.param("count", 1, marks=pytest.mark.slow),
        pytest.param("count", 3, marks=pytest.mark.thorough),
        ("count", 8),
        pytest.param("peel", 1, marks=pytest.mark.slow),
        pytest.param("peel", 16, marks=pytest.mark.thorough),
    ],
)
@pytest.mark.parametrize("how", ["full", "failing sync", "short write"])
def test_a_disk_that_fails_at_any_call_shows_no_partial_release(
    how: How, name: str, stride: int, quick_path: Path
) -> None:
    trial = CASES[name].smallest()
    count = calls(name, how, quick_path / "counting")
    assert count > 20
    unsafe = []
    for at in range(0, count, stride):
        folder = (quick_path / str(at)).resolve()
        disk = Disk(folder / VICTIM, how, at)
        unsafe += break_disk(trial, disk, folder)
        assert disk.failed
    assert unsafe == []


def test_short_writes_alone_do_no_harm(quick_path: Path) -> None:
    trial = CASES["count"].smallest()
    with failing(Disk(quick_path.resolve() / VICTIM, "short write", 5)):
        ends = run(trial, folder=quick_path)
    assert all(end.error is None for end in ends.values())


def test_a_full_disk_is_named_with_what_to_do(quick_path: Path) -> None:
    with failing(Disk(quick_path.resolve() / VICTIM, "full", 12)):
        end = run(CASES["count"].smallest(), folder=quick_path)[VICTIM]
    assert isinstance(end.error, Aborted)
    assert end.error.resumable
    assert "No space left on device" in str(end.error)
    assert "run the same command again" in str(end.error)
