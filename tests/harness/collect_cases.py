"""What the harness tries on `collect`: six or more people who answer one question, and the collector.

Real and ideal can be equal only where the random numbers do not decide how the line is cut: so people come in crowds,
each in a cell of its own, and every crowd is a class or falls into classes of equal cells.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from tests.harness import canaries
from tests.harness.network import seed_of
from tests.harness.trial import Case, Marked, Trial, of_study

from covey.crypto.rng import Rng, Stream
from covey.party.session.data import load_table
from covey.protocols.as_printed.collect import PROTOCOL
from covey.study import Study

HUB = "office"
MOODS = ("good", "fair", "bad")
Person = tuple[int, str, str]
"""Age, sex, mood."""

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


def names_of(count: int) -> list[str]:
    """Handles for so many respondents."""
    return [f"r{number:02}" for number in range(count)]


def study_of(
    respondents: int, *, k: int = 3, privacy: str = "", protocol: str = "grid = 16\ncommittee = 3", note: bool = False
) -> Study:
    """A small study: sixteen cells, eight ages wide and a sex each."""
    head = f'[study]\nname = "mood"\nprotocol = "collect"\npartition = "respondents"\n[privacy]\nk = {k}\n'
    office = f'[parties.{HUB}]\nrole = "collector"\n'
    parties = office + "".join(f"[parties.{name}]\n" for name in names_of(respondents))
    method = f"[protocol]\nas_printed = true\n{protocol}\n"
    return Study.parse(f"{head}{privacy}\n{method}{_COLUMNS}{_NOTE if note else ''}{parties}")


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


def stream_of(seed: int, *labels: str) -> Stream:
    """Randomness for a trial."""
    return Rng(seed_of(seed)).stream("collect", *labels)


def crowds(stream: Stream, sizes: Sequence[int], *, alike: bool = False) -> list[Person]:
    """Crowds of so many people, each crowd in a cell of its own; `alike` people of a crowd share their mood."""
    cells = stream.permutation(8)
    people: list[Person] = []
    for crowd, size in enumerate(sizes):
        first, sex = int(cells[crowd]) * 4, "FM"[stream.below(2)]
        for place in range(size):
            mood = MOODS[0] if alike else MOODS[place % 3]
            people.append((first + stream.below(4), sex, mood))
    order = stream.permutation(len(people))
    return [people[place] for place in order.tolist()]


def _draw(seed: int) -> Trial:
    stream = stream_of(seed)
    sizes = [3 + stream.below(2) for _ in range(2)]
    return trial_of(study_of(sum(sizes)), crowds(stream, sizes))


def _smallest() -> Trial:
    """Two classes of two, diversity asked for, a row with a text of its own."""
    people: list[Person] = [(1, "F", "good"), (2, "F", "bad"), (29, "M", "fair"), (30, "M", "good")]
    return trial_of(study_of(4, k=2, privacy="l = 1.5", note=True), people)


def _twins() -> tuple[Trial, Trial]:
    """The same classes with the same boxes, and the same people in them; within a class others answer otherwise."""
    one: list[Person] = [
        (1, "F", "good"), (3, "F", "bad"), (2, "F", "fair"), (28, "M", "good"), (31, "M", "bad"), (29, "M", "bad"),
    ]  # fmt: skip
    other: list[Person] = [
        (3, "F", "bad"), (2, "F", "bad"), (1, "F", "good"), (30, "M", "fair"), (28, "M", "fair"), (31, "M", "good"),
    ]  # fmt: skip
    return trial_of(study_of(6), one), trial_of(study_of(6), other)


def _marked() -> Marked:
    """Everyone has a name that never leaves."""
    words = {name: canaries.texts(name, 1) for name in names_of(12)}
    people = crowds(stream_of(0, "marked"), [4] * 3)
    return Marked(trial_of(study_of(12, k=4), people, [own[0] for own in words.values()]), texts=words)


COLLECT = Case("collect", _draw, _smallest, _twins, _marked, quick=4)
