"""The supply of triples: made ahead, by a strand in the background; when and how many follows from public numbers.

A batch in the making takes part in the rounds of the others' work. Only where triples run out are there rounds for it
alone. All parties count the same, and so does the plan.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Generic, TypeVar

from covey.errors import Aborted
from covey.mpc.lockstep import Lockstep

P = TypeVar("P")
A = TypeVar("A")

LEAST, MOST = 1 << 10, 1 << 18
"""Units of a batch, unless more are needed at once; a unit is a machine word of triples for two ANDs."""
PART = 8
"""A batch is that part of all that was used so far."""


FIELD_BITS = 64
SOUNDNESS_BITS = 40
"""A run that may miss a deviation with a chance of more than 2^-40 ends."""


def dimensions(units: int) -> list[int]:
    """Returns by how many dimensions each step shortens the inner product of a batch, and of the pair beside it.

    The first step has few, since its work grows as 1.5^dimensions.
    """
    halvings, steps = units.bit_length(), list[int]()
    while halvings:
        steps.append(min(6 if steps else 3, halvings))
        halvings -= steps[-1]
    return steps


def chances(units: int) -> int:
    """Returns how many of 2^64 coins let a wrong batch pass, at most: degrees of polynomials, and a weighing."""
    return 2 + 2 * 6 + 2 * sum(dimensions(units))


class Supply(Generic[P, A]):
    """The stock of triples, and the batch in the making."""

    def __init__(
        self,
        steps: Lockstep[P, A],
        carry: Callable[[Sequence[P]], Awaitable[Sequence[A]]],
        make: Callable[[int], Coroutine[object, object, None]],
    ) -> None:
        self._steps, self._carry, self._make = steps, carry, make
        self._batch: Coroutine[object, object, None] | None = None
        self._answers: Sequence[A] | None = None
        self._size = self._stock = self._used = 0
        self.chances = 0
        """Of 2^64 coins those that let a deviation pass, at most, over all checks of the run."""

    @property
    def soundness_bits(self) -> int:
        """Some deviation passes all checks so far with a chance of at most 2^-bits."""
        return FIELD_BITS - max(self.chances - 1, 0).bit_length()

    async def carry(self, parcels: Sequence[P], units: int) -> Sequence[A]:
        """Returns the answers of a round that takes so many units."""
        while self._stock < units:
            if ahead := self._ahead(units - self._stock):
                self._answers = await self._carry(ahead)
        self._stock -= units
        self._used += units
        ahead = self._ahead(0)
        answers = await self._carry([*ahead, *parcels])
        self._answers = answers[: len(ahead)]
        return answers[len(ahead) :]

    def _ahead(self, missing: int) -> Sequence[P]:
        """Returns what the batch in the making has for the coming round; begins one if there should be."""
        if self._batch is None:
            usual = max(LEAST, min(MOST, self._used // PART))
            if not missing and (not self._used or self._stock >= usual):
                return ()
            self._size, self._answers = -(-max(usual, missing) // 64) * 64, None
            self._batch = self._make(self._size)
        try:
            return self._steps.advance(self._batch, self._answers)
        except StopIteration:
            self._batch = None
            self._stock += self._size
            self.count(chances(self._size))
            return ()

    def count(self, chances: int) -> None:
        """Adds what a check may miss. Raises Aborted where all checks together may miss more than 2^-40."""
        self.chances += chances
        if self.soundness_bits < SOUNDNESS_BITS:
            raise Aborted("the run is too long for its checks; choose fewer nodes by a lower effort", resumable=False)
