"""Ranges: the parties learn whether joint numbers reach a bound, are none or many, or are negative; and no number.

Source    `covey.secure.threshold_test`, of which tests are prepared ahead: how many were needed so far is public.
Roles     every party alike.
Security  that of `threshold_test`. By chance, once in 2^31 tests, a number that is negative seems not to be: each
          test is asked in such a way that this costs a little loss at most.
Two       parties cannot share. A count is said to reach k if both have half of it: some that reach it are missed, and
          nothing but those answers is learned. Whether a number is negative they learn from the number itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from covey.arrays import Bits, Longs
from covey.crypto.factorial import field_for
from covey.crypto.field import F31, Field
from covey.secure import conjunction, threshold_test
from covey.secure import sum as secure_sum
from covey.secure.threshold_test import Prepared
from covey.wire import Channel, gather

AHEAD = 3
"""The factor by which more tests are prepared than are needed at once: a preparation takes several exchanges."""
BATCH = 1 << 16
"""Tests that are prepared together at most; batches are prepared side by side."""


class RangeTests:
    """One party's place at all tests of a run; every party asks for the same ones in the same order."""

    def __init__(self, channel: Channel) -> None:
        self.two = len(channel.parties) == 2
        self._channel, self._parties = channel, len(channel.parties)
        self._first = channel.me == channel.parties[0]
        self._calls = 0
        self._stock: dict[tuple[int, Field | None], list[Prepared]] = {}

    async def none_or_many(self, mine: Longs, k: int) -> Bits:
        """Tells which joint counts are 0, or k or more: the two are not told apart."""
        if self.two:
            answer = await self._conjoin(np.concatenate([mine == 0, mine >= -(-k // 2)]))
            return np.asarray(answer[: len(mine)] | answer[len(mine) :])
        return await self._test(self._plus(mine, -1), k - 1, field_for(self._parties, k))

    async def not_negative(self, mine: Longs, lowest: Longs) -> Bits:
        """Tells which joint numbers are 0 or more; each is known to be `lowest` or more."""
        if self.two:
            return np.asarray(await self.total(mine) >= 0)
        bits = np.array([int(-low - 1).bit_length() if low < 0 else -1 for low in lowest], dtype=np.int64)
        answer = np.ones(len(mine), dtype=bool)
        places = {int(kind): np.flatnonzero(bits == kind) for kind in np.unique(bits) if kind >= 0}
        await self.provide({1 << kind: len(here) for kind, here in places.items()}, F31)
        for kind, here in places.items():
            answer[here] = await self._test(self._plus(mine[here], 1 << kind), 1 << kind, F31)
        return answer

    async def conjoin(self, mine: Bits, receiver: str | None = None) -> Bits | None:
        """The places where everyone's bit is set, for everyone or for one party: those where no bit is missing.

        It takes a fifth of the bytes of `secure.conjunction` or less, as many rounds once tests are prepared, and is
        never wrong by chance.
        """
        if self.two:
            return await conjunction.conjoin(self._next("both"), mine, receiver=receiver)
        missing = (~mine).astype(np.int64)
        if receiver is None or not len(mine):
            answer = await self._test(missing, 1)
            return ~answer if receiver in (None, self._channel.me) else None
        prepared = await self._take(1, len(mine), None)
        found = await threshold_test.reaches_for(receiver, self._next("test"), prepared, missing)
        return None if found is None else ~found

    async def at_most(self, mine: Longs, limit: Longs, highest: Longs) -> Bits:
        """Tells which joint counts are no more than their limits; each is known to be `highest` or less."""
        return await self.not_negative(limit - mine if self._first else -mine, limit - highest)

    async def total(self, mine: Longs) -> Longs:
        """The joint numbers themselves."""
        return (await secure_sum.total(self._next("open"), mine.astype(np.uint64))).astype(np.int64)

    async def provide(self, needs: Mapping[int, int], field: Field | None = None) -> None:
        """Prepares tests against these bounds, side by side, where fewer are at hand than are needed.

        The field is F31 where numbers may be negative; for counts none has to be named.
        """
        if self.two:
            return
        batches = []
        for bound, width in needs.items():
            lack = width - sum(map(len, self._stock.get((bound, field), [])))
            if lack > 0 and bound > 0:
                more = max(lack, min(AHEAD * width, BATCH))
                batches += [(bound, min(BATCH, more - start)) for start in range(0, more, BATCH)]
        for (bound, _), prepared in zip(batches, await self._prepare(batches, field), strict=True):
            self._stock.setdefault((bound, field), []).append(prepared)

    async def _prepare(self, batches: Sequence[tuple[int, int]], field: Field | None) -> Sequence[Prepared]:
        """Tests against each bound, so many, all prepared side by side."""
        channels = [self._next("prepare") for _ in batches]
        work = [threshold_test.prepare(at, *batch, field) for at, batch in zip(channels, batches, strict=True)]
        return await gather(*work)

    async def _test(self, mine: Longs, bound: int, field: Field | None = None) -> Bits:
        """Tells which joint numbers, modulo the field's prime, are not among 0 … bound - 1."""
        if bound <= 0 or not len(mine):
            return np.ones(len(mine), dtype=bool)
        return await self._open(await self._take(bound, len(mine), field), mine)

    async def _take(self, bound: int, width: int, field: Field | None) -> Prepared:
        """So many tests from the stock."""
        await self.provide({bound: width}, field)
        first, rest = Prepared.join(self._stock[bound, field]).split(width)
        self._stock[bound, field] = [rest] if len(rest) else []
        return first

    async def _open(self, prepared: Prepared, mine: Longs) -> Bits:
        return await threshold_test.reaches(self._next("test"), prepared, mine)

    async def _conjoin(self, mine: Bits) -> Bits:
        answer = await self.conjoin(mine)
        return np.zeros(0, dtype=bool) if answer is None else answer

    def _plus(self, mine: Longs, public: int) -> Longs:
        """Own parts of the joint numbers and a public one."""
        return mine + public if self._first else mine

    def _next(self, what: str) -> Channel:
        self._calls += 1
        return self._channel.at(what, self._calls)
