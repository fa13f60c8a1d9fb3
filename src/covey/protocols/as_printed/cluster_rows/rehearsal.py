"""A rehearsal of the search: every party's part is played in the clear, and the cost of each joint step is added up.

What is asked, and when, is decided by the run's own code, the stock of tests included. The answers are those of the
trusted party (`ideal`), and their cost is what the block declares that would give them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from covey.arrays import Bits, Ints, Longs, Words
from covey.crypto.factorial import field_for
from covey.crypto.field import Field
from covey.errors import Unmet
from covey.hierarchy import Hierarchy
from covey.protocols.as_printed.cluster_rows import ancestor
from covey.protocols.as_printed.cluster_rows.ideal import TrustedParty, run
from covey.protocols.as_printed.cluster_rows.problem import ClusterProblem
from covey.protocols.as_printed.cluster_rows.range_tests import RangeTests
from covey.protocols.as_printed.cluster_rows.role import form_classes
from covey.protocols.as_printed.cluster_rows.state import COST as TELLING
from covey.protocols.as_printed.cluster_rows.state import State
from covey.protocols.protocol import SILENT
from covey.protocols.shared import agree
from covey.protocols.shared.cost import CostEstimate, Rehearsal
from covey.secure import conjunction, threshold_test
from covey.secure import sum as secure_sum
from covey.secure.threshold_test import Prepared
from covey.study import Study
from covey.table import Table
from covey.wire import Channel


def rehearse(study: Study, tables: Mapping[str, Table], k: int) -> Rehearsal:
    """The cost of the search on these parties' records; where they cannot keep what is asked for, up to there.

    The study's k may be smaller than the real one, as tables are; tests cost what they do with the real `k`.
    """
    spent, times = CostEstimate(), k / study.privacy.k

    def line(trusted: TrustedParty) -> PricedParty:
        return PricedParty.of(trusted, spent if trusted.me == trusted.parties[0] else CostEstimate(), times)

    try:
        found = run(tables, lambda trusted: form_classes(line(trusted), study, tables[trusted.me], SILENT, SILENT))
    except Unmet:
        return Rehearsal(spent)
    return Rehearsal(spent, len(next(iter(found.values())).sizes))


@dataclass(frozen=True, kw_only=True)
class PricedParty(TrustedParty):
    """One party's line to the trusted party, which counts what each answer would cost all parties together."""

    spent: CostEstimate
    priced: PricedTests
    bits: PricedTests

    @classmethod
    def of(cls, trusted: TrustedParty, spent: CostEstimate, times: float) -> PricedParty:
        """A line like this one that counts."""
        tests, bits = (PricedTests(trusted, spent, larger) for larger in (times, 1.0))
        return cls(me=trusted.me, parties=trusted.parties, spent=spent, priced=tests, bits=bits)

    @property
    def tests(self) -> PricedTests:  # type: ignore[override]
        return self.priced

    async def total(self, mine: Longs) -> Longs:
        self.spent.then(secure_sum.COST, len(self.parties), len(mine))
        return await super().total(mine)

    async def conjoin(self, mine: Bits) -> Bits:
        self.spent.then(conjunction.COST, len(self.parties), len(mine))
        return await super().conjoin(mine)

    async def ancestors(self, trees: Sequence[Hierarchy], mine: Ints, below: Ints) -> Ints:
        await self._pay_for_ancestors(trees, below, one=False)
        return await super().ancestors(trees, mine, below)

    async def ancestors_for(
        self, mover: str, step: str, trees: Sequence[Hierarchy], mine: Ints, below: Ints, digest: bytes
    ) -> Ints | None:
        await self._pay_for_ancestors(trees, below, one=True)
        self.spent.count(agree.COST.messages(len(self.parties)), agree.COST.bytes(len(self.parties)))
        found = await super().ancestors(trees, mine, below)
        return found if self.me == mover else None

    async def tell(self, mover: str, state: State | None, problem: ClusterProblem, clusters: int) -> State:
        self.spent.then(TELLING, len(self.parties), problem.columns, clusters)
        return await super().tell(mover, state, problem, clusters)

    async def _pay_for_ancestors(self, trees: Sequence[Hierarchy], below: Ints, *, one: bool) -> None:
        if self.me != self.parties[0]:  # the others' cost is not looked at
            return
        places = ancestor.places(trees, below, len(self.parties))
        if len(self.parties) == 2:
            self.spent.then(ancestor.COST, 2, places, below.size, one)
        elif places:
            await self.bits.pay_for_bits(places, one=one)


class PricedTests(RangeTests):
    """Tests that the trusted party answers, each at the price of a real one, and prepared when real ones are."""

    def __init__(self, trusted: TrustedParty, spent: CostEstimate, times: float) -> None:
        super().__init__(cast("Channel", trusted))
        self._trusted, self._spent, self._times = trusted, spent, times

    async def total(self, mine: Longs) -> Longs:
        self._spent.then(secure_sum.COST, self._parties, len(mine))
        return await self._trusted.total(mine)

    async def _prepare(self, batches: Sequence[tuple[int, int]], field: Field | None) -> Sequence[Prepared]:
        parts, found = [], []
        for bound, width in batches:
            real = max(1, round(bound * self._times))
            kind = field_for(self._parties, real) if field is None else field
            nothing: Words = np.zeros((1, width), dtype=np.uint64)
            found.append(Prepared(bound, kind, nothing[0], nothing[:0], nothing))
            parts.append(self._spent.beside())
            parts[-1].then(threshold_test.PREPARATION_COST, self._parties, real, width, kind)
        self._spent.join(parts)
        return found

    async def _open(self, prepared: Prepared, mine: Longs) -> Bits:
        real = max(1, round(prepared.bound * self._times))
        self._spent.then(threshold_test.COST, self._parties, real, len(mine), prepared.field)
        total = await self._trusted.total(mine)
        return np.asarray((total < 0) | (total >= prepared.bound))

    async def pay_for_bits(self, width: int, *, one: bool) -> None:
        """Pays for an AND of so many bits, for one party or for everyone."""
        prepared = await self._take(1, width, None)
        self._spent.then(threshold_test.COST, self._parties, 1, width, prepared.field, one)

    async def _conjoin(self, mine: Bits) -> Bits:
        self._spent.then(conjunction.COST, self._parties, len(mine))
        return await self._trusted.conjoin(mine)
