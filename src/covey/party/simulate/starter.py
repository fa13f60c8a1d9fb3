"""Processes for the parties of a simulation: one process loads what all of them need, and forks one for each.

Loading takes longer than many a run, so it begins before anything else, and happens once. The process that forks has no
keys and no data, and only the threads of libraries that it has loaded, which wait. A party's process has pipes of its
own: its stdin stays open while it may run, and what it tells comes out of its stdout.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractContextManager, suppress

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


class Forked(msgspec.Struct, frozen=True):
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


class Starter(AbstractContextManager["Starter"]):
    """The process that loads everything and forks, for as long as the context lasts."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.setblocking(False)
        shown = None if os.environ.get("COVEY_DEBUG") else subprocess.DEVNULL
        with theirs:
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
            news = msgspec.json.decode(told, type=Forked)
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
        line.send(msgspec.json.encode(Forked(order.party, number)))
    while parties:
        number, status = os.wait()
        ended = Forked(parties.pop(number), number, os.waitstatus_to_exitcode(status))
        with suppress(OSError):  # nobody listens any more
            line.send(msgspec.json.encode(ended))
    return None
