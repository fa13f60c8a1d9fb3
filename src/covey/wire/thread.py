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
from functools import partial
from typing import ParamSpec

from covey.errors import Aborted, CoveyError
from covey.wire.depth import beside
from covey.wire.link import QUEUE_BYTES, FrameQueue, Link

P = ParamSpec("P")


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
        self._make, self._here = make, asyncio.get_running_loop()
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
                    self._cancel_rest()
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

    def _cancel_rest(self) -> None:
        """Leaves nobody waiting for work that has ended with the link."""
        tasks = asyncio.all_tasks(self._loop)
        for task in tasks:
            task.cancel()
        if tasks:
            self._loop.run_until_complete(asyncio.wait(tasks))

    def leave(self, *, hasty: bool) -> None:
        """Ends the link's life: with a full good-bye, or as a role that failed leaves it."""
        with contextlib.suppress(RuntimeError):  # the loop is closed: it has ended by itself
            self._loop.call_soon_threadsafe(self._life.cancel if hasty else self._leaving.set)

    async def _live(self) -> None:
        async with self._make() as link:
            threaded = _Threaded(link, self._loop, self._here)
            try:
                async with beside(*threaded.work()):
                    self.opened.set_result(threaded)
                    await self._leaving.wait()
                    await threaded.settle()
            finally:
                threaded.end()


class _Handover:
    """Frames on their way from one loop to another, in order; those of a moment take one call of the other thread."""

    def __init__(self, source: asyncio.AbstractEventLoop, target: asyncio.AbstractEventLoop) -> None:
        self._source, self._target = source, target
        self._waiting: list[bytes] = []
        self._held = 0
        self._lock = threading.Lock()
        self._frames = FrameQueue()
        self._room, self._empty = asyncio.Event(), asyncio.Event()
        self._failure: CoveyError | None = None

    async def put(self, frame: bytes) -> None:
        """Hands a frame over, once there is room. Raises what ended the line."""
        while self._held >= QUEUE_BYTES and self._failure is None:
            self._room.clear()
            await self._room.wait()
        if self._failure is not None:
            raise self._failure.with_traceback(None)
        with self._lock:
            self._waiting.append(frame)
            self._held += len(frame)
        if len(self._waiting) == 1:
            self._target.call_soon_threadsafe(self._take)

    def _take(self) -> None:
        with self._lock:
            frames, self._waiting = self._waiting, []
        for frame in frames:
            self._frames.push(frame)

    async def get(self) -> bytes:
        """Returns the next frame, for which `done` is to be called once it is dealt with."""
        return await self._frames.get()

    def done(self, frame: bytes) -> None:
        """Makes room."""
        with self._lock:
            full, self._held = self._held >= QUEUE_BYTES, self._held - len(frame)
        if full:
            _call(self._source, self._room.set)
        if not self._held:
            self._empty.set()

    async def settle(self) -> None:
        """Returns once all frames are dealt with, on the loop that takes them."""
        while self._held and self._failure is None:
            self._empty.clear()
            await self._empty.wait()

    def end(self, reason: CoveyError) -> None:
        """Lets both sides know that the line has ended; what was handed over before can be read."""
        self._failure = self._failure or reason
        _call(self._target, self._frames.end, reason)
        _call(self._target, self._empty.set)
        _call(self._source, self._room.set)


def _call(loop: asyncio.AbstractEventLoop, work: Callable[P, object], *arguments: P.args, **options: P.kwargs) -> None:
    """Lets a loop do something, if it has not ended."""
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(partial(work, *arguments, **options))


class _Threaded:
    """A link that lives on another thread's loop."""

    def __init__(self, link: Link, link_loop: asyncio.AbstractEventLoop, here: asyncio.AbstractEventLoop) -> None:
        self._link, self._there = link, link_loop
        self.me, self.peers = link.me, link.peers
        self._out = {peer: _Handover(here, link_loop) for peer in link.peers}
        self._in = {peer: _Handover(link_loop, here) for peer in link.peers}
        self._ended = False

    async def send(self, peer: str, frame: bytes) -> None:
        """Hands a frame to the other thread, waiting while too many are on their way there."""
        await self._out[peer].put(frame)

    async def receive(self, peer: str) -> bytes:
        """The peer's next frame."""
        frame = await self._in[peer].get()
        self._in[peer].done(frame)
        return frame

    def heard(self, peer: str) -> float:
        """The time of the line's last sign of life: both loops read the machine's monotonic clock."""
        return self._link.heard(peer)

    async def close(self) -> None:
        """Closes the link over there."""
        if not self._ended:
            await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._close(), self._there))

    async def _close(self) -> None:
        await self.settle()
        await self._link.close()

    async def settle(self) -> None:
        """Returns once everything is on its way; on the other thread."""
        for line in self._out.values():
            await line.settle()

    def end(self) -> None:
        """Leaves nobody waiting for a link that has ended; on the other thread."""
        self._ended = True
        reason = Aborted("the connections to the other parties have ended; start again to go on", resumable=True)
        for line in (*self._in.values(), *self._out.values()):
            line.end(reason)

    def work(self) -> list[Coroutine[object, object, None]]:
        """The coroutines that carry frames; on the other thread."""
        return [carry(peer) for peer in self.peers for carry in (self._carry_in, self._carry_out)]

    async def _carry_in(self, peer: str) -> None:
        line = self._in[peer]
        try:
            while True:
                await line.put(await self._link.receive(peer))
        except CoveyError as error:
            line.end(error)

    async def _carry_out(self, peer: str) -> None:
        line = self._out[peer]
        try:
            while True:
                frame = await line.get()
                await self._link.send(peer, frame)
                line.done(frame)
        except CoveyError as error:
            line.end(error)
