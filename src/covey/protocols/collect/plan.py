"""What a run of `collect` will cost and teach, before anyone has enrolled."""

from __future__ import annotations

import math
from collections.abc import Mapping

from covey.crypto import pir
from covey.protocols.collect import attack, privacy
from covey.protocols.collect.answers import Layout
from covey.protocols.collect.attack import Success
from covey.protocols.collect.index import ENTRY_BYTES
from covey.protocols.collect.keys import LETTERS, majority
from covey.protocols.collect.leaks import before, percent
from covey.protocols.collect.submit import MOST_MIXERS, row_size
from covey.protocols.collect.terms import Terms, hub_of, trees_of
from covey.protocols.protocol import Forecast
from covey.study import Study
from covey.wire import FRAME_BYTES

RESPONDENTS = "respondents"
"""The name by which a plan and a simulation know everyone but the collector."""
_FRAME = FRAME_BYTES + 50


def foresee(study: Study, rows: Mapping[str, int]) -> Forecast:
    """What a run costs and teaches; `rows` has the number of respondents, or a row each."""
    terms = Terms.of(study)
    respondents = max(sum(rows.values()), 1)
    success = simulated(terms, study, respondents)
    learned: dict[str, list[str]] = {"collector": [], "respondent": []}
    for leakage, numbers in before(terms, respondents):
        for role in learned:
            learned[role] += leakage.sentences(role, **numbers)
    hub = hub_of(study)
    others = [party.name for party in study.parties if party.name != hub] or [RESPONDENTS]
    messages, size = traffic(terms, study, respondents)
    return Forecast(
        rounds=rounds(terms, study),
        messages=messages,
        bytes=size,
        seconds=seconds(terms, study, respondents),
        learns={hub: tuple(learned["collector"]), **dict.fromkeys(others, tuple(learned["respondent"]))},
        mind=tuple(warnings(terms, respondents, success)),
    )


def simulated(terms: Terms, study: Study, respondents: int) -> Success | None:
    """The attack on people who do not exist, evenly spread, as many as there will be; a sample where they are many."""
    if respondents < terms.k:
        return None
    trees = trees_of(study)
    return attack.simulate(terms, trees, attack.people(trees, attack.sample_size(terms, respondents)))


def warnings(terms: Terms, respondents: int, success: Success | None) -> list[str]:
    """What the collector could find out, in figures, and what helps."""
    if success is None:
        return [f"fewer than k = {terms.k} respondents: nothing would be released"]
    low, high, steps = terms.low, terms.high, terms.b + terms.grid.cells // 2
    honest, printed = privacy.collector_chance(low, high, steps), privacy.paper_chance(low, high, steps)
    needed = privacy.offset_needed(low, high)
    near = ", ".join(f"{percent(chance)} at {distance}" for distance, chance in success.anchors.items())
    sample = f"{attack.sample_size(terms, respondents):,} simulated people, evenly spread"
    trustees = min(terms.committee, respondents)
    found = [
        f"a run needs k = {terms.k} respondents who stay to the end in one class, and {majority(trustees)} of "
        f"{trustees} trustees; {trustees - majority(trustees)} of these may vanish. Before they answer, "
        f"{respondents - terms.k:,} respondents may; later each class can spare those above k, or is withheld"
        + (
            f"; spare = {terms.spare} cuts classes so much larger"
            if terms.spare
            else "; [protocol] spare cuts them larger"
        ),
        f"the collector's chance of guessing a respondent's cell from the position alone is {percent(honest)} halfway "
        f"along the line (the paper's formula says {percent(printed)}), and {percent(success.edge)} at its beginning",
        f"next to a respondent whose cell it knows it is higher: {near} cells' distance; no b helps against that",
        f"from all positions and the released classes together it guessed the exact cell of {percent(success.all)} of "
        f"{sample}; from the classes alone of {percent(success.alone)}",
        "a higher k and a rho that begins near 0 make these chances smaller; in a coarser grid a guess says less",
    ]
    if terms.b < needed:
        found.append(
            f"b = {terms.b} is low for rho = [{low}, {high}]: {needed} keeps the first chance below 10% but at the ends"
        )
    if not terms.jitter:
        found.append("respondents in one cell have the same position; jitter = true with a rho above 0 hides it")
    return found


def rounds(terms: Terms, study: Study) -> int:
    """The longest chain of messages, in classes of the usual size and of columns that are searched to the end."""
    deepest = max(math.ceil(math.log2(max(tree.codes, 2))) for tree in trees_of(study))
    keys = 2 + 2 * LETTERS + 2
    reading = 3 if terms.private_retrieval else 1
    helpers = majority(terms.committee)
    tests = 4 * deepest + (2 * helpers + 2 if terms.watched else 0)
    mixers = min(_class_size(terms), MOST_MIXERS)
    return keys + 1 + reading + 1 + 2 + tests + 2 + 1 + 2 * mixers + 1


def traffic(terms: Terms, study: Study, respondents: int) -> tuple[int, int]:
    """Messages and bytes, all parties together."""
    helpers, trustees = majority(min(terms.committee, respondents)), min(terms.committee, respondents)
    marks = Layout.of(terms, trees_of(study)).size
    size = _class_size(terms)
    classes, mixers = max(1, respondents // size), min(size, MOST_MIXERS)
    tests = sum(_tests(tree.codes) for tree in trees_of(study)) * classes
    levels = max(math.ceil(math.log2(max(tree.codes, 2))) for tree in trees_of(study))
    private = 2 * LETTERS * trustees * (trustees - 1)
    if terms.private_retrieval:
        shape = pir.shape_of(terms.grid.cells, terms.entry_bytes)
        reading, fetched = 3, shape.query_bytes + shape.answer_bytes + shape.hint_bytes
    else:
        reading, fetched = 1, terms.grid.cells * terms.entry_bytes
    onions = sum(row_size(terms, layers) for layers in range(mixers + 1)) * 2
    mixing = classes * (size + 3 * mixers)  # what became of the class; a task, and the rows there and back
    messages = respondents * (7 + reading) + private + 2 * trustees + helpers * (3 + 6 * levels) + mixing
    total = respondents * (fetched + marks * ENTRY_BYTES + onions + 48 * size + 300)
    total += terms.grid.cells * ENTRY_BYTES + helpers * (respondents * 64 + tests * 6 * 32)
    return messages, total + messages * _FRAME


def seconds(terms: Terms, study: Study, respondents: int) -> float:
    """Of computing, all respondents on one machine with two cores, as in a simulation."""
    marks, helpers = Layout.of(terms, trees_of(study)).size, majority(terms.committee)
    size = _class_size(terms)
    mixers = min(size, MOST_MIXERS)
    tests = sum(_tests(tree.codes) for tree in trees_of(study)) * max(1, respondents // size)
    points = respondents * marks * (110 + 45) + terms.grid.cells * 330 + tests * helpers * 350
    sealing = respondents * mixers * 2 * 150
    reading = respondents * (2.2e8 if terms.private_retrieval else 0) * (terms.grid.cells / 432_000) / 3e9
    return 1.0 + (points + sealing) * 1e-6 * 0.6 + respondents * 0.012 + reading


def _class_size(terms: Terms) -> int:
    """About how many respondents a class has: the cut takes the smallest classes that are near."""
    return max(1, round(1.25 * (terms.k + terms.spare)))


def _tests(codes: int) -> int:
    """Of one class and column: both ends searched for, most of the way."""
    return round(1.6 * math.log2(max(codes, 2)))
