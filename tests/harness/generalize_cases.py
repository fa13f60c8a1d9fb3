"""What the harness tries on `generalize`: a clinic and its billing office, in every way to compare and variant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
from tests.harness import canaries
from tests.harness.hospitals import AGE_AND_SEX
from tests.harness.network import seed_of
from tests.harness.spent import Spent
from tests.harness.trial import Case, Marked, Trial, of_study

from covey.crypto.rng import Rng, Stream
from covey.party.session.data import load_table
from covey.protocols.as_printed.generalize import PROTOCOL, cost
from covey.protocols.shared.columns import meeting
from covey.study import Study
from covey.table import Table

OWNERS = ("billing", "clinic")
SEXES = ("F", "M")
ILLS = ("none", "flu", "asthma")
Person = tuple[int, str, str, int, str]
"""Age, sex and illness at the clinic; what was paid, and the plan, at the billing office."""

_COLUMNS = f"""
[columns.patient]
role = "key"
{AGE_AND_SEX}[columns.ill]
role = "sensitive"
values = ["none", "flu", "asthma"]
singles_out = "nobody is real"
[columns.paid]
role = "quasi"
hierarchy = {{ min = 0, max = 15, steps = [4, 8] }}
[columns.plan]
role = "quasi"
hierarchy = "flat"
values = ["a", "b"]
[parties.clinic]
columns = ["age", "sex", "ill"]
[parties.billing]
columns = ["paid", "plan"]
"""
_RECIPIENT = '[parties.registry]\nrole = "recipient"\n'


def study_of(*, k: int = 3, options: str = "", head: str = "", recipient: bool = False) -> Study:
    """A small study of the two owners, with or without a recipient."""
    text = f'[study]\nname = "small"\nprotocol = "generalize"\npartition = "vertical"\n{head}\n[privacy]\nk = {k}\n'
    return Study.parse(f"{text}[protocol]\nas_printed = true\n{options}\n{_COLUMNS}{_RECIPIENT if recipient else ''}")


def tables_of(
    study: Study, people: Mapping[str, Person], only: Mapping[str, Mapping[str, Person]] | None = None
) -> dict[str, Table]:
    """Each owner's columns of these people by id, and of some whom only one of them has."""
    found = {}
    for name in OWNERS:
        own = {**people, **(only or {}).get(name, {})}
        cells = {
            "patient": list(own),
            "age": [str(each[0]) for each in own.values()],
            "sex": [each[1] for each in own.values()],
            "ill": [each[2] for each in own.values()],
            "paid": [str(each[3]) for each in own.values()],
            "plan": [each[4] for each in own.values()],
        }
        frame = pa.table({column.name: cells[column.name] for column in study.held_by(name)})
        if (table := load_table(study, name, frame)) is not None:
            found[name] = table
    return found


def trial_of(study: Study, tables: Mapping[str, Table]) -> Trial:
    """A trial of these tables, with what a run costs, to the message."""
    return of_study(study, PROTOCOL, tables, cost_of(study, tables))


def cost_of(study: Study, tables: Mapping[str, Table]) -> Spent:
    """What a run of these tables costs."""
    sizes = {name: table.rows for name, table in tables.items()}
    estimate, _ = cost.of_tables(study, sizes, meeting.common_rows(study, tables))
    return Spent(estimate.rounds, estimate.messages, estimate.bytes)


def draw_people(stream: Stream, count: int) -> dict[str, Person]:
    """Random people by id; the old pay more."""
    people = {}
    for number in range(count):
        age = min(stream.below(16), stream.below(16))
        paid = min(15, age + stream.below(4))
        person = (age, SEXES[stream.below(2)], ILLS[stream.below(3)], paid, "ab"[stream.below(2)])
        people[f"P{number:04}"] = person
    return people


def stream_of(seed: int, *labels: str) -> Stream:
    """Randomness for a trial."""
    return Rng(seed_of(seed)).stream("generalize", *labels)


_SETTINGS = (
    ("", False),
    ('compare = "threshold"', True),
    ('variant = "datafly"', False),
    ('variant = "finished-cells"', False),
    ('variant = "datafly"', True),
    ('local = "mondrian"', False),  # many rounds: a recipient would hear nothing for long
    ('variant = "finished-cells"', True),
    ('compare = "threshold"\nlocal = "peel"', False),
)


def _draw(seed: int) -> Trial:
    options, recipient = _SETTINGS[seed % len(_SETTINGS)]
    stream = stream_of(seed)
    people = draw_people(stream, 12 + stream.below(30))
    strangers = {
        name: {f"{name} {n}": person for n, person in enumerate(draw_people(stream, 2).values())} for name in OWNERS
    }
    study = study_of(k=2 + seed % 2, options=options, recipient=recipient)
    return trial_of(study, tables_of(study, people, strangers))


def _smallest_of(options: str) -> Trial:
    """Two rounds of two groups each at both parties."""
    people: dict[str, Person] = {
        "1": (1, "F", "flu", 1, "a"),
        "2": (1, "F", "none", 1, "a"),
        "3": (1, "F", "flu", 9, "a"),
        "4": (9, "F", "asthma", 9, "a"),
        "5": (9, "F", "none", 9, "a"),
        "6": (9, "F", "none", 1, "a"),
        "7": (9, "F", "none", 1, "a"),
    }
    study = study_of(k=2, options=options)
    return trial_of(study, tables_of(study, people))


def _twins_of(options: str) -> tuple[Trial, Trial]:
    """The same release of other people with other values: the groups and what they share are as large."""
    study = study_of(k=2, options=options)
    one: dict[str, Person] = {}
    other: dict[str, Person] = {}
    for number in range(24):
        old, rich = number % 2, number % 4 // 2
        odd = number in (0, 5)
        one[f"P{number:03}"] = (9 * old, "F", "flu", 9 * (rich ^ odd), "a")
        other[f"Q{23 - number:03}"] = (9 * old + 1, "F", "flu", 9 * (rich ^ odd) + 2, "a")
    return trial_of(study, tables_of(study, one)), trial_of(study, tables_of(study, other))


def _marked() -> Marked:
    words = canaries.texts("everyone", 300)
    stream = stream_of(0, "marked")
    people = dict(zip(words, draw_people(stream, len(words)).values(), strict=True))
    study = study_of(k=5)
    return Marked(trial_of(study, tables_of(study, people)), texts={"everyone": words})


def _case(name: str, options: str, draw: Sequence[int] | None = None) -> Case:
    return Case(
        name,
        _draw if draw is None else lambda seed: _draw(draw[seed % len(draw)] + len(_SETTINGS) * (seed // len(draw))),
        lambda: _smallest_of(options),
        lambda: _twins_of(options),
        _marked if draw is None else None,
        quick=4,
    )


GENERALIZE = _case("generalize", "")
GENERALIZE_HIDDEN = _case("generalize by thresholds", 'compare = "threshold"\nvariant = "datafly"', (1, 7))
GENERALIZE_FINISHED = _case("generalize with finished cells", 'variant = "finished-cells"', (3, 6))
GENERALIZE_CASES = (GENERALIZE, GENERALIZE_HIDDEN, GENERALIZE_FINISHED)
