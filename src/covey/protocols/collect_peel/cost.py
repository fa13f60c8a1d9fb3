"""An estimate of a run's cost and of what it teaches, before anyone has answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import comb

import numpy as np

from covey.arrays import Bits, Longs
from covey.crypto.letter import OVERHEAD
from covey.crypto.rng import derive
from covey.protocols.collect_peel.ideal import admission
from covey.protocols.collect_peel.layout import RecordLayout
from covey.protocols.collect_peel.leakage import before
from covey.protocols.collect_peel.parameters import Parameters
from covey.protocols.collect_peel.peeling import RESERVE
from covey.protocols.protocol import Forecast
from covey.protocols.shared import model
from covey.protocols.shared.cost import with_k
from covey.protocols.shared.peeling.classes import peel
from covey.protocols.shared.peeling.marginals import count_leaves, study_seed
from covey.protocols.shared.peeling.nodes import list_nodes
from covey.study import Study
from covey.wire import FRAME_BYTES

_NUMBER, _FRAME = 32, FRAME_BYTES + 50
REHEARSED = 5_000
"""Answers of a rehearsal at most."""
HOPS, OPENING = 7, 2
"""Messages in a row that a visit takes, but for the shuffle's passes; and those that open and name groups."""


@dataclass(frozen=True)
class Work:
    """The sizes that rounds, bytes and seconds follow from."""

    trustees: int
    passes: int
    numbers: int
    """Of a record."""
    counted: int
    """Numbers whose equals are counted, over all columns and visits."""
    columns: int
    """Of a row that is shuffled at a visit, with its checksum."""
    calls: int
    opening: int
    """Visits at which something is opened."""
    listed: int
    """Generalizations of the list; for each, products are made before the visits, up to a bound."""
    marginals: int
    """Columns whose values are counted first."""
    layers: int
    """Numbers of an answer that are counted at a visit."""

    @classmethod
    def of(cls, study: Study, parameters: Parameters, respondents: int) -> Work:
        """The sizes for so many respondents, whose answers are made up and peeled by a trusted party."""
        layout, trustees = RecordLayout.of(study), parameters.committee
        marginals = 0 if parameters.reference else len(layout.trees)
        number = min(max(respondents, parameters.k), REHEARSED)
        smaller = Parameters.of(with_k(study, max(2, parameters.k * number // max(respondents, parameters.k))))
        listed, counted, opening = _counted(study, smaller, number)
        return cls(
            trustees,
            comb(trustees, trustees // 2 + 1),
            layout.width,
            int((number * marginals + sum(counted)) * respondents / number),
            3 + len(parameters.watched),
            marginals + len(counted),
            marginals + opening,
            listed,
            marginals,
            1 + len(parameters.watched),
        )

    def sent(self, respondents: int) -> int:
        """Bytes that all trustees together send to each other."""
        t = self.trustees // 2
        pairs = self.trustees * (self.trustees - 1)
        shuffled = respondents * (self.numbers + 1) + self.counted * self.columns
        products = 2 * respondents * (min(self.listed, RESERVE) * self.layers + self.marginals + 1)
        by_pass = self.passes * (t + 1) * (self.trustees - 1 - t)
        dealt = self.trustees * (self.trustees - 1 - t)
        return _NUMBER * (shuffled * by_pass + products * 3 * dealt + (products + 4 * self.counted) * pairs)


def _counted(study: Study, parameters: Parameters, answers: int) -> tuple[int, list[int], int]:
    """The length of the list, for each visit the numbers whose equals are counted, and the visits that find groups.

    Counted are answers in play, and values in large groups.
    """
    made = model.made_up(study, parameters.watched, answers, derive(study_seed(study), "collect plan"), model.PEELED)
    admits = admission(parameters, [values.codes.astype(np.int64) for values in made.carried])
    counted: list[int] = []
    opening: list[bool] = []

    def watch(rows: Longs, place: Longs, size: Longs) -> Bits:
        counted.append(len(rows) + len(parameters.watched) * int(size[size >= parameters.k].sum()))
        found = admits(rows, place, size)
        opening.append(bool(found.any()))
        return found

    known = parameters.marginals(answers, count_leaves(made.trees, made.codes))
    nodes = list_nodes(study, made.trees, known, parameters.nodes)
    peel(made.trees, nodes, made.codes, parameters.k, watch)
    return len(nodes), counted, sum(opening)


def foresee(study: Study, rows: Mapping[str, int]) -> Forecast:
    """The cost of a run, and what it teaches; `rows` has the number of respondents, or a row each."""
    parameters = Parameters.of(study)
    respondents = max(sum(rows.values()), 1)
    work = Work.of(study, parameters, respondents)
    letters = respondents * work.trustees * (_NUMBER * work.numbers + OVERHEAD)
    hops = work.calls * (HOPS + work.passes) + OPENING * work.opening
    messages = 3 * respondents + 2 * hops * work.trustees * (work.trustees - 1)
    return Forecast(
        rounds=2 * (hops + 30),
        messages=messages,
        bytes=2 * (letters + work.sent(respondents)) + messages * _FRAME,
        seconds=seconds(work, respondents),
        lessons=before(parameters, respondents),
        mind=tuple(warnings(study, parameters, work, respondents)),
    )


def seconds(work: Work, respondents: int) -> float:
    """The time of computing, everyone on one machine, as in a simulation."""
    shuffled = respondents * (work.numbers + 1) + work.counted * work.columns
    each = work.trustees * (1.2e-4 * work.counted + 5e-6 * work.passes * shuffled + 2.5e-5 * respondents * RESERVE)
    return 2.0 + each + 2e-3 * respondents


def warnings(study: Study, parameters: Parameters, work: Work, respondents: int) -> list[str]:
    """Things to think of before a run."""
    if respondents < parameters.k:
        return [f"fewer than k = {parameters.k} respondents: nothing would be released"]
    needed = work.trustees // 2 + 1
    sent = work.trustees * (_NUMBER * work.numbers + OVERHEAD) / 1000
    found = [
        f"a respondent sends one message of {sent:.1f} kB, and is not needed again"
        if parameters.trustees
        else f"a respondent enrols, and sends one message of {sent:.1f} kB when the trustees are drawn; the "
        f"{work.trustees} who are drawn have to stay to the end. That is for simulations; to collect from people, name "
        "trustees in the study",
        f"{needed} of the {work.trustees} trustees together could read all answers: choose them so that this is absurd",
        "all trustees have to be there to the end: while one is away the others wait for it, and nothing is released",
    ]
    if study.privacy.l is None and study.sensitive:
        found.append("a class whose members all answer alike gives the answer away; ask for l")
    return found
