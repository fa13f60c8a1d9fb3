"""What the harness tries on `federate` and on its comparisons: small populations, keys that protect nothing."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
from tests.harness.network import seed_of
from tests.harness.spent import Spent, with_recognition
from tests.harness.tiny_keys import TINY
from tests.harness.trial import Case, Trial, keys_of, of_block

from covey.crypto.paillier import SecretKey
from covey.crypto.reading import ReadingKey
from covey.crypto.rng import Rng, Stream, derive
from covey.crypto.secret import Secret
from covey.protocols.as_printed import federate
from covey.protocols.as_printed.federate import comparison, cost, largest, window
from covey.protocols.as_printed.federate.ideal import divide, smallest_delta
from covey.protocols.as_printed.federate.parameters import Parameters
from covey.protocols.as_printed.federate.users import OwnUsers
from covey.sources.release import arrange, canonical_csv
from covey.study import Study
from covey.table import Table, build, read
from covey.wire import Channel

GYM, INSURER, CURIOUS = "gym", "insurer", "researcher"
_STUDY = """
[study]
name = "federated"
protocol = "federate"
partition = "vertical"
[privacy]
k = {k}
{delta}
[protocol]
as_printed = true
population = "population.csv"
bits = {bits}
{options}
[columns.uid]
role = "key"
[columns.age]
role = "quasi"
hierarchy = {{ min = 0, max = 19, steps = [5, 10] }}
missing = "error"
[columns.sex]
role = "quasi"
hierarchy = "flat"
values = ["F", "M"]
[columns.stay]
role = "quasi"
hierarchy = {{ min = 0, max = 9, steps = [5] }}
missing = "error"
[columns.weight]
role = "quasi"
hierarchy = "interval"
range = [40, 120]
missing = "error"
[columns.ill]
role = "sensitive"
values = ["no", "yes"]
singles_out = "nobody is real"
missing = "error"
[parties.gym]
columns = ["age", "sex"]
[parties.insurer]
columns = ["stay", "weight", "ill"]
[parties.researcher]
role = "recipient"
"""

Users = Mapping[str, Mapping[str, Sequence[str]]]
"""By provider: its users' cells in its own columns, by id."""


@cache
def study_of(population: int, k: int = 2, delta: float | None = 0.9, options: str = "", bits: int = TINY) -> Study:
    """A study over that many people, u0 and so on."""
    asked = "" if delta is None else f"delta = {delta}"
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "population.csv").write_text("".join(f"u{number}\n" for number in range(population)))
        return Study.parse(_STUDY.format(k=k, delta=asked, options=options, bits=bits), folder)


def tables_of(study: Study, users: Users) -> dict[str, Table]:
    """The providers' tables."""
    tables = {}
    for name, own in users.items():
        columns = study.held_by(name)
        cells = {column.name: [row[place] for row in own.values()] for place, column in enumerate(columns[1:])}
        frame = pa.table({"uid": list(own), **cells})
        tables[name] = build(read(frame.to_batches(), columns, name), study)
    return tables


def lasting_of(name: str) -> Secret:
    """What a party's seat holds in the harness, from run to run."""
    return derive(keys_of(name).dummy, "lasting", federate.PROTOCOL.name)


def owns_of(study: Study, users: Users) -> tuple[Parameters, list[OwnUsers]]:
    """All providers' sides, with the harness's keys."""
    params, tables = Parameters.of(study), tables_of(study, users)
    return params, [OwnUsers.of(params, tables[name], lasting_of(name)) for name in params.providers]


def trial_of(study: Study, users: Users) -> Trial:
    """A run on these users, its exact cost included where all groups of a level go at once."""
    tables = tables_of(study, users)
    names = [party.name for party in study.parties]
    ideal = federate.ideal(study, tables, {name: lasting_of(name) for name in tables})
    due = None if ideal.release is None else canonical_csv(arrange(ideal.release))
    return Trial(
        study=study,
        protocol=federate.PROTOCOL,
        tables={name: tables.get(name) for name in names},
        ideal={name: due if name == CURIOUS else None for name in names},
        answer=lambda name, finished: None if finished.release is None else canonical_csv(finished.release),
        cost=None if (spent := cost_of(study, users)) is None else with_recognition(spent, study),
    )


