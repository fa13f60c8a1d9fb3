"""`[evaluate] joint = true`: the parties learn how far queries are from the truth of all rows, and nothing finer."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from tests.harness.harness import End, run
from tests.harness.hospitals import SITES, draw_people, stream_of, study_of, tables_of, trial_of

from covey import protocols
from covey.errors import StudyError
from covey.evaluation.queries import QUERIES
from covey.party.audit.script import strays
from covey.party.record.run_record import Finished
from covey.party.session.approval import ApprovalQuestion
from covey.protocols import Proposal
from covey.protocols.shared.query_errors import RandomQueries
from covey.secure.declare import Leakage

JOINT = "[evaluate]\njoint = true"


@pytest.mark.few(1)
@pytest.mark.parametrize("seed", range(2))
def test_everyone_learns_the_error_that_a_trusted_party_would_find(seed: int) -> None:
    study = study_of("cluster", options=JOINT)
    people = draw_people(stream_of(seed, "errors"), SITES, 8, 20)
    ends = run(trial_of(study, people), seed=seed)
    found = {name: _finished(end).figures for name, end in ends.items()}
    trusted = protocols.of_study(study).ideal(study, tables_of(study, people)).figures
    assert trusted is not None
    assert set(trusted.query_error or ()) == {"1", "2"}
    for figures in found.values():
        assert figures is not None
        assert figures.query_error == pytest.approx(trusted.query_error)


def test_an_error_is_what_one_finds_by_counting() -> None:
    """Recomputed from the definition: every class's records spread evenly over the cells that its labels cover."""
    study = study_of("cluster", options=JOINT)
    table = tables_of(study, draw_people(stream_of(3, "errors"), ["east"], 30, 30))["east"]
    trees = table.trees
    boxes = np.array([[trees[0].up[3][0], 0], [trees[0].up[3][8], trees[1].root]], dtype=np.int32)
    sizes = np.array([10, 20])
    queries = RandomQueries.drawn(trees, boxes, sizes)
    assert len(queries.queries) == QUERIES * len(queries.kinds) == QUERIES * 6
    records = list(zip(*table.codes.tolist(), strict=True))
    for query, estimate, count in zip(queries.queries, queries.estimates, queries.count(table.codes), strict=True):
        asked = dict(query)
        wanted = [asked.get(column, np.ones(tree.codes, dtype=bool)) for column, tree in enumerate(trees)]
        assert count == sum(all(wanted[c][code] for c, code in enumerate(record)) for record in records)
        by_hand = 0.0
        for box, size in zip(boxes, sizes, strict=True):
            spans = [range(tree.first[node], tree.last[node] + 1) for tree, node in zip(trees, box, strict=True)]
            cells = list(itertools.product(*spans))
            by_hand += size * sum(all(wanted[c][code] for c, code in enumerate(cell)) for cell in cells) / len(cells)
        assert abs(estimate - by_hand) <= 0.5 + 1e-9
    assert queries.errors(np.zeros(6, dtype=np.int64)) == {"1": 0.0, "2": 0.0}


def test_a_run_sends_what_its_script_allows_and_a_person_sees_the_error() -> None:
    study = study_of("cluster", options=JOINT)
    trial = trial_of(study, draw_people(stream_of(1, "errors"), SITES, 8, 12))
    ends = run(trial)
    for end in ends.values():
        for pair in end.transcript.entries:
            assert not strays(study, trial.protocol, end.transcript.ordered(pair), finished=False)
    figures = _finished(ends["east"]).figures
    assert figures is not None
    question = ApprovalQuestion(study, "east", SITES, Proposal(Leakage(), figures=figures), (), ())
    assert "counts from the release are off by" in question.screen(80)


@pytest.mark.parametrize(
    ("protocol", "names", "why"),
    [
        ("cluster", SITES[:2], "three parties or more"),
        ("peel", SITES, "cannot add up errors"),
        ("count", SITES, "cannot add up errors"),
    ],
)
def test_a_study_that_cannot_is_refused_with_the_reason(protocol: str, names: tuple[str, ...], why: str) -> None:
    with pytest.raises(StudyError, match=why):
        study_of(protocol, names, options=JOINT)


def test_a_study_that_says_no_has_the_hash_of_one_that_says_nothing() -> None:
    silent = study_of("cluster")
    assert study_of("cluster", options="[evaluate]\njoint = false").study_hash == silent.study_hash
    assert study_of("cluster", options=JOINT).study_hash != silent.study_hash


def _finished(end: End) -> Finished:
    assert end.finished is not None, end.error
    return end.finished


def test_counts_that_no_rows_can_have_end_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    count = RandomQueries.count
    monkeypatch.setattr(RandomQueries, "count", lambda self, codes, counts=None: count(self, codes) + 10_000)
    study = study_of("cluster", options=JOINT)
    ends = run(trial_of(study, draw_people(stream_of(1, "errors"), SITES, 8, 12)))
    assert all("the errors of queries are impossible" in str(end.error) for end in ends.values())
