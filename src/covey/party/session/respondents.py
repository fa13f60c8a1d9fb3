"""A session with respondents: consent, comparison and signature in place of handshake, vote and closing.

Respondents have no signing keys: the collector knows them by handles. Each agrees to the release by a message to the
collector, and at the end compares with it what was said and read. The collector signs the certificate.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from covey.crypto.rng import derive
from covey.crypto.secret import Secret
from covey.errors import PeerError
from covey.party.identity.keys import Keys
from covey.party.record.run_certificate import RunCertificate, statement_a, statement_b, to_sign
from covey.party.record.run_record import Agreement, Closed, Finished, RunRecord
from covey.party.record.transcript import CLOSING_STEP, Transcript
from covey.party.released import LEAKAGE, counted, is_counted
from covey.party.session.closing import traffic_of
from covey.party.session.handshake import commit, session_digest, statement
from covey.party.session.playing import play_and_close
from covey.party.session.progress import Progress
from covey.protocols import Figures, Protocol, Result, Seat
from covey.protocols.protocol import EVERYONE, Attendance
from covey.protocols.shared import roll
from covey.secure.declare import TAKING_PART, Leakage, Traffic
from covey.study import Study
from covey.study.study import RESPONDENTS
from covey.wire import Bytes32, Channel, Message

AGREED = Leakage(roles={"collector": ("which respondents agree to hand in their rows",)}, about=TAKING_PART)


class Consent(Message, tag="respondents.consent"):
    """A respondent agrees to hand in its row, or does not."""

    approve: bool


class Compared(Message, tag="respondents.compared"):
    """The heads of what the sender said to the collector and read from it."""

    sent: Bytes32
    read: Bytes32


async def consent(channel: Channel, hub: str) -> None:
    """Tells the collector that a respondent agrees to hand in its row."""
    await channel.at("approval").send(hub, Consent(True))


async def refusals(channel: Channel, attendance: Attendance) -> list[str]:
    """The respondents that refuse to hand in their rows, of all who are there."""
    at = channel.at("approval")
    found = await roll.call(attendance, channel.peers, lambda name: at.receive(name, Consent))
    return [name for name, consent in found.items() if not consent.approve]


async def compare(channel: Channel, hub: str, transcript: Transcript) -> None:
    """Tells the collector, as a respondent's last message, the heads of what it said and read."""
    pairs = ((channel.me, hub), (hub, channel.me))
    sent, read_ = (transcript.head(channel.session, pair).digest for pair in pairs)
    await channel.at(CLOSING_STEP).send(hub, Compared(sent, read_))


@dataclass(frozen=True)
class Collector:
    """All that the collector brings to a session with respondents."""

    seat: Seat
    protocol: Protocol
    keys: Keys
    progress: Progress
    agreement: Agreement
    record: RunRecord
    writes_any: bool = False
    """True in a simulation: a release that singles people out is written too, and the summary says so."""

    async def play(self) -> Finished:
        """Plays the collector's role to its end, compares with everyone who is there, and signs."""
        return await play_and_close(self.agreement, self.record, self.progress, self._play, self._check, self._close)

    async def _play(self) -> Result:
        result = await self.protocol.play(self.seat)
        if self.seat.attendance is EVERYONE:  # who left may have sent more than was read
            self.seat.channel.finish()
        if is_counted(self.protocol):
            self.seat.ledger.learns(LEAKAGE)
        return result

    def _check(self, release: pa.Table, figures: Figures) -> Figures:
        if not is_counted(self.protocol):
            return figures
        return counted(self.seat.study, release, figures, writes_any=self.writes_any)

    async def _close(self, release: bytes | None, figures: Figures | None) -> Closed:
        """Compares with everyone what was said, and signs, with the trustees that the study names."""
        study, channel = self.seat.study, self.seat.channel
        at, session, hub = channel.at(CLOSING_STEP), channel.session, channel.me
        pairs = [pair for name in channel.peers for pair in ((hub, name), (name, hub))]
        heads = {pair: self.record.transcript.head(session, pair) for pair in pairs}

        async def check(name: str) -> None:
            theirs = await at.receive(name, Compared)
            if (theirs.sent, theirs.read) != (heads[name, hub].digest, heads[hub, name].digest):
                raise PeerError(party=name, step="farewell", reason="it saw another run than we did")

        traffic = _traffic(channel, study)
        await roll.call(self.seat.attendance, channel.peers, check)
        sign = self.keys.sign
        signatures = {
            (hub, name): sign(heads[hub, name].statement(session, study.study_hash, (hub, name)))
            for name in channel.peers
        }
        a = statement_a(study, session, {pair: head.digest for pair, head in heads.items()})
        b = None if release is None or figures is None else statement_b(study, a, release, figures)
        certificate = RunCertificate(a, {hub: sign(to_sign(a))}, b, {} if b is None else {hub: sign(to_sign(b))})
        return Closed(traffic, heads, signatures, certificate)


def _traffic(channel: Channel, study: Study) -> dict[str, Traffic]:
    """The traffic of each party that the study names, and that of all respondents together."""
    own, tally, hub = traffic_of(channel), channel.tally, channel.me
    named = {party.name for party in study.parties}
    found = {hub: own, RESPONDENTS: Traffic(own.rounds)}
    for (sender, _), count in tally.messages.items():
        if sender != hub:
            name = sender if sender in named else RESPONDENTS
            before = found.get(name, Traffic(own.rounds))
            found[name] = before + Traffic(0, count, tally.bytes[sender, hub])
    return found


def agree(study: Study, hub: str, keys: Keys, seed: Secret) -> Agreement:
    """A new session, named by the collector: respondents take it from there."""
    nonce = derive(seed, "nonce").reveal()
    commitments = {hub: commit(seed)}
    digest = session_digest(study.study_hash, commitments, {hub: nonce})
    confirmed = {hub: keys.sign(statement(digest, study.roster_hash, hub))}
    return Agreement(digest, seed, commitments, {hub: nonce}, confirmed)
