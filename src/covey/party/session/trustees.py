"""The end of a session with trustees: the collector and they find that they saw the same run, and sign it.

    farewell   a trustee's heads of what it said and read, and its signature on what it said
    run        the heads of all, what the session follows from, and the collector's signature on what it said
    seal       the trustee's signature on the certificate's statement A
    signed     everyone's signatures
    kept       the trustee has written down what the run leaves

They are journaled like any other message, and are no part of the transcript that they sign.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from covey.errors import PeerError
from covey.party.identity.keys import Keys
from covey.party.identity.roster import Roster
from covey.party.record.run_certificate import RunCertificate, Statement, statement_a, to_sign
from covey.party.record.run_record import Agreement, Closed
from covey.party.record.transcript import CLOSING_STEP, Head, Pair, Transcript
from covey.party.session.closing import traffic_of
from covey.party.session.handshake import session_digest, statement
from covey.study import Study
from covey.wire import Bytes32, Bytes64, Channel, Message, Name, gather

Heads = dict[Name, Annotated[dict[Name, Bytes32], Meta(max_length=1 << 20)]]


class TrusteeFarewell(Message, tag="trustees.farewell"):
    """The heads of what a trustee said to the collector and read from it, and its signature on the first."""

    sent: Bytes32
    read: Bytes32
    signature: Bytes64


class RunShown(Message, tag="trustees.run"):
    """The run as the collector saw it: what the session follows from, and the heads of everyone."""

    commitment: Bytes32
    nonce: Bytes32
    confirmed: Bytes64
    heads: Heads
    signature: Bytes64
    """On the head of what the collector said to the recipient."""


class TrusteeSeal(Message, tag="trustees.seal"):
    """A trustee's signature on statement A."""

    a: Bytes64


class RunSigned(Message, tag="trustees.signed"):
    """Everyone's signatures on statement A."""

    a: dict[Name, Bytes64]


class RunKept(Message, tag="trustees.kept"):
    """The trustee has written down what the run leaves."""


@dataclass(frozen=True)
class TrusteeClosing:
    """A trustee's part."""

    study: Study
    hub: str
    keys: Keys
    roster: Roster
    transcript: Transcript

    async def close(self, channel: Channel, agreement: Agreement, keep: Callable[[Agreement, Closed], None]) -> None:
        """Compares, signs, and lets `keep` write it down. Raises PeerError if the collector saw another run."""
        me, hub, session = channel.me, self.hub, channel.session
        at, traffic = channel.at(CLOSING_STEP), {me: traffic_of(channel)}
        ours, theirs = (me, hub), (hub, me)
        heads = {pair: self.transcript.head(session, pair) for pair in (ours, theirs)}
        signature = self.keys.sign(self._of_head(session, ours, heads))
        await at.send(hub, TrusteeFarewell(heads[ours].digest, heads[theirs].digest, signature))
        shown = await at.receive(hub, RunShown)
        agreed = self._session(agreement, shown)
        collector = self.roster.certificates[hub]
        if not collector.verifies(shown.signature, self._of_head(session, theirs, heads)):
            raise PeerError(party=hub, step="farewell", reason="it did not sign what it sent to us")
        everyone = {(sender, to): head for sender, others in shown.heads.items() for to, head in others.items()}
        if any(everyone.get(pair) != head.digest for pair, head in heads.items()):
            raise PeerError(party=hub, step="farewell", reason="it saw another run than we did")
        a = statement_a(self.study, session, everyone)
        await at.send(hub, TrusteeSeal(self.keys.sign(to_sign(a))))
        signed = (await at.receive(hub, RunSigned)).a
        for name in sorted(self.study.signers):
            if not self.roster.certificates[name].verifies(signed.get(name, b""), to_sign(a)):
                raise PeerError(party=hub, step="seal", reason=f"it shows no signature of {name} on this run")
        signatures: dict[Pair, bytes] = {ours: signature, theirs: shown.signature}
        keep(agreed, Closed(traffic, heads, signatures, RunCertificate(a, dict(signed))))
        await at.send(hub, RunKept())

    def _session(self, agreement: Agreement, shown: RunShown) -> Agreement:
        """The session with what it follows from. Raises PeerError if it follows from something else."""
        commitments, nonces = {self.hub: shown.commitment}, {self.hub: shown.nonce}
        due = statement(agreement.digest, self.study.roster_hash, self.hub)
        if session_digest(self.study.study_hash, commitments, nonces) != agreement.digest or not (
            self.roster.certificates[self.hub].verifies(shown.confirmed, due)
        ):
            raise PeerError(party=self.hub, step="farewell", reason="it did not sign the session that we are in")
        return Agreement(agreement.digest, agreement.seed, commitments, nonces, {self.hub: shown.confirmed})

    def _of_head(self, session: bytes, pair: Pair, heads: Mapping[Pair, Head]) -> bytes:
        return heads[pair].statement(session, self.study.study_hash, pair)


@dataclass(frozen=True)
class CollectorClosing:
    """The collector's part, with the trustees that the study names."""

    study: Study
    keys: Keys
    roster: Roster
    agreement: Agreement
    trustees: tuple[str, ...]

    async def farewells(self, channel: Channel, heads: Mapping[Pair, Head]) -> dict[Pair, bytes]:
        """The trustees' signatures on what they said. Raises PeerError for one that saw another run."""
        at, hub, session = channel.at(CLOSING_STEP), channel.me, channel.session
        found: dict[Pair, bytes] = {}
        for name in self.trustees:
            theirs = await at.receive(name, TrusteeFarewell)
            if (theirs.sent, theirs.read) != (heads[name, hub].digest, heads[hub, name].digest):
                raise PeerError(party=name, step="farewell", reason="it saw another run than we did")
            due = heads[name, hub].statement(session, self.study.study_hash, (name, hub))
            if not self.roster.certificates[name].verifies(theirs.signature, due):
                raise PeerError(party=name, step="farewell", reason="it did not sign what it sent to us")
            found[name, hub] = theirs.signature
        return found

    async def seals(
        self, channel: Channel, a: Statement, heads: Mapping[Pair, Head], signatures: Mapping[Pair, bytes]
    ) -> dict[str, bytes]:
        """Everyone's signatures on statement A, which all have and keep. Raises PeerError for one that does not."""
        at, hub = channel.at(CLOSING_STEP), channel.me
        shown: dict[str, dict[str, bytes]] = {}
        for (sender, to), head in heads.items():
            shown.setdefault(sender, {})[to] = head.digest
        agreed = self.agreement
        founded = agreed.commitments[hub], agreed.nonces[hub], agreed.confirmed[hub]
        for name in self.trustees:
            await at.send(name, RunShown(*founded, shown, signatures[hub, name]))
        content = to_sign(a)
        found = {hub: self.keys.sign(content)}
        for name in self.trustees:
            found[name] = (await at.receive(name, TrusteeSeal)).a
            if not self.roster.certificates[name].verifies(found[name], content):
                raise PeerError(party=name, step="seal", reason="it did not sign the certificate that we sign")
        for name in self.trustees:
            await at.send(name, RunSigned(found))
        await gather(*(at.receive(name, RunKept) for name in self.trustees))
        return found
