"""Before a run begins it looks at disk and memory, and says in a sentence what it lacks."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from covey.errors import InputError
from covey.party.session import room
from covey.party.session.journal import EVERYTHING
from covey.protocols import find


def free(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda place: SimpleNamespace(free=size))


def test_a_full_disk_is_refused_before_anything_begins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    free(monkeypatch, 10**6)
    with pytest.raises(InputError, match=r"has 1 MB free, and a run needs 64 MB at least; make room"):
        room.room_for_journal(tmp_path / "out", 0, print)


@pytest.mark.parametrize(
    ("size", "limit", "kept", "told"),
    [
        (10**10, 512 * 10**6, 512 * 10**6, False),
        (264 * 10**6, 512 * 10**6, 10**8, True),
        (264 * 10**6, 0, 0, False),
        (264 * 10**6, EVERYTHING, EVERYTHING, False),
    ],
)
def test_a_journal_keeps_less_where_the_disk_is_small(
    size: int, limit: int, kept: int, told: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    free(monkeypatch, size)
    said: list[str] = []
    assert room.room_for_journal(tmp_path, limit, said.append) == kept
    assert bool(said) == told
    assert all("the journal keeps 100 MB" in sentence for sentence in said)


def test_too_little_memory_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "available_memory", lambda: 2 * 10**9)
    said: list[str] = []
    room.warn_of_memory(find("count"), 10**6, said.append)
    assert said == []
    room.warn_of_memory(find("count"), 10**7, said.append)
    assert said == ["2 GB of memory are free, and a run of this size needs about 5.3 GB; end others"]
