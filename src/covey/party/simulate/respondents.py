"""A survey in one process: the collector, and a respondent for each row of a table, who speaks with the collector only.

The roles are those of a real collection; the lines are a star, so that memory grows with the respondents and not with
their square. Respondents have no certificates: the collector knows them by handles. They agree to the release by a word
to the collector, and at the end each compares what it said and read with what the collector did. The collector's folder
is that of a real run; respondents leave none.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from covey.crypto.rng import Rng, derive, fresh_seed
from covey.crypto.secret import Secret
from covey.errors import Aborted, CoveyError, InputError, PeerError
from covey.party.identity import keys as keyring
from covey.party.identity.keys import Keys
from covey.party.record.folder import RunFolder
from covey.party.record.ledger import Ledger
from covey.party.record.run_certificate import Certified, statement_a, statement_b, to_sign
from covey.party.record.summary import Traffic
from covey.party.record.transcript import CLOSING_STEP, Transcript
from covey.party.session.blame import most_telling
from covey.party.session.closing import Closed, traffic_of
from covey.party.session.handshake import Agreement, commit, session_digest, statement
from covey.party.session.progress import Listener, Progress
from covey.party.session.session import Finished, Record, sealed
from covey.party.simulate.deal import RESPONDENTS, seed_of
from covey.party.simulate.outcome import JointRelease, Outcome, as_text
from covey.protocols import Proposal, Protocol, Result, Seat, of_study
from covey.protocols.collect import roll
from covey.protocols.collect.terms import hub_of
from covey.protocols.protocol import EVERYONE, Attendance
from covey.secure.declare import Leakage
from covey.sources.frames import like
from covey.sources.source import Data, connect
from covey.study import Study
from covey.study.study import Party
from covey.table import Table, build, read
from covey.wire import Bytes32, Channel, Link, Message, Recorder, StarNetwork, open_channel
from covey.wire.depth import first_cause

PATIENCE = 24 * 3600.0
CONSENT = Leakage(roles={"collector": ("that every respondent agreed to hand in its row",)})


class Consent(Message, tag="respondents.consent"):
    """A respondent agrees to hand in its row, or does not."""

    approve: bool


class Compared(Message, tag="respondents.compared"):
    """The heads of what the sender said to the collector and read from it."""

    sent: Bytes32
    read: Bytes32


def simulate(
    study: Study,
    data: Data,
    *,
    seed: Secret | int | None = None,
    listener: Listener = lambda snapshot: None,
    out: Path | None = None,
) -> JointRelease:
    """Runs the study with a respondent for each row of the table, and returns what the collector gets.

    `seed` makes the run repeatable. With `out`, the collector's run is kept in a folder below it, and if it fails, the
    ledger of what had been learned by then. Raises the first cause if a party fails.
    """
    protocol = of_study(study)
    if any(party.holds_data for party in study.parties):
        raise InputError("in a simulation respondents enrol by their rows: list none as parties")
    if out is not None:
        RunFolder(out).prepare()
    table = load_rows(study, data)
    if isinstance(seed, int):
        seed = seed_of(seed)
    survey = Survey.prepare(study, protocol, table, seed or fresh_seed(), listener)
    from covey.party.simulate.in_process import to_its_end

    try:
        finished = to_its_end(survey.run())
    except CoveyError as error:
        if out is not None:
            RunFolder(out / survey.hub).keep_ledger(survey.ledger, f"ended: {error}")
        raise
    if finished.release is None:
        raise InputError("no party of this study gets a release")
    shown = finished.release if isinstance(data, str | Path) else like(as_text(finished.release), data)
    outcomes = {survey.hub: Outcome(survey.ledger, finished, survey.keys)}
    release = JointRelease(survey.study, shown, outcomes, reproducible=seed is not None)
    if out is not None:
        release.save(out)
    return release


def load_rows(study: Study, data: Data) -> Table:
    """Everyone's rows, before they are dealt. Raises InputError that names file and column."""
    source = connect(data)
    columns = study.columns
    return build(read(source.batches([column.name for column in columns]), columns, source.name), study)


