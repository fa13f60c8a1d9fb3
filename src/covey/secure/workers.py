"""Worker processes of this program that compute beside a role, for libraries that keep all but one core idle.

A worker knows one function, bytes in and bytes out, and has no state that an answer could depend on. It is a fresh
interpreter, started without a shell, never a fork: it inherits no key and no random stream but what its job brings.
It ends when its stdin closes, and so with the role, however the role ends.
"""

from __future__ import annotations

import asyncio
import importlib
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from queue import SimpleQueue
from types import TracebackType

from covey.crypto.sodium import cores
from covey.errors import Aborted

_LENGTH = 8
Work = Callable[[bytes], bytes]


class Workers:
    """Workers for one function, `package.module:function`; with a size of zero everything is done here."""

    def __init__(self, function: str, size: int | None = None) -> None:
        self._function = function
        self.size = cores() if size is None else size
        self._idle: SimpleQueue[subprocess.Popen[bytes]] = SimpleQueue()
        self._all: list[subprocess.Popen[bytes]] = []
        self._threads: ThreadPoolExecutor | None = None

    async def __aenter__(self) -> Workers:
        if self.size:
            self._threads = ThreadPoolExecutor(self.size, thread_name_prefix="covey-worker")
        for _ in range(self.size):
            worker = _start(self._function)
            self._all.append(worker)
            self._idle.put(worker)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for worker in self._all:
            worker.kill()  # what it may be computing is wanted no more
        if self._threads is not None:
            self._threads.shutdown(wait=True, cancel_futures=True)
        for worker in self._all:
            for pipe in (worker.stdin, worker.stdout):
                if pipe is not None:
                    with suppress(BrokenPipeError):  # a job that it did not read before it died
                        pipe.close()
            worker.wait()

    async def do(self, job: bytes) -> bytes:
        """The function's answer. As many jobs run at a time as there are workers. Raises Aborted if a worker died."""
        if self._threads is None:
            return load(self._function)(job)
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._ask, job)

    def _ask(self, job: bytes) -> bytes:
        worker = self._idle.get()
        try:
            if worker.stdin is None or worker.stdout is None:
                raise OSError("a worker without pipes")
            worker.stdin.write(len(job).to_bytes(_LENGTH, "big") + job)
            worker.stdin.flush()
            head = worker.stdout.read(_LENGTH)
            answer = worker.stdout.read(int.from_bytes(head, "big")) if len(head) == _LENGTH else b""
            if len(head) < _LENGTH or len(answer) < int.from_bytes(head, "big"):
                raise EOFError
        except (OSError, EOFError, ValueError):
            raise Aborted(
                "a worker process of this party ended (is there enough memory?); run the same command again to go on",
                resumable=True,
            ) from None
        finally:
            self._idle.put(worker)
        return answer


def _start(function: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "covey.secure.workers", function],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip


def load(function: str) -> Work:
    """The function of that name."""
    module, _, name = function.partition(":")
    found: Work = getattr(importlib.import_module(module), name)
    return found


def main() -> None:
    """A worker: job after job from stdin, until it closes."""
    work = load(sys.argv[1])
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    while len(head := source.read(_LENGTH)) == _LENGTH:
        answer = work(source.read(int.from_bytes(head, "big")))
        sink.write(len(answer).to_bytes(_LENGTH, "big") + answer)
        sink.flush()


if __name__ == "__main__":
    main()
