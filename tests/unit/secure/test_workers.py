"""Workers: answers in any order of work, what they leave, and what happens when one dies."""

from __future__ import annotations

import os
import signal

import pytest
from tests.harness.clock import on_real_clock

from covey.errors import Aborted
from covey.secure.workers import Workers, load
from covey.wire import gather

ECHO = "tests.unit.secure.test_workers:echo"


def echo(job: bytes) -> bytes:
    """A worker's function: who did it, and the job back."""
    return str(os.getpid()).encode() + b":" + job[::-1]


def test_without_workers_a_function_does_the_work_here() -> None:
    assert load(ECHO)(b"abc") == f"{os.getpid()}:cba".encode()


@on_real_clock
async def test_workers_answer_each_job_with_its_own_answer() -> None:
    jobs = [os.urandom(1 + 5000 * place) for place in range(12)]
    async with Workers(ECHO, 2) as workers:
        answers = await gather(*(workers.do(job) for job in jobs))
    processes = {answer.partition(b":")[0] for answer in answers}
    assert [answer.partition(b":")[2] for answer in answers] == [job[::-1] for job in jobs]
    assert len(processes) == 2 and str(os.getpid()).encode() not in processes


@on_real_clock
async def test_workers_end_with_their_role() -> None:
    async with Workers(ECHO, 2) as workers:
        first = int((await workers.do(b"x")).partition(b":")[0])
    with pytest.raises(ProcessLookupError):
        os.kill(first, 0)


@on_real_clock
async def test_a_worker_that_dies_stops_the_run_and_it_can_be_resumed() -> None:
    async with Workers(ECHO, 1) as workers:
        worker = int((await workers.do(b"x")).partition(b":")[0])
        os.kill(worker, signal.SIGKILL)
        with pytest.raises(Aborted) as error:
            await workers.do(b"y")
    assert error.value.resumable


@on_real_clock
async def test_without_workers_the_same_answer_comes_from_this_process() -> None:
    async with Workers(ECHO, 0) as workers:
        assert await workers.do(b"abc") == echo(b"abc")
