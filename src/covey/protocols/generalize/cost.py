"""The cost of a run: exactly, once its rounds are known; and estimated, from people who are drawn at random."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from covey.crypto.group import POINT_BYTES
from covey.protocols.generalize import leakage
from covey.protocols.generalize.hidden import due_tests
from covey.protocols.generalize.ideal import follow
from covey.protocols.generalize.parameters import MOST_ENCRYPTED, Parameters, role_name
from covey.protocols.generalize.rounds import Round, encryptor_of
from covey.protocols.protocol import Forecast
from covey.protocols.shared import columns
from covey.protocols.shared.cost import SMALL_BYTES, CostEstimate
from covey.secure import align, approval, join, lists, match
from covey.study import Study
from covey.table import Table
from covey.wire import FRAME_BYTES, chunks

VERDICT_BYTES = FRAME_BYTES + 84
_SAMPLE = 20_000
"""The most people of the table that is drawn."""
SECONDS_PER_POINT = 45e-6
"""The time of encrypting a list, both parties' points together, on two cores."""


def _listed(people: int, *groups: int) -> tuple[int, int]:
    """Messages and bytes of a list of people in groups, one for each number of groups."""
    messages = sum(chunks.messages(number) + lists.messages(people) for number in groups)
    return messages, sum(chunks.size(number) + lists.size(people) for number in groups)


