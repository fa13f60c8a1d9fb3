"""The cost of a run: exactly, once its rounds are known; and rehearsed on people like the owners' own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from covey.crypto.group import POINT_BYTES
from covey.crypto.rng import derive
from covey.protocols.as_printed.generalize import leakage
from covey.protocols.as_printed.generalize.ideal import follow
from covey.protocols.as_printed.generalize.parameters import Parameters
from covey.protocols.as_printed.generalize.rounds import Round, encryptor_of
from covey.protocols.as_printed.generalize.threshold import due_tests
from covey.protocols.protocol import Forecast
from covey.protocols.shared import model
from covey.protocols.shared.columns import joining, meeting, ownership, recognition
from covey.protocols.shared.cost import SMALL_BYTES, CostEstimate, with_k
from covey.protocols.shared.peeling.marginals import study_seed
from covey.secure import approval, join, lists, match
from covey.study import Study
from covey.table import Table
from covey.wire import FRAME_BYTES, chunks

VERDICT_BYTES = FRAME_BYTES + 84
_SAMPLE = 5_000
"""The most people of a rehearsal."""
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
    meeting.add_cost(estimate, study, sizes, common)
    for number, found in enumerate(rounds, start=1):
        add_round(estimate, parameters, found, last=number == len(rounds))
    if parameters.recipient is None:
        estimate.exchange(parameters.owners, messages=2, size=2 * SMALL_BYTES)
    elif parameters.variant == "finished-cells":
        for name in parameters.owners:
            estimate.send(name, parameters.recipient, 1, SMALL_BYTES)
    _add_join(estimate, study, parties, released, lanes)
    return estimate


def _add_join(
    estimate: CostEstimate,
    study: Study,
    parties: Sequence[str],
    released: int,
    lanes: Sequence[Sequence[Sequence[bytes]]],
) -> None:
    parameters = Parameters.of(study)
    alone = parameters.recipient is not None
    blend, opening = join.COST, join.OPENING_COST
    for _ in lanes:
        estimate.exchange(parties, messages=blend.messages(2, released, alone), size=blend.bytes(2, released, alone))
        estimate.exchange(parameters.owners, messages=0, size=0)
        _show(estimate, parameters, 0, 0)
    exact = recognition.owners(study)
    if len(exact) == 1:  # all others wait for its numbers; with more, `recognition.COST` has the round
        for name in parties:
            if name != exact[0]:
                estimate.send(exact[0], name, 0, 0)
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


def of_tables(
    study: Study, sizes: Mapping[str, int], common: Mapping[str, Table], times: float = 1.0
) -> tuple[CostEstimate, list[Round]]:
    """The cost of a run whose owners have so many ids, and so many times these people in common; and its rounds."""
    parameters = Parameters.of(study)
    run = follow(parameters, common)
    rounds = []
    for found in run.rounds:
        people = int(found.people * times)
        rounds.append(Round(people, found.groups, parameters.mode_of(found.groups)))
    kept = np.flatnonzero(~run.withheld)
    nodes = {name: local.nodes[:, kept] for name, local in run.locals.items()}
    rows = {name: common[name].select(kept).carried for name in common}
    lanes = [
        [
            sorted(set(joining.packed(nodes[name], rows[name] if name == exact else ())))
            for name in ownership.holders(study)
        ]
        for exact in ownership.exact_holders(study) or ("",)
    ]
    return of_run(study, sizes, int(len(run.withheld) * times), rounds, int(len(kept) * times), lanes), rounds


def foresee(study: Study, rows: Mapping[str, int], own: Table | None = None) -> Forecast:
    """The estimated cost of a run, and what it teaches.

    The other's columns are made up, and ours too where they are not given.
    """
    parameters = Parameters.of(study)
    fewest = min(rows.get(name, 0) for name in parameters.owners)
    people = max(parameters.k, fewest)
    sample = min(people, _SAMPLE)
    whole = model.joined(study, sample, derive(study_seed(study), "generalize plan"), own)
    smaller = with_k(study, max(2, parameters.k * sample // people))  # as many groups as of all people, each smaller
    estimate, _ = of_tables(smaller, rows, model.split(smaller, whole), people / sample)
    lessons = [meeting.meeting_leakage(study, leakage.OWNERS), *leakage.before(parameters)]
    return estimate.forecast(
        1.0 + estimate.bytes / POINT_BYTES * SECONDS_PER_POINT,
        lessons,
        (*_too_few(parameters, fewest), *_mind(parameters)),
    )


def _too_few(parameters: Parameters, fewest: int) -> tuple[str, ...]:
    if fewest >= parameters.k:
        return ()
    return (
        f"a party has fewer than k = {parameters.k:,} people: nothing would be released; the figures are for k of them",
    )


def _mind(parameters: Parameters) -> tuple[str, ...]:
    """Things to think of before a run: which rounds hide what, and why."""
    lines = [
        "the rounds and their groups depend on the data: the figures are for people whose values are made up, but for "
        "our own columns where the plan is given them",
    ]
    if parameters.recipient is None:
        lines.append(
            "before anyone approves, both are told what the release will lose, and so the other party's part of it"
        )
    if parameters.variant != "paper":
        lines.append(f'variant = "{parameters.variant}" loses less and teaches more than the default "paper"')
    return tuple(lines)
