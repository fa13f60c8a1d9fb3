"""What a run will cost, estimated from the numbers of rows: how deep the division goes is known only afterwards.

How many users are common is nobody's to know before a run: taken is the middle between what chance gives and the most
with which delta can be kept. The figures in capitals are of the parts by themselves, on one core and with keys of 2,048
bits, and of runs on Adult and the samples (populations of 3,000 to 100,000, k = 2 to 100).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from covey.protocols.federate import leakage
from covey.protocols.federate.course import Course, follow
from covey.protocols.federate.groups import Division, Group, GroupTurn
from covey.protocols.federate.parameters import Parameters
from covey.protocols.federate.said import RANGE_BITS, SCORE_BITS, tests_of, width_of
from covey.protocols.protocol import Forecast
from covey.study import Study

SECONDS_PER_MEMBER = 0.7e-3  # encrypting its bit, which both providers do at the same time
SECONDS_PER_PRODUCT = 5e-6
SECONDS_PER_CANDIDATE = 0.9e-3  # its score encrypted, its number packed and read
SECONDS_PER_SIGN = 0.8e-3  # a number to be compared: packed, masked and read
SECONDS_PER_NUMBER = 0.7e-3  # of the release: one for each class and combination of exact values
SECONDS_PER_DIGIT = 0.31e-3  # of a comparison, both sides
SECONDS_PER_ROUND = 4e-3
LONGER_KEYS = 2.3  # computing under keys of b bits takes as many times (b / 2048) to this power

USERS_PER_CLASS = 3.5  # times k: common users of a class, on average
LARGER_HALF = 0.7
DIVIDED_ABOVE = 1.7
"""A group is divided as long as it has so many times the users of an average class."""

MIND = (
    "a provider that knows a user's true value, or that has columns which go with the other's, can tell some dummy "
    "users: a user on the wrong side of a cut is none of the other's",
    "keep the keys folder: its dummy.key makes the same dummy users in the next run; with other keys, or other cuts, "
    "two runs together tell dummy users from real ones",
)


def foresee(study: Study, rows: Mapping[str, int]) -> Forecast:
    """About what a run costs, and what it teaches."""
    params = Parameters.of(study)
    population = len(params.population)
    users = [min(rows.get(name, 0), population) for name in (params.first, params.second)]
    classes = _classes(params, users)
    steps = _typical(params, population, classes)
    course = _alike(params, steps, population, classes)
    lines = [leakage.of_meeting(params), *leakage.before(params), leakage.READY, leakage.of_release(params)]
    learned = {
        party.name: tuple(line for part in lines for line in part.sentences(leakage.role_of(params, party.name)))
        for party in study.parties
    }
    return Forecast(
        rounds=course.rounds,
        messages=course.messages,
        bytes=course.bytes,
        seconds=1 + course.rounds * SECONDS_PER_ROUND + _computing(params, steps, classes),
        learns=learned,
        mind=MIND,
    )


def _common(params: Parameters, users: Sequence[int]) -> float:
    """Common users: the geometric mean of those that chance gives and of the most with which delta can be kept."""
    chance = users[0] * users[1] / len(params.population)
    most = min(users) * float(1 if params.delta is None else params.delta)
    return math.sqrt(chance * max(most, chance))


def _classes(params: Parameters, users: Sequence[int]) -> int:
    """About how many classes there will be: k common users or more in each, and enough for delta to hold by chance.

    Where the part of users that are common is near delta, small classes exceed it: one of n users has a part that
    strays by the root of part (1 - part) / n, for which there must be room.
    """
    common, due = _common(params, users), USERS_PER_CLASS * params.k
    if params.delta is not None and common:
        part = common / min(users)
        room = float(params.delta) - part
        due = max(due, part * part * (1 - part) / room**2) if room > 0 else common
    return max(1, int(common / due))


def _computing(params: Parameters, steps: Sequence[Sequence[GroupTurn]], classes: int) -> float:
    """Seconds: both providers encrypt at once, and then mostly wait for each other."""
    population = len(params.population)
    groups = [step for level in steps for step in level]
    signs, digits, asked = 0, 0, 0
    for step in groups:
        tested, chosen = 2 * tests_of(params), 0 if params.alpha == 1 else max(step.candidates - 1, 0)
        signs += tested + chosen
        digits += tested * (width_of(params, step.size) + 1) + chosen * (SCORE_BITS + 1) + RANGE_BITS + 1
        asked += 0 if params.alpha == 1 else step.candidates
    numbers = population * SECONDS_PER_MEMBER + 2 * population * len(steps) * SECONDS_PER_PRODUCT
    numbers += asked * SECONDS_PER_CANDIDATE + signs * SECONDS_PER_SIGN + classes * params.width * SECONDS_PER_NUMBER
    return float(numbers * (params.bits / 2048) ** LONGER_KEYS + digits * SECONDS_PER_DIGIT)


def _typical(params: Parameters, population: int, classes: int) -> list[list[GroupTurn]]:
    """Groups that are divided unevenly until there are about so many, and then tested once more."""
    cuts = params.candidates or 16
    levels, shares = [], [1.0]
    while shares:
        split = [share * classes > DIVIDED_ABOVE for share in shares]
        turns = enumerate(zip(shares, split, strict=True))
        levels.append(
            [GroupTurn(max(int(share * population), 1), place % 2 == 0, cuts, cut) for place, (share, cut) in turns]
        )
        divided = [share for share, cut in zip(shares, split, strict=True) if cut]
        shares = [share * part for share in divided for part in (LARGER_HALF, 1 - LARGER_HALF)]
    return levels


def _alike(params: Parameters, steps: Sequence[Sequence[GroupTurn]], population: int, classes: int) -> Course:
    """The course of a run whose classes are all alike."""
    leaf = Group("", np.zeros(max(1, population // classes), dtype=np.int64))
    labels = 12 * classes * len(params.study.quasi)
    return follow(params, Division([leaf] * classes, [list(level) for level in steps]), labels)
