"""A respondent's machine: enrols its own key, takes part, and comes back by itself.

An interruption at any moment costs nothing: the same command goes on. Another attempt of the collector takes place
without the person: answers and consent are on the disk.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import signal
import socket
import ssl
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Literal, TypeVar

from covey.crypto.rng import derive, fresh_seed
from covey.errors import Aborted, AccessError, CoveyError, InputError, PeerError, Unmet
from covey.party import keys as keyring
from covey.party.binding import bind
from covey.party.collection import questions, speech
from covey.party.collection.collecting import collected
from covey.party.collection.home import KEYS, PRIVATE, Home
from covey.party.collection.hub import statement as enrolment_statement
from covey.party.collection.invitation import Invitation
from covey.party.collection.speech import Connection, Garbled
from covey.party.collection.standing import Standing, StandingLink
from covey.party.folder import JOURNAL, LEDGER
from covey.party.handshake import Agreement
from covey.party.journal import Journal
from covey.party.keys import Keys
from covey.party.ledger import Ledger
from covey.party.records import Begun
from covey.party.respondents import compare, consent
from covey.party.run import INTERRUPTED
from covey.party.transcript import Transcript
from covey.protocols import Proposal, Protocol, Seat, of_study
from covey.protocols.collect.leaks import WITHHELD
from covey.secure.declare import Leakage
from covey.sources.release import write_atomically
from covey.study import Study
from covey.study.study import Party
from covey.table import Table
from covey.wire import Channel, Session, Several
from covey.wire.depth import first_cause
from covey.wire.trust import explain

FIRST_PAUSE, LONGEST_PAUSE = 0.2, 30.0
GREETING_SECONDS = 20.0
REFUSALS, LAST_TRIES = 5, 6
IDLE_SECONDS = 2.0
"""How long nothing must be due before a respondent that wants to leave does."""
_FOREVER = 10 * 365 * 86400.0

T_ = TypeVar("T_")
How = Literal["released", "withheld", "waiting"]


class Quiet:
    """Whom the role tells how far it is."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say

    def phase(self, name: str, of: int = 1) -> None:
        """A phase begins."""
        self._say(f"taking part: {name}")

    def reach(self, done: int) -> None:
        """Not shown."""


@dataclass
class Noted:
    """A ledger that also notices whether our class was withheld."""

    ledger: Ledger
    withheld: bool = False

    def learns(self, leakage: Leakage, **numbers: object) -> None:
        """Writes it down."""
        self.withheld = self.withheld or leakage is WITHHELD
        self.ledger.learns(leakage, **numbers)


@dataclass
class Visit:
    """A session in which we take part: its line, and the role that is played over it."""

    session: bytes
    journal: Journal
    line: Standing
    task: asyncio.Task[None]
    outcome: How | CoveyError | None = None
    """How the role ended, once it has."""

    @property
    def done(self) -> bool:
        """Whether nothing is left to do: the role has ended, and the collector has all that it said."""
        return isinstance(self.outcome, CoveyError) or (self.outcome is not None and self.line.settled)


