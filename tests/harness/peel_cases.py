"""What the harness tries on `peel` and on its threshold test: small tables of three hospitals."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from tests.harness.hospitals import SITES, Person, draw_people, marked, stream_of, study_of, trial_of
from tests.harness.spent import Spent
from tests.harness.trial import Case, Trial, of_block

from covey.arrays import Words
from covey.secure import threshold_test
from covey.wire import Channel

ASKED = (
    "", "k_insider = 1", "l = 1.5", 'l = 2\ndiversity = "distinct"', "most_of_a_class = 0.6", "l_insider = 1.25"
)  # fmt: skip
"""What a study may ask for besides k."""


def _draw(seed: int) -> Trial:
    people = draw_people(stream_of(seed, "peel"), SITES, 6, 12)
    sizes = 'sizes = "public"' if seed % 2 else ""
    trusts = 'cheating = "trust"' if seed % 3 == 1 else ""
    return trial_of(study_of("peel", privacy=ASKED[seed % len(ASKED)], head=sizes, options=trusts), people)


def _smallest() -> Trial:
    people: dict[str, list[Person]] = {
        "east": [(1, "F", "flu"), (12, "M", "none")],
        "north": [(1, "F", "none"), (13, "M", "ulcer")],
        "south": [(1, "F", "flu")],
    }
    return trial_of(study_of("peel", k=2, note=True), people)


def _twins() -> tuple[Trial, Trial]:
    """The same quasi values, and other people's illnesses."""
    people = draw_people(stream_of(6, "peel", "twins"), SITES, 5, 5)
    ills = [ill for own in people.values() for *_, ill in own][::-1]
    other = {name: [(age, sex, ills.pop()) for age, sex, _ in own] for name, own in people.items()}
    return trial_of(study_of("peel"), people), trial_of(study_of("peel"), other)


PEEL = Case("peel", _draw, _smallest, _twins, lambda: marked(study_of("peel", k=50)), quick=6)


def _threshold(numbers: Mapping[str, Words], bound: int) -> Trial:
    async def role(channel: Channel, mine: Words) -> object:
        prepared = await threshold_test.prepare(channel.at("before"), bound, len(mine))
        return (await threshold_test.reaches(channel.at("test"), prepared, mine)).tolist()

    parties, width = len(numbers), len(next(iter(numbers.values())))
    before, test = threshold_test.PREPARATION_COST, threshold_test.COST
    cost = Spent(
        before.rounds(parties, bound, width) + test.rounds(parties, bound, width),
        before.messages(parties, bound, width) + test.messages(parties, bound, width),
        before.bytes(parties, bound, width) + test.bytes(parties, bound, width),
    )
    return of_block(
        "threshold", numbers, role, dict.fromkeys(numbers, threshold_test.ideal(numbers, bound).tolist()), cost
    )


def _draw_numbers(seed: int) -> Trial:
    stream = stream_of(seed, "threshold")
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

PEEL_CASES = (PEEL, THRESHOLD)
