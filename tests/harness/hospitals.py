"""Small tables of hospitals, on which the harness tries protocols for rows: studies, people, and trials of both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
from tests.harness import canaries
from tests.harness.network import seed_of
from tests.harness.trial import Marked, Trial, of_study

from covey import protocols
from covey.crypto.rng import Rng, Stream
from covey.party.session.data import load_table
from covey.study import Study
from covey.table import Table

SITES = ("east", "north", "south")
SEXES = ("F", "M")
ILLS = ("none", "flu", "asthma", "ulcer")
Person = tuple[int, str, str]
"""Age, sex and what the person suffers from."""

AGE_AND_SEX = """
[columns.age]
role = "quasi"
hierarchy = { min = 0, max = 15, steps = [2, 4, 8] }
[columns.sex]
role = "quasi"
hierarchy = "flat"
values = ["F", "M"]
"""
ILLNESS = f"""
[columns.ill]
role = "sensitive"
values = {list(ILLS)}
"""
_COLUMNS = f'[columns.patient]\nrole = "identifier"\n{AGE_AND_SEX}{ILLNESS}'
_NOTE = '[columns.note]\nrole = "plain"\n'


def study_of(
    protocol: str,
    names: Sequence[str] = SITES,
    *,
    k: int = 3,
    privacy: str = "",
    options: str = "",
    head: str = "",
    note: bool = False,
) -> Study:
    """A small study for these parties; with `note` it carries a column whose values it does not list."""
    if protocol in ("cluster", "suppress"):
        options = f"as_printed = true\n{options}"
    if protocol == "cluster" and "calls" not in options:
        options += '\ncalls = "turn"'
    text = f'[study]\nname = "small"\nprotocol = "{protocol}"\npartition = "horizontal"\n{head}\n[privacy]\nk = {k}\n'
    parties = "".join(f"[parties.{name}]\n" for name in names)
    return Study.parse(f"{text}{privacy}\n[protocol]\n{options}\n{_COLUMNS}{_NOTE if note else ''}{parties}")


def tables_of(
    study: Study, people: Mapping[str, Sequence[Person]], notes: Mapping[str, Sequence[str]] | None = None
) -> dict[str, Table]:
    """These people as the parties' tables."""
    tables = {}
    for name, own in people.items():
        words = notes[name] if notes else [f"{name} {place}" for place in range(len(own))]
        cells = {
            "patient": words,
            "age": [str(age) for age, _, _ in own],
            "sex": [sex for _, sex, _ in own],
            "ill": [ill for _, _, ill in own],
            "note": words,
        }
        frame = pa.table({column.name: cells[column.name] for column in study.columns})
        if (table := load_table(study, name, frame)) is not None:
            tables[name] = table
    return tables


def frame_of(people: Sequence[Person]) -> pa.Table:
    """These people as a file would have them."""
    age, sex, ill = (list(map(str, cells)) for cells in zip(*people, strict=True))
    return pa.table({"patient": list(map(str, range(len(people)))), "age": age, "sex": sex, "ill": ill})


def trial_of(
    study: Study, people: Mapping[str, Sequence[Person]], notes: Mapping[str, Sequence[str]] | None = None
) -> Trial:
    """A trial of the study's protocol on these parties' people."""
    return of_study(study, protocols.of_study(study), tables_of(study, people, notes))


def draw_people(
    stream: Stream, names: Sequence[str], least: int, most: int, spread: int = 16
) -> dict[str, list[Person]]:
    """Random people of every site, of so many ages; they crowd at the young end."""
    return {
        name: [
            (min(stream.below(spread), stream.below(spread)), SEXES[stream.below(2)], ILLS[stream.below(4)])
            for _ in range(least + stream.below(most - least + 1))
        ]
        for name in names
    }


def stream_of(seed: int, *labels: str) -> Stream:
    """Randomness for a trial."""
    return Rng(seed_of(seed)).stream("hospitals", *labels)


def marked(study: Study) -> Marked:
    """A trial of the three sites whose patients and notes are canaries."""
    words = {name: canaries.texts(name) for name in SITES}
    stream = stream_of(0, "marked")
    people = {name: draw_people(stream, [name], len(own), len(own))[name] for name, own in words.items()}
    return Marked(trial_of(study, people, words), texts=words)
