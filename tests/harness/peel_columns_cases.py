"""What the harness tries on `peel` with columns split: the people of `columns_cases`, and an evaluator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.harness import canaries
from tests.harness.columns_cases import (
    THREE,
    TWO,
    Person,
    draw_people,
    mirrored,
    people_study,
    stream_of,
    tables_of,
)  # fmt: skip
from tests.harness.trial import Case, Marked, Trial, of_study

from covey.protocols import find
from covey.study import Study

ASKED = (
    ("", ""),
    ("", "window = 5\nnodes = 20"),
    ("l = 1.5", ""),
    ('l = 2\ndiversity = "distinct"', ""),
    ("", 'leftover = "merge"'),
    ("", 'leftover = "merge"\nwindow = 3'),
)
"""What a study may ask for besides k, and how."""


def study_of(
    split: Mapping[str, Sequence[str]] = TWO, *, k: int = 3, privacy: str = "", options: str = "", head: str = "",
    recipient: bool = False, note: str | None = None,
) -> Study:  # fmt: skip
    """A small study with this split and an evaluator."""
    roles = {"judge": "evaluator", **({"reader": "recipient"} if recipient else {})}
    return people_study("peel", split, k=k, privacy=privacy, options=options, head=head, roles=roles, note=note)


def trial_of(study: Study, people: Sequence[Person], rows: Mapping[str, Sequence[int]] | None = None) -> Trial:
    """A trial of these people, or of the given rows of them."""
    return of_study(study, find("peel", "vertical"), tables_of(study, people, rows))


def _draw(seed: int) -> Trial:
    stream = stream_of(seed, "peel")
    people = draw_people(stream, 14 + stream.below(30))
    split = (TWO, THREE)[seed % 2]
    present = {name: [row for row in range(len(people)) if stream.below(20)] for name in split}
    privacy, options = ASKED[seed % len(ASKED)]
    study = study_of(split, privacy=privacy, options=options, recipient=seed % 5 == 4)
    return trial_of(study, people, present)


def _smallest() -> Trial:
    """Classes, somebody who is left over and joins one, and a release with exact values."""
    people: list[Person] = [(1, "F", "low", 1, "flu"), (1, "F", "low", 1, "none"), (9, "M", "high", 6, "flu")]
    return trial_of(study_of(k=2, options='nodes = 2\nleftover = "merge"'), people)


def _smallest_asked() -> Trial:
    """Diverse classes, a window and a recipient cannot all be asked for: this one has a recipient and l."""
    people: list[Person] = [(1, "F", "low", 1, "flu"), (1, "F", "low", 1, "none"), (1, "F", "low", 1, "none")]
    return trial_of(study_of(k=3, privacy="l = 1.5", options="nodes = 1", recipient=True), people)


def _twins() -> tuple[Trial, Trial]:
    """The same people with every value turned round: other values, the same groups at every generalization."""
    people = draw_people(stream_of(5, "peel", "twins"), 24)
    alike = [(age, sex, income, stay, "none") for age, sex, income, stay, _ in people]
    study = study_of(k=24, options="nodes = 1")
    return trial_of(study, alike), trial_of(study, [(*person[:4], "none") for person in mirrored(alike)])


def _marked(recipient: bool) -> Marked:
    """Names of people as keys: nobody but their holders may see one, before or after."""
    words = canaries.texts("everyone", 200)
    people = draw_people(stream_of(0, "marked"), 200)
    study = study_of(k=10, options="nodes = 30", recipient=recipient)
    trial = of_study(study, find("peel", "vertical"), tables_of(study, people, ids=words))
    return Marked(trial, texts={"everyone": words})


PEEL_COLUMNS = Case("peel-columns", _draw, _smallest, _twins, lambda: _marked(False), quick=6)
PEEL_COLUMNS_ASKED = Case(
    "peel-columns, asked for more",
    lambda seed: _draw(seed + 100),
    _smallest_asked,
    _twins,
    lambda: _marked(True),
    quick=5,
)
PEEL_COLUMNS_CASES = (PEEL_COLUMNS, PEEL_COLUMNS_ASKED)
