"""What the harness tries on `cluster`: small tables of three hospitals, released by counts and by shuffle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from covey.crypto.rng import Rng, Stream
from covey.party.data import load_table
from covey.protocols import find
from covey.study import Study
from covey.testing import canaries
from covey.testing.network import seed_of
from covey.testing.trial import Case, Marked, Trial, of_study

SITES = ("east", "north", "south")
SEXES = ("F", "M")
ILLS = ("none", "flu", "asthma", "ulcer")
Person = tuple[int, str, str]

_COLUMNS = """
[columns.patient]
role = "identifier"
[columns.age]
role = "quasi"
hierarchy = { min = 0, max = 15, steps = [2, 4, 8] }
[columns.sex]
role = "quasi"
hierarchy = "flat"
values = ["F", "M"]
[columns.ill]
role = "sensitive"
values = ["none", "flu", "asthma", "ulcer"]
"""
_NOTE = '[columns.note]\nrole = "plain"\n'


def study_of(
    names: Sequence[str] = SITES,
    *,
    k: int = 3,
    privacy: str = "",
    protocol: str = "",
    head: str = "",
    note: bool = False,
) -> Study:
    """A small study for these parties; with `note` it carries a column whose values it does not list."""
    text = f'[study]\nname = "small"\nprotocol = "cluster"\npartition = "horizontal"\n{head}\n[privacy]\nk = {k}\n'
    parties = "".join(f"[parties.{name}]\n" for name in names)
    return Study.parse(f"{text}{privacy}\n[protocol]\n{protocol}\n{_COLUMNS}{_NOTE if note else ''}{parties}")


def trial_of(
    study: Study, people: Mapping[str, Sequence[Person]], notes: Mapping[str, Sequence[str]] | None = None
) -> Trial:
    """A trial of these parties' people."""
    tables = {}
    for name, own in people.items():
        words = notes[name] if notes else [f"{name} {place}" for place in range(len(own))]
        frame = {
            "patient": words,
            "age": [str(age) for age, _, _ in own],
            "sex": [sex for _, sex, _ in own],
            "ill": [ill for _, _, ill in own],
            "note": words,
        }
        columns = [column.name for column in study.columns]
        table = load_table(study, name, pa.table({column: frame[column] for column in columns}))
        if table is not None:
            tables[name] = table
    return of_study(study, find("cluster"), tables)


def draw_people(stream: Stream, names: Sequence[str], least: int, most: int) -> dict[str, list[Person]]:
    """Random people; ages crowd at the young end."""
    return {
        name: [
            (min(stream.below(16), stream.below(16)), SEXES[stream.below(2)], ILLS[stream.below(4)])
            for _ in range(least + stream.below(most - least + 1))
        ]
        for name in names
    }


def stream_of(seed: int, *labels: str) -> Stream:
    """Randomness for a trial."""
    return Rng(seed_of(seed)).stream("cluster", *labels)


def _draw(seed: int) -> Trial:
    return trial_of(study_of(), draw_people(stream_of(seed), SITES, 2, 12))


def _smallest() -> Trial:
    """A division, a turn in which something is asked, and a release by shuffle."""
    people: dict[str, list[Person]] = {
        "east": [(1, "F", "flu"), (1, "M", "none"), (12, "F", "flu")],
        "north": [(1, "F", "none"), (2, "F", "ulcer"), (13, "M", "none")],
        "south": [(3, "M", "flu"), (12, "F", "asthma")],
    }
    return trial_of(study_of(k=2, privacy="l = 1.5", note=True), people)


def _twins() -> tuple[Trial, Trial]:
    """The same joint table, of which the parties hold different parts; no move pays in either."""
    young: Person = (1, "F", "flu")
    old: Person = (12, "M", "none")
    one = {"east": [young] * 4, "north": [young, old], "south": [old] * 4}
    other = {"east": [old] * 3, "north": [young] * 3, "south": [young, young, old, old]}
    return trial_of(study_of(), one), trial_of(study_of(), other)


def _marked() -> Marked:
    words = {name: canaries.texts(name) for name in SITES}
    stream = stream_of(0, "marked")
    people = {name: draw_people(stream, [name], len(own), len(own))[name] for name, own in words.items()}
    return Marked(trial_of(study_of(k=50), people, words), texts=words)


CLUSTER = Case("cluster", _draw, _smallest, _twins, _marked)
