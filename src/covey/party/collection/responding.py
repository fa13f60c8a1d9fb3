"""A respondent's machine: enrols its own key, takes part, and comes back by itself.

An interruption at any moment costs nothing: the same command goes on. Another attempt of the collector takes place
without the person: answers and consent are on the disk.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from covey.errors import CoveyError, InputError, Unmet
from covey.files import erase
from covey.party.collection import questions
from covey.party.collection.eligibility import collected, place_of
from covey.party.collection.enrolment import enrol
from covey.party.collection.home import KEYS, Home
from covey.party.collection.invitation import Invitation
from covey.party.collection.playing import How, Player, Visit
from covey.party.identity import keys as keyring
from covey.party.record.names import JOURNAL
from covey.party.session.journal import Journal
from covey.party.session.run import run_until_interrupted
from covey.plain import plain, slug
from covey.protocols import of_study
from covey.study import Study
from covey.version import __version__
from covey.wire.depth import beside, first_cause
from covey.wire.standing import StandingLine, words
from covey.wire.standing.connection import BEAT_SECONDS, Connection, Garbled
from covey.wire.standing.dialing import Dialer, Later


@dataclass(kw_only=True)
class Respondent(Player):
    """One respondent, from its folder and its invitation, on its way to the collector and back."""

    invitation: Invitation
    _visit: Visit | None = field(default=None, repr=False)
    _moved: asyncio.Event = field(default_factory=asyncio.Event, repr=False)
    _given: Connection | None = field(default=None, repr=False)
    """The connection on which the session was begun."""
    _finished: bool = False
    _roles: asyncio.TaskGroup = field(default_factory=asyncio.TaskGroup, repr=False)

    def __post_init__(self) -> None:
        own = keyring.files(self.home.path / KEYS, self.keys.party)
        pinned = self.invitation
        where = place_of(self.study, self.hub, pinned.address)
        self.dialer = Dialer(where, pinned.fingerprint, pinned.study, own, self.tell, self.protocol.spoken)

    async def run(self) -> How:
        """Enrols, takes part to the end, reconnecting as often as it takes. Raises what ends it."""
        kept = self.home.handle(self.invitation)
        handle: str = await self.dialer.persist(self.enrol) if kept is None else kept
        self.home.keep_handle(self.invitation, handle)
        self.say(f"enrolled as {handle}")
        return await self._take_part(handle)

    async def _take_part(self, handle: str) -> How:
        try:
            async with asyncio.TaskGroup() as self._roles:
                try:
                    return await self.dialer.persist(lambda: self._stay(handle), self._ended)
                finally:
                    await self._abandon()
        except BaseExceptionGroup as failures:
            raise first_cause(failures) from None

    async def enrol(self) -> str:
        """Enrols this respondent's key with its invitation; returns the handle."""
        return await enrol(self.dialer, self.hub, self.invitation, self.keys)

    # -- one connection

    async def _stay(self, handle: str) -> How:
        """One connection to its end; the answer once our part is done."""
        connection, hello = await self.dialer.connect(known=True)
        try:
            if hello.handle != handle:
                raise Later("it does not know this key yet")
            await connection.say(words.Ready(self.invitation.study, __version__, self.protocol.version))
            connection.enlarge()
            self.dialer.reached = True
            async with beside(self._listen(handle, connection), self._beat(connection)):
                return await self._speak(connection)
        finally:
            await connection.close()

    async def _listen(self, handle: str, connection: Connection) -> None:
        while True:
            said = await connection.read()
            visit = self._visit
            if isinstance(said, bytes):
                if visit is not None:
                    await visit.line.take(said)
            elif isinstance(said, words.Begin):
                await self._begin(handle, said)
                self._given = connection
            elif isinstance(said, words.Ack):
                if visit is not None:
                    visit.line.acknowledged(said.digests)
            elif isinstance(said, words.Waiting):
                self._waiting(said)
            elif isinstance(said, words.Over):
                self._over(said)
                self._moved.set()
                return
            else:
                raise Garbled("the collector says something that is not for a respondent")
            self._moved.set()

    async def _speak(self, connection: Connection) -> How:
        """Writes our letters while the role is played; the answer once it is, and the collector has them all."""
        while self._given is not connection:
            self._moved.clear()
            if self._finished:
                return self._ended() or "waiting"
            await self._moved.wait()
        while True:
            self._moved.clear()
            visit = self._visit
            if visit is None:  # between two sessions: the next one is being opened
                await self._moved.wait()
                continue
            await connection.say(words.Have(visit.session, visit.line.have))
            await self._carry(connection, visit)
            if self._visit is not visit:
                continue
            if isinstance(visit.outcome, CoveyError):
                await connection.say(words.Leave("its role ended early"))
                await asyncio.sleep(0.1)
                raise visit.outcome
            return self._ended() or "waiting"

    def _ended(self) -> How | None:
        visit = self._visit
        return None if visit is None or isinstance(visit.outcome, CoveyError) else visit.outcome

    async def _carry(self, connection: Connection, visit: Visit) -> None:
        """Carries letters until the visit is over, or another one has begun."""

        def over() -> bool:
            return self._visit is not visit or visit.done or self._finished

        async def nudging() -> None:
            while True:
                await asyncio.sleep(0.5)
                visit.line.nudge()

        async with beside(nudging()):
            await visit.line.carry(connection, over)

    async def _beat(self, connection: Connection) -> None:
        while True:
            await asyncio.sleep(BEAT_SECONDS)
            connection.beat()

    def _waiting(self, said: words.Waiting) -> None:
        self.say(f"waiting for the others: {said.ready:,} are ready, {said.quorum:,} are needed")

    def _over(self, said: words.Over) -> None:
        if said.how != "finished":
            raise Unmet(f"the collector says: {plain(said.why)}; nothing of your answers was published")
        if self._ended() is None:
            raise Unmet("the collection is finished; this machine was cut off before it heard what became of its group")
        self._finished = True
        if self._visit is not None:
            self._visit.line.nudge()

    # -- one session

    async def _begin(self, handle: str, said: words.Begin) -> None:
        """A session is under way: goes on with it if it is the one that we are in, else begins it."""
        visit = self._visit
        if visit is None or visit.session != said.session:
            await self._abandon()
            journal = Journal.resume(self.home.path / JOURNAL, self.keys.journal)
            if journal.begun is None or journal.begun.session != said.session:
                self.begin(journal, handle, said.session)
                self.say(f"the collection has begun among {said.members:,} respondents")
            line = StandingLine(self.hub, journal, said.session[:16])
            task = self._roles.create_task(self._play(handle, journal, line))
            visit = self._visit = Visit(said.session, journal, line, task)
        visit.line.claims(said.have)

    async def _abandon(self) -> None:
        """Ends the session that we are in, as far as this process goes."""
        visit, self._visit = self._visit, None
        if visit is not None:
            visit.task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await visit.task
            visit.line.nudge()
            visit.journal.close()

    async def _play(self, handle: str, journal: Journal, line: StandingLine) -> None:
        """Our role in the session, to its end; how it ended is the visit's to know."""
        outcome: How | CoveyError
        try:
            outcome = await self.play(handle, journal, line)
        except CoveyError as error:
            outcome = error
        if self._visit is not None and self._visit.line is line:
            self._visit.outcome = outcome
        line.nudge()
        self._moved.set()


