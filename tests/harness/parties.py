"""Runs all parties of a protocol in one process, each with a seed of its own, and says how each fared."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from tests.harness.clock import run_jumping
from tests.harness.network import seed_of
from tests.harness.notebook import Notebook

from covey.crypto.rng import Rng, derive
from covey.errors import CoveyError
from covey.wire import Channel, Link, MemoryNetwork, Tally, gather, open_channel

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
Role = Callable[[Channel], Awaitable[T]]

SESSION = b"a test's session"


@dataclass
class Outcome(Generic[T_co]):
    """How one party's run ended: an answer or an error, and what it had sent and read by then."""

    answer: T_co | None
    error: CoveyError | None
    tally: Tally
    notebook: Notebook

    def unwrap(self) -> T_co:
        """The answer; raises the error if there is none."""
        if self.error is not None:
            raise self.error
        return self.answer  # type: ignore[return-value]


async def play(link: Link, role: Role[T], seed: int, *, silence: float = 60, patience: float = 600) -> Outcome[T]:
    """Runs one party over a link, from the exchange of keys to the last check, and closes the link."""
    rng = Rng(derive(seed_of(seed), link.me))
    notebook = Notebook()
    tally = Tally()
    try:
        channel = await open_channel(link, rng, session=SESSION, recorder=notebook, silence=silence, patience=patience)
        tally = channel.tally
        answer = await role(channel)
        channel.finish()
    except CoveyError as error:
        return Outcome(None, error, tally, notebook)
    else:
        return Outcome(answer, None, tally, notebook)
    finally:
        await link.close()


async def play_all(
    network: MemoryNetwork, roles: Mapping[str, Role[T]], seed: int, **deadlines: float
) -> dict[str, Outcome[T]]:
    """Runs every party over a network in memory."""
    names = sorted(roles)
    parties = (play(network.link(name), roles[name], seed, **deadlines) for name in names)
    return dict(zip(names, await gather(*parties), strict=True))


def run_parties(
    roles: Mapping[str, Role[T]], *, seed: int = 0, network: MemoryNetwork | None = None, **deadlines: float
) -> dict[str, Outcome[T]]:
    """The same on a clock that jumps, over a network without faults unless one is given."""
    return run_jumping(play_all(network or MemoryNetwork(roles), roles, seed, **deadlines))
