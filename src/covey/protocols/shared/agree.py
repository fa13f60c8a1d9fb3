"""Parties that compute the same thing compare what they found, so that they cannot drift apart."""

from __future__ import annotations

from covey.errors import PeerError
from covey.secure.declare import Cost, Traffic
from covey.wire import FRAME_BYTES, Bytes32, Channel, Message

MESSAGE_BYTES = FRAME_BYTES + 60

COST = Cost(lambda n: Traffic.exchange(n, MESSAGE_BYTES))


class Digest(Message, tag="cluster.digest"):
    """The hash of the public state as the sender has it."""

    state: Bytes32


async def agree(
    channel: Channel,
    digest: bytes,
    reason: str = "its clusters differ from ours: it computed something else from the same messages",
) -> None:
    """Returns if every party has the same. Raises PeerError that names the first that has not, with this reason."""
    for party, theirs in (await channel.exchange(Digest(digest))).items():
        if theirs.state != digest:
            raise PeerError(party=party, step=channel.step, reason=reason)