@dataclass
class Respondent:
    """One respondent, from its folder and its invitation."""

    study: Study
    protocol: Protocol
    hub: str
    home: Home
    invitation: Invitation
    keys: Keys
    table: Table
    say: Callable[[str], None] = lambda sentence: None
    leave: bool = False
    """Whether it goes as soon as nothing is due, to come back later."""
    _visit: Visit | None = field(default=None, repr=False)
    _moved: asyncio.Event = field(default_factory=asyncio.Event, repr=False)
    _noted: bool = False

    async def run(self) -> How:
        """Enrols, takes part to the end, reconnecting as often as it takes. Raises what ends it."""
        kept = self.home.handle(self.invitation)
        handle: str = await self._persist(self._enrol) if kept is None else kept
        self.home.keep_handle(self.invitation, handle)
        self.say(f"enrolled as {handle}")
        try:
            async with asyncio.TaskGroup() as self._roles:
                try:
                    return await self._persist(lambda: self._stay(handle), self._ended)
                finally:
                    await self._abandon()
        except BaseExceptionGroup as failures:
            raise first_cause(failures) from None

    async def _persist(
        self, attempt: Callable[[], Awaitable[T_]], enough: Callable[[], T_ | None] = lambda: None
    ) -> T_:
        """Tries until it succeeds or fails for a reason that will not go away.

        Where the answer is known and only a last word is to be delivered (`enough`), it is not tried for ever.
        """
        pause, refused, tries = FIRST_PAUSE, 0, 0
        while True:
            tries += 1
            known = enough()
            if known is not None and tries > LAST_TRIES:
                return known
            try:
                return await attempt()
            except _Later as later:
                why, pause = str(later), max(pause, 1.0)
            except ssl.SSLError as error:
                why, refused = explain(error), refused + 1
                if refused >= REFUSALS:
                    raise AccessError(
                        f"the collector at {self.invitation.address} does not accept us: {why}. Was the collection "
                        "begun anew? Ask the organiser for another invitation, and use another --folder"
                    ) from None
            except (OSError, EOFError, TimeoutError) as error:
                why = type(error).__name__ if not isinstance(error, OSError) else error.strerror or "cut off"
            if self._noted:  # it had worked: the line was cut
                self._noted, pause, refused, tries = False, FIRST_PAUSE, 0, 0
            if pause > 2:
                self.say(f"the collector cannot be reached ({why}); trying again")
            await asyncio.sleep(pause * (0.5 + fresh_seed().reveal()[0] / 256))
            pause = min(2 * pause, LONGEST_PAUSE)

    async def _connect(self, *, known: bool) -> tuple[Connection, speech.Hello]:
        """A connection to the collector that the invitation pins, and to nobody else."""
        where = self.invitation.address
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE  # what is presented is compared with the invitation, byte for byte
        if known:
            certificate, key = keyring.files(self.home.path / KEYS, self.keys.party)
            context.load_cert_chain(certificate, key)
        async with asyncio.timeout(GREETING_SECONDS):
            reader, writer = await asyncio.open_connection(
                where.host, where.port, ssl=context, server_hostname="", limit=1 << 16, ssl_shutdown_timeout=2.0
            )
            connection = Connection(reader, writer)
            try:
                writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                presented = writer.get_extra_info("ssl_object").getpeercert(binary_form=True) or b""
                if hashlib.sha256(presented).digest() != self.invitation.fingerprint:
                    raise AccessError(
                        f"somebody else than the collector answers at {where}: its certificate is not the one in the "
                        "invitation. Nothing was sent; ask the organiser"
                    )
                hello = await connection.hear(speech.Hello)
                self._check(hello)
            except BaseException:
                connection.drop()
                raise
        return connection, hello

    def _check(self, hello: speech.Hello) -> None:
        if hello.handle and hello.study != self.invitation.study:
            raise AccessError("the collector collects for another study than the invitation's; ask the organiser")
        if (hello.version, hello.software) != (speech.VERSION, version("covey")):
            raise InputError(
                f"the collector runs covey {hello.software}, this is {version('covey')}; install the same version"
            )

    async def _enrol(self) -> str:
        connection, hello = await self._connect(known=False)
        try:
            own, secret = self.keys.certificate.der, self.invitation.secret
            content = enrolment_statement(
                self.study.study_hash, self.invitation.fingerprint.hex(), hello.nonce, secret, own
            )
            await connection.say(speech.Enrol(secret, own, self.invitation.study, self.keys.tls.sign(content)))
            async with asyncio.timeout(GREETING_SECONDS):
                answer = await connection.read()
        finally:
            await connection.close()
        if isinstance(answer, speech.Refused):
            if answer.final:
                raise AccessError(f"the collector refuses: {answer.why}")
            raise _Later(answer.why)
        if not isinstance(answer, speech.Enrolled):
            raise PeerError(party=self.hub, step="enrolment", reason="an answer that is none")
        return answer.handle

    # -- one connection

    async def _stay(self, handle: str) -> How:
        """One connection to its end; the answer once our part is done."""
        connection, hello = await self._connect(known=True)
        try:
            if hello.handle != handle:
                raise _Later("it does not know this key yet")
            await connection.say(speech.Ready(self.invitation.study, version("covey")))
            connection.enlarge()
            self._noted = True
            async with asyncio.TaskGroup() as group:
                work = [
                    group.create_task(self._listen(handle, connection)),
                    group.create_task(self._beat(connection)),
                ]
                how = await self._speak(connection)
                for task in work:
                    task.cancel()
                return how
        except BaseExceptionGroup as failures:
            raise first_cause(failures) from None
        finally:
            await connection.close()

    async def _listen(self, handle: str, connection: Connection) -> None:
        while True:
            said = await connection.read()
            visit = self._visit
            if isinstance(said, bytes):
                if visit is not None:
                    await visit.line.take(said)
            elif isinstance(said, speech.Begin):
                await self._begin(handle, said)
                self._given = connection
            elif isinstance(said, speech.Ack):
                if visit is not None:
                    visit.line.acknowledged(said.digests)
            elif isinstance(said, speech.Waiting):
                self._waiting(said)
            elif isinstance(said, speech.Over):
                self._over(said)
                self._moved.set()
                return
            else:
                raise Garbled("the collector says something that is not for a respondent")
            self._moved.set()

    _given: Connection | None = field(default=None, repr=False)
    """The connection on which the session was begun."""
    _ready: bool = False
    _finished: bool = False
    _roles: asyncio.TaskGroup = field(default_factory=asyncio.TaskGroup, repr=False)

    async def _speak(self, connection: Connection) -> How:
        """Writes our letters while the role is played; the answer once it is, and the collector has them all."""
        while self._given is not connection:
            self._moved.clear()
            if self._finished or (self.leave and self._ready):
                return self._ended() or "waiting"
            await self._moved.wait()
        while True:
            self._moved.clear()
            visit = self._visit
            if visit is None:  # between two sessions: the next one is being opened
                await self._moved.wait()
                continue
            await connection.say(speech.Have(visit.session, visit.line.have))
            await self._carry(connection, visit)
            if self._visit is not visit:
                continue
            if isinstance(visit.outcome, CoveyError):
                await connection.say(speech.Leave("its role ended early"))
                await asyncio.sleep(0.1)
                raise visit.outcome
            return self._ended() or "waiting"

    def _ended(self) -> How | None:
        visit = self._visit
        return None if visit is None or isinstance(visit.outcome, CoveyError) else visit.outcome

    async def _carry(self, connection: Connection, visit: Visit) -> None:
        """Carries letters until the visit is over, or another one has begun, or we leave."""
        loop = asyncio.get_running_loop()
        quiet = [loop.time()]

        def over() -> bool:
            if self._visit is not visit or visit.done or self._finished:
                return True
            if not visit.line.settled:
                quiet[0] = loop.time()
            return self.leave and loop.time() - quiet[0] >= IDLE_SECONDS

        async def nudging() -> None:
            while True:
                await asyncio.sleep(0.5)
                visit.line.nudge()

        async with asyncio.TaskGroup() as group:
            nudger = group.create_task(nudging())
            await visit.line.carry(connection, over)
            nudger.cancel()

    async def _beat(self, connection: Connection) -> None:
        while True:
            await asyncio.sleep(speech.BEAT_SECONDS)
            connection.beat()

    def _waiting(self, said: speech.Waiting) -> None:
        self._ready = True
        self.say(f"waiting for the others: {said.ready:,} are ready, {said.quorum:,} are needed")

    def _over(self, said: speech.Over) -> None:
        if said.how != "finished":
            raise Unmet(f"the collector says: {said.why}; nothing of your answers was published")
        if self._ended() is None:
            raise Unmet("the collection is finished; this machine was cut off before it heard what became of its group")
        self._finished = True
        if self._visit is not None:
            self._visit.line.nudge()

    # -- one session

    async def _begin(self, handle: str, said: speech.Begin) -> None:
        """A session is under way: goes on with it if it is the one that we are in, else begins it."""
        visit = self._visit
        if visit is None or visit.session != said.session:
            await self._abandon()
            journal = Journal.resume(self.home.path / JOURNAL, self.keys.journal)
            if journal.begun is None or journal.begun.session != said.session:
                self._refuse_again(journal)
                journal.begin(self._begun(handle, said.session, fresh_seed().reveal()))
                self.say(f"the collection has begun among {said.members:,} respondents")
            line = Standing(self.hub, journal, said.session[:16])
            task = self._roles.create_task(self._play(handle, journal, line))
            visit = self._visit = Visit(said.session, journal, line, task)
        visit.line.claims(said.have)

    def _refuse_again(self, journal: Journal) -> None:
        """Raises PeerError if we have answered in a session: a collector begins anew only before anyone has.

        Positions are opened after the answers; from two sessions' positions the collector would learn more than from
        one.
        """
        if any(step.startswith("answers") for _, step, _ in journal.said):
            journal.close()
            raise PeerError(
                party=self.hub,
                step="the beginning",
                reason="it begins anew although we have answered, and could have our position opened a second time",
            )

    async def _abandon(self) -> None:
        """Ends the session that we are in, as far as this process goes."""
        visit, self._visit = self._visit, None
        if visit is not None:
            visit.task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await visit.task
            visit.line.nudge()
            visit.journal.close()

    async def _play(self, handle: str, journal: Journal, line: Standing) -> None:
        """Our role in the session, to its end; how it ended is the visit's to know."""
        outcome: How | CoveyError
        try:
            outcome = await self._role(handle, journal, line)
        except CoveyError as error:
            outcome = error
        if self._visit is not None and self._visit.line is line:
            self._visit.outcome = outcome
        line.nudge()
        self._moved.set()

    async def _role(self, handle: str, journal: Journal, line: Standing) -> How:
        begun = journal.begun
        if begun is None:
            raise InputError(f"{journal.path}: no session has begun")
        agreement = Agreement.of(begun)
        transcript = Transcript()
        link = StandingLink(handle, {self.hub: line})
        recorder = Several(journal, transcript)
        channel = Channel(
            Session(link, agreement.session, agreement.rng, recorder, silence=_FOREVER, patience=_FOREVER)
        )

        async def approve(proposal: Proposal) -> None:
            await consent(channel, self.hub)

        shown = replace(self.study, parties=(*self.study.parties, Party(handle)))
        ledger = Ledger(shown, self.protocol, handle)
        ledger.listener = lambda: self._keep_ledger(ledger)
        book = Noted(ledger)
        ledger.met()
        lasting = derive(self.keys.dummy, "lasting", self.protocol.name)
        seat = Seat(self.study, handle, self.table, channel, Quiet(self.say), book, approve, lasting)
        await self.protocol.role(self.study, handle)(seat)
        await compare(channel, self.hub, transcript)
        return "withheld" if book.withheld else "released"

    def _begun(self, handle: str, session: bytes, seed: bytes) -> Begun:
        binding = bind(self.study, handle, self.table, self.keys)
        return Begun(
            party=binding.party,
            software=binding.software,
            study_hash=binding.study_hash,
            roster_hash=binding.roster_hash,
            data=binding.data,
            source="",
            seed=seed,
            session=session,
            commitments={},
            nonces={},
            confirmed={},
        )

    def _keep_ledger(self, ledger: Ledger) -> None:
        content = json.dumps(ledger.describe("taking part"), indent=2, ensure_ascii=False) + "\n"
        write_atomically(self.home.path / LEDGER, content.encode(), PRIVATE)


