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

TWO = SITES[:2]


def _draw(seed: int) -> Trial:
    mode = ("visit", "skip", "wave")[seed % 3]
    return trial_of(
        study_of("peel", options=f'mode = "{mode}"\nbuckets = 1'), draw_people(stream_of(seed, "peel"), SITES, 3, 12)
    )


def _smallest() -> Trial:
    """Hashed buckets, a pure one among them, and a release by shuffle."""
    people: dict[str, list[Person]] = {
        "east": [(1, "F", "flu"), (12, "M", "none")],
        "north": [(1, "F", "none"), (13, "M", "ulcer")],
        "south": [(1, "F", "flu")],
    }
    return trial_of(study_of("peel", k=2, options="buckets = 1", note=True), people)


def _twins() -> tuple[Trial, Trial]:
    """The same joint table, of which the parties hold other parts."""
    everyone = [person for own in draw_people(stream_of(7, "peel", "twins"), SITES, 6, 8).values() for person in own]
    dealt = [{"east": everyone[:3], "north": everyone[3:12], "south": everyone[12:]}]
    turned = everyone[::-1]
    dealt.append({"east": turned[:10], "north": turned[10:11], "south": turned[11:]})
    study = study_of("peel", privacy="k_insider = 1")
    return trial_of(study, dealt[0]), trial_of(study, dealt[1])


PEEL = Case("peel", _draw, _smallest, _twins, lambda: marked(study_of("peel", k=50)), quick=6)


ASKED = (
    ("", 'leftover = "merge"'),
    ("l = 1.5", 'mode = "visit"'),
    ("k_insider = 2", 'insider = "clip"'),
    ("k_insider = 1", 'leftover = "merge"\nmode = "wave"'),
    ("l = 1.25", 'mode = "wave"'),
    ("", "[evaluate]\njoint = true"),
    ("most_of_a_class = 0.6", 'mode = "skip"'),
    ("l_insider = 1.25\nmost_of_a_class = 0.7", 'mode = "wave"'),
    ("t = 0.3", 'mode = "skip"'),
    ("t = 0.35\nl = 1.2", 'mode = "wave"'),
    ('l = 3\ndiversity = "distinct"', 'mode = "visit"'),
    ('l = 1.7\ndiversity = "entropy"', 'mode = "visit"'),
)
"""What a study may ask for besides k, and how."""


def _draw_asked(seed: int) -> Trial:
    privacy, options = ASKED[seed % len(ASKED)]
    people = draw_people(stream_of(seed, "peel", "asked"), SITES, 6, 12)
    return trial_of(study_of("peel", privacy=privacy, options=f"buckets = 1\n{options}"), people)


def _smallest_asked() -> Trial:
    """One of five is left over, and joins a class."""
    people: dict[str, list[Person]] = {
        "east": [(1, "F", "flu"), (12, "M", "none")],
        "north": [(1, "F", "none"), (12, "M", "ulcer")],
        "south": [(7, "F", "flu")],
    }
    return trial_of(study_of("peel", k=2, options='leftover = "merge"'), people)


def _twins_asked() -> tuple[Trial, Trial]:
    """The same joint table dealt otherwise, with classes that have to be diverse."""
    people = draw_people(stream_of(5, "peel", "twins asked"), SITES, 8, 8)
    turned = {"east": people["south"], "north": people["east"], "south": people["north"]}
    study = study_of("peel", privacy="l = 1.5")
    return trial_of(study, people), trial_of(study, turned)


PEEL_ASKED = Case("peel, asked for more", _draw_asked, _smallest_asked, _twins_asked, quick=12)


def _draw_lending(seed: int) -> Trial:
    options = f'lend = true\nbuckets = 1\nmode = "{("visit", "wave")[seed % 2]}"'
    study = study_of("peel", k=5, privacy=("", "k_insider = 1")[seed // 2 % 2], options=options)
    return trial_of(study, draw_people(stream_of(seed, "peel", "lending"), SITES, 6, 15))


def _smallest_lending() -> Trial:
    """Four of twelve need one more, which a class of six can spare."""
    people: dict[str, list[Person]] = {
        "east": [
            (3, "F", "flu"),
            (3, "F", "none"),
            (0, "F", "none"),
            (5, "F", "flu"),
            (0, "F", "flu"),
            (7, "F", "none"),
        ],
        "north": [(2, "F", "none"), (6, "F", "flu")],
        "south": [(1, "M", "flu"), (0, "F", "flu"), (2, "F", "flu"), (4, "F", "none")],
    }
    return trial_of(study_of("peel", k=5, options="lend = true\nbuckets = 1"), people)


def _twins_lending() -> tuple[Trial, Trial]:
    """The same quasi values, and other people's illnesses."""
    people = draw_people(stream_of(4, "peel", "twins lending"), SITES, 8, 12)
    study = study_of("peel", k=5, options='lend = true\nmode = "wave"')
    ills = [ill for own in people.values() for *_, ill in own][::-1]
    other = {name: [(age, sex, ills.pop()) for age, sex, _ in own] for name, own in people.items()}
    return trial_of(study, people), trial_of(study, other)


PEEL_LENDING = Case("peel, lending", _draw_lending, _smallest_lending, _twins_lending, quick=6)


def _draw_two(seed: int) -> Trial:
    privacy = ("", "t = 0.35", "l = 1.5", 'l = 2\ndiversity = "distinct"')[seed % 4]
    study = study_of("peel", TWO, privacy=privacy, options=f'mode = "{("visit", "wave")[seed % 2]}"\nbuckets = 1')
    return trial_of(study, draw_people(stream_of(seed, "peel", "two"), TWO, 6 if privacy else 3, 15))


def _smallest_of_two() -> Trial:
    people: dict[str, list[Person]] = {
        "east": [(1, "F", "flu"), (12, "M", "none"), (5, "F", "flu"), (5, "F", "none")],
        "north": [(1, "F", "none"), (13, "M", "ulcer")],
    }
    return trial_of(study_of("peel", TWO, k=2, options="buckets = 1"), people)


def _twins_of_two() -> tuple[Trial, Trial]:
    """The same joint table dealt otherwise; neither has k records of a tuple alone."""
    people = draw_people(stream_of(3, "peel", "twins of two"), TWO, 9, 9)
    study = study_of("peel", TWO, k=6)
    return trial_of(study, people), trial_of(study, {"east": people["north"], "north": people["east"]})


PEEL_OF_TWO = Case("peel of two", _draw_two, _smallest_of_two, _twins_of_two, quick=6)


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

PEEL_CASES = (PEEL, PEEL_ASKED, PEEL_LENDING, PEEL_OF_TWO, THRESHOLD)
