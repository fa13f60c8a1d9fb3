"""What the harness tries on `peel` by respondents: letters of a few people, three trustees, and the collector."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa
from tests.harness import canaries
from tests.harness.collect_cases import HUB, MOODS, Person, names_of, stream_of
from tests.harness.network import seed_of
from tests.harness.trial import Case, Marked, Trial, of_study

from covey.party.simulate.letters import letters_of, load_rows
from covey.protocols.peel import RESPONDENTS as PROTOCOL
from covey.study import Study
from covey.study.study import RESPONDENTS

TRUSTEES = ("board", "patients", "university")
_COLUMNS = """
[columns.name]
role = "identifier"
[columns.age]
role = "quasi"
hierarchy = { min = 0, max = 31, steps = [4, 8, 16] }
missing = "error"
[columns.sex]
role = "quasi"
hierarchy = "flat"
values = ["F", "M"]
missing = "error"
[columns.mood]
role = "sensitive"
values = ["good", "fair", "bad"]
missing = "error"
"""
_NOTE = '[columns.note]\nrole = "plain"\n'
ASKED = ("", "l = 1.5", 'l = 2\ndiversity = "distinct"')


def study_of(
    *, k: int = 3, privacy: str = "", protocol: str = "", note: bool = False, trustees: Sequence[str] = TRUSTEES
) -> Study:
    """A small study with a collector and its trustees."""
    head = f'[study]\nname = "mood"\nprotocol = "peel"\npartition = "respondents"\n[privacy]\nk = {k}\n'
    parties = f'[parties.{HUB}]\nrole = "collector"\n'
    parties += "".join(f'[parties.{name}]\nrole = "trustee"\n' for name in trustees)
    return Study.parse(f"{head}{privacy}\n[protocol]\n{protocol}\n{_COLUMNS}{_NOTE if note else ''}{parties}")


def rows_of(people: Sequence[Person], notes: Sequence[str] | None = None) -> pa.Table:
    """The table of these people; a note is also its owner's name."""
    words = notes or [f"person {place}" for place in range(len(people))]
    ages, sexes, moods = ([str(cell) for cell in cells] for cells in zip(*people, strict=True))
    return pa.table({"name": words, "age": ages, "sex": sexes, "mood": moods, "note": words})


def trial_of(study: Study, people: Sequence[Person], notes: Sequence[str] | None = None) -> Trial:
    """A trial of these people, a letter each."""
    rows = rows_of(people, notes)
    trial = of_study(study, PROTOCOL, {RESPONDENTS: load_rows(study, rows)})
    letters = {name: letters_of(study, name, rows, seed_of(len(people))) for name in (HUB, *TRUSTEES)}
    return replace(trial, letters=letters)


def draw_people(seed: int, count: int) -> list[Person]:
    """Random people of a few ages."""
    stream = stream_of(seed, "people")
    return [(stream.below(12), "FM"[stream.below(2)], MOODS[stream.below(3)]) for _ in range(count)]


def _draw(seed: int) -> Trial:
    return trial_of(study_of(privacy=ASKED[seed % len(ASKED)]), draw_people(seed, 9))


def _smallest() -> Trial:
    """Two classes of two, diversity asked for, a row with a text of its own."""
    people: list[Person] = [(1, "F", "good"), (2, "F", "bad"), (29, "M", "fair"), (30, "M", "good")]
    return trial_of(study_of(k=2, privacy="l = 1.5", note=True), people)


def _twins() -> tuple[Trial, Trial]:
    """The same classes with the same boxes; other people are in them, and answer otherwise."""
    one: list[Person] = [
        (1, "F", "good"), (3, "F", "bad"), (2, "F", "fair"), (28, "M", "good"), (31, "M", "bad"), (29, "M", "bad"),
    ]  # fmt: skip
    other: list[Person] = [
        (28, "M", "bad"), (2, "F", "bad"), (31, "M", "good"), (3, "F", "fair"), (1, "F", "good"), (29, "M", "bad"),
    ]  # fmt: skip
    return trial_of(study_of(), one), trial_of(study_of(), other)


def _marked() -> Marked:
    """Everyone has a name that never leaves."""
    words = {name: canaries.texts(name, 1) for name in names_of(9)}
    people = draw_people(0, 9)
    return Marked(trial_of(study_of(), people, [own[0] for own in words.values()]), texts=words)


PEEL_RESPONDENTS = Case("peel by respondents", _draw, _smallest, _twins, _marked, quick=4)
