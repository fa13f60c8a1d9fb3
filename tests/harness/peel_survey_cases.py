"""What the harness tries on `collect` by peeling: a few people who answer, three trustees, and the collector."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from tests.harness import canaries
from tests.harness.collect_cases import HUB, MOODS, Person, names_of, stream_of
from tests.harness.trial import Case, Marked, Trial, of_study

from covey.party.session.data import load_table
from covey.protocols.collect_peel import PROTOCOL
from covey.study import Study

TRUSTEES = ("board", "patients", "university")
_COLUMNS = """
[columns.name]
role = "identifier"
[columns.age]
role = "quasi"
hierarchy = { min = 0, max = 31, steps = [8] }
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


def study_text(
    respondents: int,
    *,
    k: int = 3,
    privacy: str = "",
    protocol: str = "nodes = 3",
    note: bool = False,
    trustees: Sequence[str] = TRUSTEES,
) -> str:
    """A small study with respondents as parties; without trustees where they are to be drawn."""
    head = f'[study]\nname = "mood"\nprotocol = "collect"\npartition = "respondents"\n[privacy]\nk = {k}\n'
    parties = f'[parties.{HUB}]\nrole = "collector"\n'
    parties += "".join(f'[parties.{name}]\nrole = "trustee"\n' for name in trustees)
    parties += "".join(f"[parties.{name}]\n" for name in names_of(respondents))
    return f"{head}{privacy}\n[protocol]\n{protocol}\n{_COLUMNS}{_NOTE if note else ''}{parties}"


def study_of(respondents: int, **options: object) -> Study:
    """The study of that text."""
    return Study.parse(study_text(respondents, **options))  # type: ignore[arg-type]


def trial_of(study: Study, people: Sequence[Person], notes: Sequence[str] | None = None) -> Trial:
    """A trial of these people, a respondent each; a note is also its owner's name."""
    tables = {}
    for place, (name, (age, sex, mood)) in enumerate(zip(names_of(len(people)), people, strict=True)):
        word = notes[place] if notes else f"person {place}"
        frame = {"name": [word], "age": [str(age)], "sex": [sex], "mood": [mood], "note": [word]}
        columns = [column.name for column in study.columns]
        table = load_table(study, name, pa.table({column: frame[column] for column in columns}))
        if table is not None:
            tables[name] = table
    return of_study(study, PROTOCOL, tables)


def draw_people(seed: int, count: int) -> list[Person]:
    """Random people of a few ages."""
    stream = stream_of(seed, "people")
    return [(stream.below(12), "FM"[stream.below(2)], MOODS[stream.below(3)]) for _ in range(count)]


def _draw(seed: int) -> Trial:
    people = draw_people(seed, 8)
    return trial_of(study_of(len(people), trustees=TRUSTEES if seed % 2 else ()), people)


def _smallest() -> Trial:
    """Two classes of two, diversity asked for, a row with a text of its own, drawn trustees."""
    people: list[Person] = [(1, "F", "good"), (2, "F", "bad"), (29, "M", "fair"), (30, "M", "good")]
    return trial_of(study_of(4, k=2, privacy="l = 1.5", note=True, trustees=(), protocol="nodes = 2"), people)


def _twins() -> tuple[Trial, Trial]:
    """The same classes with the same boxes; other people are in them, and answer otherwise."""
    one: list[Person] = [
        (1, "F", "good"), (3, "F", "bad"), (2, "F", "fair"), (28, "M", "good"), (31, "M", "bad"), (29, "M", "bad"),
    ]  # fmt: skip
    other: list[Person] = [
        (28, "M", "bad"), (2, "F", "bad"), (31, "M", "good"), (3, "F", "fair"), (1, "F", "good"), (29, "M", "bad"),
    ]  # fmt: skip
    return trial_of(study_of(6), one), trial_of(study_of(6), other)


def _marked() -> Marked:
    """Everyone has a name that never leaves."""
    words = {name: canaries.texts(name, 1) for name in names_of(9)}
    people = draw_people(0, 9)
    return Marked(trial_of(study_of(9), people, [own[0] for own in words.values()]), texts=words)


PEEL_SURVEY = Case("collect by peeling", _draw, _smallest, _twins, _marked, quick=4)
