"""What the harness tries on `cluster` with columns split: small tables of a clinic, an office and an insurer."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.csv
from tests.harness import canaries
from tests.harness.hospitals import AGE_AND_SEX, ILLNESS, ILLS
from tests.harness.network import seed_of
from tests.harness.trial import Case, Marked, Trial, keys_of, of_study

from covey.crypto.rng import Rng, Stream, derive
from covey.judge import verify
from covey.party.record.run_record import Finished
from covey.party.session.data import load_table
from covey.protocols import Result, find
from covey.protocols.cluster_columns.ideal import ideal
from covey.protocols.cluster_columns.parameters import Parameters
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
    schedule: str = "guarded",
    head: str = "",
    evaluator: bool = False,
    note: str | None = None,
) -> Study:
    """A small study with this split; `note` names who has a column whose values the study does not list."""
    options, roles = f'schedule = "{schedule}"', {"judge": "evaluator"} if evaluator else {}
    return people_study("cluster", split, k=k, privacy=privacy, options=options, head=head, roles=roles, note=note)


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


def judged(trial: Trial) -> Trial:
    """The same where ties are drawn in secret, by the evaluator's disguise: what is compared is what a judge says.

    The judge says whether the release keeps the study, and how many rows it has; exact values are compared in full.
    """

    def say(table: pa.Table) -> object:
        verdict = verify(table, trial.study)
        return verdict.answer, table.num_rows, sorted(table["ill"].to_pylist())

    def answer(name: str, finished: Finished) -> object:
        return None if finished.release is None else say(finished.release)

    def written(content: bytes) -> object:
        names = pyarrow.csv.read_csv(io.BytesIO(content)).column_names
        texts = pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()))
        return say(pyarrow.csv.read_csv(io.BytesIO(content), convert_options=texts))

    tables = {name: table for name, table in trial.tables.items() if table is not None}
    release = ideal_of(trial.study, tables).release
    due = None if release is None else say(release)
    return replace(trial, ideal=dict.fromkeys(trial.ideal, due), answer=answer, written=written)


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


def _draw_judged(seed: int) -> Trial:
    people = draw_people(stream_of(seed, "judged"), 14 + seed % 20)
    return judged(trial_of(study_of(THREE if seed % 2 else TWO, evaluator=True), people))


def _smallest(evaluator: bool) -> Trial:
    """A cut, moves, a split, a merger, and a release with exact values."""
    people = draw_people(stream_of(3, "smallest"), 12)
    return trial_of(study_of(k=2, privacy="l = 1.2", evaluator=evaluator), people)


def mirrored(people: Sequence[Person]) -> list[Person]:
    """The same people with every value turned round: other values, the same prices."""
    sexes, incomes = {"F": "M", "M": "F"}, {"low": "high", "middle": "middle", "high": "low"}
    ills = {"none": "ulcer", "flu": "asthma", "asthma": "flu", "ulcer": "none"}
    return [(15 - age, sexes[sex], incomes[income], 7 - stay, ills[ill]) for age, sex, income, stay, ill in people]


def _twins(evaluator: bool) -> tuple[Trial, Trial]:
    """The same people, all of whose values are others, but as far apart as before; too few of them to be divided."""
    people = draw_people(stream_of(5, "twins"), 24)
    people = [(age, sex, income, stay, "none") for age, sex, income, stay, _ in people]
    study = study_of(k=13, evaluator=evaluator)
    other = [(*person[:4], "none") for person in mirrored(people)]
    pair = trial_of(study, people), trial_of(study, other)
    return (judged(pair[0]), judged(pair[1])) if evaluator else pair


def _marked(evaluator: bool) -> Marked:
    """Names of people as keys: nobody but their holders may see one, before or after."""
    people = draw_people(stream_of(0, "marked"), 200)
    study = study_of(k=10, evaluator=evaluator)
    words = canaries.texts("everyone", 200)
    tables = tables_of(study, people, ids=words)
    trial = of_study(study, find("cluster", "vertical"), tables)
    return Marked(judged(trial) if evaluator else trial, texts={"everyone": words})


COLUMNS = Case("cluster-columns", _draw, lambda: _smallest(False), lambda: _twins(False), lambda: _marked(False), 6)
EVALUATED = Case(
    "cluster-columns-evaluated",
    _draw_judged,
    lambda: judged(_smallest(True)),
    lambda: _twins(True),
    lambda: _marked(True),
    6,
)
COLUMNS_CASES = (COLUMNS, EVALUATED)
