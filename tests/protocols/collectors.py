"""What the tests of `collect` share: people in no order, runs whose positions are seen, positions without keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
from tests.harness.collect_cases import MOODS, Person, stream_of
from tests.harness.harness import End, run
from tests.harness.trial import Trial

from covey.arrays import Longs
from covey.protocols.as_printed.collect import collector
from covey.protocols.as_printed.collect.parameters import Parameters
from covey.study import Study


@dataclass
class Seen:
    """What the collector sees in a run: everyone's position, in the order of handles."""

    positions: list[Longs] = field(default_factory=list)

    @property
    def last(self) -> Longs:
        return self.positions[-1]


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Seen:
    """Watches the collector open positions."""
    found = Seen()
    original = collector.open_positions

    async def watching(*arguments: object) -> Longs:
        positions: Longs = await original(*arguments)  # type: ignore[arg-type]
        found.positions.append(positions)
        return positions

    monkeypatch.setattr(collector, "open_positions", watching)
    return found


def anyone(seed: int, count: int) -> list[Person]:
    """People in no order and in no crowds."""
    stream = stream_of(seed, "anyone")
    return [(stream.below(32), "FM"[stream.below(2)], MOODS[stream.below(3)]) for _ in range(count)]


def finished(trial: Trial, seed: int = 0) -> dict[str, End]:
    """A run that must reach its end."""
    ends = run(trial, seed=seed)
    for end in ends.values():
        if end.error is not None:
            raise end.error
    return ends


def drawn_positions(parameters: Parameters, cells: Longs, seed: int) -> Longs:
    """The positions that a run with random numbers of its own would open."""
    draws = np.random.default_rng(seed)
    steps = draws.integers(parameters.low, parameters.high + 1, (2, parameters.grid.cells)).sum(axis=0)
    start = int(draws.integers(parameters.low, parameters.high + 1, 2 * parameters.b).sum())
    return (np.cumsum(steps) + start)[cells].astype(np.int64)


def ranks(study: Study, trial: Trial, names: Sequence[str]) -> Longs:
    """Everyone's cell."""
    tables = [trial.tables[name] for name in names]
    codes = np.concatenate([table.codes for table in tables if table is not None], axis=1)
    return Parameters.of(study).grid.rank(codes)
