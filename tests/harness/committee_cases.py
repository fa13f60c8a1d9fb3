"""Committees as the harness tries them: three trustees make or get a key, and two of them open for another party.

Dealt keys are tiny here: they protect nothing, and are made in no time.
"""

from __future__ import annotations

from collections.abc import Sequence

from tests.harness import canaries, committee_costs
from tests.harness.network import seed_of
from tests.harness.spent import Spent
from tests.harness.tiny_keys import TINY
from tests.harness.trial import Case, Marked, Trial, of_block

from covey.crypto.elgamal import Logarithms, encrypt, opened
from covey.crypto.rng import Rng
from covey.protocols.as_printed.collect import committee, dealt_committee
from covey.protocols.as_printed.collect.dealt_committee import Cut
from covey.wire import Channel

TRUSTEES = ("a", "b", "c")
DEALER = "dealer"
OPENER = "opener"
THRESHOLD = 2
HELPERS = {"a": 1, "c": 3}
BOUND = 1 << 10


def _committee(numbers: Sequence[int], bound: int = BOUND) -> Trial:
    async def role(channel: Channel, mine: Sequence[int]) -> object:
        founding, opening = channel.at("found"), channel.at("open")
        if channel.me != OPENER:
            trustee = await committee.found(founding, TRUSTEES, THRESHOLD, opener=OPENER)
            if channel.me in HELPERS:
                await committee.serve(opening, trustee, OPENER, len(numbers))
            return None
        key = await committee.learn(founding, TRUSTEES, THRESHOLD)
        hidden = encrypt(mine, key.public, channel.rng.stream("numbers"))
        points = opened(hidden, [await committee.unlock(opening, key, HELPERS, hidden)])
        if bound > BOUND:
            return len(points)
        return Logarithms(bound).of(points).tolist()

    founding, opening = committee_costs.COMMITTEE, committee_costs.COMMITTEE_OPENING
    size, count = len(TRUSTEES), len(numbers)
    cost = Spent(
        founding.rounds(size, THRESHOLD, True) + opening.rounds(THRESHOLD, count),
        founding.messages(size, THRESHOLD, True) + opening.messages(THRESHOLD, count),
        founding.bytes(size, THRESHOLD, True) + opening.bytes(THRESHOLD, count),
    )
    answer: object = len(numbers) if bound > BOUND else list(numbers)
    inputs: dict[str, Sequence[int]] = {**dict.fromkeys(TRUSTEES, ()), OPENER: numbers}
    return of_block("committee", inputs, role, {**dict.fromkeys(TRUSTEES), OPENER: answer}, cost)


def _draw(seed: int) -> Trial:
    return _committee(_numbers(seed, 20))


def _numbers(seed: int, most: int) -> list[int]:
    stream = Rng(seed_of(seed)).stream("trial", "committee")
    return [stream.below(BOUND) for _ in range(1 + stream.below(most))]


def _marked() -> Marked:
    figures = canaries.numbers(OPENER)
    return Marked(_committee(figures, 1 << 64), numbers={OPENER: figures})


COMMITTEE = Case(
    "committee",
    _draw,
    lambda: _committee([7]),
    lambda: (_committee([1, 2, 3]), _committee([900, 2, 0])),
    _marked,
)


def _dealt(cut: Cut, numbers: Sequence[int]) -> Trial:
    async def role(channel: Channel, mine: Sequence[int]) -> object:
        founding, opening = channel.at("found"), channel.at("open")
        if channel.me == DEALER:
            await dealt_committee.deal(founding, TRUSTEES, THRESHOLD, opener=OPENER, cut=cut, bits=TINY)
            return None
        if channel.me != OPENER:
            trustee = await dealt_committee.accept(founding, DEALER, TRUSTEES, THRESHOLD, opener=OPENER, cut=cut)
            if channel.me in HELPERS:
                await dealt_committee.serve(opening, trustee, OPENER, len(numbers), list(HELPERS.values()))
            return None
        key = await dealt_committee.learn(founding, DEALER, TRUSTEES, THRESHOLD, cut=cut)
        hidden = key.public.encrypt(mine, channel.rng.stream("numbers"))
        return await dealt_committee.unlock(opening, key, HELPERS, hidden)

    founding, opening = committee_costs.DEALT, committee_costs.DEALT_OPENING
    size, count = len(TRUSTEES), len(numbers)
    cost = Spent(
        founding.rounds(size, cut, TINY) + opening.rounds(size, THRESHOLD, cut, TINY, count),
        founding.messages(size, cut, TINY) + opening.messages(size, THRESHOLD, cut, TINY, count),
        founding.bytes(size, cut, TINY) + opening.bytes(size, THRESHOLD, cut, TINY, count),
    )
    others = (DEALER, *TRUSTEES)
    inputs: dict[str, Sequence[int]] = {**dict.fromkeys(others, ()), OPENER: numbers}
    answer: object = list(numbers)
    return of_block("dealt-committee", inputs, role, {**dict.fromkeys(others), OPENER: answer}, cost)


def _dealt_case(name: str, cut: Cut) -> Case:
    figures = canaries.numbers(OPENER, 50)
    return Case(
        name,
        lambda seed: _dealt(cut, _numbers(seed, 6)),
        lambda: _dealt(cut, [7]),
        lambda: (_dealt(cut, [1, 2, 3]), _dealt(cut, [900, 2, 0])),
        lambda: Marked(_dealt(cut, figures), numbers={OPENER: figures}),
        quick=8,
    )


COMMITTEE_CASES = (
    COMMITTEE,
    _dealt_case("dealt-committee", "shamir"),
    _dealt_case("dealt-committee-remainders", "asmuth-bloom"),
)
