"""What a run will cost, estimated from the numbers of rows: how deep the division goes is known only afterwards.

The figures in capitals are from runs on Adult (populations of 3,000 to 100,000, k = 2 to 10), on one core of two.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from covey.protocols.federate import leaks
from covey.protocols.federate.clear import Division, Group, Step
from covey.protocols.federate.course import Course, follow
from covey.protocols.federate.said import RANGE_BITS, SCORE_BITS, tests_of, width_of
from covey.protocols.federate.terms import Terms
from covey.protocols.protocol import Forecast
from covey.study import Study

SECONDS_PER_MEMBER = 0.9e-3  # encrypting its bit
SECONDS_PER_PRODUCT = 8e-6
SECONDS_PER_DIGIT = 0.35e-3  # of a comparison, both sides
USERS_PER_CLASS = 5  # times k: common users of a class, on average

MIND = (
    "a provider that knows a user's true value, or that has columns which go with the other's, can tell some dummy "
    "users: a user on the wrong side of a cut is none of the other's",
    "keep the keys folder: its dummy.key makes the same dummy users in the next run; with other keys, or other cuts, "
    "two runs together tell dummy users from real ones",
)


def foresee(study: Study, rows: Mapping[str, int]) -> Forecast:
    """About what a run costs, and what it teaches."""
    terms = Terms.of(study)
    population = len(terms.population)
    users = [min(rows.get(name, 0), population) for name in (terms.first, terms.second)]
    common = users[0] * users[1] / population
    classes = max(1, int(common / (USERS_PER_CLASS * terms.k)))
    steps = _typical(terms, population, classes)
    course = _alike(terms, steps, population, classes)
    digits = sum(
        (2 * tests_of(terms) * width_of(terms, step.size) + RANGE_BITS + _digits_of_choice(terms, step.candidates))
        for level in steps
        for step in level
    )
    products = 2 * population * len(steps)
    seconds = population * SECONDS_PER_MEMBER + products * SECONDS_PER_PRODUCT + digits * SECONDS_PER_DIGIT
    lines = [leaks.of_meeting(terms), *leaks.before(terms), leaks.READY, leaks.of_release(terms)]
    learned = {
        party.name: tuple(line for part in lines for line in part.sentences(leaks.role_of(terms, party.name)))
        for party in study.parties
    }
    return Forecast(
        rounds=course.rounds,
        messages=course.messages,
        bytes=course.bytes,
        seconds=1 + seconds,
        learns=learned,
        mind=MIND,
    )


def _digits_of_choice(terms: Terms, candidates: int) -> int:
    return 0 if terms.alpha == 1 else max(candidates - 1, 0) * SCORE_BITS


def _typical(terms: Terms, population: int, classes: int) -> list[list[Step]]:
    """Groups that are halved until there are so many, and then tested once more."""
    depth = math.ceil(math.log2(classes)) if classes > 1 else 0
    cuts = terms.candidates or 16
    course = []
    for number in range(depth + 1):
        groups = min(1 << number, classes)
        split = number < depth
        course.append([Step(population // groups, place % 2 == 0, cuts, split) for place in range(groups)])
    return course


def _alike(terms: Terms, steps: Sequence[Sequence[Step]], population: int, classes: int) -> Course:
    """The course of a run whose classes are all alike."""
    leaf = Group("", np.zeros(max(1, population // classes), dtype=np.int64))
    labels = 12 * classes * len(terms.study.quasi)
    return follow(terms, Division([leaf] * classes, [list(level) for level in steps]), labels)
