"""A collection opened in its folder, or again: what can be wrong on this machine is found before anyone calls."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from covey.errors import InputError
from covey.party.collection.eligibility import address_of, collected, place_of
from covey.party.collection.enrolment import EnrolmentDesk
from covey.party.collection.register import CollectionState, Opened, Register, moment
from covey.party.collection.web import WebTask
from covey.party.identity import keys as keyring
from covey.party.identity.keys import Keys
from covey.party.identity.roster import Roster
from covey.party.record.folder import RunFolder
from covey.party.record.ledger import Ledger
from covey.party.record.log import RunLog
from covey.party.record.names import JOURNAL, LOG
from covey.party.session.journal import Journal
from covey.party.session.progress import Listener, Progress
from covey.party.session.room import require_room, warn_of_memory
from covey.protocols import Protocol, of_study
from covey.study import Study
from covey.summary import Summary
from covey.wire import Address
from covey.wire.relay import RelayedParty

PHASE_SECONDS = 3600.0
QUORUM_CLASSES = 2
"""It begins with so many times k respondents at least."""


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
    desk: EnrolmentDesk
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
        """Opens the folder for a collector. Raises InputError or AccessError for what is wrong on this machine."""
        study, party = collected(service.study)
        keys, protocol = keyring.load(service.keys), of_study(study)
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
        warn_of_memory(protocol, quorum, service.notice)
        with ExitStack() as opened:
            asked = Opened(study.study_hash, quorum, service.closes or 0, moment(), protocol.version)
            register = Register.open(service.out, asked)
            opened.callback(register.close)
            _require_open(register.held, protocol, service.out)
            folder = RunFolder(service.out)
            journal = Journal.resume(service.out / JOURNAL, keys.journal)
            opened.callback(journal.close)
            folder.prepare(resuming=journal.begun is not None)
            folder.keep_study(study)
            ledger = Ledger(study.with_respondents, protocol, party)
            ledger.earlier = folder.earlier_ledger() if register.held.dropped else []
            ledger.listener = lambda: folder.keep_ledger(ledger, "the run has not ended")
            opened.pop_all()
        return Collection(
            study, protocol, party, keys, keyring.files(service.keys, party), where, service, register,
            EnrolmentDesk.of(study, keys, register, service.out), journal, ledger,
            Progress(party, protocol.phases, service.listener), RunLog(service.out / LOG), folder,
        )  # fmt: skip

    @property
    def answers(self) -> dict[str, bytes]:
        """The sealed answers that were handed in, by handle."""
        return {handle: base64.b64decode(content) for handle, content in self.register.held.answers.items()}

    def note(self, sentence: str) -> None:
        """Writes a sentence into the log, and tells the organiser."""
        self.log.note(sentence)
        self.service.notice(sentence)


def _require_open(held: CollectionState, protocol: Protocol, folder: Path) -> None:
    """Raises InputError for a collection that is over, or that another version of the protocol has begun."""
    if held.ended is not None:
        raise InputError(f"{folder}: {held.ended.how}; choose another folder with --out")
    if held.opened is not None and held.opened.protocol_version != protocol.version:
        raise InputError(
            f"{folder}: this collection began with version {held.opened.protocol_version} of protocol "
            f"{protocol.name!r}, and this is version {protocol.version}; go on with the version of Covey that began it"
        )
