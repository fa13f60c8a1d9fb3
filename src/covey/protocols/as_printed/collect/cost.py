"""An estimate of a run's cost and of what it teaches, before anyone has enrolled."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from covey.crypto import pir, range_proof, unit_vector
from covey.crypto.group import POINT_BYTES
from covey.protocols.as_printed.collect import attack, fetch, privacy
from covey.protocols.as_printed.collect.answers import Layout
from covey.protocols.as_printed.collect.attack import Success
from covey.protocols.as_printed.collect.index import ENTRY_BYTES
from covey.protocols.as_printed.collect.keys import LETTERS
from covey.protocols.as_printed.collect.leakage import before, percent
from covey.protocols.as_printed.collect.parameters import Parameters, trees_of
from covey.protocols.as_printed.collect.submit import MOST_MIXERS, row_size
from covey.protocols.protocol import Forecast
from covey.study import Study
from covey.wire import FRAME_BYTES

"""The name by which a plan and a simulation know everyone but the collector."""
_FRAME = FRAME_BYTES + 50
_POWER = 4e-5
"""Seconds for each byte of an exponent, modulo 3,072 bits."""


def foresee(study: Study, rows: Mapping[str, int]) -> Forecast:
    """The cost of a run, and what it teaches; `rows` has the number of respondents, or a row each."""
    parameters = Parameters.of(study)
    respondents = max(sum(rows.values()), 1)
    success = simulated(parameters, study, respondents)
    work = _Work.of(parameters, study, respondents)
    messages, size = traffic(parameters, work, respondents)
    return Forecast(
        rounds=rounds(parameters, work),
        messages=messages,
        bytes=size,
        seconds=seconds(parameters, work, respondents),
        lessons=before(parameters, respondents),
        mind=tuple(warnings(parameters, respondents, success)),
    )


def simulated(parameters: Parameters, study: Study, respondents: int) -> Success | None:
    """The attack on people who do not exist, evenly spread, as many as there will be; a sample where they are many."""
    if respondents < parameters.k:
        return None
    trees = trees_of(study)
    return attack.simulate(parameters, trees, attack.people(trees, attack.sample_size(parameters, respondents)))


def warnings(parameters: Parameters, respondents: int, success: Success | None) -> list[str]:
    """Things to think of before a run: what the collector could find out, in figures, and what helps."""
    if success is None:
        return [f"fewer than k = {parameters.k} respondents: nothing would be released"]
    low, high, steps = parameters.low, parameters.high, parameters.b + parameters.grid.cells // 2
    honest, printed = privacy.collector_chance(low, high, steps), privacy.paper_chance(low, high, steps)
    needed = privacy.offset_needed(low, high)
    near = ", ".join(f"{percent(chance)} at {distance}" for distance, chance in success.anchors.items())
    sample = f"{attack.sample_size(parameters, respondents):,} simulated people, evenly spread"
    trustees = min(parameters.committee, respondents)
    opening = parameters.threshold(trustees)
    found = [
        f"a run needs k = {parameters.k} respondents who stay to the end in one class, and {opening} of {trustees} "
        f"trustees; {trustees - opening} of these may vanish. Before they answer, "
        f"{respondents - parameters.k:,} respondents may; later each class can spare those above k, or is withheld"
        + (
            f"; spare = {parameters.spare} cuts classes so much larger"
            if parameters.spare
            else "; [protocol] spare cuts them larger"
        ),
        f"the collector's chance of guessing a respondent's cell from the position alone is {percent(honest)} halfway "
        f"along the line (the paper's formula says {percent(printed)}), and {percent(success.edge)} at its beginning",
        f"next to a respondent whose cell it knows it is higher: {near} cells' distance; no b helps against that",
        f"from all positions and the released classes together it guessed the exact cell of {percent(success.all)} of "
        f"{sample}; from the classes alone of {percent(success.alone)}",
        "a higher k and a rho that begins near 0 make these chances smaller; in a coarser grid a guess says less",
    ]
    if parameters.b < needed:
        found.append(
            f"b = {parameters.b} is low for rho = [{low}, {high}]: {needed} keeps the first chance below 10% but at "
            "the ends"
        )
    if opening <= trustees // 2:
        found.append(
            f"threshold = {parameters.opening}: so few trustees and the collector together open everything; leave "
            "threshold out for a majority"
        )
    if not parameters.jitter:
        found.append("respondents in one cell have the same position; jitter = true with a rho above 0 hides it")
    return found


@dataclass(frozen=True)
class _Work:
    """The sizes that rounds, bytes and seconds follow from."""

    trustees: int
    helpers: int
    marks: int
    """Encrypted numbers of an answer."""
    proof: int
    """Bytes of the proof that they are marks."""
    members: int
    """The expected size of a class: the cut takes the smallest classes that are near."""
    classes: int
    mixers: int
    depth: int
    """Steps of the longest binary search for the end of a class."""
    tests: int
    """The expected number of zero tests: both ends of each class and column are searched for, most of the way."""

    @classmethod
    def of(cls, parameters: Parameters, study: Study, respondents: int) -> _Work:
        trees, trustees = trees_of(study), min(parameters.committee, respondents)
        members = max(1, round(1.25 * (parameters.k + parameters.spare)))
        classes = max(1, respondents // members)
        bits = [math.log2(max(tree.codes, 2)) for tree in trees]
        layout = Layout.of(parameters, trees)
        lists = [last - first + 1 for first, last in layout.rising()] + [values for _, values in layout.values]
        return cls(
            trustees=trustees,
            helpers=parameters.threshold(trustees),
            marks=layout.size,
            proof=unit_vector.proof_bytes(lists),
            members=members,
            classes=classes,
            mixers=min(members, MOST_MIXERS),
            depth=max(map(math.ceil, bits)),
            tests=classes * sum(round(1.6 * each) for each in bits),
        )


def rounds(parameters: Parameters, work: _Work) -> int:
    """The longest chain of messages, in classes of the usual size and of columns that are searched to the end."""
    keys = 2 + 2 * LETTERS + 2
    reading = 3 if parameters.private_retrieval else 2 if parameters.chunked else 1
    helpers = parameters.threshold(parameters.committee)
    tests = 4 * work.depth + (2 * helpers + 2 if parameters.watched else 0)
    return keys + 1 + reading + 1 + 2 + tests + 2 + 1 + 2 * work.mixers + 1


def traffic(parameters: Parameters, work: _Work, respondents: int) -> tuple[int, int]:
    """Messages and bytes, all parties together."""
    private = 2 * LETTERS * work.trustees * (work.trustees - 1)
    if parameters.chunked:
        chunks = fetch.chunks_of(parameters)
        reading, fetched = 2, (2 + chunks.number) * chunks.bits // 8
    elif parameters.private_retrieval:
        shape = pir.shape_of(parameters.grid.cells, parameters.entry_bytes)
        reading, fetched = 3, shape.query_bytes + shape.answer_bytes + shape.hint_bytes
    else:
        reading, fetched = 1, parameters.grid.cells * parameters.entry_bytes
    onions = sum(row_size(parameters, layers) for layers in range(work.mixers + 1)) * 2
    # what became of the class; a task, and the rows there and back
    mixing = work.classes * (work.members + 3 * work.mixers)
    helping = work.helpers * (3 + 6 * work.depth)
    tokens = 0 if parameters.dealt else 1
    messages = respondents * (7 + tokens + reading) + private + 2 * work.trustees + helping + mixing
    total = respondents * (fetched + work.marks * ENTRY_BYTES + work.proof + onions + 48 * work.members + 300)
    if tokens:
        total += range_proof.proof_bytes(parameters.grid.cells + parameters.b)
        total += respondents * POINT_BYTES * (parameters.high - parameters.low + 5)
    total += (parameters.grid.cells + parameters.b) * ENTRY_BYTES
    total += work.helpers * (respondents * 64 + work.tests * 6 * 32)
    return messages, total + messages * _FRAME


def seconds(parameters: Parameters, work: _Work, respondents: int) -> float:
    """The time of computing, all respondents on one machine with two cores, as in a simulation."""
    tests = work.tests * parameters.threshold(parameters.committee)
    proved = respondents * work.proof * 0.5  # for each of its bytes, by the prover and the verifier
    points = respondents * work.marks * (110 + 45 + 110) + proved + parameters.grid.cells * (330 + 300) + tests * 350
    sealing = respondents * work.mixers * 2 * 150
    reading = respondents * (2.2e8 if parameters.private_retrieval else 0) * (parameters.grid.cells / 432_000) / 3e9
    if parameters.chunked:
        chunks = fetch.chunks_of(parameters)
        # a query's two primes; an exponent as long as the table for each chunk of an entry
        reading = respondents * (8.0 + chunks.number * chunks.records * chunks.size * _POWER)
    return 1.0 + (points + sealing) * 1e-6 * 0.6 + respondents * 0.012 + reading
