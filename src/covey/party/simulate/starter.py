"""Processes for the parties of a simulation: one process loads what all of them need, and forks one for each.

Loading takes longer than many a run, so it happens once. A command that has loaded everything, and has read nothing
yet, forks the process that forks; elsewhere, where other threads may run, that is a new one. It has no keys and no
data, and only the threads of libraries that were loaded, which wait. A party's process has pipes of its own: its stdin
stays open while it may run, and what it tells comes out of its stdout.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractContextManager, suppress
from typing import NoReturn

import msgspec

LONGEST = 1 << 16
"""Bytes of an order, or of what is told of a process, at most."""


class Order(msgspec.Struct, frozen=True):
    """A party's job, as the parent spells it."""

    study: str
    party: str
    out: str
    keys: str
    data: str | None
    wait: float
    seed: str | None
    latency: float
    bandwidth: float | None
    letters: str | None = None
    """The seed that all letters of a collection follow from, whose table are the data."""


class News(msgspec.Struct, frozen=True):
    """A party's process, and, once it has ended, its exit code."""

    party: str
    process: int
    code: int | None = None


class PartyProcess:
    """A party's process as its parent sees it."""

    def __init__(self, party: str, to: int, events: int) -> None:
        self.party = party
        self.number: int | None = None
        self.code: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._to: int | None = to
        self._events = os.fdopen(events, "rb", buffering=0)

    async def lines(self) -> AsyncIterator[bytes]:
        """Lines that the process tells, until it ends."""
        reader = asyncio.StreamReader()
        with self._events as pipe:
            transport, _ = await asyncio.get_running_loop().connect_read_pipe(
                lambda: asyncio.StreamReaderProtocol(reader), pipe
            )
            try:
                async for line in reader:
                    yield line
            finally:
                transport.close()

    def stop(self) -> None:
        """Closes its stdin, which asks it to end."""
        if self._to is not None:
            os.close(self._to)
            self._to = None

    def kill(self) -> None:
        """Ends it, if it has not ended by itself."""
        if self.number is not None and not self.code.done():
            with suppress(ProcessLookupError):
                os.kill(self.number, signal.SIGKILL)


class _Forked:
    """A process that this one has forked; 0 is that process itself."""

    def __init__(self, number: int) -> None:
        self.number = number
        self._code: int | None = None

    def kill(self) -> None:
        """Ends it."""
        if self._code is None:
            os.kill(self.number, signal.SIGKILL)

    def wait(self) -> int:
        """Its exit code, once it has ended."""
        if self._code is None:
            with suppress(ChildProcessError):  # another thread waited too
                self._code = os.waitstatus_to_exitcode(os.waitpid(self.number, 0)[1])
        return self._code or 0


def _settle(line: int, *, quiet: bool) -> None:
    """Makes a fork a process of its own: another session, orders on stdin, and nothing of the terminal."""
    os.setsid()
    os.dup2(line, 0)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for number in (1, 2) if quiet else (1,):
        os.dup2(nowhere, number)


class Starter(AbstractContextManager["Starter"]):
    """The process that loads everything and forks, for as long as the context lasts."""

    def __init__(self, serve: Callable[[], NoReturn] | None = None) -> None:
        """A new process; or with `serve`, which takes orders from stdin, a fork of this one, if it has one thread."""
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.setblocking(False)
        shown = None if os.environ.get("COVEY_DEBUG") else subprocess.DEVNULL
        self._process: subprocess.Popen[bytes] | _Forked
        with theirs:
            if serve is not None and threading.active_count() == 1:
                self._process = _Forked(os.fork())
                if not self._process.number:
                    self._socket.close()
                    _settle(theirs.fileno(), quiet=shown is not None)
                    serve()
                return
            self._process = subprocess.Popen(
                [sys.executable, "-m", "covey.party.simulate.worker"],
                stdin=theirs.fileno(), stdout=subprocess.DEVNULL, stderr=shown, start_new_session=True,
            )  # fmt: skip

    def __exit__(self, *error: object) -> None:
        self._socket.close()
        self._process.kill()  # its parties have ended: there is nothing left to do for it
        self._process.wait()

    def start(self, orders: Sequence[Order]) -> list[PartyProcess]:
        """A process for each order."""
        started = []
        for order in orders:
            (their_in, to), (events, their_out) = os.pipe(), os.pipe()
            socket.send_fds(self._socket, [msgspec.json.encode(order)], [their_in, their_out])
            os.close(their_in)
            os.close(their_out)
            started.append(PartyProcess(order.party, to, events))
        self._socket.shutdown(socket.SHUT_WR)
        return started

    async def watch(self, started: Sequence[PartyProcess]) -> None:
        """Notes the number and the end of each process; if the process that forks ends early, so have they."""
        by_party = {each.party: each for each in started}
        while told := await self._told():
            news = msgspec.json.decode(told, type=News)
            by_party[news.party].number = news.process
            if news.code is not None:
                by_party[news.party].code.set_result(news.code)
        for each in started:
            if not each.code.done():
                each.code.set_result(await asyncio.to_thread(self._process.wait) or 1)

    async def _told(self) -> bytes:
        with suppress(ConnectionError):
            return await asyncio.get_running_loop().sock_recv(self._socket, LONGEST)
        return b""


def fork_for_orders(line: socket.socket, prepare: Callable[[Order], None]) -> tuple[Order, int, int] | None:
    """In the process that forks: a process for each order that comes; returns in each of them its order and pipes.

    `prepare` loads what the first order needs, and so all of them. Returns None here, when no more orders come and all
    those processes have ended.
    """
    parties: dict[int, str] = {}
    while True:
        message, pipes, *_ = socket.recv_fds(line, LONGEST, 2)
        if not message:
            break
        order = msgspec.json.decode(message, type=Order)
        if not parties:
            prepare(order)
        number = os.fork()
        if not number:
            line.close()
            return order, pipes[0], pipes[1]
        for pipe in pipes:
            os.close(pipe)
        parties[number] = order.party
        line.send(msgspec.json.encode(News(order.party, number)))
    while parties:
        number, status = os.wait()
        ended = News(parties.pop(number), number, os.waitstatus_to_exitcode(status))
        with suppress(OSError):  # nobody listens any more
            line.send(msgspec.json.encode(ended))
    return None
