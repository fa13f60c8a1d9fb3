"""Strands in lock-step: work side by side asks for one round together, so that a round takes one message a neighbour.

A strand is a coroutine that waits for nothing but rounds. Strands are advanced in their order, so that every party
draws random numbers, makes steps and writes its ledger in the same order.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Generator, Sequence
from typing import Generic, TypeVar

P = TypeVar("P")
A = TypeVar("A")
T = TypeVar("T")


class _Asked(Generic[P, A]):
    """Parcels of a strand, on their way up to whoever advances it."""

    def __init__(self, parcels: Sequence[P]) -> None:
        self.parcels = parcels

    def __await__(self) -> Generator[_Asked[P, A], Sequence[A], Sequence[A]]:
        return (yield self)


class Lockstep(Generic[P, A]):
    """The rounds of one party: `carry` sends what a round has for the others and returns what came back for each."""

    def __init__(self, carry: Callable[[Sequence[P]], Awaitable[Sequence[A]]]) -> None:
        self._carry = carry
        self._inside = False

    async def exchange(self, parcels: Sequence[P]) -> Sequence[A]:
        """Returns the answers to these parcels, after a round that strands side by side have in common."""
        return await (_Asked[P, A](parcels) if self._inside else self._carry(parcels))

    async def together(self, strands: Sequence[Coroutine[object, object, T]]) -> list[T]:
        """Returns the results of all strands, in their order; the slowest determines the number of rounds."""
        results: dict[int, T] = {}
        running, answers = dict(enumerate(strands)), dict[int, Sequence[A]]()
        try:
            while running:
                parcels: dict[int, Sequence[P]] = {}
                for index, strand in tuple(running.items()):
                    try:
                        parcels[index] = self.advance(strand, answers.get(index))
                    except StopIteration as end:
                        results[index] = end.value
                        del running[index]
                answers = await self._common(parcels) if parcels else {}
        finally:
            for strand in running.values():
                strand.close()
        return [results[index] for index in range(len(strands))]

    def advance(self, strand: Coroutine[object, object, T], answers: Sequence[A] | None) -> Sequence[P]:
        """Returns the parcels that a strand has for the next round, given the answers of the last."""
        outer, self._inside = self._inside, True
        try:
            request: object = strand.send(answers)
        finally:
            self._inside = outer
        if not isinstance(request, _Asked):
            raise TypeError("strands side by side wait for rounds of their box and for nothing else")
        return request.parcels

    async def _common(self, requests: dict[int, Sequence[P]]) -> dict[int, Sequence[A]]:
        """Returns the answers to each strand's parcels, from one round."""
        answers = await self.exchange([parcel for parcels in requests.values() for parcel in parcels])
        shares, start = {}, 0
        for index, parcels in requests.items():
            shares[index] = answers[start : start + len(parcels)]
            start += len(parcels)
        return shares
