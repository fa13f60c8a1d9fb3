"""A respondent's role in one session, played over its standing line."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from covey.crypto.rng import fresh_seed
from covey.errors import CoveyError, InputError, PeerError
from covey.files import PRIVATE, as_json, write_atomically
from covey.party.collection.home import Home
from covey.party.identity.keys import Keys
from covey.party.record.ledger import Ledger
from covey.party.record.names import LEDGER
from covey.party.record.run_record import Agreement
from covey.party.record.transcript import Transcript
from covey.party.released import LEAKAGE, is_counted
from covey.party.session.binding import bind
from covey.party.session.journal import Journal
from covey.party.session.journal_records import Begun
from covey.party.session.playing import lasting_secret
from covey.party.session.respondents import AGREED, compare, consent
from covey.protocols import Proposal, Protocol, Seat
from covey.protocols.as_printed.collect.leakage import WITHHELD
from covey.secure.declare import Leakage
from covey.study import Study
from covey.study.study import Party
from covey.table import Table
from covey.wire import Channel, Session, Several
from covey.wire.standing import StandingLine, StandingLink

_FOREVER = 10 * 365 * 86400.0

How = Literal["released", "withheld", "waiting"]


class Quiet:
    """The progress of a respondent's role, in sentences."""

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
    line: StandingLine
    task: asyncio.Task[None]
    outcome: How | CoveyError | None = None
    """The end of the role, once it has ended."""

    @property
    def done(self) -> bool:
        """True if nothing is left to do: the role has ended, and the collector has all that it said."""
        return isinstance(self.outcome, CoveyError) or (self.outcome is not None and self.line.settled)


@dataclass(kw_only=True)
class Player:
    """Plays a respondent's role with its own record."""

    study: Study
    protocol: Protocol
    hub: str
    home: Home
    keys: Keys
    table: Table | None
    say: Callable[[str], None] = lambda sentence: None

    def tell(self, sentence: str) -> None:
        """Tells the person here, in the way that is set now."""
        self.say(sentence)

    def begin(self, journal: Journal, handle: str, session: bytes) -> None:
        """A session is new: its randomness is drawn, and on the disk.

        Raises PeerError if this party has done its part in another: a collector begins anew only before anyone has.
        """
        why = self._refusal(journal)
        if why:
            journal.close()
            raise PeerError(party=self.hub, step="the beginning", reason=f"it begins anew although {why}")
        agreement = Agreement(session, fresh_seed(), {}, {}, {})
        journal.begin(Begun.of(agreement, bind(self.study, handle, self.table, self.keys)))

    def _refusal(self, journal: Journal) -> str:
        """The reason not to begin another session, if this journal has one.

        Positions are opened after the answers; from two sessions' positions the collector would learn more than from
        one.
        """
        answered = any(step.startswith("answers") for _, step, _ in journal.said)
        return "we have answered, and could have our position opened a second time" if answered else ""

    async def play(self, handle: str, journal: Journal, line: StandingLine) -> How:
        """The role to its end, from wherever the journal says that it had come."""
        begun = journal.begun
        if begun is None:
            raise InputError(f"{journal.path}: no session has begun")
        agreement = begun.agreement()
        transcript = Transcript()
        link = StandingLink(handle, {self.hub: line})
        recorder = Several(journal, transcript)
        channel = Channel(
            Session(link, agreement.session, agreement.rng, recorder, silence=_FOREVER, patience=_FOREVER)
        )

        async def approve(proposal: Proposal) -> None:
            noted.learns(AGREED)
            await consent(channel, self.hub)

        shown = replace(self.study, parties=(*self.study.parties, Party(handle)))
        ledger = Ledger(shown, self.protocol, handle)
        ledger.listener = lambda: self._keep_ledger(ledger)
        noted = Noted(ledger)
        ledger.met()
        lasting = lasting_secret(self.keys, self.protocol)
        seat = Seat(self.study, self.table, channel, Quiet(self.tell), noted, approve, lasting)
        await self.protocol.play(seat)
        if is_counted(self.protocol):
            noted.learns(LEAKAGE)
        await compare(channel, self.hub, transcript)
        return "withheld" if noted.withheld else "released"

    def _keep_ledger(self, ledger: Ledger) -> None:
        write_atomically(self.home.path / LEDGER, as_json(ledger.describe("taking part")), PRIVATE)
