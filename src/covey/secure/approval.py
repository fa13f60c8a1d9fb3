"""Approval: every party agrees to the last opening in a signed vote, or nothing is opened.

Source    ours; one exchange before the step that opens the release.
Roles     every party alike, two or more; a person decides for each.
Security  a vote is signed and bound to the session, the study and the figures that were shown, so that it cannot be
          denied, moved to another run, or given for other figures. One refusal ends the session at every party.
Not       it cannot stop a party that opens what it holds without having asked.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping

from covey.crypto.rng import spell
from covey.errors import Aborted, PeerError
from covey.secure.declare import TAKING_PART, Cost, Leakage, Traffic
from covey.wire import FRAME_BYTES, Bytes32, Bytes64, Channel, Message, gather

MESSAGE_BYTES = FRAME_BYTES + 145

LEAKAGE = Leakage(everyone=("which parties approve the release",), about=TAKING_PART)
COST = Cost(lambda n: Traffic.exchange(n, MESSAGE_BYTES))


class Vote(Message, tag="approval.vote"):
    """The sender's decision about the figures with this hash."""

    approve: bool
    shown: Bytes32
    signature: Bytes64


async def vote(
    channel: Channel,
    *,
    study_hash: str,
    shown: bytes,
    decide: Callable[[], Awaitable[bool]],
    sign: Callable[[bytes], bytes],
    verify: Callable[[str, bytes, bytes], bool],
    fellows: Collection[str],
) -> None:
    """Returns if every party approves.

    A refusal of another party arrives also while ours is still being decided. `fellows` are the peers that were
    shown the same figures. Raises `Aborted`, not resumable, on a refusal, and `PeerError` for a vote with a wrong
    signature or on other figures.
    """

    async def cast() -> None:
        approve = await decide()
        signature = sign(statement(channel, channel.me, study_hash, shown, approve))
        await channel.broadcast(Vote(approve, shown, signature))
        if not approve:
            raise Aborted("the release was refused here; nothing was released", resumable=False)

    async def read(peer: str) -> None:
        theirs = await channel.receive(peer, Vote)
        if not verify(peer, theirs.signature, statement(channel, peer, study_hash, theirs.shown, theirs.approve)):
            raise PeerError(party=peer, step="approval", reason="its vote is not signed with its key")
        if peer in fellows and theirs.shown != shown:
            raise PeerError(party=peer, step="approval", reason="it was asked about other figures than we were")
        if not theirs.approve:
            raise Aborted(f"party {peer!r} refused the release; nothing was released", resumable=False)

    await gather(cast(), *(read(peer) for peer in channel.peers))


def statement(channel: Channel, voter: str, study_hash: str, shown: bytes, approve: bool) -> bytes:
    """The statement that a voter signs."""
    decision = "approved" if approve else "refused"
    return spell("covey approval/1", channel.session, study_hash, voter, shown, decision)


def ideal(decisions: Mapping[str, bool]) -> bool:
    """A trusted party's answer: all or none."""
    return all(decisions.values())
