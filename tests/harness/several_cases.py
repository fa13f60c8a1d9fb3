"""What the harness tries on `federate` among three providers and four, and on their comparisons of shared numbers."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
from tests.harness.federate_cases import CURIOUS, GYM, INSURER, Users, owns_of, trial_of
from tests.harness.network import seed_of
from tests.harness.spent import Spent
from tests.harness.trial import Case, Trial, of_block

from covey.arrays import Longs, Words
from covey.crypto.rng import Rng, Stream
from covey.protocols.as_printed.federate import several_cost, shared_numbers
from covey.protocols.as_printed.federate.checking import Notes
from covey.protocols.as_printed.federate.ideal import smallest_delta
from covey.protocols.shared.cost import CostEstimate
from covey.study import Study
from covey.wire import Channel

SCHOOL, BANK = "school", "bank"
_COLUMNS = {
    GYM: {"age": 'role = "quasi"\nhierarchy = { min = 0, max = 19, steps = [5, 10] }\nmissing = "error"'},
    SCHOOL: {"grade": 'role = "quasi"\nhierarchy = { min = 0, max = 7, steps = [4] }\nmissing = "error"'},
    BANK: {"owns": 'role = "quasi"\nhierarchy = "flat"\nvalues = ["car", "flat", "house"]'},
    INSURER: {
        "weight": 'role = "quasi"\nhierarchy = "interval"\nrange = [40, 120]\nmissing = "error"',
        "ill": 'role = "sensitive"\nvalues = ["no", "yes"]\nmissing = "error"\nsingles_out = "nobody is real"',
    },
}


def names_of(providers: int) -> tuple[str, ...]:
    """The providers of a study with so many, in the order of its parameters."""
    return (GYM, SCHOOL, INSURER) if providers == 3 else (GYM, SCHOOL, BANK, INSURER)


def text_of(providers: int, k: int = 2, delta: float | None = 0.9, options: str = "", exact: bool = True) -> str:
    """The study file; without `exact` the insurer has no exact column."""
    columns = {name: dict(_COLUMNS[name]) for name in names_of(providers)}
    if not exact:
        del columns[INSURER]["ill"]
    return "\n".join(
        [
            '[study]\nname = "several"\nprotocol = "federate"\npartition = "vertical"',
            f"[privacy]\nk = {k}" if delta is None else f"[privacy]\nk = {k}\ndelta = {delta}",
            f'[protocol]\nas_printed = true\npopulation = "population.csv"\n{options}',
            '[columns.uid]\nrole = "key"',
            *(f"[columns.{name}]\n{said}" for own in columns.values() for name, said in own.items()),
            *(f"[parties.{name}]\ncolumns = {[*own]}" for name, own in columns.items()),
            f'[parties.{CURIOUS}]\nrole = "recipient"\n',
        ]
    )


@cache
def several_of(
    population: int, providers: int = 3, k: int = 2, delta: float | None = 0.9, options: str = "", exact: bool = True
) -> Study:
    """A study over that many people, u0 and so on."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "population.csv").write_text("".join(f"u{number}\n" for number in range(population)))
        return Study.parse(text_of(providers, k, delta, options, exact), folder)


def draw_several(stream: Stream, study: Study, common: int, missed: int, alone: int) -> Users:
    """That many common users, so many that all have but one, for each, and so many that one has alone."""
    names = [party.name for party in study.holders]
    order = iter(f"u{number}" for number in stream.permutation(study.files["population.csv"].count(b"\n")).tolist())
    has: dict[str, list[str]] = {name: [] for name in names}
    groups = [(common, names)]
    groups += [(missed, [name for name in names if name != left]) for left in names]
    groups += [(alone, [name]) for name in names]
    for count, who in groups:
        for uid in [next(order) for _ in range(count)]:
            for name in who:
                has[name].append(uid)
    return {name: {uid: _row(stream, study, name) for uid in sorted(own)} for name, own in has.items()}


def _row(stream: Stream, study: Study, name: str) -> tuple[str, ...]:
    values = {
        "age": [str(age) for age in range(20)],
        "grade": [str(grade) for grade in range(8)],
        "owns": ["car", "flat", "house"],
        "weight": [str(weight) for weight in range(40, 121)],
        "ill": ["no", "yes"],
    }
    own = [values[column.name] for column in study.held_by(name)[1:]]
    return tuple(each[stream.below(len(each))] for each in own)


_OPTIONS = ("", "alpha = 1", 'presence = "sensitive"', 'score = "paper"\ncandidates = 0', "candidates = 3\nalpha = 0.2")


def draw(seed: int) -> Trial:
    """A run of three providers or four, with the options in turn."""
    stream = Rng(seed_of(seed)).stream("several")
    options, providers = _OPTIONS[seed % len(_OPTIONS)], 4 if seed % 5 == 1 else 3
    exact = "sensitive" in options or seed % 3 > 0
    delta = None if seed % 7 == 6 and "sensitive" not in options else 0.95
    study = several_of(30, providers, delta=delta, options=options, exact=exact)
    while True:
        users = draw_several(stream, study, 5 + stream.below(6), 1 + stream.below(3), stream.below(2))
        least = smallest_delta(*owns_of(study, users))
        if least is not None and least <= 0.95:  # else nothing can be released: tests of their own are about that
            return trial_of(study, users)