def outcome(how: How, k: int) -> str:
    """The end of a respondent's part, in a sentence."""
    return {
        "released": f"You are done. Your answers are part of the release, in a group of at least {k}.",
        "withheld": "You are done. Too few of your group stayed: your answers were not published.",
        "waiting": "Nothing is due from you now. Come back with the same command: the collection needs you again.",
    }[how]


def respond(respondent: Respondent) -> How:
    """Takes part to the end, and leaves a receipt. Raises Aborted (resumable) when interrupted."""
    how = run_until_interrupted(respondent.run())
    if how != "waiting":
        handle = respondent.home.handle(respondent.invitation) or ""
        respondent.home.keep_receipt(handle, how, outcome(how, respondent.study.privacy.k))
        erase(respondent.home.path / JOURNAL)
    return how


def prepare(study_file: Path, token: str, folder: Path | None, now: float) -> tuple[Study, str, Home, Invitation]:
    """The study, the collector, the folder and the invitation. Raises InputError for a wrong study, token or folder."""
    study, hub = collected(study_file)
    invitation = Invitation.parse(token)
    home = Home(folder or Path(_folder_name(study)))
    if home.handle(invitation) is None:
        invitation.require(study.study_hash, now)
    elif invitation.study.hex() != study.study_hash:
        invitation.require(study.study_hash, 0.0)
    return study, hub, home, invitation


def _folder_name(study: Study) -> str:
    """A folder right here, whatever the study is called; its hash tells it from one whose name looks the same."""
    name = slug(study.name, "study")
    return f"respond-{name}" if name == study.name else f"respond-{name}-{study.study_hash[:8]}"


def seated(
    study: Study,
    hub: str,
    home: Home,
    invitation: Invitation,
    *,
    say: Callable[[str], None] = lambda sentence: None,
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
    )
