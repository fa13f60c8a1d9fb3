"""Small tables for `peel`, and their study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from covey.party.session.data import load_table
from covey.study import Study
from covey.table import Table

Person = tuple[int, str, str, str]

SEXES, TOWNS, ILLS = ("F", "M"), ("a", "b", "c", "d"), ("none", "flu", "asthma", "ulcer")

COLUMNS = """
[columns.age]
role = "quasi"
hierarchy = { min = 0, max = 39, steps = [5, 10, 20] }
[columns.sex]
role = "quasi"
hierarchy = "flat"
values = ["F", "M"]
[columns.town]
role = "quasi"
hierarchy = "flat"
values = ["a", "b", "c", "d"]
[columns.ill]
role = "sensitive"
values = ["none", "flu", "asthma", "ulcer"]
"""
NOTE = '[columns.note]\nrole = "plain"\n'


def names_of(parties: int) -> list[str]:
    return [f"p{place}" for place in range(parties)]


def study_of(
    parties: int = 3,
    *,
    k: int = 3,
    privacy: str = "",
    options: str = "",
    head: str = "",
    note: bool = False,
    protocol: str = "peel",
) -> Study:
    """A small study; with `note` it carries a column whose values it does not list."""
    if protocol == "cluster":
        options += '\nas_printed = true\ncalls = "turn"'
    text = (
        f'[study]\nname = "small"\nprotocol = "{protocol}"\npartition = "horizontal"\n{head}\n[privacy]\nk = {k}\n'
        f"{privacy}\n"
    )
    sections = "".join(f"[parties.{name}]\n" for name in names_of(parties))
    return Study.parse(f"{text}[protocol]\n{options}\n{COLUMNS}{NOTE if note else ''}{sections}")


def draw_people(parties: int, rows: int, seed: int) -> dict[str, list[Person]]:
    """Random people; ages crowd, towns differ in size."""
    random = np.random.default_rng(seed)
    towns = random.choice(4, p=[0.5, 0.25, 0.15, 0.1], size=(parties, rows)).tolist()
    return {
        name: [
            (
                int(min(random.integers(40), random.integers(40))),
                SEXES[random.integers(2)],
                TOWNS[towns[place][row]],
                ILLS[random.integers(4)],
            )
            for row in range(rows)
        ]
        for place, name in enumerate(names_of(parties))
    }


def frame_of(study: Study, people: Sequence[Person]) -> pa.Table:
    cells = {
        "age": [str(person[0]) for person in people],
        "sex": [person[1] for person in people],
        "town": [person[2] for person in people],
        "ill": [person[3] for person in people],
        "note": [f"note {place}" for place in range(len(people))],
    }
    return pa.table({column.name: cells[column.name] for column in study.columns})


def tables_of(study: Study, people: Mapping[str, Sequence[Person]]) -> dict[str, Table]:
    tables = {name: load_table(study, name, frame_of(study, own)) for name, own in people.items()}
    return {name: table for name, table in tables.items() if table is not None}
