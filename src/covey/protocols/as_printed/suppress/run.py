"""The state that both holders of a run share, and long lists: chunk by chunk, in some lanes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass
from functools import cached_property

import msgspec
import numpy as np

from covey.arrays import Bits
from covey.protocols.as_printed.suppress.layout import LANES, Bounds
from covey.protocols.as_printed.suppress.messages import CiphertextPart
from covey.protocols.as_printed.suppress.parameters import Parameters
from covey.protocols.as_printed.suppress.tuples import Labels, OwnTuples, number_of
from covey.protocols.protocol import Seat
from covey.secure import listing
from covey.secure.sealing import ElGamal, Waters
from covey.secure.workers import Workers
from covey.wire import Channel, gather

WORTH_WORKERS = 6000
"""The number of ciphertexts from which on worker processes repay their start."""
FUNCTION = "covey.secure.listing:work"


@dataclass(frozen=True)
class HolderRun:
    """One holder's run, once both have shown their sizes and frequent tuples."""

    seat: Seat
    parameters: Parameters
    channel: Channel
    """Among the two holders."""
    peer: str
    own: OwnTuples
    theirs: Mapping[Labels, int]
    """The tuples that the peer has named, with their numbers of rows."""
    bounds: Bounds
    workers: Workers
    public: Waters | ElGamal
    """The encryption under the keyholder's key; with ElGamal's, the keyholder's own has the secret half too."""

    @cached_property
    def named_by_peer(self) -> Bits:
        """The own tuples that the peer has named."""
        return np.array([labels in self.theirs for labels in self.own.labels], dtype=bool)

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
        return await do(self.workers, channel, self.peer, job)

    async def hear(self, channel: Channel, ciphertexts: int) -> bytes:
        """The peer's next chunk, of so many ciphertexts. Raises PeerError for another length."""
        return await hear(channel, self.peer, ciphertexts * self.public.width)


async def do(workers: Workers, channel: Channel, peer: str, job: listing.AnyJob) -> bytes:
    """A job's answer. Raises PeerError where the peer's ciphertexts, which came at this step, are none."""
    answer = await workers.do(msgspec.msgpack.encode(job))
    if answer.startswith(listing.MALFORMED):
        raise channel.refusal(peer, answer[1:].decode())
    return answer[1:]


async def hear(channel: Channel, peer: str, due: int) -> bytes:
    """The peer's next chunk, of so many bytes. Raises PeerError for another length."""
    items = (await channel.receive(peer, CiphertextPart)).items
    if len(items) != due:
        raise channel.refusal(peer, f"{len(items):,} bytes of ciphertexts, where {due:,} are due")
    return items


async def in_lanes(channel: Channel, chunks: int, one: Callable[[Channel, int], Awaitable[None]]) -> None:
    """Every chunk of a list, each lane's in their order at a step of its own."""

    async def lane(number: int) -> None:
        with channel.at(number) as at:
            for chunk in range(number, chunks, LANES):
                await one(at, chunk)

    lanes: list[Coroutine[object, object, None]] = [lane(number) for number in range(min(LANES, chunks))]
    await gather(*lanes)
