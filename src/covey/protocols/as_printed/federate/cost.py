"""The cost of a run: exact, from what was public on its way, and as an estimate from the numbers of rows.

How deep the division goes, and how many users are common, is known only afterwards. Of two providers a trusted party's
division of users like theirs says how deep; of more it is taken to be as in earlier runs. The common users are the
middle between what chance gives and the most with which delta can be kept. The figures in capitals are of the parts by
themselves, on one core and with keys of 2,048 bits, and of runs on Adult and the samples (populations of 3,000 to
100,000, k = 2 to 100).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from covey.arrays import Longs
from covey.crypto import paillier_proof
from covey.crypto.rng import Rng, derive
from covey.crypto.secret import Secret
from covey.errors import Unmet
from covey.protocols.as_printed.federate import comparison, largest, leakage, several_cost
from covey.protocols.as_printed.federate.comparison import HIDING
from covey.protocols.as_printed.federate.cutting import RANGE_BITS, SCORE_BITS
from covey.protocols.as_printed.federate.delivery import CHUNK, READY_BYTES
from covey.protocols.as_printed.federate.groups import Division, Group, GroupTurn
from covey.protocols.as_printed.federate.ideal import divide
from covey.protocols.as_printed.federate.meeting import BIT_KEY_BYTES, NUMBER_KEY_BYTES, PROOF_BYTES, room_for
from covey.protocols.as_printed.federate.parameters import POPULATION, Parameters
from covey.protocols.as_printed.federate.several_cost import VECTOR_BYTES
from covey.protocols.as_printed.federate.thresholds import tests_of, width_of
from covey.protocols.as_printed.federate.users import OwnUsers
from covey.protocols.protocol import Forecast
from covey.protocols.shared import model
from covey.protocols.shared.cost import CostEstimate, Rehearsal, carry_on
from covey.protocols.shared.peeling.marginals import study_seed
from covey.protocols.shared.rows import carried
from covey.secure import approval, ciphers, lists
from covey.study import Study
from covey.table import Table, Values
from covey.wire import chunks

SECONDS_PER_MEMBER = 1.2e-3  # encrypting and proving its bit, checking the other's; both providers at the same time
SECONDS_PER_PRODUCT = 5e-6
SECONDS_PER_CANDIDATE = 0.9e-3  # its score encrypted, its number packed and read
SECONDS_PER_SIGN = 0.8e-3  # a number to be compared: packed, masked and read
SECONDS_PER_NUMBER = 0.7e-3  # of the release: one for each class and combination of exact values
SECONDS_PER_DIGIT = 0.31e-3  # of a comparison, both sides
SECONDS_PER_ROUND = 4e-3
SECONDS_PER_SHARED_SIGN = 0.3e-3  # three providers or more: a comparison of shared numbers, all sides
SECONDS_PER_SHARED_BYTE = 2e-8
LONGER_KEYS = 2.3  # computing under keys of b bits takes as many times (b / 2048) to this power

USERS_PER_CLASS = 3.5  # times k: common users of a class, on average
LABEL_BYTES = 12
"""Bytes of a released label, about."""
REHEARSED = 20_000
"""People of a rehearsal at most."""
LARGER_HALF = 0.7
DIVIDED_ABOVE = 1.7
"""A group is divided as long as it has so many times the users of an average class."""

MIND = (
    "a provider that knows a user's true value, or that has columns which go with the other's, can tell some dummy "
    "users: a user on the wrong side of a cut is none of the other's",
    "keep the keys folder: its dummy.key makes the same dummy users in the next run; with other keys, or other cuts, "
    "two runs together tell dummy users from real ones",
)


def foresee(study: Study, rows: Mapping[str, int], own: Table | None = None) -> Forecast:
    """The estimated cost of a run, and what it teaches.

    Of two providers the other's users are made up, and ours too where they are not given.
    """
    params = Parameters.of(study)
    users = {name: min(rows.get(name, 0), len(params.population)) for name in params.providers}
    cost, computing = _likely(params, list(users.values())) if params.several else _rehearsal(params, users, own)
    lines = [leakage.of_meeting(params), *leakage.before(params), leakage.READY, leakage.of_release(params)]
    return cost.forecast(1 + cost.rounds * SECONDS_PER_ROUND + computing, [(part, {}) for part in lines], MIND)


def _likely(params: Parameters, users: Sequence[int]) -> tuple[CostEstimate, float]:
    """The cost of a run whose groups are divided as they were in others, and its seconds of computing."""
    population, classes = len(params.population), _classes(params, users)
    steps = _typical(params, population, classes)
    cost = _alike(params, steps, population, classes)
    return cost, _computing(params, steps, classes, cost.bytes)


def _rehearsal(params: Parameters, users: Mapping[str, int], own: Table | None) -> tuple[CostEstimate, float]:
    """The cost of a run of two on users like these, and its seconds of computing."""
    population, seconds = len(params.population), list[float]()

    def play(smaller: Study, number: int) -> Rehearsal:
        played = Parameters.of(_of_people(smaller, params.population[:number]))
        division = _rehearsed(played, {name: count * number // population for name, count in users.items()}, own)
        cost = of_run(played, division, LABEL_BYTES * len(division.leaves) * len(params.study.quasi))
        seconds.append(_computing(played, division.levels, len(division.leaves), cost.bytes) * population / number)
        return Rehearsal(cost, len(division.leaves))

    return carry_on(params.study, play, population, REHEARSED).cost, seconds[0]


def _of_people(study: Study, people: Sequence[str]) -> Study:
    """The study with these people as its population."""
    listed = "".join(f"{each}\n" for each in people).encode()
    return replace(study, files={**study.files, str(study.options[POPULATION.name]): listed})


def _rehearsed(params: Parameters, users: Mapping[str, int], own: Table | None) -> Division:
    """The division of users like these; where not even everyone together keeps what is asked for, everyone."""
    seed = derive(study_seed(params.study), "federate plan")
    tables = _tables(params, users, own, seed)
    owns = [OwnUsers.of(params, tables[name], seed) for name in params.providers]
    for asked in (params, replace(params, delta=None, sensitive=False)):
        try:
            return divide(asked, owns)
        except Unmet:
            continue  # delta is near what made-up users keep by chance, and real ones may keep it
    return Division([Group("", np.arange(len(params.population)))])


def _tables(params: Parameters, users: Mapping[str, int], own: Table | None, seed: Secret) -> dict[str, Table]:
    """Both providers' users: made up, but for our own where these are given; as many in common as is likely."""
    people, key = params.population, params.study.key
    drawn = Rng(seed).stream("users").permutation(len(people))
    shared, _ = _common(params, list(users.values()))
    common = min(max(round(shared), sum(users.values()) - len(people)), *users.values())
    parts = model.split(params.study, model.made_up(params.study, carried(params.study), len(people), seed))
    first, second = users[params.first], users[params.second]
    places = {params.first: drawn[:first], params.second: np.roll(drawn, common - first)[:second]}
    found = {}
    for name, there in places.items():
        table = parts[name].select(there)
        if key is not None:
            ids = Values(key, np.arange(len(there), dtype=np.int32), tuple(people[place] for place in there.tolist()))
            table = replace(table, key=ids)
        found[name] = table
    ours = None if own is None else next((name for name in found if found[name].quasi == own.quasi), None)
    if own is not None and ours is not None and own.rows:
        like = own.select(np.resize(np.arange(own.rows), found[ours].rows))
        found[ours] = replace(like, key=found[ours].key)
    return found


