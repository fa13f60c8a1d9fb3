"""One party in the search, and the functionalities that it computes with the others.

The search is written once, over the interface `Joint`. `SecureBlocks` computes it with the other parties over a
channel; the trusted party of `ideal` computes it in the clear. So a release that equals the ideal one was computed from
the right joint numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import Protocol as Interface
from typing import TypeVar

import numpy as np

from covey.arrays import Bits, Ints, Longs
from covey.crypto.rng import Rng
from covey.hierarchy import Hierarchy
from covey.protocols.as_printed.cluster_rows import ancestor
from covey.protocols.as_printed.cluster_rows.problem import ClusterProblem
from covey.protocols.as_printed.cluster_rows.range_tests import RangeTests
from covey.protocols.as_printed.cluster_rows.state import State, hear, say
from covey.protocols.protocol import RoleProgress
from covey.protocols.shared.agree import agree
from covey.secure import conjunction
from covey.secure import sum as secure_sum
from covey.wire import Channel, gather

T = TypeVar("T")


@dataclass
class Disclosures:
    """Counts what was opened so far. Every party counts the same, but for `exact` and `single`."""

    closures: int = 0
    calls: int = 0  # of the paper's AND
    exact: int = 0  # closures of a single record of others that this party asked for
    single: int = 0  # clusters of a single record, not its own, that this party was shown with everyone

    def show_clusters(self, sizes: Longs, own: Longs) -> None:
        """Counts clusters of these sizes as shown to everyone; the party has `own` records of its own in them."""
        self.single += int(((sizes == 1) & (own == 0)).sum())


class JointTests(Interface):
    """Questions about joint numbers of which only the answers are learned; `RangeTests` says what they mean."""

    @property
    def two(self) -> bool: ...
    async def none_or_many(self, mine: Longs, k: int) -> Bits: ...
    async def at_most(self, mine: Longs, limit: Longs, highest: Longs) -> Bits: ...
    async def total(self, mine: Longs) -> Longs: ...
    async def provide(self, needs: Mapping[int, int]) -> None: ...


class Joint(Interface):
    """The functionalities that the search is built of, at one step of the run."""

    @property
    def me(self) -> str: ...
    @property
    def parties(self) -> Sequence[str]: ...
    @property
    def step(self) -> str: ...
    @property
    def rng(self) -> Rng: ...
    @property
    def tests(self) -> JointTests: ...

    def at(self, *step: str | int) -> Joint:
        """The same at a step below; in a `with` statement the step is over at its end."""

    def __enter__(self) -> Joint: ...
    def __exit__(self, *error: object) -> None: ...

    async def total(self, mine: Longs) -> Longs:
        """The sums of everyone's numbers, for everyone."""

    async def conjoin(self, mine: Bits) -> Bits:
        """The places where everyone's bit is set, for everyone."""

    async def ancestors(self, trees: Sequence[Hierarchy], mine: Ints, below: Ints) -> Ints:
        """The lowest nodes above everyone's, for everyone; see `ancestor.common`."""

    async def ancestors_for(
        self, mover: str, step: str, trees: Sequence[Hierarchy], mine: Ints, below: Ints, digest: bytes
    ) -> Ints | None:
        """The same for the mover alone; meanwhile all see that they agree on the clusters of that digest."""

    async def tell(self, mover: str, state: State | None, problem: ClusterProblem, clusters: int) -> State:
        """The mover's state of so many clusters, for everyone."""


@dataclass(frozen=True)
class SecureBlocks(AbstractContextManager["SecureBlocks"]):
    """The functionalities computed with the other parties, by blocks that show nobody's part."""

    channel: Channel
    tests: RangeTests
    bits: RangeTests
    """Tests for ANDs of bits, which need others than counts do."""

    @classmethod
    def over(cls, channel: Channel) -> SecureBlocks:
        """The blocks over a channel, with the tests at steps of their own."""
        return cls(channel, RangeTests(channel.at("tests")), RangeTests(channel.at("bits")))

    @property
    def me(self) -> str:
        return self.channel.me

    @property
    def parties(self) -> Sequence[str]:
        return self.channel.parties

    @property
    def step(self) -> str:
        return self.channel.step

    @property
    def rng(self) -> Rng:
        return self.channel.rng

    def at(self, *step: str | int) -> SecureBlocks:
        """The blocks at a step below."""
        return replace(self, channel=self.channel.at(*step))

    def __exit__(self, *error: object) -> None:
        self.channel.__exit__(*error)  # type: ignore[arg-type]

    async def total(self, mine: Longs) -> Longs:
        """By `secure.sum`."""
        return (await secure_sum.total(self.channel, mine.astype(np.uint64))).astype(np.int64)

    async def conjoin(self, mine: Bits) -> Bits:
        """By `secure.conjunction`."""
        return _known(await conjunction.conjoin(self.channel, mine))

    async def ancestors(self, trees: Sequence[Hierarchy], mine: Ints, below: Ints) -> Ints:
        """By `ancestor`, with tests that are prepared ahead."""
        return _known(await ancestor.common(self.channel, trees, mine, below=below, conjoin=self.bits.conjoin))

    async def ancestors_for(
        self, mover: str, step: str, trees: Sequence[Hierarchy], mine: Ints, below: Ints, digest: bytes
    ) -> Ints | None:
        """By `ancestor`, for one receiver."""
        at, conjoin = self.channel.at(step), self.bits.conjoin
        query = ancestor.common(at, trees, mine, below=below, receiver=mover, conjoin=conjoin)
        return (await gather(query, agree(self.channel.at("agree"), digest)))[0]

    async def tell(self, mover: str, state: State | None, problem: ClusterProblem, clusters: int) -> State:
        """By messages from the mover to all others."""
        if state is None:
            return await hear(self.channel.at("state"), mover, problem, clusters)
        await say(self.channel.at("state"), problem, state)
        return state


def _known(answer: T | None) -> T:
    if answer is None:
        raise TypeError("every party is a receiver here")
    return answer


@dataclass(frozen=True)
class SearchParty:
    """One party in the search: its records, the public problem, and how it computes with the others."""

    joint: Joint
    problem: ClusterProblem
    codes: Ints
    progress: RoleProgress
    disclosed: Disclosures

    @property
    def rows(self) -> int:
        return int(self.codes.shape[1])

    @property
    def channel(self) -> Channel:
        """The channel itself, for the paper's rings, which have no counterpart in the clear."""
        if not isinstance(self.joint, SecureBlocks):
            raise TypeError("a trusted party has no channel")
        return self.joint.channel

    def at(self, *step: str | int) -> SearchParty:
        """The party at a step below."""
        return replace(self, joint=self.joint.at(*step))

    @contextmanager
    def within(self, *step: str | int) -> Iterator[SearchParty]:
        """The party at a step below, which is over at the end of the `with` statement."""
        with self.joint.at(*step) as joint:
            yield replace(self, joint=joint)
