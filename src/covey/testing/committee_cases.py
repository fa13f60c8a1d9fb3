"""The committee as the harness tries it: three trustees make a key, and two of them open numbers for a fourth party."""

from __future__ import annotations

from collections.abc import Sequence

from covey.crypto.elgamal import Logarithms, encrypt, opened
from covey.crypto.rng import Rng
from covey.secure import committee
from covey.testing import canaries
from covey.testing.network import seed_of
from covey.testing.spent import Spent
from covey.testing.trial import Case, Marked, Trial, of_block
from covey.wire import Channel

TRUSTEES = ("a", "b", "c")
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

    founding, opening = committee.COST, committee.OPENING_COST
    size, count = len(TRUSTEES), len(numbers)
    cost = Spent(
        founding.rounds(size, THRESHOLD, True) + opening.rounds(THRESHOLD, count),
        founding.messages(size, THRESHOLD, True) + opening.messages(THRESHOLD, count),
        founding.bytes(size, THRESHOLD, True) + opening.bytes(THRESHOLD, count),
    )
    answer: object = len(numbers) if bound > BOUND else committee.ideal(numbers)
    inputs: dict[str, Sequence[int]] = {**dict.fromkeys(TRUSTEES, ()), OPENER: numbers}
    return of_block("committee", inputs, role, {**dict.fromkeys(TRUSTEES), OPENER: answer}, cost)


def _draw(seed: int) -> Trial:
    stream = Rng(seed_of(seed)).stream("trial", "committee")
    return _committee([stream.below(BOUND) for _ in range(1 + stream.below(20))])


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
