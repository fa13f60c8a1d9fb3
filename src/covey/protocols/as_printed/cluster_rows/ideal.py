"""The ideal: the same search with a trusted party, who is shown everyone's numbers and answers in the clear.

It shares the work on records with the protocol, and none of its messages: joint numbers are added, joint closures are
common ancestors. So a release that equals it was computed from the right joint numbers. Its random choices are its own,
and the printed rings are answered as one exchange a turn is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Coroutine, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from covey.arrays import Bits, Ints, Longs
from covey.crypto.rng import Rng
from covey.crypto.secret import Secret
from covey.hierarchy import Hierarchy
from covey.protocols.as_printed.cluster_rows.descent import NOTHING
from covey.protocols.as_printed.cluster_rows.party import Disclosures, SearchParty
from covey.protocols.as_printed.cluster_rows.problem import ClusterProblem
from covey.protocols.as_printed.cluster_rows.role import Classes, form_classes
from covey.protocols.as_printed.cluster_rows.state import State
from covey.protocols.protocol import SILENT, Result
from covey.protocols.shared import publish, rows
from covey.study import Study
from covey.table import Table

T = TypeVar("T")
V = TypeVar("V")


def ideal(study: Study, tables: Mapping[str, Table]) -> Result:
    """The release of a trusted party. Raises Unmet where the parties would."""
    found = run(tables, lambda trusted: form_classes(trusted, study, tables[trusted.me], SILENT, SILENT))
    return released(study, tables, found)


def released(study: Study, tables: Mapping[str, Table], found: Mapping[str, Classes]) -> Result:
    """The release of everyone's classes."""
    first = next(iter(found.values()))
    cells: dict[str, list[str]] = {column.name: [] for column in rows.carried(study)}
    for table in tables.values():
        for name, texts in cells.items():
            values = table.values(name)
            texts += [values.labels[code] for code in values.codes.tolist()]
    number = np.concatenate([found[name].label for name in tables])
    return publish.result(study, first.problem.trees, first.nodes, number, cells, first.figures(study))


def party(trusted: TrustedParty, problem: ClusterProblem, codes: Ints) -> SearchParty:
    """A party that computes with a trusted one, and tells nobody how far it is."""
    return SearchParty(trusted, problem, codes, SILENT, Disclosures())


def run(parties: Iterable[str], part: Callable[[TrustedParty], Coroutine[object, object, T]]) -> dict[str, T]:
    """Runs everyone's part side by side, and returns what each ends with.

    At each step every part shows the trusted party a value, and goes on once all have: no event loop is needed.
    """
    names = tuple(sorted(parties))
    running = [part(TrustedParty(name, names)) for name in names]
    values, ends = None, list[T]()
    while not ends:
        shown: list[object] = []
        for each in running:
            try:
                shown.append(each.send(values))
            except StopIteration as end:
                ends.append(end.value)
        values = shown
    return dict(zip(names, ends, strict=True))


class _Shown:
    """Awaited, it shows a value to the trusted party, and gives everyone's values, in the order of names."""

    def __init__(self, value: object) -> None:
        self._value = value

    def __await__(self) -> Generator[object, list[object], list[object]]:
        return (yield self._value)


@dataclass(frozen=True)
class TrustedParty:
    """One party's line to the trusted party: a `Joint` and its `Tests` that are answered in the clear."""

    me: str
    parties: tuple[str, ...]
    step: str = "ideal"

    @property
    def tests(self) -> TrustedParty:
        return self

    @property
    def two(self) -> bool:
        return len(self.parties) == 2

    @property
    def rng(self) -> Rng:
        return Rng(Secret(hashlib.sha256(self.me.encode()).digest()))

    def at(self, *step: str | int) -> TrustedParty:
        """The same: in the clear, steps need no names."""
        return self

    def __enter__(self) -> TrustedParty:
        return self

    def __exit__(self, *error: object) -> None: ...

    async def total(self, mine: Longs) -> Longs:
        """The sums."""
        return np.asarray(np.sum(await self._everyone(mine), axis=0), dtype=np.int64)

    async def conjoin(self, mine: Bits) -> Bits:
        """The places where all bits are set."""
        return np.asarray(np.all(await self._everyone(mine), axis=0))

    async def none_or_many(self, mine: Longs, k: int) -> Bits:
        """The counts that are 0, or k or more."""
        counts = await self._everyone(mine)
        return np.asarray((np.sum(counts, axis=0) == 0) | self._reach(counts, k))

    async def at_most(self, mine: Longs, limit: Longs, highest: Longs) -> Bits:
        """The counts that are no more than their limits."""
        return np.asarray(await self.total(mine) <= limit)

    async def provide(self, needs: Mapping[int, int]) -> None:
        """Nothing: there is nothing to prepare."""

    async def ancestors(self, trees: Sequence[Hierarchy], mine: Ints, below: Ints) -> Ints:
        """The lowest nodes above everyone's; NOTHING where nobody has one."""
        found, *others = await self._everyone(mine)
        for nodes in others:
            both = (found != NOTHING) & (nodes != NOTHING)
            ends = np.maximum(found, 0), np.maximum(nodes, 0)  # NOTHING is replaced below
            joined = [tree.common_ancestor(ends[0][:, c], ends[1][:, c]) for c, tree in enumerate(trees)]
            found = np.where(both, np.stack(joined, axis=1), np.where(found == NOTHING, nodes, found)).astype(np.int32)
        return found

    async def ancestors_for(
        self, mover: str, step: str, trees: Sequence[Hierarchy], mine: Ints, below: Ints, digest: bytes
    ) -> Ints | None:
        """The same for the mover alone."""
        found = await self.ancestors(trees, mine, below)
        return found if self.me == mover else None

    async def tell(self, mover: str, state: State | None, problem: ClusterProblem, clusters: int) -> State:
        """The mover's state."""
        said = (await self._everyone(state))[self.parties.index(mover)]
        if said is None:
            raise TypeError(f"{mover!r} has no state to tell")
        return said

    def _reach(self, counts: list[Longs], bound: int) -> Bits:
        enough = np.min(counts, axis=0) >= -(-bound // 2) if self.two else np.sum(counts, axis=0) >= bound
        return np.asarray(enough)

    async def _everyone(self, mine: V) -> list[V]:
        return await _Shown(mine)  # type: ignore[return-value]
