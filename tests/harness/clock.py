"""A clock that jumps: when every party waits, time moves to the next thing that is due.

Hours of deadlines pass in milliseconds, and always in the same way. If nothing is due, the parties wait for
each other for ever, and that is an error at once.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Executor
from functools import wraps
from typing import ParamSpec, TypeVar

from covey.errors import CoveyError

T = TypeVar("T")
P = ParamSpec("P")


class Deadlock(CoveyError):
    """Every party waits for another, without a deadline."""


class _JumpingSelector(selectors.SelectSelector):
    """Never waits for real, except for work that runs in a thread."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.threads = 0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        events = super().select(timeout=0)
        if events:
            return events
        if self.threads:
            return super().select(timeout=0.05 if timeout is None else min(max(timeout, 0), 0.05))
        if timeout is None:
            raise Deadlock("every party waits for another: no message is under way and no deadline is set")
        self.now += max(timeout, 0)
        return []


class JumpingLoop(asyncio.SelectorEventLoop):
    """An event loop on a clock that jumps. Sockets work, but time does not wait for them."""

    def __init__(self) -> None:
        self._jumping = _JumpingSelector()
        super().__init__(self._jumping)

    def time(self) -> float:
        """Seconds since the loop was made, on the clock that jumps."""
        return self._jumping.now

    def suspend(self, seconds: float) -> None:
        """Lets time pass in which nothing runs, as on a machine that sleeps."""
        self._jumping.now += seconds

    def run_in_executor(self, executor: Executor | None, func: Callable[..., T], *args: object) -> asyncio.Future[T]:
        """Runs work in a thread; the clock stands still until it is done."""
        self._jumping.threads += 1
        future: asyncio.Future[T] = super().run_in_executor(executor, func, *args)
        future.add_done_callback(self._returned)
        return future

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:  # noqa: ASYNC109
        """Waits for the threads to end; the clock stands still."""
        self._jumping.threads += 1
        try:
            await super().shutdown_default_executor()
        finally:
            self._jumping.threads -= 1

    def _returned(self, _: object) -> None:
        self._jumping.threads -= 1


def run_jumping(work: Awaitable[T]) -> T:
    """Runs a coroutine to its end on a clock that jumps."""
    answers: list[T] = []

    async def keep() -> None:  # the runner may spell its task's result out, and a table is long
        answers.append(await work)

    with asyncio.Runner(loop_factory=JumpingLoop) as runner:
        runner.run(keep())
    return answers[0]


def on_real_clock(test: Callable[P, Coroutine[object, None, None]]) -> Callable[P, None]:
    """Lets a test be a coroutine; for sockets, which do not wait for a clock that jumps."""

    @wraps(test)
    def run(*arguments: P.args, **named: P.kwargs) -> None:
        asyncio.run(test(*arguments, **named))

    return run
