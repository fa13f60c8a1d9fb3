"""What the harness tries on `cluster`: hospitals' small tables, by each schedule, by counts and by shuffle."""

from __future__ import annotations

from tests.harness.hospitals import SITES, Person, draw_people, marked, stream_of, study_of, trial_of
from tests.harness.trial import Case, Trial

TWO = SITES[:2]
_YOUNG: Person = (1, "F", "flu")
_OLD: Person = (12, "M", "none")


def _draw(seed: int) -> Trial:
    """Plain, with l, unprotected from insiders, with t, and with entropy as the measure, in turn."""
    extra = ("", "l = 1.5", "k_insider = 1", "t = 0.35", '[utility]\nmeasure = "em"')[seed % 5]
    people = draw_people(stream_of(seed, "cluster"), SITES, 4, 12)
    people["east"] += [(age, "F", ill) for age, ill in ((2, "none"), (5, "flu"), (9, "asthma"))]
    return trial_of(study_of("cluster", privacy=extra), people)


def _smallest() -> Trial:
    """A division, a turn in which something is asked, and a release by shuffle."""
    people: dict[str, list[Person]] = {
        "east": [(1, "F", "flu"), (1, "M", "none"), (12, "F", "flu")],
        "north": [(1, "F", "none"), (2, "F", "ulcer"), (13, "M", "none")],
        "south": [(3, "M", "flu"), (12, "F", "asthma")],
    }
    return trial_of(study_of("cluster", k=2, privacy="l = 1.5", note=True), people)


def _twins() -> tuple[Trial, Trial]:
    """The same joint table, of which the parties hold different parts; no move pays in either."""
    one = {"east": [_YOUNG] * 4, "north": [_YOUNG, _OLD], "south": [_OLD] * 4}
    other = {"east": [_OLD] * 3, "north": [_YOUNG] * 3, "south": [_YOUNG, _YOUNG, _OLD, _OLD]}
    study = study_of("cluster", privacy="k_insider = 1")
    return trial_of(study, one), trial_of(study, other)


CLUSTER = Case("cluster", _draw, _smallest, _twins, lambda: marked(study_of("cluster", k=50)), quick=6)


def _draw_two(seed: int) -> Trial:
    people = draw_people(stream_of(seed, "cluster", "two"), TWO, 6, 15)
    return trial_of(study_of("cluster", TWO, privacy=("", "k_insider = 1", "t = 0.3")[seed % 3]), people)


def _smallest_of_two() -> Trial:
    people: dict[str, list[Person]] = {
        "east": [(1, "F", "flu"), (1, "M", "none"), (12, "F", "flu"), (13, "F", "none")],
        "north": [(1, "F", "none"), (2, "F", "ulcer"), (13, "M", "none"), (12, "M", "flu")],
    }
    return trial_of(study_of("cluster", TWO, k=2), people)


def _twins_of_two() -> tuple[Trial, Trial]:
    """Between two, what one has besides the total is the other's: they exchange all they have."""
    one = {"east": [_YOUNG] * 4 + [_OLD] * 3, "north": [_YOUNG] * 3 + [_OLD] * 4}
    return trial_of(study_of("cluster", TWO), one), trial_of(
        study_of("cluster", TWO), {"east": one["north"], "north": one["east"]}
    )


CLUSTER_OF_TWO = Case("cluster of two", _draw_two, _smallest_of_two, _twins_of_two, quick=6)


def _one_class(seed: int, schedule: str, most: int) -> Trial:
    """Fewer than 2k records: whatever is drawn and moved on the way, all end in one class."""
    people = draw_people(stream_of(seed, "cluster", schedule), SITES, 1, most)
    people["east"] += [_YOUNG, _OLD]
    records = sum(map(len, people.values()))
    return trial_of(study_of("cluster", k=records // 2 + 1, options=f'schedule = "{schedule}"'), people)


def _twins_by(schedule: str) -> tuple[Trial, Trial]:
    """Everyone is alike, so nobody moves."""
    study = study_of("cluster", k=5, options=f'schedule = "{schedule}"')
    hands = ({"east": 4, "north": 3, "south": 2}, {"east": 2, "north": 4, "south": 3})
    one, other = ({name: [_YOUNG] * records for name, records in hand.items()} for hand in hands)
    return trial_of(study, one), trial_of(study, other)


def _twins_by_rings() -> tuple[Trial, Trial]:
    """The paper's searches tell how many records matter: each party has as many of others' kind, all alike."""
    study = study_of("cluster", k=5, options='schedule = "paper"')
    return trial_of(study, dict.fromkeys(SITES, [_YOUNG] * 3)), trial_of(study, dict.fromkeys(SITES, [_OLD] * 3))


CLUSTER_EXACT = Case(
    "cluster, exact",
    lambda seed: _one_class(seed, "exact", 5),
    lambda: _one_class(1, "exact", 1),
    lambda: _twins_by("exact"),
    quick=6,
)

CLUSTER_PAPER = Case(
    "cluster, paper",
    lambda seed: _one_class(seed, "paper", 2),
    lambda: _one_class(1, "paper", 1),
    _twins_by_rings,
    quick=4,
)

CLUSTER_CASES = (CLUSTER, CLUSTER_OF_TWO, CLUSTER_EXACT, CLUSTER_PAPER)
