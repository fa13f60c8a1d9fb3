"""A survey in one process: the collector, and a respondent for each row of a table, who speaks with the collector only.

The roles are those of a real collection; the lines are a star, so that memory grows with the respondents and not with
their square. Respondents have no certificates: the collector knows them by handles. They agree to the release by a word
to the collector, and at the end each compares what it said and read with what the collector did. The collector's folder
is that of a real run; respondents leave none.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from covey.crypto.rng import Rng, derive, fresh_seed
from covey.crypto.secret import Secret
from covey.errors import Aborted, CoveyError, InputError
from covey.party.identity import keys as keyring
from covey.party.identity.keys import Keys
from covey.party.record.folder import RunFolder, log_in
from covey.party.record.ledger import Ledger
from covey.party.record.log import SILENCE
from covey.party.record.run_record import Agreement, Finished, RunRecord
from covey.party.record.transcript import Transcript
from covey.party.session.progress import Listener, Progress, writing
from covey.party.session.respondents import Collector, agree, compare, consent, refusals
from covey.party.simulate.deal import seed_of
from covey.party.simulate.letters import handles, load_rows
from covey.party.simulate.outcome import JointRun, Outcome
from covey.party.simulate.stage import most_telling, to_its_end, with_certificates
from covey.protocols import Proposal, Protocol, Seat, of_study
from covey.protocols.as_printed.collect.parameters import hub_of
from covey.protocols.protocol import EVERYONE, SILENT
from covey.release import Release
from covey.secure.declare import TAKING_PART, Leakage
from covey.sources.source import Data
from covey.study import Study
from covey.table import Table
from covey.wire import Channel, Link, Recorder, StarNetwork, open_channel
from covey.wire.depth import first_cause

PATIENCE = 24 * 3600.0
CONSENT = Leakage(roles={"collector": ("that every respondent agrees to hand in its row",)}, about=TAKING_PART)


def simulate(
    study: Study,
    data: Data,
    *,
    seed: Secret | int | None = None,
    listener: Listener = lambda snapshot: None,
    out: Path | None = None,
) -> Release:
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
    log = SILENCE if out is None else log_in(out / survey.hub)
    log.note(f"party {survey.hub!r} begins study {study.name!r} with protocol {protocol.name!r}")
    try:
        finished = to_its_end(survey.run())
        log.note("the run is finished")
    except CoveyError as error:
        log.note(f"the run ended: {error}")
        if out is not None:
            RunFolder(out / survey.hub).keep_ledger(survey.ledger, f"ended: {error}")
        raise
    outcomes = {survey.hub: Outcome(survey.ledger, finished, survey.keys[survey.hub])}
    release = JointRun(survey.study, outcomes, reproducible=seed is not None).release(data)
    if out is not None:
        with writing(survey.progress):
            release.save(out)
    return release


@dataclass(frozen=True)
class Survey:
    """A simulated collection: the collector, and a respondent for each row."""

    study: Study
    protocol: Protocol
    hub: str
    keys: Mapping[str, Keys]
    rows: Mapping[str, Table]
    seed: Secret
    agreement: Agreement
    ledger: Ledger
    progress: Progress

    @classmethod
    def prepare(cls, study: Study, protocol: Protocol, table: Table, seed: Secret, listener: Listener) -> Survey:
        """A respondent for each row, and keys for the collector."""
        hub = hub_of(study)
        keys = {party.name: keyring.make(party.name, seed=derive(seed, "keys", party.name)) for party in study.parties}
        certified = with_certificates(study, keys)
        names = handles(table.rows)
        rows = {name: table.select(np.array([place])) for place, name in enumerate(names)}
        return cls(
            study=certified,
            protocol=protocol,
            hub=hub,
            keys=keys,
            rows=rows,
            seed=seed,
            agreement=agree(certified, hub, keys[hub], derive(seed, "party", hub)),
            ledger=Ledger(certified.with_respondents, protocol, hub),
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

        lasting = derive(self.seed, "lasting", name)
        await self.protocol.play(Seat(self.study, self.rows[name], channel, SILENT, SILENT, approve, lasting))
        channel.finish()
        await compare(channel, self.hub, transcript)

    async def _collect(self, link: Link) -> Finished:
        self.ledger.met()
        record = RunRecord(agreement=self.agreement)
        channel = await self._open(self.hub, link, record.transcript)
        self.progress.channel = channel

        async def approve(proposal: Proposal) -> None:
            self.ledger.learns(CONSENT)
            for name in await refusals(channel, EVERYONE):
                raise Aborted(f"respondent {name!r} refused the release; nothing was released", resumable=False)

        lasting = derive(self.seed, "lasting", self.hub)
        seat = Seat(self.study, None, channel, self.progress, self.ledger, approve, lasting)
        keys = self.keys[self.hub]
        return await Collector(seat, self.protocol, keys, self.progress, self.agreement, record, True).play()

    async def _open(self, name: str, link: Link, recorder: Recorder) -> Channel:
        seed = derive(self.seed, "party", name)
        rng = Rng(derive(seed, "session", self.agreement.digest))
        return await open_channel(link, rng, session=self.agreement.session, recorder=recorder, patience=PATIENCE)
