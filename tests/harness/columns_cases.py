"""What the harness tries on `cluster` with columns split: small tables of a clinic, an office and an insurer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.csv
from tests.harness import canaries
from tests.harness.hospitals import AGE_AND_SEX, ILLNESS, ILLS
from tests.harness.network import seed_of
from tests.harness.trial import Case, Marked, Trial, keys_of, of_study

from covey.crypto.rng import Rng, Stream, derive
from covey.party.session.data import load_table
from covey.protocols import Result, find
from covey.protocols.as_printed.cluster_columns.ideal import ideal
from covey.protocols.as_printed.cluster_columns.parameters import Parameters
from covey.study import Study
from covey.table import Table

Person = tuple[int, str, str, int, str]
"""Age, sex, income, stay, illness."""

_COLUMNS = f"""
[columns.id]
role = "key"
{AGE_AND_SEX}[columns.income]
role = "quasi"
hierarchy = "flat"
values = ["low", "middle", "high"]
[columns.stay]
role = "quasi"
hierarchy = {{ min = 0, max = 7, steps = [2, 4] }}
{ILLNESS}singles_out = "nobody is real"
"""
_NOTE = '[columns.note]\nrole = "plain"\nsingles_out = "nobody is real"\n'
TWO = {"clinic": ("age", "sex", "ill"), "office": ("income", "stay")}
THREE = {"clinic": ("age", "ill"), "insurer": ("sex", "stay"), "office": ("income",)}


def study_of(
    split: Mapping[str, Sequence[str]] = TWO,
    *,
    k: int = 3,
    privacy: str = "",
    head: str = "",
    note: str | None = None,
) -> Study:
    """A small study with this split; `note` names who has a column whose values the study does not list."""
    return people_study("cluster", split, k=k, privacy=privacy, options="", head=head, roles={}, note=note)


def people_study(
    protocol: str,
    split: Mapping[str, Sequence[str]],
    *,
    k: int,
    privacy: str,
    options: str,
    head: str,
    roles: Mapping[str, str],
    note: str | None,
) -> Study:
    """A small study of these people with a protocol; `roles` are of parties without columns."""
    parts = []
    for name, columns in split.items():
        own = [*columns, *(["note"] if note == name else [])]
        parts.append(f"[parties.{name}]\ncolumns = {own}\n")
    parts += [f'[parties.{name}]\nrole = "{role}"\n' for name, role in roles.items()]
    if protocol == "cluster":
        options = f"as_printed = true\n{options}"
    text = f'[study]\nname = "small"\nprotocol = "{protocol}"\npartition = "vertical"\n{head}\n[privacy]\nk = {k}\n'
    return Study.parse(f"{text}{privacy}\n[protocol]\n{options}\n{_COLUMNS}{_NOTE if note else ''}{''.join(parts)}")


def tables_of(
    study: Study,
    people: Sequence[Person],
    rows: Mapping[str, Sequence[int]] | None = None,
    notes: Sequence[str] | None = None,
    ids: Sequence[str] | None = None,
) -> dict[str, Table]:
    """Each holder's columns of these people, or of the given rows of them."""
    frame = {
        "id": list(ids or [f"p{number:03d}" for number in range(len(people))]),
        "age": [str(person[0]) for person in people],
        "sex": [person[1] for person in people],
        "income": [person[2] for person in people],
        "stay": [str(person[3]) for person in people],
        "ill": [person[4] for person in people],
        "note": list(notes or [f"note {number}" for number in range(len(people))]),
    }
    found = {}
    for party in study.holders:
        some = rows[party.name] if rows else range(len(people))
        own = {column.name: [frame[column.name][row] for row in some] for column in study.held_by(party.name)}
        table = load_table(study, party.name, pa.table(own))
        if table is not None:
            found[party.name] = table
    return found


def trial_of(
    study: Study,
    people: Sequence[Person],
    rows: Mapping[str, Sequence[int]] | None = None,
    notes: Sequence[str] | None = None,
) -> Trial:
    """A trial of these people; the trusted party knows the pivot's secret."""
    tables = tables_of(study, people, rows, notes)
    return of_study(study, find("cluster", "vertical"), tables, ideal=ideal_of(study, tables))


def ideal_of(study: Study, tables: Mapping[str, Table]) -> Result:
    """What a trusted party would release that knows the pivot's secret, as the harness makes it."""
    pivot = keys_of(Parameters.of(study).pivot)
    return ideal(study, tables, derive(pivot.dummy, "lasting", "cluster"))


def draw_people(stream: Stream, count: int) -> list[Person]:
    """Random people; ages crowd at the young end, the rich stay longer."""
    people: list[Person] = []
    for _ in range(count):
        income = stream.below(3)
        people.append(
            (
                min(stream.below(16), stream.below(16)),
                "FM"[stream.below(2)],
                ("low", "middle", "high")[income],
                min(7, income * 2 + stream.below(4)),
                ILLS[stream.below(4)],
            )
        )
    return people


def stream_of(seed: int, *labels: str) -> Stream:
    """Randomness for a trial."""
    return Rng(seed_of(seed)).stream("columns", *labels)


def _draw(seed: int) -> Trial:
    stream = stream_of(seed)
    people = draw_people(stream, 14 + stream.below(30))
    split = THREE if seed % 2 else TWO
    missing = {name: [row for row in range(len(people)) if stream.below(20)] for name in split}
    return trial_of(study_of(split, privacy="l = 1.2" if seed % 3 == 0 else ""), people, missing)


def _smallest() -> Trial:
    """Moves, a split, a merger, and a release with exact values."""
    people = draw_people(stream_of(3, "smallest"), 12)
    return trial_of(study_of(k=2, privacy="l = 1.2"), people)


def mirrored(people: Sequence[Person]) -> list[Person]:
    """The same people with every value turned round: other values, the same prices."""
    sexes, incomes = {"F": "M", "M": "F"}, {"low": "high", "middle": "middle", "high": "low"}
    ills = {"none": "ulcer", "flu": "asthma", "asthma": "flu", "ulcer": "none"}
    return [(15 - age, sexes[sex], incomes[income], 7 - stay, ills[ill]) for age, sex, income, stay, ill in people]


def _twins() -> tuple[Trial, Trial]:
    """The same people, all of whose values are others, but as far apart as before; too few of them to be divided."""
    people = draw_people(stream_of(5, "twins"), 24)
    people = [(age, sex, income, stay, "none") for age, sex, income, stay, _ in people]
    study = study_of(k=13)
    other = [(*person[:4], "none") for person in mirrored(people)]
    return trial_of(study, people), trial_of(study, other)


def _marked() -> Marked:
    """Names of people as keys: nobody but their holders may see one, before or after."""
    people = draw_people(stream_of(0, "marked"), 200)
    study = study_of(k=10)
    words = canaries.texts("everyone", 200)
    tables = tables_of(study, people, ids=words)
    return Marked(of_study(study, find("cluster", "vertical"), tables), texts={"everyone": words})


COLUMNS = Case("cluster-columns", _draw, _smallest, _twins, _marked, 6)
COLUMNS_CASES = (COLUMNS,)