def _smallest() -> Trial:
    """Every type of message: cuts that are good, exact values that join two groups again."""
    study = several_of(24, options='presence = "sensitive"\ncandidates = 2', delta=0.99)
    return trial_of(study, draw_several(Rng(seed_of(40)).stream("smallest"), study, 8, 4, 1))


def _twins() -> tuple[Trial, Trial]:
    """Other users, other values and other numbers of them: nothing can be divided, which is what leaks."""
    study = several_of(12, k=3, options="candidates = 2")
    return (
        trial_of(
            study,
            {
                GYM: {f"u{n}": (str(n * 2),) for n in (0, 1, 2, 3, 8, 9)},
                SCHOOL: {f"u{n}": ("3",) for n in (0, 1, 2, 3, 8, 10)},
                INSURER: {f"u{n}": ("60", "no") for n in (0, 1, 2, 3, 9, 10)},
            },
        ),
        trial_of(
            study,
            {
                GYM: {f"u{n}": (str(n + 5),) for n in (4, 5, 6, 0, 7, 9)},
                SCHOOL: {f"u{n}": ("1",) for n in (4, 5, 6, 0, 7, 11)},
                INSURER: {f"u{n}": ("90", "yes") for n in (4, 5, 6, 7, 9, 11)},
            },
        ),
    )


SEVERAL = Case("federate of several", draw, _smallest, _twins, quick=6)


# -- comparisons of shared numbers


def verdicts(numbers: Longs, names: Sequence[str]) -> Trial:
    """The first party deals everything, in rows of which all must be zero or more."""

    async def role(channel: Channel, mine: Words) -> object:
        due = dict.fromkeys(names, 0) | {names[0]: numbers.size}
        dealt = await shared_numbers.deal(channel.at("deal"), mine, due)
        shared = dealt[names[0]].reshape(numbers.shape)
        return (await shared_numbers.none_negative(channel.at("test"), shared, Notes())).tolist()

    inputs = dict.fromkeys(names, np.zeros(0, dtype=np.uint64)) | {names[0]: shared_numbers.encoded(numbers).ravel()}
    estimate = CostEstimate()
    several_cost.add_dealt(estimate, names, {names[0]: numbers.size})
    several_cost.add_verdicts(estimate, names, *numbers.shape)
    cost = Spent(estimate.rounds, estimate.messages, estimate.bytes)
    return of_block("signs", inputs, role, dict.fromkeys(names, shared_numbers.ideal(numbers).tolist()), cost)


def _draw_verdicts(seed: int) -> Trial:
    stream = Rng(seed_of(seed)).stream("shared signs")
    shape = 1 + stream.below(4), 1 + stream.below(3)
    bound = min((1 << (1 + stream.below(60))) - 1, shared_numbers.MOST)
    numbers = [stream.below(2 * bound + 1) - bound for _ in range(shape[0] * shape[1])]
    return verdicts(np.array(numbers, dtype=np.int64).reshape(shape), ("a", "b", "c", "d", "e")[: 3 + stream.below(3)])


SHARED_SIGNS = Case(
    "signs of shared numbers",
    _draw_verdicts,
    lambda: verdicts(np.array([[1], [-1]]), ("a", "b", "c")),
    lambda: (
        verdicts(np.array([[3, -1], [0, 2]]), ("a", "b", "c")),
        verdicts(np.array([[-5, 4], [1, 15]]), ("a", "b", "c")),
    ),
    quick=6,
)


def largest_of(numbers: Sequence[Sequence[int]], names: Sequence[str]) -> Trial:
    """The first party deals everything; everyone learns the place of each group's largest."""
    flat, sizes = np.array([each for own in numbers for each in own]), [len(own) for own in numbers]
    marks = np.array([place for own in numbers for place in range(len(own))], dtype=np.uint64)

    async def role(channel: Channel, mine: Words) -> object:
        due = dict.fromkeys(names, 0) | {names[0]: len(flat)}
        dealt = await shared_numbers.deal(channel.at("deal"), mine, due)
        found = await shared_numbers.largest(channel.at("largest"), sizes, dealt[names[0]], marks)
        return (await shared_numbers.opened(channel.at("open"), found)).tolist()

    inputs = dict.fromkeys(names, np.zeros(0, dtype=np.uint64)) | {names[0]: shared_numbers.encoded(flat)}
    estimate = CostEstimate()
    several_cost.add_dealt(estimate, names, {names[0]: len(flat)})
    several_cost.add_largest(estimate, names, sizes)
    several_cost.add_opening(estimate, names, len(sizes))
    cost = Spent(estimate.rounds, estimate.messages, estimate.bytes)
    return of_block("largest", inputs, role, {name: [int(np.argmax(own)) for own in numbers] for name in names}, cost)


def draw_largest(seed: int) -> Trial:
    stream = Rng(seed_of(seed)).stream("shared largest")
    sizes = [1 + stream.below(6) for _ in range(1 + stream.below(3))]
    numbers = [(stream.permutation(40)[:size] - 20).tolist() for size in sizes]
    return largest_of(numbers, ("a", "b", "c", "d", "e")[: 3 + stream.below(3)])


SEVERAL_CASES = (SEVERAL, SHARED_SIGNS)
