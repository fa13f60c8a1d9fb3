"""The roll: the collector asks many people, and goes on with those who answer.

A respondent who has left raises `Left` wherever the collector waits for it, and one that breaks the protocol may be
excused (`Attendance`). The collector decides only once everyone has answered or is known to have left, so that its
decisions follow from what it read from each, and not from who came first: a resumed collector decides the same.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

from covey.errors import Left, PeerError
from covey.protocols.protocol import Attendance
from covey.wire import gather

T = TypeVar("T")


async def call(attendance: Attendance, names: Iterable[str], work: Callable[[str], Awaitable[T]]) -> dict[str, T]:
    """The answers of these respondents, by name and in their order, without those who left or were excused."""
    asked = list(names)

    async def ask(name: str) -> list[T]:
        try:
            return [await work(name)]
        except Left:
            return []
        except PeerError as error:
            if error.party != name:
                raise
            attendance.excuse(error)
            return []

    answers = await gather(*(ask(name) for name in asked))
    return {name: answer[0] for name, answer in zip(asked, answers, strict=True) if answer}


def gone(attendance: Attendance, error: PeerError) -> Left:
    """Turns a broken protocol into leaving, where this attempt needs everyone."""
    attendance.excuse(error)
    return Left(error.party, "broke the protocol")