def cost_of(study: Study, users: Users) -> Spent | None:
    """What a run costs, from its course in the clear."""
    params, owns = owns_of(study, users)
    if not params.by_level:
        return None
    division = divide(params, owns)
    boxes = [own.box(group.members) for own in owns for group in division.leaves]
    found = cost.of_run(params, division, sum(1 + sum(len(label.encode()) + 1 for label in box) for box in boxes))
    return Spent(found.rounds, found.messages, found.bytes)


def draw_users(stream: Stream, population: int, common: int, extra: int) -> Users:
    """That many common users and so many more at each provider."""
    order = [f"u{number}" for number in stream.permutation(population).tolist()]
    has = {GYM: order[: common + extra], INSURER: order[:common] + order[common + extra : common + 2 * extra]}
    sexes, ills = ("F", "M"), ("no", "yes")
    return {
        GYM: {uid: (str(stream.below(20)), sexes[stream.below(2)]) for uid in has[GYM]},
        INSURER: {
            uid: (str(stream.below(10)), str(40 + stream.below(81)), ills[stream.below(2)]) for uid in has[INSURER]
        },
    }


_OPTIONS = (
    "",
    "alpha = 1",
    'score = "paper"\ncandidates = 0',
    'presence = "sensitive"',
    "candidates = 3\nalpha = 0.2",
    'schedule = "paper"\ncandidates = 2',
)


def _draw(seed: int) -> Trial:
    stream = Rng(seed_of(seed)).stream("federate")
    options = _OPTIONS[seed % len(_OPTIONS)]
    delta = None if seed % 7 == 6 and "sensitive" not in options else 0.95
    study = study_of(30, delta=delta, options=options)
    while True:
        users = draw_users(stream, 30, 6 + stream.below(10), 3 + stream.below(5))
        least = smallest_delta(*owns_of(study, users))
        if least is not None and least <= 0.95:  # else nothing can be released: tests of their own are about that
            return trial_of(study, users)


def _smallest() -> Trial:
    """Both divide, exact values join two groups again, and a class reaches the recipient."""
    study = study_of(12, options='presence = "sensitive"\ncandidates = 2', delta=0.99)
    return trial_of(study, draw_users(Rng(seed_of(12)).stream("smallest"), 12, 6, 3))


def _twins() -> tuple[Trial, Trial]:
    """Other users, other values and other numbers of them: nothing can be divided, which is what leakage."""
    study = study_of(12, k=3, options="candidates = 2")
    return (
        trial_of(
            study,
            {
                GYM: {f"u{n}": (str(n * 2), "FM"[n % 2]) for n in (0, 1, 2, 3, 9)},
                INSURER: {f"u{n}": (str(n), str(40 + 10 * n), "no") for n in (0, 1, 2, 3, 8)},
            },
        ),
        trial_of(
            study,
            {
                GYM: {f"u{n}": (str(19 - n), "MF"[n % 2]) for n in (4, 5, 6, 7, 8, 9, 11)},
                INSURER: {f"u{n}": (str(9 - n % 9), str(120 - 9 * (n % 9)), "yes") for n in (0, 4, 5, 6, 7)},
            },
        ),
    )


FEDERATE = Case("federate", _draw, _smallest, _twins, quick=6)


# -- the blocks


@dataclass(frozen=True)
class _Side:
    """A party of a comparison: what only it has."""

    secret: SecretKey
    reading: ReadingKey
    asks: bool


@cache
def _sides() -> dict[str, _Side]:
    rng = Rng(seed_of(12))
    secret, reading = SecretKey(TINY, rng.stream("numbers"), least_bits=TINY), ReadingKey(rng.stream("bits"))
    return {"a": _Side(secret, reading, True), "b": _Side(secret, reading, False)}