def handles(count: int) -> list[str]:
    """Names for so many respondents, which sort as they are numbered."""
    digits = len(str(count))
    return [f"r{number:0{digits}}" for number in range(1, count + 1)]


class Unwritten:
    """A respondent's book and pace: nobody looks at them here."""

    def learns(self, leakage: Leakage, **numbers: object) -> None:
        """Is known from the declaration."""

    def phase(self, name: str, of: int = 1) -> None:
        """Is shown for the collector alone."""

    def reach(self, done: int) -> None:
        """Is shown for the collector alone."""


@dataclass(frozen=True)
class Survey:
    """All that a simulated collection needs."""

    study: Study
    protocol: Protocol
    hub: str
    keys: Keys
    rows: Mapping[str, Table]
    seed: Secret
    agreement: Agreement
    ledger: Ledger
    progress: Progress

    @classmethod
    def prepare(cls, study: Study, protocol: Protocol, table: Table, seed: Secret, listener: Listener) -> Survey:
        """A respondent for each row, and keys for the collector."""
        from covey.party.simulate.in_process import with_certificates

        hub = hub_of(study)
        keys = keyring.make(hub)
        certified = with_certificates(study, {hub: keys})
        names = handles(table.rows)
        rows = {name: table.select(np.array([place])) for place, name in enumerate(names)}
        shown = replace(certified, parties=(*certified.parties, Party(RESPONDENTS)))
        return cls(
            study=certified,
            protocol=protocol,
            hub=hub,
            keys=keys,
            rows=rows,
            seed=seed,
            agreement=agree(certified, hub, keys, derive(seed, "party", hub)),
            ledger=Ledger(shown, protocol, hub),
            progress=Progress(hub, protocol.phases, listener),
        )

    async def run(self) -> Finished:
        """Everyone's role to its end. Raises the most telling failure."""
        network = StarNetwork(self.hub, self.rows)
        ends: dict[str, CoveyError] = {}
        finished: list[Finished] = []

        async def play(name: str) -> None:
            link = network.link(name)
            try:
                if name == self.hub:
                    async with self.progress.ticking():
                        finished.append(await self._collect(link))
                else:
                    await self._respond(name, link)
            except CoveyError as error:
                ends[name] = error
            except BaseExceptionGroup as failures:
                cause = first_cause(failures)
                if not isinstance(cause, CoveyError):
                    raise
                ends[name] = cause
            finally:
                await link.close()

        async with asyncio.TaskGroup() as group:
            for name in network.names:
                group.create_task(play(name))
        if ends:
            raise most_telling(ends)
        return finished[0]

    async def _respond(self, name: str, link: Link) -> None:
        transcript = Transcript()
        channel = await self._open(name, link, transcript)

        async def approve(proposal: Proposal) -> None:
            await consent(channel, self.hub)

        nobody = Unwritten()
        own = derive(self.seed, "lasting", name)
        seat = Seat(self.study, name, self.rows[name], channel, nobody, nobody, approve, own)
        await self.protocol.role(self.study, name)(seat)
        channel.finish()
        await compare(channel, self.hub, transcript)

    async def _collect(self, link: Link) -> Finished:
        self.ledger.met()
        record = Record(agreement=self.agreement)
        channel = await self._open(self.hub, link, record.transcript)
        self.progress.channel = channel

        async def approve(proposal: Proposal) -> None:
            self.ledger.learns(CONSENT)
            for name in await refusals(channel, EVERYONE):
                raise Aborted(f"respondent {name!r} refused the release; nothing was released", resumable=False)

        begun = time.monotonic()
        own = derive(self.seed, "lasting", self.hub)
        seat = Seat(self.study, self.hub, None, channel, self.progress, self.ledger, approve, own)
        result = await self.protocol.role(self.study, self.hub)(seat)
        channel.finish()
        return await finish(
            channel, seat, result, self.keys, record, self.progress, seconds=lambda: time.monotonic() - begun
        )

    async def _open(self, name: str, link: Link, recorder: Recorder) -> Channel:
        seed = derive(self.seed, "party", name)
        rng = Rng(derive(seed, "session", self.agreement.digest))
        return await open_channel(link, rng, session=self.agreement.session, recorder=recorder, patience=PATIENCE)


