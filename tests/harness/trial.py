"""A trial is one run that the harness can make: who brings what, what must come out, and what it may cost.

A protocol of a study and a block that protocols are made of are tried alike: a block is played as the only thing that
a study's parties do, between the same handshake and the same closing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import TypeVar

from tests.harness.network import seed_of
from tests.harness.spent import Spent, with_recognition

from covey.crypto.rng import derive
from covey.party.identity import keys as keyring
from covey.party.identity.keys import Keys
from covey.party.record.run_record import Finished
from covey.party.simulate.stage import with_certificates
from covey.protocols import Forecast, Protocol, Result, Seat
from covey.protocols.protocol import Letters
from covey.secure.declare import Leakage
from covey.sources.release import arrange, canonical_csv
from covey.study import Study
from covey.study.requirements import Requirements
from covey.table import Table
from covey.wire import Channel

I = TypeVar("I")  # noqa: E741
T = TypeVar("T")

BLOCK_STEP = "block"


@dataclass(frozen=True)
class Trial:
    """One run's input, and what a trusted party would make of it."""

    study: Study
    protocol: Protocol
    tables: Mapping[str, Table | None]
    ideal: Mapping[str, object]
    """By party, in a form that can be compared."""
    answer: Callable[[str, Finished], object]
    """A party's answer, in the same form."""
    cost: Spent | None = None
    letters: Mapping[str, Letters] = field(default_factory=dict)
    """By party, in a collection by trustees."""
    written: Callable[[bytes], object] = lambda content: content
    """What a release file's content is in that form."""

    @property
    def names(self) -> tuple[str, ...]:
        """All parties, sorted."""
        return tuple(sorted(party.name for party in self.study.parties))

    @property
    def keys(self) -> dict[str, Keys]:
        """The same keys for the same names in every trial: making them takes time."""
        return {name: keys_of(name) for name in self.names}

    @cached_property
    def certified(self) -> Study:
        """The study with these keys' certificates."""
        return with_certificates(self.study, self.keys)


@dataclass(frozen=True)
class Marked:
    """A trial whose secrets can be recognised wherever they turn up, by the party that they belong to."""

    trial: Trial
    texts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    numbers: Mapping[str, tuple[int, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Case:
    """What the harness has to know of a protocol to try everything on it."""

    name: str
    draw: Callable[[int], Trial]
    """A random input for a seed."""
    smallest: Callable[[], Trial]
    """The smallest input that reaches every type of message."""
    twins: Callable[[], tuple[Trial, Trial]]
    """Two inputs that differ in everything but what is declared to leak."""
    marked: Callable[[], Marked] | None = None
    """A thousand secrets that are easy to recognise; None where a secret is a single bit or node."""
    quick: int = 24
    """The number of unlucky runs of each kind that `.ci/run` makes; the slow tests make all."""

    @property
    def is_quick(self) -> bool:
        """A run takes a tenth of a second at most."""
        return self.quick >= 8


@cache
def keys_of(name: str) -> Keys:
    """The harness's keys for a party of that name."""
    return keyring.make(name, seed=derive(seed_of(0), "harness", name))


def of_study(
    study: Study,
    protocol: Protocol,
    tables: Mapping[str, Table],
    cost: Spent | None = None,
    ideal: Result | None = None,
) -> Trial:
    """A trial of a protocol on tables; everyone who gets the release gets the ideal's."""
    ideal = ideal or protocol.ideal(study, tables)
    due = None if ideal.release is None else canonical_csv(arrange(ideal.release))
    names = [party.name for party in study.parties]
    return Trial(
        study=study,
        protocol=protocol,
        tables={name: tables.get(name) for name in names},
        ideal={name: due if protocol.receives(study, name) else None for name in names},
        answer=lambda name, finished: None if finished.release is None else canonical_csv(finished.release),
        cost=None if cost is None else with_recognition(cost, study),
    )


def of_block(
    name: str,
    inputs: Mapping[str, I],
    role: Callable[[Channel, I], Awaitable[object]],
    ideal: Mapping[str, object],
    cost: Spent | None = None,
) -> Trial:
    """A trial of a block: each party plays its role on its input, and nothing is released."""
    answers: dict[str, object] = {}

    async def play(seat: Seat) -> Result:
        answers[seat.party] = await role(seat.channel.at(BLOCK_STEP), inputs[seat.party])
        return Result()

    protocol = Protocol(
        name=name,
        version=1,
        about="a block by itself",
        source="covey.secure",
        requirements=Requirements("horizontal", (1, None)),
        needs="",
        guarantees="",
        released_to="nobody",
        phases=(),
        leakage=Leakage(),
        roles=dict.fromkeys(inputs, play),
        plays=lambda study, party: party,
        receives=lambda study, party: False,
        foresee=lambda study, rows: Forecast(0, 0, 0, 0.0),
        ideal=lambda study, tables: Result(),
    )
    return Trial(
        study=_empty_study(tuple(sorted(inputs))),
        protocol=protocol,
        tables=dict.fromkeys(inputs),
        ideal=ideal,
        answer=lambda party, finished: answers.get(party),
        cost=cost,
    )


@cache
def _empty_study(names: tuple[str, ...]) -> Study:
    parties = "".join(f"[parties.{name}]\n" for name in names)
    column = '[columns.any]\nrole = "quasi"\nhierarchy = "flat"\nvalues = ["a", "b"]\n'
    header = '[study]\nname = "block"\nprotocol = "count"\npartition = "horizontal"\n[privacy]\nk = 2\n'
    return Study.parse(header + column + parties)
