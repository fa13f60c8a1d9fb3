"""A collector and a trustee look at the disk and the memory before they begin, and say in a sentence what they lack."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.collection.peeling_town import PeelingTown
from tests.conftest import Covey

from covey.party.collection.opening import Collection
from covey.party.collection.trustee import prepare
from covey.party.session import room


def test_a_full_disk_is_refused_before_anybody_is_listened_to(
    covey: Covey, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    town = PeelingTown(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda place: SimpleNamespace(free=10**6))
    calls = {
        town.out: ("serve", town.path, "--keys", town.folder / "keys", "--quorum", 6),
        town.folder / "board": ("trustee", town.path, "--keys", town.folder / "keys-board"),
    }
    for out, call in calls.items():
        called = covey("collect", *call, "--out", out)
        assert called.code == 2
        assert f"{tmp_path}: has 1 MB free, and a run needs 64 MB at least; make room" in called.err
        assert not out.exists()


def test_too_little_memory_is_told_before_anybody_is_listened_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    town, said = PeelingTown(tmp_path), list[str]()
    monkeypatch.setattr(room, "available_memory", lambda: 10**8)
    collection = Collection.prepare(replace(town.service(20_000), notice=said.append))
    collection.register.close()
    collection.journal.close()
    prepare(town.path, town.folder / "keys-board", town.folder / "board", None, said.append)
    assert [sentence.partition(" are free")[0] for sentence in said] == ["100 MB of memory"] * 2
    assert "a run of this size needs about 520 MB; end others" in said[0]
