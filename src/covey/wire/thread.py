"""A link on a thread of its own keeps its lines alive while the role computes.

Heartbeats go out and frames come in although the role's event loop is busy for minutes, as long as the
computation lets other threads run (numpy does; a numba kernel does with `nogil=True`).
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TypeVar

from covey.errors import Aborted
from covey.wire.link import Link

T = TypeVar("T")


@asynccontextmanager
async def on_own_thread(make: Callable[[], AbstractAsyncContextManager[Link]]) -> AsyncIterator[Link]:
    """Opens a link on a new thread and hands its frames over; errors on the way are raised here."""
    host = _Host(make)
    host.start()
    try:
        yield await asyncio.wrap_future(host.opened)
    except BaseException:
        host.leave(hasty=True)
        await asyncio.wrap_future(host.ended)
        raise
    host.leave(hasty=False)
    await asyncio.wrap_future(host.ended)


class _Host(threading.Thread):
    """The thread on which a link lives, from its opening to its end."""

    def __init__(self, make: Callable[[], AbstractAsyncContextManager[Link]]) -> None:
        super().__init__(name="covey-link", daemon=True)
        self.opened: Future[Link] = Future()
        self.ended: Future[None] = Future()
        for future in (self.opened, self.ended):
            future.set_running_or_notify_cancel()  # from here on it cannot be cancelled, only settled
        self._make = make
        self._over = threading.Event()
        self._leaving = asyncio.Event()
        self._loop = asyncio.new_event_loop()
        self._life = self._loop.create_task(self._live())

    def run(self) -> None:
        """Lives until `leave`; a failure settles whichever future the role waits for."""
        try:
            with contextlib.closing(self._loop):
                try:
                    self._loop.run_until_complete(self._life)
                finally:
                    self._release_waiters()
        except asyncio.CancelledError:
            self.ended.set_result(None)
        except BaseException as error:
            if self.opened.done():
                self.ended.set_exception(error)
            else:
                self.ended.set_result(None)
                self.opened.set_exception(error)
        else:
            self.ended.set_result(None)

    def _release_waiters(self) -> None:
        """Nobody is left waiting for a link that has ended."""
        self._over.set()
        waiters = asyncio.all_tasks(self._loop)
        for waiter in waiters:
            waiter.cancel()
        if waiters:
            self._loop.run_until_complete(asyncio.wait(waiters))

    def leave(self, *, hasty: bool) -> None:
        """Ends the link's life: with a full good-bye, or as a role that failed leaves it."""
        with contextlib.suppress(RuntimeError):  # the loop is closed: it has ended by itself
            self._loop.call_soon_threadsafe(self._life.cancel if hasty else self._leaving.set)

    async def _live(self) -> None:
        async with self._make() as link:
            self.opened.set_result(_Threaded(link, self._loop, self._over))
            await self._leaving.wait()


class _Threaded:
    """A link that lives on another thread's loop."""

    def __init__(self, link: Link, loop: asyncio.AbstractEventLoop, over: threading.Event) -> None:
        self._link, self._loop, self._over = link, loop, over
        self.me, self.peers = link.me, link.peers
        self._under_way: dict[str, Future[bytes]] = {}

    async def send(self, peer: str, frame: bytes) -> None:
        """Hands a frame to the other thread, and waits until it is on its way."""
        future = self._there(self._link.send(peer, frame))
        try:
            await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            self._check_alive()
            raise

    async def receive(self, peer: str) -> bytes:
        """The peer's next frame; one that arrives just as the wait is cancelled is kept for the next call."""
        future = self._under_way.get(peer)
        if future is None:
            future = self._under_way[peer] = self._there(self._link.receive(peer))
        here = asyncio.wrap_future(future)
        here.add_done_callback(_look_at)
        try:
            frame = await asyncio.shield(here)
        except asyncio.CancelledError:
            if future.cancelled():
                self._check_alive()
            raise
        except BaseException:
            del self._under_way[peer]
            raise
        del self._under_way[peer]
        return frame

    def heard(self, peer: str) -> float:
        """The time of the line's last sign of life: both loops read the machine's monotonic clock."""
        return self._link.heard(peer)

    async def close(self) -> None:
        """Closes the link over there."""
        await asyncio.wrap_future(self._there(self._link.close()))

    def _there(self, work: Coroutine[object, None, T]) -> Future[T]:
        if self._over.is_set():
            work.close()
        self._check_alive()
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def _check_alive(self) -> None:
        if self._over.is_set():
            raise Aborted("the connections to the other parties have ended; start again to go on", resumable=True)


def _look_at(future: asyncio.Future[bytes]) -> None:
    """A failure that comes after the wait was cancelled is the next call's; nobody is to be told that it was missed."""
    if not future.cancelled():
        future.exception()
