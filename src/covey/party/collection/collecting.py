"""A collection from the first enrolment to the release, over as many attempts and restarts as it takes.

It begins at its closing time, or once so many are ready. An attempt is a session of the protocol among those who are
there. Who does not answer within the deadline has left, for good; where the protocol cannot do without, before anything
is opened, the attempt is given up and another begins among the rest. A collector that is cut off goes on with the same
command: what was acknowledged is on its disk.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import resource
import signal
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path

from covey.crypto.rng import fresh_seed
from covey.errors import Aborted, CoveyError, InputError, Left, PeerError, Unmet
from covey.party.collection import page
from covey.party.collection.deadlines import expel_late
from covey.party.collection.eligibility import address_of, by_peeling, collected, place_of
from covey.party.collection.enrolment import EnrolmentDesk
from covey.party.collection.invitation import Invitations
from covey.party.collection.receipts import Receipts
from covey.party.collection.register import Dropped, Ended, Opened, Register, Started, moment
from covey.party.collection.status import Board
from covey.party.collection.web import Web, WebTask
from covey.party.identity import keys as keyring
from covey.party.identity.keys import Keys
from covey.party.identity.roster import Roster
from covey.party.record import reporting
from covey.party.record.folder import RunFolder
from covey.party.record.ledger import Ledger
from covey.party.record.log import RunLog
from covey.party.record.names import JOURNAL, LOG
from covey.party.record.run_record import Agreement, Finished, RunRecord
from covey.party.session.binding import bind
from covey.party.session.journal import Journal
from covey.party.session.journal_records import Begun
from covey.party.session.playing import lasting_secret, letter_keys
from covey.party.session.progress import Listener, Progress
from covey.party.session.respondents import AGREED, RESPONDENTS, Collector, agree, refusals
from covey.party.session.room import require_room, warn_of_memory
from covey.party.session.run import INTERRUPTED, cancel_on
from covey.protocols import Proposal, Protocol, of_study
from covey.study import Study
from covey.study.study import Party
from covey.summary import Summary
from covey.wire import Address, Channel, Session, Several
from covey.wire.contact import fingerprint
from covey.wire.depth import beside
from covey.wire.relay import RelayedParty
from covey.wire.standing.hub import Hub
from covey.wire.standing.words import Over

PHASE_SECONDS = 3600.0
FAREWELL_SECONDS = 10.0
QUORUM_CLASSES = 2
"""It begins with so many times k respondents at least."""
_FOREVER = 10 * 365 * 86400.0
_FILES = 1 << 16


@dataclass(frozen=True)
class CollectorTask:
    """The task of a collector."""

    study: Path
    keys: Path
    out: Path
    listen: Address | None = None
    quorum: int | None = None
    """The number of respondents that must be ready; k unless given."""
    closes: int | None = None
    """The second since 1970 at which it begins; None: as soon as the quorum is there."""
    phase_seconds: float = PHASE_SECONDS
    """Seconds that a respondent that is asked has to answer."""
    web: WebTask | None = None
    """Where and how browsers are answered, if they are."""
    listener: Listener = lambda snapshot: None
    notice: Callable[[str], None] = lambda sentence: None


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
    _allow_files()
    collection = Collection.prepare(service)
    with contextlib.closing(collection.register), contextlib.closing(collection.journal), asyncio.Runner() as runner:
        runner.run(_run(collection))
    return collection.summary


def stay(service: CollectorTask) -> str:
    """Serves the page of a collection that is over, so that people read so, and check their receipts, until Ctrl-C.

    Returns a sentence. Raises InputError where the collection is not over.
    """
    study, party = collected(service.study)
    keys = keyring.load(service.keys)
    Roster.of(study).require(keys, party)
    register = Register.open(service.out, Opened(study.study_hash, 0, 0, moment()))
    with contextlib.closing(register), asyncio.Runner() as runner, contextlib.suppress(asyncio.CancelledError):
        relay = _relay_for_pages(study, place_of(study, party, service.listen or address_of(study, party)))
        if register.held.ended is None or (service.web is None and relay is None):
            raise InputError(f"{service.out}: the collection is not over")
        web = Web(study, _desk(study, keys, register, service.out), service.notice)
        browsers = web.open(service.web, relay, keyring.files(service.keys, party)[1], keys)
        runner.run(_stay(browsers, service.notice))
    return "The page is no longer served."


async def _stay(browsers: AbstractAsyncContextManager[str], notice: Callable[[str], None]) -> None:
    cancel_on(signal.SIGTERM, signal.SIGINT)
    async with browsers as where:
        notice(f"the collection is over; its page is at {where}, until this is interrupted")
        await asyncio.Event().wait()


def meets_pages(path: Path) -> bool:
    """True if pages in browsers speak with the collector over the study's relay."""
    return page.site(collected(path)[0]) is not None


