"""One party's run in its folder: from the journal that it finds there to the files that it leaves.

A session that was cut off goes on, over whatever link the parties meet on; one that needs nothing more from anybody
ends alone; one that is finished here goes on for the sake of peers. However a run ends, its ledger says what had been
learned.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass

from covey.errors import Aborted, CoveyError, InputError
from covey.party.record import reporting
from covey.party.record.folder import RunFolder
from covey.party.record.names import SUMMARY
from covey.party.record.run_record import Finished
from covey.party.session.binding import bind
from covey.party.session.journal import Journal
from covey.party.session.playing import Participant, take_part
from covey.party.session.progress import writing
from covey.party.session.replay import finish_alone
from covey.party.session.states import StateJournal
from covey.plain import plain_lines
from covey.protocols import spoken
from covey.summary import Summary
from covey.wire import Link

Meet = Callable[[], AbstractAsyncContextManager[Link]]


@dataclass
class ResumableRun:
    """One party's run in its folder; `participant.journal` is the journal."""

    participant: Participant
    folder: RunFolder
    journal: Journal
    for_others: bool = False
    """True if a run that is finished here goes on for peers that were cut off."""
    reproducible: bool = False
    notice: Callable[[str], None] = lambda sentence: None
    summary: Summary | None = None
    """The summary of the run, once it has reached its end."""

    def prepare(self) -> None:
        """Looks at what the folder holds, before anyone is met.

        A session that was bound to other data, another study or other peers is given up; one that keeps states is not,
        and everybody is told when the parties meet. Raises InputError if a
        finished run is here that is not this one, or is not to go on for others, and for a session of another version
        of the protocol, which the peers may go on with.
        """
        begun = self.journal.begun
        changed = self._changes()
        if begun is not None and changed:
            if self.journal.complete:
                raise InputError(
                    f"{self.folder.path}: holds a finished run with another state of {', '.join(changed)}; "
                    "choose another folder with --out"
                )
            own = spoken(self.participant.study)
            if begun.protocol_version != own.number:
                raise InputError(
                    f"{self.folder.path}: the session here began with version {begun.protocol_version} of protocol "
                    f"{own.name!r} (covey {begun.software}), and this is version {own.number}; go on with the version "
                    "of Covey that began it, or begin anew, all of you, in another folder with --out"
                )
            if isinstance(self.journal, StateJournal):
                self.journal.changed = ", ".join(changed)
            else:
                self.journal.give_up()
        if self.journal.kept and not self.for_others:
            raise InputError(
                f"{self.folder.path}: this run is finished, and what came out is there (begin with report.html). For "
                "another run choose another folder with --out; if a partner was cut off at the end and waits for us, "
                "add --for-others"
            )
        self.folder.prepare(resuming=self.journal.begun is not None)
        self.folder.keep_study(self.participant.study)
        if begun is not None and changed and not isinstance(self.journal, StateJournal):
            self._note(
                f"the session {begun.session[:16].hex()} is given up, because {', '.join(changed)} changed since it "
                "was cut off; a new one begins with a new seed"
            )

    async def run(self, meet: Meet) -> Finished | None:
        """Runs to the end and writes the files; None if that was done before and nobody came.

        Raises what stopped the run, once the ledger is written.
        """
        earlier = self.folder.earlier_ledger()
        if self.journal.kept:
            return await self._serve(meet)

        def note_ledger(outcome: str) -> None:
            agreement, ledger = self.participant.record.agreement, self.participant.ledger
            session = "" if agreement is None else agreement.session.hex()
            if not session or session != ledger.session:
                ledger.belong(session, earlier)
            with resumable():
                self.folder.keep_ledger(ledger, outcome)

        self.participant.ledger.listener = lambda: note_ledger("the run has not ended")
        try:
            finished = await self._to_its_end(meet)
        except CoveyError as error:
            with contextlib.suppress(InputError, Aborted):  # a full disk must not hide why the run ended
                self._end(f"ended: {plain_lines(str(error))}", note_ledger)
            raise
        self.participant.log.note("the run is finished")
        return finished

    async def _serve(self, meet: Meet) -> Finished | None:
        """Goes on for peers that were cut off; whether they come or not, this party is finished."""
        self._note("this run is finished here; it goes on only for peers that were cut off")
        self.summary = Summary.read(self.folder.path / SUMMARY)
        try:
            async with meet() as link:
                return await take_part(self.participant, link)
        except Aborted as error:
            if not error.resumable:
                raise
            self._note(f"this run stays finished, although a peer may lack something: {error}")
            return None

    async def _to_its_end(self, meet: Meet) -> Finished:
        if self.journal.begun is not None:
            self._note("a session that was cut off goes on; a party that is finished joins it with --for-others")
        if self.journal.complete and self.journal.whole:
            finished = await finish_alone(self.participant)
        else:
            async with meet() as link:
                finished = await take_part(self.participant, link)
        own = self.participant
        with writing(own.progress), resumable():
            self.summary = self.folder.keep(
                own.study, own.ledger, finished, own.party, own.keys, reproducible=self.reproducible
            )
        self.journal.keep()
        return finished

    def _changes(self) -> list[str]:
        own, begun = self.participant, self.journal.begun
        if begun is None:
            return []
        return bind(own.study, own.party, own.table, own.keys).differences(begun.binding)

    def _end(self, outcome: str, note_ledger: Callable[[str], None]) -> None:
        participant = self.participant
        note_ledger(outcome)
        participant.log.note(f"the run {outcome}")
        self.folder.keep_transcript(participant.study, participant.party, participant.record, participant.keys, outcome)
        reporting.write(self.folder.path, study=participant.study)

    def _note(self, sentence: str) -> None:
        self.participant.log.note(sentence)
        self.notice(sentence)


@contextmanager
def resumable() -> Iterator[None]:
    """A file that cannot be written now may be later: the journal has everything that goes into it."""
    try:
        yield
    except InputError as error:
        raise Aborted(f"{error}; run the same command again to go on", resumable=True) from None
