"""Joint coins: everyone gets the same random seed, and nobody could choose it.

Source    Blum 1983: commit, then open; the seed is the hash of all parts.
Roles     every party alike, two or more.
Security  the seed is uniform if one party is honest. A commitment binds its party and says nothing of its part.
Not       a party that dislikes the seed can refuse to open, and the run ends.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from covey.crypto.rng import Label, spell
from covey.crypto.secret import Secret
from covey.errors import PeerError
from covey.secure.declare import Cost, Leakage, Traffic
from covey.wire import FRAME_BYTES, Bytes32, Channel, Message

MESSAGE_BYTES = FRAME_BYTES + 59

LEAKAGE = Leakage(everyone=("a random number that all parties drew together, which says nothing of any record",))
COST = Cost(lambda parties: Traffic.exchange(parties, MESSAGE_BYTES) + Traffic.exchange(parties, MESSAGE_BYTES))


class Commitment(Message, tag="coin.commitment"):
    """The hash of the sender's part."""

    digest: Bytes32


class Opening(Message, tag="coin.opening"):
    """The sender's part."""

    part: Bytes32


async def toss(channel: Channel) -> Secret:
    """A seed that everyone has alike. Each call needs a step of its own."""
    mine = channel.rng.stream("coin").bytes(32)
    promised = await channel.exchange(Commitment(commit(channel, channel.me, mine)))
    opened = await channel.exchange(Opening(mine))
    for party, opening in opened.items():
        if commit(channel, party, opening.part) != promised[party].digest:
            raise PeerError(party=party, step=channel.step, reason="it opened another coin than it had committed to")
    parts = {channel.me: mine, **{party: opening.part for party, opening in opened.items()}}
    return combine(parts, channel.session, channel.step)


def commit(channel: Channel, party: str, part: bytes) -> bytes:
    """A commitment that binds a party to its part, in this session and at this step only."""
    return hashlib.sha256(spell("covey coin/1", channel.session, channel.step, party, part)).digest()


def combine(parts: Mapping[str, bytes], *context: Label) -> Secret:
    """The seed that these parts make."""
    spelled = [label for party in sorted(parts) for label in (party, parts[party])]
    return Secret(hashlib.sha256(spell("covey coin seed/1", *context, *spelled)).digest())
