"""Programs made by chance: whatever a rule does with the box, both backends compute the same at the same cost."""

from __future__ import annotations

from collections.abc import Callable, Coroutine

import numpy as np
import pytest
from tests.unit.mpc.boxes import holds, run

from covey.arrays import Words
from covey.mpc import Box, Checked, Clear, Disclosure, Sealed, Shared, copied, freeze, joined, stacked, thaw
from covey.mpc.costs import Costs

Draw = np.random.Generator
Step = Callable[[Box, Draw, Shared], Coroutine[object, object, Shared]]


async def anded(box: Box, draw: Draw, value: Shared) -> Shared:
    return await (value.at(draw.permutation(value.records)) & value)


async def ored_with_a_flag(box: Box, draw: Draw, value: Shared) -> Shared:
    return await (value | value.bits([int(draw.integers(value.width))]))


async def added(box: Box, draw: Draw, value: Shared) -> Shared:
    return (await box.add(value, value.reversed())).bits(slice(1, None))


async def chosen(box: Box, draw: Draw, value: Shared) -> Shared:
    return await box.select(await (value < value.reversed()), value, ~value)


async def sorted_and_home(box: Box, draw: Draw, value: Shared) -> Shared:
    run = await box.sort(value.bits(slice(0, 1 + int(draw.integers(value.width)))), value)
    return await run.home(run.rows.later(int(draw.integers(3))))


async def shuffled(box: Box, draw: Draw, value: Shared) -> Shared:
    moved, _ = await box.shuffle(value)
    return moved


async def scanned(box: Box, draw: Draw, value: Shared) -> Shared:
    starts = box.public(draw.random(value.records) < 0.3, 1)
    return await box.scan(value, starts, copied, int(draw.integers(3)))


async def side_by_side(box: Box, draw: Draw, value: Shared) -> Shared:
    steps = draw.choice(len(STEPS), 3)  # drawn before they start, in one order at all parties
    seeds = draw.integers(1 << 30, size=3)
    work = (STEPS[step](box, np.random.default_rng(seed), value) for step, seed in zip(steps, seeds, strict=True))
    one, two, three = await box.together(*work)
    return await box.select(one.bits([0]), two, three)


async def decided(box: Box, draw: Draw, value: Shared) -> Shared:
    box.decide(draw.bytes(5))
    return value


async def opened(box: Box, draw: Draw, value: Shared) -> Shared:
    words = await box.open(value, says=Disclosure("halfway", {"bits": value.width}))
    return value ^ box.public(words, value.width)


async def resumed(box: Box, draw: Draw, value: Shared) -> Shared:
    (again,) = thaw(box, freeze(value))
    await box.compare(again)
    return stacked(again.at(np.arange(value.records // 2)), value.at(np.arange(value.records // 2, value.records)))


STEPS: tuple[Step, ...] = (
    anded,
    ored_with_a_flag,
    added,
    chosen,
    sorted_and_home,
    shuffled,
    scanned,
    side_by_side,
    decided,
    opened,
    resumed,
)


async def program(box: Box, place: int, number: int) -> list[Words]:
    draw = np.random.default_rng([number, 43])
    width, records = int(draw.integers(1, 30)), int(draw.choice([1, 5, 63, 64, 65, 150]))
    x = draw.integers(0, 1 << width, records, dtype=np.uint64)
    value = await box.share(holds(place, number % 3, x), width, records, number % 3)
    for _ in range(6):
        step = STEPS[int(draw.integers(len(STEPS)))]
        value = await step(box, draw, value) ^ value.later(1)
    group = await box.grouped(value, 3)
    return [await box.open(column, says=Disclosure("end")) for column in (value, group, joined(group, value))]


@pytest.mark.few(20)
@pytest.mark.parametrize("number", range(150))
def test_all_backends_compute_the_same_at_the_same_cost(number: int) -> None:
    run(lambda box, place: program(box, place, number), number, backends=[(Checked, Sealed)[number % 2]])


def test_a_wrong_declaration_of_a_cost_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Costs, "less", lambda costs, width, records, distinct=False: costs.product(1, width, records))
    with pytest.raises(AssertionError):
        run(lambda box, place: program(box, place, 1))


@pytest.mark.parametrize("backend", [Clear, Sealed])
def test_a_wrong_kernel_is_noticed(backend: type[Box], monkeypatch: pytest.MonkeyPatch) -> None:
    both = backend.both
    monkeypatch.setattr(backend, "both", lambda box, a, b: both(box, a, ~b))
    with pytest.raises(AssertionError):
        run(lambda box, place: program(box, place, 1))
