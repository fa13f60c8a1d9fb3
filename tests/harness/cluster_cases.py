"""What the harness tries on `cluster`: hospitals' small tables, by one exchange a turn and by the printed rings."""

from __future__ import annotations

import pytest
from tests.harness.hospitals import SITES, Person, draw_people, marked, stream_of, study_of, trial_of
from tests.harness.network import seed_of
from tests.harness.trial import Case, Trial

from covey.crypto.rng import Rng
from covey.protocols.as_printed.cluster_rows import exact

TWO = SITES[:2]
_YOUNG: Person = (1, "F", "flu")
_OLD: Person = (12, "M", "none")


def same_choices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every party, and the trusted one, draws the same first labels and halves: then all find the same classes."""
    drawn_from = exact.RandomChoices.drawn
    monkeypatch.setattr(exact.RandomChoices, "drawn", lambda rng: drawn_from(Rng(seed_of(7))))


def _one_class(seed: int, calls: str, most: int, *, of_two: bool = False) -> Trial:
    """Fewer than 2k records: whatever is drawn and moved on the way, all end in one class."""
    sites = TWO if of_two else SITES
    people = draw_people(stream_of(seed, "cluster", calls), sites, 1, most)
    people["east"] += [_YOUNG, _OLD]
    records = sum(map(len, people.values()))
    extra = ("", '[utility]\nmeasure = "em"')[seed % 2]
    study = study_of("cluster", sites, k=records // 2 + 1, privacy=extra, options=f'calls = "{calls}"', note=seed == 1)
    return trial_of(study, people)


def _twins() -> tuple[Trial, Trial]:
    """Everyone is alike, so nobody moves."""
    study = study_of("cluster", k=5)
    hands = ({"east": 4, "north": 3, "south": 2}, {"east": 2, "north": 4, "south": 3})
    one, other = ({name: [_YOUNG] * records for name, records in hand.items()} for hand in hands)
    return trial_of(study, one), trial_of(study, other)


def _twins_of_two() -> tuple[Trial, Trial]:
    """Between two, what one has besides the total is the other's: they exchange all they have."""
    study = study_of("cluster", TWO, k=5)
    hands = ({"east": 5, "north": 4}, {"east": 4, "north": 5})
    one, other = ({name: [_YOUNG] * records for name, records in hand.items()} for hand in hands)
    return trial_of(study, one), trial_of(study, other)


def _twins_by_rings() -> tuple[Trial, Trial]:
    """The paper's searches tell how many records matter: each party has as many of others' kind, all alike."""
    study = study_of("cluster", k=5, options='calls = "ring"')
    return trial_of(study, dict.fromkeys(SITES, [_YOUNG] * 3)), trial_of(study, dict.fromkeys(SITES, [_OLD] * 3))


CLUSTER = Case(
    "cluster",
    lambda seed: _one_class(seed, "turn", 5),
    lambda: _one_class(1, "turn", 1),
    _twins,
    lambda: marked(study_of("cluster", k=800)),
    quick=6,
)
CLUSTER_OF_TWO = Case(
    "cluster of two",
    lambda seed: _one_class(seed, "turn", 6, of_two=True),
    lambda: _one_class(1, "turn", 2, of_two=True),
    _twins_of_two,
    quick=6,
)
CLUSTER_PAPER = Case(
    "cluster, paper",
    lambda seed: _one_class(seed, "ring", 2),
    lambda: _one_class(1, "ring", 1),
    _twins_by_rings,
    quick=4,
)
CLUSTER_CASES = (CLUSTER, CLUSTER_OF_TWO, CLUSTER_PAPER)
