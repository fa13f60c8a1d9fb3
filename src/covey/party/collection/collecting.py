"""A collection from the first enrolment to the release, over as many attempts and restarts as it takes.

It begins at its closing time, or once so many are ready. An attempt is a session of the protocol among those who are
there. Who does not answer within the deadline has left, for good; where the protocol cannot do without, before anything
is opened, the attempt is given up and another begins among the rest. A collector that is cut off goes on with the same
command: what was acknowledged is on its disk.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass, replace

from covey.crypto.rng import fresh_seed
from covey.errors import Aborted, CoveyError, InputError, Left, PeerError, Unmet
from covey.party.collection import pages
from covey.party.collection.deadlines import expel_late
from covey.party.collection.evaluating import evaluate
from covey.party.collection.opening import Collection, CollectorTask
from covey.party.collection.register import Dropped, Ended, Opened, Started, moment
from covey.party.collection.status import Board
from covey.party.record import reporting
from covey.party.record.run_record import Agreement, Finished, RunRecord
from covey.party.session.binding import bind
from covey.party.session.journal_records import Begun
from covey.party.session.playing import lasting_secret
from covey.party.session.respondents import AGREED, Collector, agree, refusals
from covey.party.session.run import run_until_interrupted
from covey.protocols import Proposal, Seat
from covey.summary import Summary
from covey.wire import Channel, Session, Several
from covey.wire.depth import beside
from covey.wire.standing.hub import Hub
from covey.wire.standing.port import allow_connections
from covey.wire.standing.words import Over

FAREWELL_SECONDS = 10.0
_FOREVER = 10 * 365 * 86400.0


@dataclass
class Lenient:
    """In a collection nobody is needed by name: whoever breaks the protocol is left out."""

    hub: Hub
    members: tuple[str, ...]
    crowd: int = 1 << 30

    def excuse(self, error: PeerError) -> None:
        """Leaves the respondent out. Raises the error if it is not about one."""
        if error.party not in self.members:
            raise error
        self.hub.expel(error.party, f"broke the protocol at {error.step}")


def serve(service: CollectorTask) -> Summary:
    """Collects to the end and writes the collector's folder, or goes on with what was cut off; returns the summary.

    Raises Unmet if too few came or stayed, Aborted (resumable) when interrupted, InputError for what is wrong here.
    """
    allow_connections()
    collection = Collection.prepare(service)
    with contextlib.closing(collection.register), contextlib.closing(collection.journal):
        run_until_interrupted(collect(collection), lambda: collection.log.note("the collector was interrupted"))
    return collection.summary


async def collect(collection: Collection) -> None:
    """Listens, waits until it is time, and collects."""
    held, desk = collection.register.held, collection.desk
    study = bytes.fromhex(desk.opened.study_hash)
    trustees = collection.study.of_party_role("trustee")
    hub = Hub(collection.party, study, collection.protocol.spoken, *collection.files, desk, collection.note, trustees)
    board = Board(collection.folder.path, hub, collection.progress, held)
    async with (
        hub.listening(collection.where) as where,
        pages.answered(collection, hub),
        board.kept(),
        collection.progress.ticking(),
    ):
        collection.open.set()
        collection.note(f"listening on {where}: {len(held.enrolled):,} enrolled, {len(held.ready):,} ready")
        try:
            if held.started is None:
                collection.progress.phase("enrolment")
                await _gather(collection, hub, desk.opened)
            if desk.receipts is None:
                await _attempts(collection, hub, board)
            else:
                await evaluate(collection, hub, board)
        except CoveyError as error:
            await _fail(collection, hub, error)
            raise
        hub.end(Over("finished", "the release is made"))
        board.write("finished")
        await hub.emptied(FAREWELL_SECONDS)


async def _gather(collection: Collection, hub: Hub, opened: Opened) -> None:
    """Returns when it is time to begin. Raises Unmet if too few are ready at the closing time."""
    ready, progress = collection.register.held.ready, collection.progress
    while True:
        now = time.time()
        if opened.closes and now >= opened.closes:
            if len(ready) < opened.quorum:
                raise Unmet(f"{len(ready):,} were ready at the closing time, {opened.quorum:,} are needed")
            return
        if not opened.closes and len(ready) >= opened.quorum:
            return
        progress.of = opened.quorum
        progress.reach(len(ready))
        hub.changed.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(min(opened.closes - now, 60.0) if opened.closes else None):
                await hub.changed.wait()


async def _attempts(collection: Collection, hub: Hub, board: Board) -> Finished:
    """One attempt after the other. Raises Unmet if too few are left for another."""
    register, k = collection.register, collection.study.privacy.k
    while True:
        agreement, started = _session(collection)
        board.members = tuple(started.members)
        try:
            return await _attempt(collection, hub, board, agreement, started)
        except Left as gone:
            left = {**collection.journal.gone, gone.party: gone.why}
            register.add(Dropped(started.attempt, left, moment()))
            names = ", ".join(sorted(left))
            collection.note(f"attempt {started.attempt} is given up before anything was opened, because {names} left")
            if len(set(started.members) - set(register.held.left)) < k:
                raise Unmet(f"fewer than k = {k} respondents are left; nothing was opened or released") from None


def _session(collection: Collection) -> tuple[Agreement, Started]:
    """The session that is under way, or a new one among all who are ready and have not left."""
    study, journal, held = collection.study, collection.journal, collection.register.held
    current, begun = held.current, journal.begun
    if current is not None and begun is not None and begun.session.hex() == current.session:
        collection.note(f"attempt {current.attempt} goes on; {journal.messages:,} letters had come before")
        return begun.agreement(), current
    if current is not None:
        raise InputError(
            f"{journal.path}: is not the journal of attempt {current.attempt}, which is under way; restore "
            "it, or begin anew in another folder: going on without it could open everyone's position a second time"
        )
    members = sorted(held.ready.keys() - held.left.keys())
    agreement = agree(study, collection.party, collection.keys, fresh_seed())
    journal.begin(Begun.of(agreement, bind(study, collection.party, None, collection.keys)))
    attempt = (held.started.attempt if held.started is not None else 0) + 1
    started = Started(attempt, agreement.digest.hex(), members, moment())
    collection.register.add(started)
    collection.note(f"attempt {attempt} begins among {len(members):,} respondents")
    return agreement, started


async def _attempt(collection: Collection, hub: Hub, board: Board, agreement: Agreement, started: Started) -> Finished:
    """Plays the collector's role among the members, and writes what the run leaves."""
    study, keys, journal, register = collection.study, collection.keys, collection.journal, collection.register
    record = RunRecord(agreement=agreement)
    link = hub.seat(agreement.digest, started.attempt, started.members, journal)
    recorder = Several(journal, record.transcript)
    channel = Channel(Session(link, agreement.session, agreement.rng, recorder, silence=_FOREVER, patience=_FOREVER))
    collection.progress.channel = channel
    collection.ledger.met()
    attendance = Lenient(hub, tuple(started.members))

    async def approve(proposal: Proposal) -> None:
        collection.ledger.learns(AGREED)
        for name in await refusals(channel, attendance):
            hub.expel(name, "refused to hand in its row")

    seat = Seat(
        study, None, channel, collection.progress, collection.ledger, approve,
        lasting_secret(keys, collection.protocol), attendance,
    )  # fmt: skip
    collector = Collector(seat, collection.protocol, keys, collection.progress, agreement, record)
    async with beside(expel_late(hub, channel, board, collection.service.phase_seconds)):
        finished = await collector.play()
    journal.finish()
    gone = ", ".join(sorted({*register.held.left, *journal.gone}))
    if gone:
        finished = replace(finished, warnings=(f"left before the end, and left out: {gone}",))
    collection.summary = collection.folder.keep(
        study, collection.ledger, finished, collection.party, keys, reproducible=False
    )
    journal.keep()
    register.add(Ended("the collection is finished", released=True, time=moment()))
    collection.note("the collection is finished")
    return finished


async def _fail(collection: Collection, hub: Hub, error: CoveyError) -> None:
    """Writes down how it ended, where it will not go on, and tells those who are here."""
    if isinstance(error, InputError) or (isinstance(error, Aborted) and error.resumable):
        return
    collection.register.add(Ended(f"the collection ended: {error}", released=False, time=moment()))
    collection.note(f"the collection ended: {error}")
    with contextlib.suppress(InputError, Aborted):
        collection.folder.keep_ledger(collection.ledger, f"ended: {error}")
        reporting.write(collection.folder.path, study=collection.study)
    hub.end(Over("ended", "the collection ended without a release"))
    await hub.emptied(FAREWELL_SECONDS)