def _common(params: Parameters, users: Sequence[int]) -> tuple[float, float]:
    """Users that all have in common, and the fewest that all but one have, which is taken to be as chance gives it.

    Common to all is the geometric mean of what chance gives and of the most with which delta can be kept.
    """
    population = len(params.population)
    chance = math.prod(users) / population ** (len(users) - 1)
    fewest = math.prod(sorted(users)[:-1]) / population ** (len(users) - 2)
    most = fewest * float(1 if params.delta is None else params.delta)
    return math.sqrt(chance * max(most, chance)), fewest


def _classes(params: Parameters, users: Sequence[int]) -> int:
    """The number of classes, about: k common users or more in each, and enough for delta to hold by chance.

    Where the part of users that are common is near delta, small classes exceed it: one of n users has a part that
    strays by the root of part (1 - part) / n, for which there must be room.
    """
    common, fewest = _common(params, users)
    due = USERS_PER_CLASS * params.k
    if params.delta is not None and common:
        part = common / fewest
        room = float(params.delta) - part
        due = max(due, part * part * (1 - part) / room**2) if room > 0 else common
    return max(1, int(common / due))


def _computing(params: Parameters, steps: Sequence[Sequence[GroupTurn]], classes: int, sent: int) -> float:
    """Seconds: two providers encrypt at once, and then mostly wait for each other; shares cost little but bytes."""
    population = len(params.population)
    groups = [step for level in steps for step in level]
    signs, digits, asked = 0, 0, 0
    for step in groups:
        tested, chosen = 2 * tests_of(params), 0 if params.alpha == 1 else max(step.candidates - 1, 0)
        signs += tested + chosen
        digits += tested * (width_of(params, step.size) + 1) + chosen * (SCORE_BITS + 1) + RANGE_BITS + 1
        asked += 0 if params.alpha == 1 else step.candidates
    if params.several:
        compared = signs + len(groups) * (len(params.providers) - 1)
        return compared * SECONDS_PER_SHARED_SIGN + sent * SECONDS_PER_SHARED_BYTE
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
            [
                GroupTurn(max(int(share * population), 1), place % len(params.providers), cuts, cut)
                for place, (share, cut) in turns
            ]
        )
        divided = [share for share, cut in zip(shares, split, strict=True) if cut]
        shares = [share * part for share in divided for part in (LARGER_HALF, 1 - LARGER_HALF)]
    return levels