class _Later(Exception):
    """Not now; to be tried again."""


def outcome(how: How, k: int) -> str:
    """How a respondent's part ended, in a sentence."""
    return {
        "released": f"You are done. Your answers are part of the release, in a group of at least {k}.",
        "withheld": "You are done. Too few of your group stayed: your answers were not published.",
        "waiting": "Nothing is due from you now. Come back with the same command: the collection needs you again.",
    }[how]


def respond(respondent: Respondent) -> How:
    """Takes part to the end, and leaves a receipt. Raises Aborted (resumable) when interrupted."""
    with asyncio.Runner() as runner:
        how = runner.run(_run(respondent))
    if how != "waiting":
        from covey.party.journal import erase

        handle = respondent.home.handle(respondent.invitation) or ""
        respondent.home.keep_receipt(handle, how, outcome(how, respondent.study.privacy.k))
        erase(respondent.home.path / JOURNAL)
    return how


async def _run(respondent: Respondent) -> How:
    task = asyncio.current_task()
    if task is not None and threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    try:
        return await respondent.run()
    except asyncio.CancelledError:
        raise Aborted(INTERRUPTED, resumable=True) from None


def prepare(study_file: Path, token: str, folder: Path | None, now: float) -> tuple[Study, str, Home, Invitation]:
    """What is known before anything is asked. Raises InputError for a wrong study, token or folder."""
    study, hub = collected(study_file)
    invitation = Invitation.parse(token)
    home = Home(folder or Path(f"respond-{study.name}"))
    if home.handle(invitation) is None:
        invitation.require(study.study_hash, now)
    elif invitation.study.hex() != study.study_hash:
        invitation.require(study.study_hash, 0.0)
    return study, hub, home, invitation


def seated(
    study: Study,
    hub: str,
    home: Home,
    invitation: Invitation,
    *,
    say: Callable[[str], None] = lambda sentence: None,
    leave: bool = False,
) -> Respondent:
    """A respondent whose record is in its folder."""
    record = home.record(study)
    if record is None:
        raise InputError(f"{home.path}: has no answers yet")
    return Respondent(
        study=study,
        protocol=of_study(study),
        hub=hub,
        home=home,
        invitation=invitation,
        keys=home.keys(),
        table=questions.table_of(study, record),
        say=say,
        leave=leave,
    )
