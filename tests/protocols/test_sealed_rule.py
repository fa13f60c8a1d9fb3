"""The rule in the open and on shares gives the release of a reference that shares no code with it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import numpy as np
import pytest
from tests.harness.tiers import few_first
from tests.protocols.sealed_runs import expected, released
from tests.reference.studies import Drawn, draw
from tests.unit.mpc.boxes import run, seeds_of

from covey.arrays import Longs
from covey.mpc import Checked, Clear, Sealed
from covey.protocols.peel import agenda, nodes
from covey.protocols.shared.peeling.marginals import count_leaves


def listed(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Makes every second study's list as for a large table; in every fifth nodes are visited in turn."""
    monkeypatch.setattr(agenda, "SMALL", 0 if seed % 5 else agenda.SMALL)
    if seed % 2:
        monkeypatch.setattr(nodes, "FEW", 0)
        monkeypatch.setattr(nodes, "WHOLE", 0)
        monkeypatch.setattr(agenda, "FIRST", (3, 6))


def frequencies_of(seed: int, drawn: Drawn) -> tuple[Longs, ...] | None:
    """Returns public frequencies for every fourth study; those of the others are staged."""
    codes = np.concatenate([table.codes for table in drawn.tables], axis=1)
    return tuple(count_leaves(drawn.terms.trees, codes)) if seed % 4 == 3 else None


SEEDS = [*range(60), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(60, 1000))]


@pytest.mark.parametrize("seed", SEEDS)
def test_the_rule_gives_the_release_of_the_reference(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed(monkeypatch, seed)
    drawn = draw(seed, tmp_path)
    known = frequencies_of(seed, drawn)
    release = asyncio.run(released(Clear(seeds_of(seed)), -1, drawn, known, private=seed % 3 > 0))
    assert release == expected(drawn, known)


def test_nodes_that_are_tried_ahead_save_rounds_and_change_no_class(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn, costs, releases = draw(13, tmp_path, rows=(100, 120)), list[int](), list[object]()
    for ahead in (1, 64):
        monkeypatch.setattr(agenda, "AHEAD", ahead)
        box = Clear(seeds_of(1))
        classes, *_ = asyncio.run(released(box, -1, drawn, None))
        costs.append(box.rounds)
        releases.append(classes)
    assert releases[0] == releases[1] and 3 * costs[1] < 2 * costs[0]


@pytest.mark.parametrize("seed", few_first(range(200), 3))
def test_shares_give_the_same_release_at_the_cost_that_was_foretold(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed(monkeypatch, seed)
    drawn = draw(seed, tmp_path, rows=(20, 60))
    known = frequencies_of(seed, drawn)
    backend = (Checked, Sealed)[seed % 2]
    release = run(lambda box, place: released(box, place, drawn, known, private=seed % 3 > 0), seed, backends=[backend])
    assert release == expected(drawn, known)
