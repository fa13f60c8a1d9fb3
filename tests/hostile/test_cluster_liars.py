"""A party of `cluster` that says what it may not: whoever hears it names the liar, and not its victim."""

from __future__ import annotations

import numpy as np
import pytest
from tests.harness import harness
from tests.harness.hospitals import SITES, draw_people, stream_of, study_of, trial_of

from covey.errors import PeerError
from covey.protocols.as_printed.cluster_rows import exact
from covey.protocols.as_printed.cluster_rows.problem import ClusterProblem, PublicClusters
from covey.protocols.as_printed.cluster_rows.state import State, write_state


@pytest.mark.parametrize("calls", ["turn", "ring"])
def test_a_mover_whose_boxes_leave_out_others_records_is_named(calls: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first to move says one leaf in place of each box; without a look at it the next query blames its victim."""

    def narrowed(problem: ClusterProblem, clusters: PublicClusters) -> State:
        boxes = clusters.boxes.copy()
        boxes[:, 0] = problem.forest.first[boxes[:, 0]]
        return write_state(problem, PublicClusters(clusters.sizes, boxes.astype(np.int32)))

    options = f'calls = "{calls}"'
    trial = trial_of(study_of("cluster", options=options), draw_people(stream_of(1, "liars"), SITES, 10, 14))
    monkeypatch.setattr(exact, "write_state", narrowed)  # not before: nobody lies to the trusted party
    ends = harness.run(trial)
    for name in SITES[1:]:
        error = ends[name].error
        assert isinstance(error, PeerError)
        assert error.party == "east"
        assert "leave out records of this party" in str(error)