def _signs(numbers: Sequence[int], width: int, together: int) -> Trial:
    encrypted = _sides()["b"].secret.encrypt(numbers, Rng(seed_of(3)).stream("numbers"))
    widths = np.full(len(numbers), width)

    async def role(channel: Channel, mine: _Side) -> object:
        signs, verdict = channel.at("signs"), channel.at("verdict")
        if mine.asks:
            shares = await comparison.ask_signs(signs, "b", mine.reading.public, encrypted, widths)
            answer = await comparison.ask_verdicts(verdict, "b", mine.reading.public, shares, together)
        else:
            shares = await comparison.answer_signs(signs, "a", mine.secret, mine.reading, widths)
            answer = await comparison.answer_verdicts(verdict, "a", mine.reading, shares, together)
        return answer.tolist()

    due = comparison.ideal_signs(numbers).reshape(-1, together).all(axis=1).tolist()
    one, two = comparison.SIGN_COST, comparison.VERDICT_COST
    count = len(numbers)
    cost = Spent(
        one.rounds(widths, TINY) + two.rounds(count, together),
        one.messages(widths, TINY) + two.messages(count, together),
        one.bytes(widths, TINY) + two.bytes(count, together),
    )
    return of_block("comparison", _sides(), role, {"a": due, "b": due}, cost)


def _draw_signs(seed: int) -> Trial:
    stream = Rng(seed_of(seed)).stream("signs")
    width, together = 1 + stream.below(12), 1 + stream.below(4)
    bound = (1 << width) - 1
    numbers = [stream.below(2 * bound + 1) - bound for _ in range(together * (1 + stream.below(4)))]
    return _signs(numbers, width, together)


COMPARISON = Case(
    "comparison",
    _draw_signs,
    lambda: _signs([1, -1], 2, 1),
    lambda: (_signs([3, -1, 0, 2], 4, 2), _signs([-5, 4, 1, 15], 4, 2)),
)


def _largest(mine: Sequence[Sequence[int]], theirs: Sequence[Sequence[int]]) -> Trial:
    flat = [number for own in theirs for number in own]
    encrypted = _sides()["b"].secret.encrypt(flat, Rng(seed_of(4)).stream("scores"))
    own, sizes = [np.array(each) for each in mine], [len(each) for each in mine]
    width = 8

    async def role(channel: Channel, side: _Side) -> object:
        if side.asks:
            return await largest.ask(channel, "b", side.reading.public, own, encrypted, width)
        await largest.answer(channel, "a", side.secret, side.reading, sizes, width)
        return None

    due = largest.ideal(own, [np.array(each) for each in theirs])
    part = largest.COST
    cost = Spent(part.rounds(sizes, width, TINY), part.messages(sizes, width, TINY), part.bytes(sizes, width, TINY))
    return of_block("largest", _sides(), role, {"a": due, "b": None}, cost)


def _draw_largest(seed: int) -> Trial:
    stream = Rng(seed_of(seed)).stream("largest")
    sizes = [1 + stream.below(6) for _ in range(1 + stream.below(3))]
    mine, theirs = ([[stream.below(60) - 20 for _ in range(size)] for size in sizes] for _ in range(2))
    return _largest(mine, theirs)


LARGEST = Case(
    "largest",
    _draw_largest,
    lambda: _largest([[1, 2]], [[5, 5]]),
    lambda: (_largest([[1, 2, 3], [4]], [[0, 0, 0], [1]]), _largest([[9, 1, 30], [2]], [[0, 3, 5], [7]])),
)


def _window(mine: str, theirs: str, k: int) -> Trial:
    bits = {name: np.array([mark == "1" for mark in text]) for name, text in (("a", mine), ("b", theirs))}

    async def role(channel: Channel, side: _Side) -> object:
        if side.asks:
            return await window.ask_below(channel, "b", side.reading.public, bits["a"], k)
        return await window.answer_below(channel, "a", side.reading, bits["b"], k)

    due = window.ideal(bits["a"], bits["b"], k)
    size, part = len(mine), window.COST
    cost = Spent(part.rounds(size, k), part.messages(size, k), part.bytes(size, k))
    return of_block("window", _sides(), role, {"a": due, "b": due}, cost)


def _draw_window(seed: int) -> Trial:
    stream = Rng(seed_of(seed)).stream("window")
    size = 1 + stream.below(12)
    mine, theirs = ("".join("01"[stream.below(2)] for _ in range(size)) for _ in range(2))
    return _window(mine, theirs, 1 + stream.below(5))


WINDOW = Case(
    "window",
    _draw_window,
    lambda: _window("11", "10", 2),
    lambda: (_window("1100", "0110", 2), _window("0011", "1101", 2)),
)

FEDERATE_CASES = (FEDERATE, COMPARISON, LARGEST, WINDOW)
