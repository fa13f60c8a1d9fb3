"""A broker that one cannot trust: it stands before nats-server, keeps all that it sees, and meddles with it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import numpy as np

from covey.wire.contact import Address

Meddling = Callable[[bytes, bytes], list[bytes]]
"""What becomes of a message with that subject that is on its way to a party: none, one or several messages."""


def honest(subject: bytes, content: bytes) -> list[bytes]:
    """Passes a message on."""
    return [content]


@dataclass
class Meddler:
    """The way to the broker, which sees everything."""

    broker: Address
    meddle: Meddling = honest
    seen: bytearray = field(default_factory=bytearray)
    address: Address = field(default_factory=lambda: Address("127.0.0.1", 0))
    messages: int = 0

    @asynccontextmanager
    async def between(self) -> AsyncIterator[Meddler]:
        """Takes the parties' connections while the block runs."""
        tasks: set[asyncio.Task[None]] = set()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            tasks.add(task)
            with contextlib.suppress(OSError, EOFError, asyncio.CancelledError):
                await self._carry(reader, writer)
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0, limit=1 << 22)
        self.address = Address("127.0.0.1", server.sockets[0].getsockname()[1])
        try:
            yield self
        finally:
            server.close()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await server.wait_closed()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection(self.broker.host, self.broker.port, limit=1 << 22)
        try:
            async with asyncio.TaskGroup() as group:
                up = group.create_task(self._up(reader, back))
                group.create_task(self._down(there, writer, up))
        except BaseExceptionGroup as failures:
            raise ConnectionResetError from failures
        finally:
            back.close()

    async def _up(self, reader: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        while content := await reader.read(1 << 16):
            self.seen += content
            back.write(content)
            await back.drain()
        raise EOFError

    async def _down(self, there: asyncio.StreamReader, writer: asyncio.StreamWriter, up: asyncio.Task[None]) -> None:
        while line := await there.readuntil(b"\r\n"):
            self.seen += line
            if not line.startswith(b"MSG "):
                writer.write(line)
                continue
            words = line.split()
            content = (await there.readexactly(int(words[-1]) + 2))[:-2]
            self.messages += 1
            for told in self.meddle(words[1], content):
                writer.write(b" ".join([*words[:-1], str(len(told)).encode()]) + b"\r\n" + told + b"\r\n")
            await writer.drain()


def meddling(seed: int, *, drop: float = 0.0, repeat: float = 0.0, swap: float = 0.0, change: float = 0.0,
             head: bool = False) -> Meddling:  # fmt: skip
    """Meddles with messages by a seed; `change` flips a bit of what TLS protects, with `head` of the carrier's head."""
    chance = np.random.default_rng(seed)
    held: dict[bytes, list[bytes]] = {}

    def meddle(subject: bytes, content: bytes) -> list[bytes]:
        if chance.random() < drop:
            return []
        if chance.random() < change and len(content) > 50:
            altered = bytearray(content)
            altered[int(chance.integers(0, 41) if head else chance.integers(41, len(content)))] ^= 1 << int(
                chance.integers(8)
            )
            content = bytes(altered)
        out = [content, content] if chance.random() < repeat else [content]
        if chance.random() < swap:
            held.setdefault(subject, []).extend(out)
            return []
        return out + held.pop(subject, [])

    return meddle