def _relay_for_pages(study: Study, where: Address | RelayedParty) -> RelayedParty | None:
    """The collector at the relay, if it is met there, and pages in browsers speak with it there."""
    return where if isinstance(where, RelayedParty) and page.site(study) is not None else None


def _desk(study: Study, keys: Keys, register: Register, folder: Path) -> EnrolmentDesk:
    opened = register.held.opened
    if opened is None:
        raise InputError(f"{folder}: the register has no beginning")
    certificates = Roster.of(study).certificates
    named = study.of_party_role("trustee")
    receipts = Receipts(study, keys, len(named)) if by_peeling(study) else None
    return EnrolmentDesk(
        opened,
        fingerprint(keys.certificate.der),
        register,
        Invitations(folder),
        trustees={name: certificates[name].der for name in named},
        receipts=receipts,
        folder=folder,
    )


async def _run(collection: Collection) -> Finished:
    cancel_on(signal.SIGTERM, signal.SIGINT)
    try:
        return await collection.run()
    except asyncio.CancelledError:
        collection.log.note("the collector was interrupted")
        raise Aborted(INTERRUPTED, resumable=True) from None


@dataclass
class Collection:
    """A collection in its folder."""

    study: Study
    protocol: Protocol
    party: str
    keys: Keys
    files: tuple[Path, Path]
    where: Address | RelayedParty
    service: CollectorTask
    register: Register
    journal: Journal
    ledger: Ledger
    progress: Progress
    log: RunLog
    folder: RunFolder
    open: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once it listens."""
    summary: Summary = field(default_factory=Summary)
    """The summary of the collection, once it has reached its end."""

    @staticmethod
    def prepare(service: CollectorTask) -> Collection:
        """Finds everything that can be wrong on this machine before anyone is listened to."""
        study, party = collected(service.study)
        keys = keyring.load(service.keys)
        Roster.of(study).require(keys, party)
        where = place_of(study, party, service.listen or address_of(study, party))
        least = QUORUM_CLASSES * study.privacy.k
        quorum = service.quorum or least
        if quorum < least:
            raise InputError(
                f"--quorum {quorum}: at least {QUORUM_CLASSES} k = {least} respondents are needed, so that k - 1 who "
                "work with the organiser do not single out everyone else"
            )
        require_room(service.out)
        warn_of_memory(of_study(study), quorum, service.notice)
        opened = Opened(study.study_hash, quorum, service.closes or 0, moment())
        register = Register.open(service.out, opened)
        try:
            if register.held.ended is not None:
                raise InputError(f"{service.out}: {register.held.ended.how}; choose another folder with --out")
            folder = RunFolder(service.out)
            journal = Journal.resume(service.out / JOURNAL, keys.journal)
            folder.prepare(resuming=journal.begun is not None)
            folder.keep_study(study)
            protocol = of_study(study)
            shown = replace(study, parties=(*study.parties, Party(RESPONDENTS)))
            ledger = Ledger(shown, protocol, party)
            ledger.earlier = folder.earlier_ledger() if register.held.dropped else []
            ledger.listener = lambda: folder.keep_ledger(ledger, "the run has not ended")
        except BaseException:
            register.close()
            raise
        return Collection(
            study=study,
            protocol=protocol,
            party=party,
            keys=keys,
            files=keyring.files(service.keys, party),
            where=where,
            service=service,
            register=register,
            journal=journal,
            ledger=ledger,
            progress=Progress(party, protocol.phases, service.listener),
            log=RunLog(service.out / LOG),
            folder=folder,
        )

    @property
    def receipts(self) -> Receipts | None:
        """Receipts for answers, where respondents hand them in beforehand and trustees evaluate them."""
        if not by_peeling(self.study):
            return None
        return Receipts(self.study, self.keys, len(self.study.of_party_role("trustee")))

    async def run(self) -> Finished:
        """Listens, waits until it is time, and collects."""
        held = self.register.held
        desk = _desk(self.study, self.keys, self.register, self.folder.path)
        opened = desk.opened
        hub = Hub(self.party, bytes.fromhex(opened.study_hash), *self.files, desk, self._note)
        board = Board(self.folder.path, hub, self.progress, self.register.held)
        async with hub.listening(self.where) as where, self._browsers(desk, hub), board.kept(), self.progress.ticking():
            self.open.set()
            self._note(f"listening on {where}: {len(held.enrolled):,} enrolled, {len(held.ready):,} ready")
            try:
                if held.started is None:
                    self.progress.phase("enrolment")
                    await self._gather(hub, opened)
                finished = await self._collect(hub, board)
            except CoveyError as error:
                await self._fail(hub, error)
                raise
            hub.end(Over("finished", "the release is made"))
            board.write("finished")
            await hub.emptied(FAREWELL_SECONDS)
            return finished

    @contextlib.asynccontextmanager
    async def _browsers(self, desk: EnrolmentDesk, hub: Hub) -> AsyncIterator[None]:
        """Answers browsers while the block runs: at a port if it was asked to, and at the relay if we are there."""
        task, relay = self.service.web, _relay_for_pages(self.study, self.where)
        if task is None and relay is None:
            yield
            return
        web = Web(self.study, desk, self._note)
        web.changed = hub.changed.set
        async with web.open(task, relay, self.files[1], self.keys) as where:
            self._note(f"browsers are answered at {where}")
            yield

    async def _gather(self, hub: Hub, opened: Opened) -> None:
        """Returns when it is time to begin. Raises Unmet if too few are ready at the closing time."""
        held = self.register.held
        while True:
            now = time.time()
            if opened.closes and now >= opened.closes:
                if len(held.ready) < opened.quorum:
                    raise Unmet(f"{len(held.ready):,} were ready at the closing time, {opened.quorum:,} are needed")
                return
            if not opened.closes and len(held.ready) >= opened.quorum:
                return
            self.progress.of = opened.quorum
            self.progress.reach(len(held.ready))
            hub.changed.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(opened.closes - now, 60.0) if opened.closes else None):
                    await hub.changed.wait()

    async def _collect(self, hub: Hub, board: Board) -> Finished:
        """One attempt after the other. Raises Unmet if too few are left for another."""
        held = self.register.held
        while True:
            agreement, started = self._session()
            board.members = tuple(started.members)
            try:
                return await self._attempt(hub, board, agreement, started)
            except Left as gone:
                left = {**self.journal.gone, gone.party: gone.why}
                self.register.add(Dropped(started.attempt, left, moment()))
                if self.receipts is not None:
                    raise Unmet(
                        f"trustee {gone.party!r} {gone.why}, and cannot be done without: with fewer shares a false one "
                        "would not be noticed; nothing was released"
                    ) from None
                names = ", ".join(sorted(left))
                self._note(f"attempt {started.attempt} is given up before anything was opened, because {names} left")
                if len(set(started.members) - set(held.left)) < self.study.privacy.k:
                    raise Unmet(
                        f"fewer than k = {self.study.privacy.k} respondents are left; nothing was opened or released"
                    ) from None

    def _session(self) -> tuple[Agreement, Started]:
        """The session that is under way, or a new one among all who are ready and have not left."""
        held, begun = self.register.held, self.journal.begun
        current = held.current
        if current is not None and begun is not None and begun.session.hex() == current.session:
            self._note(f"attempt {current.attempt} goes on; {self.journal.messages:,} letters had come before")
            return begun.agreement(), current
        if current is not None:
            raise InputError(
                f"{self.journal.path}: is not the journal of attempt {current.attempt}, which is under way; restore "
                "it, or begin anew in another folder: going on without it could open everyone's position a second time"
            )
        members = sorted(held.ready.keys() - held.left.keys())
        if (receipts := self.receipts) is not None:
            members = list(self.study.of_party_role("trustee"))
            receipts.publish(self.folder.path, self._answers())
        agreement = agree(self.study, self.party, self.keys, fresh_seed())
        self.journal.begin(Begun.of(agreement, bind(self.study, self.party, None, self.keys)))
        attempt = (held.started.attempt if held.started is not None else 0) + 1
        started = Started(attempt, agreement.digest.hex(), members, moment())
        self.register.add(started)
        among = f"{len(held.answers):,} answers" if self.receipts is not None else f"{len(members):,} respondents"
        self._note(f"attempt {attempt} begins among {among}")
        return agreement, started

    async def _attempt(self, hub: Hub, board: Board, agreement: Agreement, started: Started) -> Finished:
        """Plays the collector's role among the members, and writes what the run leaves."""
        record = RunRecord(agreement=agreement)
        link = hub.seat(agreement.digest, started.attempt, started.members, self.journal)
        channel = Channel(
            Session(
                link,
                agreement.session,
                agreement.rng,
                Several(self.journal, record.transcript),
                silence=_FOREVER,
                patience=_FOREVER,
            )
        )
        self.progress.channel = channel
        self.ledger.met()
        collector = Collector(
            study=self.study,
            protocol=self.protocol,
            keys=self.keys,
            progress=self.progress,
            ledger=self.ledger,
            agreement=agreement,
            record=record,
            lasting=lasting_secret(self.keys, self.protocol),
            attendance=Lenient(hub, tuple(started.members)),
            letters=letter_keys(self.keys, Roster.of(self.study)),
            delivered=None if self.receipts is None else self._answers(),
        )

        async def approve(proposal: Proposal) -> None:
            self.ledger.learns(AGREED)
            for name in await refusals(channel, collector.attendance):
                hub.expel(name, "refused to hand in its row")

        late = expel_late(hub, channel, board, self.service.phase_seconds, absent=self.receipts is not None)
        async with beside(late):
            finished = await collector.play(channel, approve)
        self.journal.finish()
        gone = {**self.register.held.left, **self.journal.gone}
        if gone:
            named = ", ".join(sorted(gone))
            finished = replace(finished, warnings=(f"left before the end, and left out: {named}",))
        self.summary = self.folder.keep(self.study, self.ledger, finished, self.party, self.keys, reproducible=False)
        self.journal.keep()
        self.register.add(Ended("the collection is finished", released=True, time=moment()))
        self._note("the collection is finished")
        return finished

    def _answers(self) -> dict[str, bytes]:
        """The sealed answers that were handed in, by handle."""
        return {handle: base64.b64decode(content) for handle, content in self.register.held.answers.items()}

    async def _fail(self, hub: Hub, error: CoveyError) -> None:
        """Writes down how it ended, where it will not go on, and tells those who are here."""
        if isinstance(error, InputError) or (isinstance(error, Aborted) and error.resumable):
            return
        self.register.add(Ended(f"the collection ended: {error}", released=False, time=moment()))
        self._note(f"the collection ended: {error}")
        with contextlib.suppress(InputError, Aborted):
            self.folder.keep_ledger(self.ledger, f"ended: {error}")
            reporting.write(self.folder.path, study=self.study)
        hub.end(Over("ended", "the collection ended without a release"))
        await hub.emptied(FAREWELL_SECONDS)

    def _note(self, sentence: str) -> None:
        self.log.note(sentence)
        self.service.notice(sentence)


def _allow_files() -> None:
    """As many connections as the system allows this process."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _FILES if hard == resource.RLIM_INFINITY else min(hard, _FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
