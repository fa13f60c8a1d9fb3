"""One party against the real others: from the study file to what the run leaves in its folder."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from covey.crypto.rng import fresh_seed
from covey.crypto.secret import Secret
from covey.errors import Aborted
from covey.files import AS_CSV, PRIVATE, ReleaseFormat, write_atomically
from covey.party.identity import keys as keyring
from covey.party.identity.roster import Roster
from covey.party.record.folder import RunFolder
from covey.party.record.log import RunLog
from covey.party.record.names import APPROVAL, COUNTS, JOURNAL, LOG, SUMMARY
from covey.party.session.approval import ApprovalQuestion, Decide, within
from covey.party.session.data import KeptCounts, load_table
from covey.party.session.journal import LIMIT, Journal
from covey.party.session.playing import PATIENCE, Participant
from covey.party.session.progress import Listener
from covey.party.session.resume import ResumableRun, resumable
from covey.party.session.room import likely_rows, room_for_journal, warn_of_memory
from covey.party.session.states import StateJournal
from covey.protocols import of_study
from covey.protocols.protocol import Letters
from covey.study import Study
from covey.summary import Summary
from covey.wire import Link
from covey.wire.contact import Address
from covey.wire.depth import first_cause
from covey.wire.slow import slowed
from covey.wire.thread import on_own_thread
from covey.wire.tls import Meeting

T = TypeVar("T")

WAIT_SECONDS = 3600.0
INTERRUPTED = "interrupted; run the same command again to go on"


@dataclass(frozen=True)
class Job:
    """The task of one party."""

    study: Path
    party: str
    out: Path
    keys: Path
    decide: Decide
    data: str | None = None
    letters: Letters | None = field(default=None, repr=False)
    """Respondents' letters, in a simulated collection."""
    listen: Address | None = None
    wait: float = WAIT_SECONDS
    for_others: bool = False
    """A run that is finished here goes on for peers that were cut off."""
    journal: int = LIMIT
    """The largest size of the journal up to which the messages that are read are kept, in bytes."""
    listener: Listener = lambda snapshot: None
    notice: Callable[[str], None] = lambda sentence: None
    written: ReleaseFormat = AS_CSV
    seed: Secret | None = field(default=None, repr=False)
    """Only simulations give one: a real run draws its own."""
    latency: float = 0.0
    bandwidth: float = float("inf")
    synced: bool = True
    """False if the run need not survive a failing machine: a simulation begins anew."""
    writes_any: bool = False
    """True in a simulation: a release that singles people out is written too, and the summary says so."""


def run_party(job: Job) -> Summary:
    """Runs one party to its end and writes its folder, or goes on with what was cut off there; returns the summary.

    Everything that can be wrong on this machine is found before anyone is dialled. However the run ends, the
    folder has a ledger of what had been learned by then.
    """
    study = Study.load(job.study)
    protocol = of_study(study)
    study.party(job.party)
    roster = Roster.of(study)
    keys = keyring.load(job.keys)
    roster.require(keys, job.party)
    kept = KeptCounts(job.out / COUNTS, keys.journal)
    table = load_table(study, job.party, job.data, None if (job.out / SUMMARY).exists() else kept, job.notice)
    limit = room_for_journal(job.out, job.journal if protocol.computing is None else 0, job.notice)
    warn_of_memory(protocol, likely_rows(study, table), job.notice)
    kind = Journal if protocol.computing is None else StateJournal
    begun = kind.resume(job.out / JOURNAL, keys.journal, source_of(job.data), limit, synced=job.synced)
    with contextlib.closing(begun) as journal:
        participant = Participant(
            study,
            protocol,
            job.party,
            table,
            keys,
            roster,
            job.seed or fresh_seed(),
            decide=within(_kept(job), job.wait),
            listener=job.listener,
            log=RunLog(job.out / LOG),
            patience=max(PATIENCE, job.wait),
            journal=journal,
            letters=job.letters,
            writes_any=job.writes_any,
        )
        run = ResumableRun(
            participant,
            RunFolder(job.out, job.written),
            journal,
            job.for_others,
            job.seed is not None,
            notice=job.notice,
        )
        run.prepare()
        participant.log.note(f"party {job.party!r} begins study {study.name!r} with protocol {protocol.name!r}")
        with asyncio.Runner() as runner:
            runner.run(_run(job, run))
        kept.forget()
    return run.summary or Summary()


def _kept(job: Job) -> Decide:
    """The decision; the whole question is kept in the folder before it is asked."""

    async def decide(question: ApprovalQuestion) -> bool:
        with resumable():
            write_atomically(job.out / APPROVAL, question.full().encode(), PRIVATE)
        return await job.decide(question)

    return decide


def source_of(data: str | None) -> str:
    """The place of the data, as a later replay finds it from any folder; empty for a party without data."""
    if data is None:
        return ""
    return data if "://" in data else str(Path(data).absolute())


def cancel_on(*numbers: signal.Signals) -> None:
    """From now on these signals cancel the task that is running, if the main thread runs it."""
    task = asyncio.current_task()
    if task is not None and threading.current_thread() is threading.main_thread():
        for number in numbers:
            asyncio.get_running_loop().add_signal_handler(number, task.cancel)


def run_until_interrupted(work: Coroutine[None, None, T], interrupted: Callable[[], None] = lambda: None) -> T:
    """The result of this work. Raises Aborted (resumable) where SIGTERM or Ctrl-C ended it."""

    async def run() -> T:
        cancel_on(signal.SIGTERM, signal.SIGINT)
        try:
            return await work
        except asyncio.CancelledError:
            interrupted()
            raise Aborted(INTERRUPTED, resumable=True) from None

    with asyncio.Runner() as runner:
        return runner.run(run())


async def _run(job: Job, run: ResumableRun) -> None:
    cancel_on(signal.SIGTERM)
    progress = run.participant.progress
    progress.awaited = tuple(name for name in run.participant.roster.names if name != job.party)
    progress.phase("meeting")
    try:
        async with progress.ticking():
            await run.run(lambda: _meet(job, run.participant))
    except BaseExceptionGroup as failures:
        raise first_cause(failures) from None


@asynccontextmanager
async def _meet(job: Job, participant: Participant) -> AsyncIterator[Link]:
    """The link to all peers; an interruption while it is there is one that can be resumed."""
    try:
        async with _dial(job, participant) as link:
            yield link
    except asyncio.CancelledError:
        raise Aborted(INTERRUPTED, resumable=True) from None


@asynccontextmanager
async def _dial(job: Job, participant: Participant) -> AsyncIterator[Link]:
    """The link to all peers, as slow as a simulation wants it."""

    def notice(sentence: str) -> None:
        participant.log.note(sentence)
        job.notice(sentence)

    certificate, key = keyring.files(job.keys, participant.keys.party)
    meeting = on_own_thread(
        lambda: Meeting(
            job.party,
            participant.roster.contacts,
            certificate=certificate,
            key=key,
            listen=job.listen,
            relay=participant.roster.relay,
            notice=notice,
            awaited=participant.progress.await_parties,
            awaiting=participant.progress.awaiting,
            told=participant.progress.hear,
        ).held(job.wait)
    )
    async with meeting as link, slowed(link, latency=job.latency, bandwidth=job.bandwidth) as slow:
        yield slow
