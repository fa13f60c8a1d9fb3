"""What the harness tries on `peel` and on its threshold test: small tables of three hospitals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from covey.crypto.field import Words
from covey.crypto.rng import Rng, Stream
from covey.party.data import load_table
from covey.protocols import find
from covey.secure import threshold
from covey.study import Study
from covey.testing import canaries
from covey.testing.network import seed_of
from covey.testing.spent import Spent
from covey.testing.trial import Case, Marked, Trial, of_block, of_study
from covey.wire import Channel

SITES = ("east", "north", "south")
TWO = SITES[:2]
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
    names: Sequence[str] = SITES, *, k: int = 3, privacy: str = "", options: str = "", note: bool = False
) -> Study:
    """A small study; with `note` it carries a column whose values it does not list."""
    text = f'[study]\nname = "small"\nprotocol = "peel"\npartition = "horizontal"\n[privacy]\nk = {k}\n{privacy}\n'
    parties = "".join(f"[parties.{name}]\n" for name in names)
    return Study.parse(f"{text}[protocol]\n{options}\n{_COLUMNS}{_NOTE if note else ''}{parties}")


def trial_of(
    study: Study, people: Mapping[str, Sequence[Person]], notes: Mapping[str, Sequence[str]] | None = None
) -> Trial:
    """A trial of these parties' people."""
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
    return of_study(study, find("peel"), tables)


def draw_people(stream: Stream, least: int, most: int, names: Sequence[str] = SITES) -> dict[str, list[Person]]:
    """Random people of every site; ages crowd at the young end."""
    return {
        name: [
            (min(stream.below(16), stream.below(16)), SEXES[stream.below(2)], ILLS[stream.below(4)])
            for _ in range(least + stream.below(most - least + 1))
        ]
        for name in names
    }


def _stream(seed: int, *labels: str) -> Stream:
    return Rng(seed_of(seed)).stream("peel", *labels)


def _draw(seed: int) -> Trial:
    mode = ("visit", "skip", "wave")[seed % 3]
    return trial_of(study_of(options=f'mode = "{mode}"\nbuckets = 1'), draw_people(_stream(seed), 3, 12))


def _smallest() -> Trial:
    """Hashed buckets, a pure one among them, and a release by shuffle."""
    people: dict[str, list[Person]] = {
        "east": [(1, "F", "flu"), (12, "M", "none")],
        "north": [(1, "F", "none"), (13, "M", "ulcer")],
        "south": [(1, "F", "flu")],
    }
    return trial_of(study_of(k=2, options="buckets = 1", note=True), people)


def _twins() -> tuple[Trial, Trial]:
    """The same joint table, of which the parties hold other parts."""
    everyone = [person for own in draw_people(_stream(7, "twins"), 6, 8).values() for person in own]
    dealt = [{"east": everyone[:3], "north": everyone[3:12], "south": everyone[12:]}]
    turned = everyone[::-1]
    dealt.append({"east": turned[:10], "north": turned[10:11], "south": turned[11:]})
    return trial_of(study_of(), dealt[0]), trial_of(study_of(), dealt[1])


def _marked() -> Marked:
    words = {name: canaries.texts(name) for name in SITES}
    stream = _stream(0, "marked")
    people = {name: draw_people(stream, len(own), len(own))[name] for name, own in words.items()}
    return Marked(trial_of(study_of(k=50), people, words), texts=words)


PEEL = Case("peel", _draw, _smallest, _twins, _marked, quick=6)


def _draw_two(seed: int) -> Trial:
    study = study_of(TWO, options=f'mode = "{("visit", "wave")[seed % 2]}"\nbuckets = 1')
    return trial_of(study, draw_people(_stream(seed, "two"), 3, 15, TWO))


def _smallest_of_two() -> Trial:
    people: dict[str, list[Person]] = {
        "east": [(1, "F", "flu"), (12, "M", "none"), (5, "F", "flu"), (5, "F", "none")],
        "north": [(1, "F", "none"), (13, "M", "ulcer")],
    }
    return trial_of(study_of(TWO, k=2, options="buckets = 1"), people)


def _twins_of_two() -> tuple[Trial, Trial]:
    """The same joint table dealt otherwise; neither has k records of a tuple alone."""
    people = draw_people(_stream(3, "twins of two"), 9, 9, TWO)
    study = study_of(TWO, k=6)
    return trial_of(study, people), trial_of(study, {"east": people["north"], "north": people["east"]})


PEEL_OF_TWO = Case("peel of two", _draw_two, _smallest_of_two, _twins_of_two, quick=6)


def _threshold(numbers: Mapping[str, Words], bound: int) -> Trial:
    async def role(channel: Channel, mine: Words) -> object:
        prepared = await threshold.prepare(channel.at("before"), bound, len(mine))
        return (await threshold.reaches(channel.at("test"), prepared, mine)).tolist()

    parties, width = len(numbers), len(next(iter(numbers.values())))
    before, test = threshold.PREPARATION_COST, threshold.COST
    cost = Spent(
        before.rounds(parties, bound, width) + test.rounds(parties, width),
        before.messages(parties, bound, width) + test.messages(parties, width),
        before.bytes(parties, bound, width) + test.bytes(parties, width),
    )
    return of_block("threshold", numbers, role, dict.fromkeys(numbers, threshold.ideal(numbers, bound).tolist()), cost)


def _draw_numbers(seed: int) -> Trial:
    stream = _stream(seed, "threshold")
    bound, width = 1 + stream.below(12), 1 + stream.below(20)
    return _threshold({name: stream.words_below(8, width) for name in SITES}, bound)


def _words(*numbers: int) -> Words:
    return np.array(numbers, dtype=np.uint64)


THRESHOLD = Case(
    "threshold",
    _draw_numbers,
    lambda: _threshold({"east": _words(1, 0), "north": _words(1, 0), "south": _words(1, 2)}, 3),
    lambda: (
        _threshold({"east": _words(1, 5), "north": _words(1, 0), "south": _words(0, 0)}, 3),
        _threshold({"east": _words(0, 1), "north": _words(0, 9), "south": _words(2, 3)}, 3),
    ),
)

PEEL_CASES = (PEEL, PEEL_OF_TWO, THRESHOLD)
