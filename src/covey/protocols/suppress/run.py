"""What both holders of a run have at hand, and how they get through long lists: chunk by chunk, in some lanes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass

import msgspec

from covey.errors import PeerError
from covey.protocols.protocol import Seat
from covey.protocols.suppress import listing
from covey.protocols.suppress.bounds import LANES, Bounds
from covey.protocols.suppress.crew import Crew
from covey.protocols.suppress.messages import Sealed
from covey.protocols.suppress.own import Labels, Own, number_of
from covey.protocols.suppress.sealing import ElGamal, Waters
from covey.protocols.suppress.terms import Terms
from covey.wire import Channel, gather

WORTH_A_CREW = 6000
"""So many ciphertexts repay the start of worker processes."""
FUNCTION = "covey.protocols.suppress.listing:work"


@dataclass(frozen=True)
class Run:
    """One holder's run, once both have shown their sizes and frequent tuples."""

    seat: Seat
    terms: Terms
    channel: Channel
    """Among the two holders."""
    peer: str
    own: Own
    theirs: Mapping[Labels, int]
    """The tuples that the peer has named, with their numbers of rows."""
    bounds: Bounds
    crew: Crew
    public: Waters | ElGamal
    """The encryption under the keyholder's key; with ElGamal's, the keyholder's own has the secret half too."""

    @property
    def encryption(self) -> bytes:
        """The same for a job."""
        return self.public.raw

    def number(self, labels_key: bytes) -> int:
        """The number that stands for a tuple."""
        return number_of("qi", labels_key, self.public.order)

    @property
    def filler(self) -> int:
        """Stands for no tuple, in a list of the keyholder's and in both lists of phase 1: the paper's Lambda."""
        return number_of("L", b"", self.public.order)

    @property
    def other_filler(self) -> int:
        """Stands for no tuple in the comparer's bins: Lambda', which equals nothing."""
        return number_of("L'", b"", self.public.order)

    def seed(self, channel: Channel, *labels: str | int) -> bytes:
        """A job's seed."""
        return channel.rng.stream(*labels).bytes(32)

    async def do(self, channel: Channel, job: listing.AnyJob) -> bytes:
        """A job's answer. Raises PeerError where the peer's ciphertexts, which came at this step, are none."""
        answer = await self.crew.do(msgspec.msgpack.encode(job))
        if answer.startswith(listing.MALFORMED):
            raise PeerError(party=self.peer, step=channel.step, reason=answer[1:].decode())
        return answer[1:]

    async def hear(self, channel: Channel, ciphertexts: int) -> bytes:
        """The peer's next chunk, of so many ciphertexts. Raises PeerError for another length."""
        items = (await channel.receive(self.peer, Sealed)).items
        if len(items) != ciphertexts * self.public.width:
            reason = f"{len(items):,} bytes of ciphertexts, where {ciphertexts * self.public.width:,} are due"
            raise PeerError(party=self.peer, step=channel.step, reason=reason)
        return items


async def in_lanes(channel: Channel, chunks: int, one: Callable[[Channel, int], Awaitable[None]]) -> None:
    """Every chunk of a list, each lane's in their order at a step of its own."""

    async def lane(number: int) -> None:
        with channel.at(number) as at:
            for chunk in range(number, chunks, LANES):
                await one(at, chunk)

    lanes: list[Coroutine[object, object, None]] = [lane(number) for number in range(min(LANES, chunks))]
    await gather(*lanes)