def _alike(params: Parameters, steps: Sequence[Sequence[GroupTurn]], population: int, classes: int) -> CostEstimate:
    """The cost of a run whose classes are all alike."""
    leaf = Group("", np.zeros(max(1, population // classes), dtype=np.int64))
    labels = LABEL_BYTES * classes * len(params.study.quasi)
    return of_run(params, Division([leaf] * classes, [list(level) for level in steps]), labels)


def of_run(params: Parameters, division: Division, label_bytes: int) -> CostEstimate:
    """The exact cost of a run on the level schedule; the labels that reach the recipient take so many bytes."""
    cost = CostEstimate()
    if params.several:
        several_cost.add_division(cost, params, division)
    else:
        _division(cost, params, division)
    _release(cost, params, division, label_bytes)
    return cost


def _division(cost: CostEstimate, params: Parameters, division: Division) -> None:
    both, population = (params.first, params.second), len(params.population)
    cost.broadcast_each(both, BIT_KEY_BYTES)
    cost.broadcast_each(both, NUMBER_KEY_BYTES + params.bits // 4 + paillier_proof.ROOTS * params.bits // 8)
    cost.broadcast_each(both, ciphers.size(population, params.bits), ciphers.messages(population, params.bits))
    proofs = [
        paillier_proof.proof_bytes(last - first, params.bits) for first, last in paillier_proof.blocks(population)
    ]
    cost.broadcast_each(both, sum(proofs) + len(proofs) * PROOF_BYTES, len(proofs))
    _tests(cost, params, both, [population], tests_of(params))
    for steps in division.levels:
        _level(cost, params, steps)
    for tested in division.merged:
        _tests(cost, params, both[::-1], tested, params.width)


def _level(cost: CostEstimate, params: Parameters, steps: Sequence[GroupTurn]) -> None:
    both = (params.first, params.second)
    _less(cost, both[::-1], np.full(len(steps), RANGE_BITS, dtype=np.int64))
    cost.broadcast_each(both, comparison.flags_size(len(steps)))
    parts = [cost.beside(), cost.beside()]
    for divider, (part, names) in enumerate(zip(parts, (both, both[::-1]), strict=True)):
        _cuts(part, params, names, [step for step in steps if step.divider == divider])
    cost.join(parts)


def _cuts(cost: CostEstimate, params: Parameters, names: tuple[str, str], steps: Sequence[GroupTurn]) -> None:
    """Adds the groups that the first of these names divides."""
    if not steps:
        return
    divider, other = names
    cuts = [step.candidates for step in steps]
    asked = 0 if params.alpha == 1 else sum(cuts)
    cost.send(divider, other, 1, VECTOR_BYTES + 8 * (len(steps) + asked))
    if asked:
        packs = -(-asked // ((params.bits - 1) // room_for([step.size for step in steps])))
        cost.send(divider, other, ciphers.messages(packs, params.bits), ciphers.size(packs, params.bits))
        cost.send(other, divider, ciphers.messages(asked, params.bits), ciphers.size(asked, params.bits))
        for count in largest.matches([count for count in cuts if count]):
            _signs(cost, params, names, np.full(count, SCORE_BITS, dtype=np.int64))
            cost.send(other, divider, 1, comparison.flags_size(count))
    _tests(cost, params, names, [step.size for step in steps if step.candidates], 2 * tests_of(params))
    members = sum(step.size for step in steps if step.split)
    if members:
        cost.send(divider, other, 1, VECTOR_BYTES + 8 * -(-members // 64))


def _tests(cost: CostEstimate, params: Parameters, names: tuple[str, str], sizes: Sequence[int], together: int) -> None:
    """Some tests in each group of these sizes, which the first of these names asks for."""
    if not sizes:
        return
    asker, reader = names
    count = len(sizes) * together
    _signs(cost, params, names, np.repeat([width_of(params, size) for size in sizes], together))
    cost.send(reader, asker, lists.messages(count, 2), lists.size(count, 2))
    cost.send(asker, reader, lists.messages(len(sizes), 2), lists.size(len(sizes), 2))
    cost.send(reader, asker, 1, comparison.flags_size(len(sizes)))


def _signs(cost: CostEstimate, params: Parameters, names: tuple[str, str], widths: Longs) -> None:
    packs = comparison.packs(widths, params.bits)
    cost.send(*names, ciphers.messages(packs, params.bits), ciphers.size(packs, params.bits))
    _less(cost, names, widths)


def _less(cost: CostEstimate, names: tuple[str, str], widths: Longs) -> None:
    asker, reader = names
    digits, answers = int(widths.sum()), int(widths.sum()) + len(widths)
    cost.send(reader, asker, lists.messages(digits, 2), lists.size(digits, 2))
    cost.send(asker, reader, lists.messages(answers, 2), lists.size(answers, 2))


def _release(cost: CostEstimate, params: Parameters, division: Division, label_bytes: int) -> None:
    first, second, recipient = params.first, params.second, params.recipient
    classes = len(division.leaves)
    numbers = classes * params.width
    for provider in params.providers:
        cost.send(provider, recipient, 1, READY_BYTES)
    cost.broadcast_each((*params.providers, recipient), approval.MESSAGE_BYTES)
    for provider in params.providers[1:]:
        cost.send(first, provider, 1, VECTOR_BYTES + 8 * classes)
    if not params.several:
        room = room_for([len(group.members) for group in division.leaves]) + HIDING + 1
        packs = -(-numbers // ((params.bits - 1) // room))
        cost.send(second, first, ciphers.messages(packs, params.bits), ciphers.size(packs, params.bits))
    for provider in params.providers:
        cost.send(provider, recipient, chunks.messages(numbers), chunks.size(numbers))
        boxes = -(-classes // CHUNK)
        cost.send(provider, recipient, boxes, boxes * VECTOR_BYTES + label_bytes // len(params.providers))
