"""The end of a session: the parties find that they saw the same run, and sign it.

    farewell   how much each sent, its heads (of what it sent to each, of what it read from each), the release's hash
               where the recipient has it too, and a signature on what it sent to the recipient
    seal       signatures on statement A, and on B between those who have the release

Both are journaled like any other message, so that an interruption here is no different from one before. They are
not part of the transcript that they sign.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from covey.errors import PeerError
from covey.party.identity.keys import Keys
from covey.party.identity.roster import Roster
from covey.party.record.run_certificate import RunCertificate, Statement, statement_a, statement_b, to_sign
from covey.party.record.run_record import Closed
from covey.party.record.transcript import CLOSING_STEP, Head, Pair, Transcript
from covey.protocols import Figures, Protocol
from covey.secure.declare import Traffic
from covey.study import Study
from covey.wire import Bytes32, Bytes64, Channel, Count, Message, Name

Heads = Annotated[dict[Name, Bytes32], Meta(max_length=4096)]


class Farewell(Message, tag="covey.farewell"):
    """The sender is done."""

    messages: Count
    bytes: Count
    rounds: Annotated[int, Meta(ge=0, lt=1 << 32)]
    sent: Heads
    read: Heads
    signature: Bytes64
    """On the head of what the sender sent to the recipient."""
    release: Bytes32 | None


class Seal(Message, tag="covey.seal"):
    """The sender's signatures on the certificate's statements."""

    a: Bytes64
    b: Bytes64 | None


@dataclass(frozen=True)
class Closing:
    """All that a party brings to the end of its session."""

    study: Study
    protocol: Protocol
    keys: Keys
    roster: Roster
    transcript: Transcript
    release: bytes | None
    figures: Figures | None
    stated: Mapping[str, int]
    """The number of rows that each party stated, if any did."""

    async def close(self, channel: Channel) -> Closed:
        """Compares and signs. Raises PeerError that names who saw another run, and what differs."""
        me = channel.me
        own = traffic_of(channel)
        heads = self._heads(channel)
        farewells = await self._say_farewell(channel.at(CLOSING_STEP, "farewell"), own, heads)
        traffic = {me: own}
        signatures = {(me, peer): self._sign_head(channel, (me, peer), heads) for peer in channel.peers}
        for peer, theirs in farewells.items():
            self._compare(channel, peer, theirs, heads)
            traffic[peer] = Traffic(theirs.rounds, theirs.messages, theirs.bytes)
            signatures[peer, me] = theirs.signature
        everyone = _all_heads(me, heads, farewells)
        certificate = await self._seal(channel.at(CLOSING_STEP, "seal"), everyone)
        return Closed(traffic, heads, signatures, certificate)

    def _heads(self, channel: Channel) -> dict[Pair, Head]:
        pairs = [pair for peer in channel.peers for pair in ((channel.me, peer), (peer, channel.me))]
        return {pair: self.transcript.head(channel.session, pair) for pair in pairs}

    def _sign_head(self, channel: Channel, pair: Pair, heads: Mapping[Pair, Head]) -> bytes:
        return self.keys.sign(heads[pair].statement(channel.session, self.study.study_hash, pair))

    async def _say_farewell(self, channel: Channel, own: Traffic, heads: Mapping[Pair, Head]) -> dict[str, Farewell]:
        me = channel.me
        for peer in channel.peers:
            farewell = Farewell(
                messages=own.messages,
                bytes=own.bytes,
                rounds=own.rounds,
                sent={other: heads[me, other].digest for other in channel.peers},
                read={other: heads[other, me].digest for other in channel.peers},
                signature=self._sign_head(channel, (me, peer), heads),
                release=self.release if self._receives(peer) else None,
            )
            await channel.send(peer, farewell)
        return await channel.collect(Farewell)

    def _compare(self, channel: Channel, peer: str, theirs: Farewell, heads: Mapping[Pair, Head]) -> None:
        me = channel.me
        if self.release is not None and self._receives(peer) and theirs.release != self.release:
            raise PeerError(party=peer, step="farewell", reason="it computed another release than we did")
        if set(theirs.sent) != set(theirs.read) or set(theirs.sent) != set(channel.parties) - {peer}:
            raise PeerError(party=peer, step="farewell", reason="it does not give its heads for every party")
        if theirs.sent[me] != heads[peer, me].digest:
            raise PeerError(party=peer, step="farewell", reason="it says that it sent us something else than we read")
        if theirs.read[me] != heads[me, peer].digest:
            raise PeerError(party=peer, step="farewell", reason="it says that it read something else than we sent it")
        content = heads[peer, me].statement(channel.session, self.study.study_hash, (peer, me))
        if not self.roster.certificates[peer].verifies(theirs.signature, content):
            raise PeerError(party=peer, step="farewell", reason="it did not sign what it sent to us")

    async def _seal(self, channel: Channel, heads: Mapping[Pair, bytes]) -> RunCertificate:
        a = statement_a(self.study, channel.session, heads, self.stated)
        b = None
        if self.release is not None and self.figures is not None:
            b = statement_b(self.study, a, self.release, self.figures)
        own_a = self.keys.sign(to_sign(a))
        own_b = None if b is None else self.keys.sign(to_sign(b))
        for peer in channel.peers:
            await channel.send(peer, Seal(own_a, own_b if self._receives(peer) else None))
        a_signatures, b_signatures = {channel.me: own_a}, {} if own_b is None else {channel.me: own_b}
        for peer, theirs in (await channel.collect(Seal)).items():
            self._check(peer, theirs.a, a)
            a_signatures[peer] = theirs.a
            if b is not None and self._receives(peer):
                self._check(peer, theirs.b, b)
                b_signatures[peer] = theirs.b or b""
        return RunCertificate(a, a_signatures, b, b_signatures)

    def _check(self, peer: str, signature: bytes | None, statement: Statement) -> None:
        if signature is None or not self.roster.certificates[peer].verifies(signature, to_sign(statement)):
            reason = "it did not sign the certificate that we would sign: it saw another run or another release"
            raise PeerError(party=peer, step="seal", reason=reason)

    def _receives(self, party: str) -> bool:
        return self.protocol.receives(self.study, party)


def traffic_of(channel: Channel) -> Traffic:
    """The traffic that this party has sent so far, and the rounds that it has seen."""
    tally = channel.tally
    messages = sum(count for (sender, _), count in tally.messages.items() if sender == channel.me)
    size = sum(count for (sender, _), count in tally.bytes.items() if sender == channel.me)
    return Traffic(tally.rounds, messages, size)


def _all_heads(me: str, own: Mapping[Pair, Head], farewells: Mapping[str, Farewell]) -> dict[Pair, bytes]:
    """Every directed pair's head; both its ends must have told the same."""
    heads = {pair: head.digest for pair, head in own.items()}
    for sender, theirs in farewells.items():
        for recipient, head in theirs.sent.items():
            if recipient != me and farewells[recipient].read[sender] != head:
                reason = f"it and party {recipient!r} do not agree on what it sent there"
                raise PeerError(party=sender, step="farewell", reason=reason)
            heads[sender, recipient] = head
    return heads
