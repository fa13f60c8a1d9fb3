"""The exact cost of what three providers or more do on shares, message by message."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from covey.crypto.dealing import extracted
from covey.crypto.field import F61
from covey.crypto.sharing import threshold
from covey.protocols.as_printed.federate import checking
from covey.protocols.as_printed.federate.groups import Division, GroupTurn
from covey.protocols.as_printed.federate.largest import matches
from covey.protocols.as_printed.federate.parameters import Parameters
from covey.protocols.as_printed.federate.thresholds import tests_of
from covey.protocols.shared import agree
from covey.protocols.shared.cost import CostEstimate
from covey.secure import coin
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
    _settle(cost, params, len(division.leaves))


def _settle(cost: CostEstimate, params: Parameters, classes: int) -> None:
    """The classes are compared and tested once more, and everything is checked."""
    names = params.providers
    cost.broadcast_each(names, agree.MESSAGE_BYTES)
    if sums := class_sums(params):
        add_dealing(cost, names, classes * sums)
    add_verdicts(cost, names, classes, tests_of_class(params))
    add_check(cost, names, noted(params, classes))


def class_sums(params: Parameters) -> int:
    """The sums by exact values that a class needs; none where there are no exact values."""
    return params.width * (len(params.providers) if params.sensitive else 1) if params.width > 1 else 0


def tests_of_class(params: Parameters) -> int:
    """The numbers of a class that are tested together before the release."""
    return tests_of(params) + (params.width * (len(params.providers) - 1) if params.sensitive else 0)


def noted(params: Parameters, classes: int) -> int:
    """The places of all products that are checked: of bits, of exact values, of sums over classes, and of tests."""
    others, values = len(params.providers) - 1, params.width if params.width > 1 else 0
    each = 2 * (others - 1) + others + len(params.providers) + values + class_sums(params)
    return len(params.population) * each + classes * (tests_of_class(params) * sum(_sign_products()) + 1)


def add_check(cost: CostEstimate, names: Names, noted: int) -> None:
    """So many places of products are checked."""
    _toss(cost, names)
    for parts in [checking.FOLD] * checking.folds(noted):
        _fold(cost, names, parts)
    _random(cost, names, 2)
    add_dealing(cost, names, 1)
    _fold(cost, names, 2)
    cost.broadcast_each(names, checking.SHOWN_BYTES)


def _fold(cost: CostEstimate, names: Names, parts: int) -> None:
    add_dealing(cost, names, 2 * parts - 2)
    _toss(cost, names)


def _toss(cost: CostEstimate, names: Names) -> None:
    for _ in range(2):
        cost.broadcast_each(names, coin.MESSAGE_BYTES)


def _sign_products() -> list[int]:
    """The products, in their layers, behind the sign of one number; the squares come first."""
    found, left = [F61.bits], F61.bits
    while left > 1:
        found.append(left // 2 * 2)
        left -= left // 2
    return [*found, 1]


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
    for products in _sign_products()[1:]:
        add_dealing(cost, names, products * count)


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
