"""Rounds are counted by causes, not by clocks: a message is one deeper than the deepest its sender had read.

Each task has a depth of its own, in a context variable: what another task of the same party read, or what
merely arrived, does not count. A task that starts others and waits for their answers has read what they
read; `gather` says so. A plain `asyncio.TaskGroup` in role code would forget it, so roles use `gather`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import TypeVar

from covey.errors import CoveyError

T = TypeVar("T")

_DEPTH: ContextVar[int] = ContextVar("depth", default=0)


def current() -> int:
    """The depth of the deepest message that this task has read in this session."""
    return _DEPTH.get()


def consume(depth: int) -> None:
    """This task has read a message of that depth."""
    if depth > _DEPTH.get():
        _DEPTH.set(depth)


def restart() -> None:
    """This task has read nothing yet: a session begins."""
    _DEPTH.set(0)


async def gather(*work: Coroutine[object, object, T]) -> list[T]:
    """The answers of several coroutines that run side by side, in their order; the first failure ends all.

    A failure that Covey can explain is raised as itself, not as a group.
    """
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(_with_depth(piece)) for piece in work]
    except BaseExceptionGroup as failures:
        raise first_cause(failures) from None
    answers = []
    for task in tasks:
        answer, depth = task.result()
        consume(depth)
        answers.append(answer)
    return answers


async def while_sending(sending: Coroutine[object, object, None], reading: Coroutine[object, object, T]) -> T:
    """The answer of `reading`, which runs side by side with `sending`: so neither of two peers waits for the other."""
    answers: list[T] = []

    async def read() -> None:
        answers.append(await reading)

    await gather(sending, read())
    return answers[0]


@asynccontextmanager
async def beside(*work: Coroutine[object, object, None]) -> AsyncIterator[None]:
    """Runs coroutines beside the block, and ends them with it; the first failure ends all, and is raised as itself.

    A cancellation is never lost: a group of tasks forgets it where one of them fails at the same moment.
    """
    interrupted, over = False, False
    failed: list[int] = []
    """When the first one failed, the number of cancellations that had been asked for."""

    async def watched(piece: Coroutine[object, object, None]) -> None:
        try:
            await piece
        except Exception:
            if not over and not failed:
                failed.append(_cancelled(owner))
            raise

    owner = asyncio.current_task()
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(watched(piece)) for piece in work]
            try:
                yield
            except asyncio.CancelledError:
                interrupted = not failed
                raise
            finally:
                over = True
                for task in tasks:
                    task.cancel()
    except BaseExceptionGroup as failures:
        if interrupted or (failed and _cancelled(owner) > failed[0]):
            raise asyncio.CancelledError from None
        raise first_cause(failures) from None
    finally:
        for piece in work:
            piece.close()  # one that was cancelled before it began would be missed as never awaited


def _cancelled(task: asyncio.Task[object] | None) -> int:
    """The number of cancellations that a task was asked for, and that nobody has taken back."""
    return 0 if task is None else task.cancelling()


def first_cause(failures: BaseExceptionGroup[BaseException]) -> BaseException:
    """The exception to show for a group: Covey's own first, else the first one, however deeply nested."""
    flat: list[BaseException] = []
    pending: list[BaseException] = [failures]
    while pending:
        failure = pending.pop(0)
        if isinstance(failure, BaseExceptionGroup):
            pending.extend(failure.exceptions)
        else:
            flat.append(failure)
    return next((failure for failure in flat if isinstance(failure, CoveyError)), flat[0])


async def _with_depth(work: Coroutine[object, object, T]) -> tuple[T, int]:
    answer = await work
    return answer, current()