def add_round(estimate: CostEstimate, parameters: Parameters, found: Round, *, last: bool) -> None:
    """Adds one round: its shape, the comparison, and in a variant what follows it."""
    owners, people = parameters.owners, found.people
    observer, partner = owners
    estimate.exchange(owners, messages=2, size=2 * SMALL_BYTES)
    match found.mode:
        case "matrix":
            messages, size = _listed(people, *found.groups)
            estimate.exchange(owners, messages=messages, size=size)
            estimate.exchange(owners, messages=messages, size=size)
            estimate.exchange(owners, messages=2, size=2 * VERDICT_BYTES)
            if parameters.variant == "finished-cells":
                estimate.exchange(owners, messages=2, size=2 * (SMALL_BYTES + people // 8))
        case "one-sided":
            messages, size = _listed(people, *found.groups)
            estimate.exchange(owners, messages=messages, size=size)
            estimate.send(partner, observer, *_listed(people, found.groups[0]))
            estimate.send(observer, partner, 1, VERDICT_BYTES)
        case "threshold":
            encryptor = encryptor_of(parameters, found.groups)
            adder = partner if encryptor == observer else observer
            bits, tests = people * (min(found.groups) - 1), due_tests(people, min(found.groups), max(found.groups))
            estimate.send(encryptor, adder, 1 + lists.messages(bits, 2), SMALL_BYTES + 32 + lists.size(bits, 2))
            marks = 2 * found.groups[0] * found.groups[1]
            estimate.send(adder, encryptor, lists.messages(tests, 2), lists.size(tests, 2))
            estimate.send(adder, encryptor, lists.messages(marks), lists.size(marks))
            asker, keyholder = sorted(owners)
            estimate.send(asker, keyholder, match.COST.messages(1), match.COST.bytes(1))
            estimate.send(keyholder, asker, 0, 0)
            estimate.send(asker, keyholder, 0, 0)
    if parameters.variant == "datafly" and not last:
        estimate.exchange(owners, messages=2, size=2 * SMALL_BYTES)


def of_run(
    study: Study,
    sizes: Mapping[str, int],
    common: int,
    rounds: Sequence[Round],
    released: int,
    lanes: Sequence[Sequence[Sequence[bytes]]],
) -> CostEstimate:
    """The cost of a whole run, from each owner's number of ids to the rows released.

    `lanes` has, for each join, each owner's distinct rows, sorted, owners by name.
    """
    parameters = Parameters.of(study)
    parties = [party.name for party in study.parties]
    estimate = CostEstimate()
    _add_alignment(estimate, study, sizes, common)
    for number, found in enumerate(rounds, start=1):
        add_round(estimate, parameters, found, last=number == len(rounds))
    if parameters.recipient is None:
        estimate.exchange(parameters.owners, messages=2, size=2 * SMALL_BYTES)
    elif parameters.variant == "finished-cells":
        for name in parameters.owners:
            estimate.send(name, parameters.recipient, 1, SMALL_BYTES)
    _add_join(estimate, parameters, parties, released, lanes)
    return estimate


def _add_alignment(estimate: CostEstimate, study: Study, sizes: Mapping[str, int], common: int) -> None:
    leader, member = columns.holders(study)
    ids = [sizes[leader], sizes[member]]
    estimate.send(leader, member, align.COST.messages(ids, common), align.COST.bytes(ids, common))
    estimate.send(member, leader, 0, 0)
    estimate.send(leader, member, 0, 0)
    for other in (party.name for party in study.parties if not party.holds_data):
        estimate.send(leader, other, 1, SMALL_BYTES)
        estimate.send(member, other, 1, SMALL_BYTES)
    if study.mismatch == "abort":
        estimate.exchange((leader, member), messages=2, size=2 * SMALL_BYTES)


def _add_join(
    estimate: CostEstimate,
    parameters: Parameters,
    parties: Sequence[str],
    released: int,
    lanes: Sequence[Sequence[Sequence[bytes]]],
) -> None:
    alone = parameters.recipient is not None
    blend, opening = join.COST, join.OPENING_COST
    for _ in lanes:
        estimate.exchange(parties, messages=blend.messages(2, released, alone), size=blend.bytes(2, released, alone))
        estimate.exchange(parameters.owners, messages=0, size=0)
        _show(estimate, parameters, 0, 0)
    votes = approval.COST
    estimate.exchange(parties, messages=votes.messages(len(parties)), size=votes.bytes(len(parties)))
    for books in lanes:
        _show(estimate, parameters, opening.messages(books, alone), opening.bytes(books, alone))


def _show(estimate: CostEstimate, parameters: Parameters, messages: int, size: int) -> None:
    """Adds what both owners show to those who get the release."""
    if parameters.recipient is None:
        estimate.exchange(parameters.owners, messages=messages, size=size)
        return
    estimate.send(parameters.observer, parameters.recipient, messages, size)
    estimate.send(parameters.partner, parameters.recipient, 0, 0)


def foresee(study: Study, rows: Mapping[str, int]) -> Forecast:
    """An estimate of a run's cost, and what it teaches."""
    parameters = Parameters.of(study)
    fewest = min(rows.get(name, 0) for name in parameters.owners)
    people = max(parameters.k, fewest)
    rounds, classes = _drawn(study, parameters, people)
    books = [_book(study, name, classes) for name in columns.holders(study)]
    lanes = [books] * max(1, len(columns.exact_holders(study)))
    estimate = of_run(study, rows, people, rounds, people, lanes)
    meeting, learned = columns.meeting_leakage(study, leakage.OWNERS), {}
    for party in study.parties:
        role, lessons = role_name(study, party.name), [meeting, *leakage.before(parameters)]
        learned[party.name] = tuple(line for each, numbers in lessons for line in each.sentences(role, **numbers))
    return Forecast(
        rounds=estimate.rounds,
        messages=estimate.messages,
        bytes=estimate.bytes,
        seconds=1.0 + estimate.bytes / POINT_BYTES * SECONDS_PER_POINT,
        learns=learned,
        mind=(*_too_few(parameters, fewest), *_mind(parameters, people, rounds)),
    )


def _drawn(study: Study, parameters: Parameters, people: int) -> tuple[list[Round], int]:
    """The rounds of a run on people whose values are drawn at random, all alike, and the classes at its end."""
    sample = min(people, _SAMPLE)
    if parameters.k > sample:  # as many groups as of all people, each smaller
        study = replace(study, privacy=replace(study.privacy, k=max(2, parameters.k * sample // people)))
        parameters = Parameters.of(study)
    tables = {}
    for place, name in enumerate(parameters.owners):
        own = columns.quasi_columns(study, name)
        trees = tuple(column.tree() for column in own)
        random = np.random.default_rng(place + 1)
        codes = [random.integers(0, tree.leaves, sample, dtype=np.int32) for tree in trees]
        stacked = np.stack(codes) if codes else np.zeros((0, sample), dtype=np.int32)
        tables[name] = Table(study, own, trees, stacked, ())
    run = follow(parameters, tables)
    rounds = []
    for found in run.rounds:
        scaled = found.people * people // sample
        rounds.append(Round(scaled, found.groups, parameters.mode_of(scaled, found.groups)))
    return rounds, int(run.label.max()) + 1


def _book(study: Study, name: str, classes: int) -> list[bytes]:
    """Stand-ins for an owner's distinct rows: a class's nodes, and its exact values where it has some."""
    exact = columns.exact_columns(study, name)
    listed = sum(len(column.values or ()) for column in exact)
    length = 3 + 3 * len(columns.quasi_columns(study, name)) + 12 * len(exact)
    return [number.to_bytes(4, "big") + bytes(max(0, length - 4)) for number in range(classes * max(1, listed))]


def _too_few(parameters: Parameters, fewest: int) -> tuple[str, ...]:
    if fewest >= parameters.k:
        return ()
    return (
        f"a party has fewer than k = {parameters.k:,} people: nothing would be released; the figures are for k of them",
    )


def _mind(parameters: Parameters, people: int, rounds: Sequence[Round]) -> tuple[str, ...]:
    """Things to think of before a run: which rounds hide what, and why."""
    lines = [
        "the rounds and their groups depend on the data: the figures are for people whose values are drawn at random",
    ]
    if parameters.leakage == "auto":
        most = MOST_ENCRYPTED // people
        hides = sum(found.mode == "threshold" for found in rounds)
        shows = sum(found.mode == "one-sided" for found in rounds)
        lines.append(
            f'leakage = "auto" with {people:,} people: a round in which one party has at most {most:,} groups is '
            f"compared under encryption and shows nothing but whether the tables fit; with more groups that would "
            f"take too long, and the round is one-sided: {parameters.observer} learns the counts. "
            f"Expected: {hides} hidden, {shows} one-sided, {len(rounds) - hides - shows} decided by a single group"
        )
    if parameters.recipient is None:
        lines.append(
            "before anyone approves, both are told what the release will lose, and so the other party's part of it"
        )
    if parameters.variant != "paper":
        lines.append(f'variant = "{parameters.variant}" loses less and teaches more than the default "paper"')
    return tuple(lines)