async def consent(channel: Channel, hub: str) -> None:
    """A respondent agrees."""
    await channel.at("approval").send(hub, Consent(True))


async def refusals(channel: Channel, attendance: Attendance) -> list[str]:
    """The collector asks everyone who is there; who refuses to hand in its row."""
    at = channel.at("approval")
    found = await roll.call(attendance, channel.peers, lambda name: at.receive(name, Consent))
    return [name for name, consent in found.items() if not consent.approve]


async def compare(channel: Channel, hub: str, transcript: Transcript) -> None:
    """A respondent's last word: what it said, and what it read."""
    pairs = ((channel.me, hub), (hub, channel.me))
    sent, read_ = (transcript.head(channel.session, pair).digest for pair in pairs)
    await channel.at(CLOSING_STEP).send(hub, Compared(sent, read_))


async def finish(
    channel: Channel,
    seat: Seat,
    result: Result,
    keys: Keys,
    record: Record,
    progress: Progress,
    *,
    seconds: Callable[[], float],
) -> Finished:
    """The collector's end of a collection: compares with every respondent that is there, and signs alone."""
    if record.agreement is None:
        raise InputError("no session has begun: there is nothing to sign")
    release, digest = sealed(seat.study, result)
    took = seconds()
    progress.phase("farewell")
    traffic = _traffic(channel)
    record.closed = await _close(channel, seat, keys, record.transcript, traffic, result, digest)
    return Finished(
        release=release,
        release_sha256=None if digest is None else digest.hex(),
        figures=result.figures,
        traffic=traffic,
        seconds=took,
        session=record.agreement.session,
        warnings=(),
        record=record,
        phases=tuple(progress.spent.values()),
    )


def _traffic(channel: Channel) -> dict[str, Traffic]:
    """The collector's, and all respondents' together."""
    own, tally, hub = traffic_of(channel), channel.tally, channel.me
    theirs = [count for (sender, _), count in tally.messages.items() if sender != hub]
    size = [count for (sender, _), count in tally.bytes.items() if sender != hub]
    return {hub: own, RESPONDENTS: Traffic(sum(theirs), sum(size), own.rounds)}


async def _close(
    channel: Channel,
    seat: Seat,
    keys: Keys,
    transcript: Transcript,
    traffic: dict[str, Traffic],
    result: Result,
    release: bytes | None,
) -> Closed:
    """Compares with every respondent what was said, and signs the certificate alone: no one else has a key."""
    at, session, hub, study = channel.at(CLOSING_STEP), channel.session, channel.me, seat.study
    pairs = [pair for name in channel.peers for pair in ((hub, name), (name, hub))]
    heads = {pair: transcript.head(session, pair) for pair in pairs}

    async def check(name: str) -> None:
        theirs = await at.receive(name, Compared)
        if (theirs.sent, theirs.read) != (heads[name, hub].digest, heads[hub, name].digest):
            raise PeerError(party=name, step="farewell", reason="it saw another run than we did")

    await roll.call(seat.attendance, channel.peers, check)
    signatures = {
        (hub, name): keys.sign(heads[hub, name].statement(session, study.study_hash, (hub, name)))
        for name in channel.peers
    }
    a = statement_a(study, session, {pair: head.digest for pair, head in heads.items()})
    b = None if release is None or result.figures is None else statement_b(study, a, release, result.figures)
    certified = Certified(a, {hub: keys.sign(to_sign(a))}, b, {} if b is None else {hub: keys.sign(to_sign(b))})
    return Closed(traffic, heads, signatures, certified)


def agree(study: Study, hub: str, keys: Keys, seed: Secret) -> Agreement:
    """The session as the collector names it: respondents take it from there."""
    nonce = derive(seed, "nonce").reveal()
    commitments = {hub: commit(seed)}
    digest = session_digest(study.study_hash, commitments, {hub: nonce})
    confirmed = {hub: keys.sign(statement(digest, study.roster_hash, hub))}
    return Agreement(digest, seed, commitments, {hub: nonce}, confirmed)
