"""Work side by side: an interruption is never lost, and a block that says something else is heard."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest
from tests.harness.clock import run_jumping

from covey.errors import Aborted
from covey.wire.depth import beside, gather


async def _for_ever() -> None:
    await asyncio.Event().wait()


async def _lost_when_ended() -> None:
    """A line that breaks at the moment at which it is closed."""
    try:
        await asyncio.Event().wait()
    finally:
        raise ConnectionResetError


async def _stay_beside() -> None:
    async with beside(_lost_when_ended()):
        await asyncio.Event().wait()


async def _stay_until_lost() -> None:
    """The line is lost, and before anyone hears of that the caller is interrupted."""
    caller = asyncio.current_task()
    assert caller is not None

    async def lost() -> None:
        await asyncio.sleep(0.5)
        asyncio.get_running_loop().call_soon(caller.cancel)
        raise ConnectionResetError

    async with beside(lost()):
        await asyncio.Event().wait()


@pytest.mark.parametrize("stay", [_stay_beside, _stay_until_lost])
def test_who_calls_again_after_a_lost_line_ends_when_interrupted_as_it_is_lost(
    stay: Callable[[], Awaitable[None]],
) -> None:
    calls = 0

    async def keep_calling() -> None:
        nonlocal calls
        while calls < 3:  # a fourth call would mean that the interruption is forgotten for good
            calls += 1
            with suppress(ConnectionResetError):
                await stay()

    async def interrupted() -> bool:
        calling = asyncio.create_task(keep_calling())
        await asyncio.sleep(1)
        calling.cancel()
        await asyncio.wait({calling}, timeout=1)
        ended = calling.cancelled()
        while not calling.done():
            calling.cancel()
            await asyncio.sleep(1)
        return ended

    assert run_jumping(interrupted()) and calls == 1


def test_a_deadline_that_passes_as_work_beside_fails_is_still_a_deadline() -> None:
    async def waiting() -> None:
        async with asyncio.timeout(1):
            await _stay_beside()

    with pytest.raises(TimeoutError):
        run_jumping(waiting())


def test_a_block_that_answers_an_interruption_is_heard() -> None:
    async def supervised() -> None:
        async with beside(_for_ever()):
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                raise Aborted("all were stopped", resumable=False) from None

    async def interrupted() -> None:
        running = asyncio.create_task(supervised())
        await asyncio.sleep(1)
        running.cancel()
        await running

    with pytest.raises(Aborted, match="all were stopped"):
        run_jumping(interrupted())


def test_failures_of_an_earlier_group_are_no_interruption() -> None:
    """A group of tasks of Python 3.11 leaves a cancellation behind that nobody asked for."""

    async def fails() -> None:
        await asyncio.sleep(1)
        raise ConnectionResetError

    async def both() -> None:
        async with beside(fails()):
            with suppress(Aborted):
                await gather(_refused(), _for_ever())
            await asyncio.Event().wait()

    with pytest.raises(ConnectionResetError):
        run_jumping(both())


async def _refused() -> None:
    raise Aborted("no", resumable=False)


def test_what_fails_beside_a_block_ends_it_and_is_raised_as_itself() -> None:
    async def fails() -> None:
        await asyncio.sleep(1)
        raise Aborted("the line is gone", resumable=True)

    async def both() -> None:
        async with beside(fails()):
            await asyncio.Event().wait()

    with pytest.raises(Aborted, match="the line is gone"):
        run_jumping(both())
