"""What the harness tries on `peel` with columns split: the people of `columns_cases`, and a helper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.harness import canaries
from tests.harness.columns_cases import (
    THREE,
    TWO,
    Person,
    draw_people,
    people_study,
    stream_of,
    tables_of,
)  # fmt: skip
from tests.harness.hospitals import ILLS
from tests.harness.trial import Case, Marked, Trial, of_study

from covey.protocols import find
from covey.study import Study

ASKED = ("", "l = 1.5", 'l = 2\ndiversity = "distinct"')
"""What a study may ask for besides k."""
FOUR = {"a": ("age",), "b": ("sex", "ill"), "c": ("income",), "d": ("stay",)}


def study_of(
    split: Mapping[str, Sequence[str]] = TWO, *, k: int = 3, privacy: str = "", options: str = "", head: str = "",
    recipient: bool = False, note: str | None = None,
) -> Study:  # fmt: skip
    """A small study with this split; two holders have a helper."""
    roles = {**({"judge": "helper"} if len(split) == 2 else {}), **({"reader": "recipient"} if recipient else {})}
    return people_study("peel", split, k=k, privacy=privacy, options=options, head=head, roles=roles, note=note)


def trial_of(study: Study, people: Sequence[Person], rows: Mapping[str, Sequence[int]] | None = None) -> Trial:
    """A trial of these people, or of the given rows of them."""
    return of_study(study, find("peel", "vertical"), tables_of(study, people, rows))


def _draw(seed: int) -> Trial:
    stream = stream_of(seed, "peel")
    people = draw_people(stream, 14 + stream.below(14))
    split = (TWO, THREE)[seed % 2]  # those outside would wait longer than bad weather lets them
    present = {name: [row for row in range(len(people)) if stream.below(20)] for name in split}
    head = 'sizes = "public"' if seed % 3 else ""
    study = study_of(split, k=5, privacy=ASKED[seed // 2 % len(ASKED)], head=head, recipient=seed % 5 == 4)
    return trial_of(study, people, present)


def _smallest() -> Trial:
    """A class, a person who is withheld, a holder outside, and exact values of two owners."""
    people: list[Person] = [(1, "F", "low", 1, "flu"), (1, "F", "low", 1, "none"), (9, "M", "high", 6, "flu")]
    return trial_of(study_of(FOUR, k=2, note="d"), people)


def _twins() -> tuple[Trial, Trial]:
    """The same people with other illnesses, whose order is the same: a sort then compares as many words."""
    people, study = draw_people(stream_of(5, "peel", "twins"), 24), study_of(k=24)
    pair = [[(*person[:4], ills[person[4] in ILLS[:2]]) for person in people] for ills in (ILLS[:2], ILLS[2:])]
    return trial_of(study, pair[0]), trial_of(study, pair[1])


def _marked() -> Marked:
    """Names of people as keys: nobody but their holders may see one, before or after."""
    words = canaries.texts("everyone", 200)
    people = draw_people(stream_of(0, "marked"), 200)
    trial = of_study(study := study_of(k=60), find("peel", "vertical"), tables_of(study, people, ids=words))
    return Marked(trial, texts={"everyone": words})


PEEL_COLUMNS = Case("peel-columns", _draw, _smallest, _twins, _marked, quick=2)
PEEL_COLUMNS_CASES = (PEEL_COLUMNS,)
