"""The exact cost of what three providers or more do on shares, message by message."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from covey.crypto.dealing import extracted
from covey.crypto.field import F61
from covey.crypto.sharing import threshold
from covey.protocols.federate.groups import Division, GroupTurn
from covey.protocols.federate.largest import matches
from covey.protocols.federate.parameters import Parameters
from covey.protocols.federate.thresholds import tests_of
from covey.protocols.shared.cost import CostEstimate
from covey.secure.threshold_test import MESSAGE_BYTES
from covey.wire import FRAME_BYTES, chunks

VECTOR_BYTES = FRAME_BYTES + 40

Names = Sequence[str]


def add_division(cost: CostEstimate, params: Parameters, division: Division) -> None:
    """Adds everything up to the classes."""
    names, people, others = params.providers, len(params.population), len(params.providers) - 1
    add_dealing(cost, names, people)
    for _ in range(1, others):
        add_dealing(cost, names, 2 * people)
    add_dealing(cost, names, others * people)
    if params.width > 1:
        add_dealt(cost, names, {params.second: params.width * people})
    add_verdicts(cost, names, 1, tests_of(params))
    for steps in division.levels:
        _level(cost, params, steps)
    for tested in division.merged:
        add_verdicts(cost, names, len(tested), params.width * others)


def _level(cost: CostEstimate, params: Parameters, steps: Sequence[GroupTurn]) -> None:
    names, groups = params.providers, len(steps)
    add_dealing(cost, names, groups)
    add_largest(cost, names, [len(names)] * groups)
    add_opening(cost, names, groups)
    led = {name: [step for step in steps if step.divider == place] for place, name in enumerate(names)}
    cut = {name: [step for step in own if step.candidates] for name, own in led.items()}
    asked = {name: sum(step.candidates for step in own) * (params.alpha < 1) for name, own in cut.items()}
    _tell(cost, names, {name: len(own) + asked[name] for name, own in led.items()})
    sizes = [step.candidates for step in steps if step.candidates]
    if any(asked.values()):
        add_dealt(cost, names, {name: sum(step.candidates * step.size for step in own) for name, own in cut.items()})
        _open_to_each(cost, names, {name: sum(sizes) - asked[name] for name in names})
        add_dealt(cost, names, {name: sum(sizes) + asked[name] for name in names})
        add_largest(cost, names, sizes)
        _open_to_each(cost, names, {name: len(own) for name, own in cut.items()})
    if sizes:
        add_dealt(cost, names, {name: sum(step.size for step in own) for name, own in cut.items()})
        add_verdicts(cost, names, len(sizes), 2 * tests_of(params))
    divided = {name: sum(step.size for step in own if step.split) for name, own in cut.items()}
    _tell(cost, names, {name: -(-members // 64) for name, members in divided.items()})


# -- the blocks of `shared_numbers`


def add_dealing(cost: CostEstimate, names: Names, width: int) -> None:
    """Everyone deals so many numbers, or shares so many products anew."""
    add_dealt(cost, names, dict.fromkeys(names, width))


def add_opening(cost: CostEstimate, names: Names, width: int) -> None:
    """So many numbers are opened to everyone."""
    pairs = len(names) * (len(names) - 1)
    cost.exchange(names, pairs * chunks.messages(8 * width, 1), pairs * chunks.size(8 * width, 1, MESSAGE_BYTES))


def add_verdicts(cost: CostEstimate, names: Names, groups: int, together: int) -> None:
    """The signs of so many numbers, of which each group's are opened together."""
    _signs(cost, names, groups * together)
    _random(cost, names, groups)
    add_opening(cost, names, groups)


def add_largest(cost: CostEstimate, names: Names, sizes: Sequence[int]) -> None:
    """The largest number of each group, of these sizes."""
    for count in matches(sizes):
        _signs(cost, names, count)
        add_dealing(cost, names, 2 * count)


def _signs(cost: CostEstimate, names: Names, count: int) -> None:
    _random(cost, names, F61.bits * count)
    add_opening(cost, names, F61.bits * count)
    add_opening(cost, names, count)
    left = F61.bits
    while left > 1:
        add_dealing(cost, names, left // 2 * 2 * count)
        left -= left // 2
    add_dealing(cost, names, count)


def _random(cost: CostEstimate, names: Names, width: int) -> None:
    if len(names) > 3:
        add_dealing(cost, names, -(-width // extracted(len(names))))


def add_dealt(cost: CostEstimate, names: Names, due: Mapping[str, int]) -> None:
    """Some deal so many numbers each, to those who cannot derive their shares."""
    order, parts = sorted(names), []
    for dealer, width in due.items():
        part = cost.beside()
        for ahead in range(threshold(len(names)) + 1, len(names)) if width else ():
            to = order[(order.index(dealer) + ahead) % len(names)]
            part.send(dealer, to, chunks.messages(8 * width, 1), chunks.size(8 * width, 1, MESSAGE_BYTES))
        parts.append(part)
    cost.join(parts)


def _open_to_each(cost: CostEstimate, names: Names, widths: Mapping[str, int]) -> None:
    """So many numbers are opened to each alone."""
    parts = []
    for reader, width in widths.items():
        part = cost.beside()
        for sender in names if width else ():
            if sender != reader:
                part.send(sender, reader, chunks.messages(8 * width, 1), chunks.size(8 * width, 1, MESSAGE_BYTES))
        parts.append(part)
    cost.join(parts)


def _tell(cost: CostEstimate, names: Names, words: Mapping[str, int]) -> None:
    """Some tell everyone so many words each."""
    parts = []
    for sender, count in words.items():
        part = cost.beside()
        for to in names if count else ():
            if to != sender:
                part.send(sender, to, 1, VECTOR_BYTES + 8 * count)
        parts.append(part)
    cost.join(parts)
