"""A look into a simulation behind its release."""

from __future__ import annotations

from collections.abc import Mapping

import covey
from covey.party.simulate.outcome import JointRun, Outcome


def outcomes_of(release: covey.Release) -> Mapping[str, Outcome]:
    """Every party's outcome of the simulation that made this release."""
    assert isinstance(release.writer, JointRun)
    return release.writer.outcomes
