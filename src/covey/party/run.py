"""One party against the real others: from the study file to what the run leaves in its folder."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from covey.crypto.rng import fresh_seed
from covey.crypto.secret import Secret
from covey.errors import Aborted, CoveyError, InputError
from covey.party import keys as keyring
from covey.party.approval import Decide, within
from covey.party.binding import Binding, bind
from covey.party.data import load_table
from covey.party.folder import JOURNAL, LOG, RunFolder
from covey.party.journal import Journal
from covey.party.ledger import Ledger
from covey.party.log import RunLog
from covey.party.progress import Listener, Progress
from covey.party.replay import finish_alone
from covey.party.roster import Roster
from covey.party.session import PATIENCE, Finished, Part, take_part
from covey.protocols import of_study
from covey.study import Study
from covey.wire import Link
from covey.wire.contact import Address
from covey.wire.depth import first_cause
from covey.wire.slow import slowed
from covey.wire.thread import on_own_thread
from covey.wire.tls import connect

WAIT_SECONDS = 3600.0


@dataclass(frozen=True)
class Job:
    """What one party is asked to do."""

    study: Path
    party: str
    out: Path
    keys: Path
    decide: Decide
    data: str | None = None
    listen: Address | None = None
    wait: float = WAIT_SECONDS
    listener: Listener = lambda snapshot: None
    notice: Callable[[str], None] = lambda sentence: None
    seed: Secret | None = field(default=None, repr=False)
    """Only simulations give one: a real run draws its own."""
    latency: float = 0.0
    bandwidth: float = float("inf")


def run_party(job: Job) -> Finished:
    """Runs one party to its end and writes its folder.

    Everything that can be wrong on this machine is found before anyone is dialled. However the run ends, the
    folder has a ledger of what had been learned by then.
    """
    study = Study.load(job.study)
    protocol = of_study(study)
    study.party(job.party)
    roster = Roster.of(study)
    keys = keyring.load(job.keys)
    roster.require(keys, job.party)
    folder = RunFolder(job.out)
    table = load_table(study, job.party, job.data)
    journal = Journal.resume(job.out / JOURNAL, keys.journal, source_of(job.data))
    changed = _give_up_if_changed(journal, bind(study, job.party, table, keys))
    folder.prepare(resuming=journal.begun is not None)
    folder.keep_study(study)
    log = RunLog(job.out / LOG)
    part = Part(
        study=study,
        protocol=protocol,
        party=job.party,
        table=table,
        keys=keys,
        roster=roster,
        seed=job.seed or fresh_seed(),
        decide=within(job.decide, job.wait),
        progress=Progress(job.party, protocol.phases, job.listener),
        ledger=Ledger(study, protocol, job.party),
        log=log,
        patience=max(PATIENCE, job.wait),
        journal=journal,
    )
    log.note(f"party {job.party!r} begins study {study.name!r} with protocol {protocol.name!r}")
    with contextlib.closing(journal):
        if changed:
            _notice(job, part, changed)
        return _to_its_end(job, part, folder, journal)


def source_of(data: str | None) -> str:
    """Where the data lies, as a later replay finds it from any folder; empty for a party without data."""
    if data is None:
        return ""
    return data if "://" in data else str(Path(data).absolute())


def _give_up_if_changed(journal: Journal, binding: Binding) -> str | None:
    """A session that was bound to something else is given up; the sentence that says so.

    A run that is finished is never given up: its folder is left as it is.
    """
    if journal.begun is None:
        return None
    changed = binding.differences(journal.begun.binding)
    if not changed:
        return None
    name = journal.begun.session[:16].hex()
    if journal.complete:
        raise InputError(
            f"{journal.path.parent}: holds a finished run with another state of {', '.join(changed)}; "
            "choose another folder with --out"
        )
    journal.give_up()
    return (
        f"the session {name} is given up, because {', '.join(changed)} changed since it was cut off; "
        "a new one begins with a new seed"
    )


def _to_its_end(job: Job, part: Part, folder: RunFolder, journal: Journal) -> Finished:
    earlier = folder.earlier_ledger()
    before = journal.begun
    kept = journal.kept

    def note_ledger(outcome: str) -> None:
        agreement = part.record.agreement
        resumed = agreement is not None and before is not None and agreement.digest == before.session
        part.ledger.earlier = [] if resumed else earlier
        folder.keep_ledger(part.ledger, outcome)

    if not kept:
        part.ledger.listener = lambda: note_ledger("the run has not ended")
    else:
        _notice(job, part, "this run is finished here; it goes on only for peers that were cut off")
    try:
        with asyncio.Runner() as runner:
            alone = journal.complete and not kept
            finished = runner.run(finish_alone(part) if alone else _run(job, part))
        if not kept:
            _keep(job, part, folder, finished)
            journal.keep()
    except CoveyError as error:
        if not kept:
            with contextlib.suppress(InputError):  # a full disk must not hide why the run ended
                note_ledger(f"ended: {error}")
                part.log.note(f"the run ended: {error}")
                folder.keep_transcript(part.study, part.party, part.record, part.keys, f"ended: {error}")
        raise
    part.log.note("the run is finished")
    return finished


def _keep(job: Job, part: Part, folder: RunFolder, finished: Finished) -> None:
    """Writes what the run leaves. Raises Aborted, resumable, if that fails: the journal has everything."""
    try:
        folder.keep(part.study, part.ledger, finished, job.party, part.keys, reproducible=job.seed is not None)
    except InputError as error:
        raise Aborted(f"{error}; run the same command again to go on", resumable=True) from None


def _notice(job: Job, part: Part, sentence: str) -> None:
    part.log.note(sentence)
    job.notice(sentence)


async def _run(job: Job, part: Part) -> Finished:
    task = asyncio.current_task()
    if task is not None and threading.current_thread() is threading.main_thread():
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    try:
        part.progress.phase("meeting")
        async with part.progress.ticking(), _meet(job, part) as link:
            return await take_part(part, link)
    except asyncio.CancelledError:
        raise Aborted("interrupted; run the same command again to go on", resumable=True) from None
    except BaseExceptionGroup as failures:
        raise first_cause(failures) from None


@asynccontextmanager
async def _meet(job: Job, part: Part) -> AsyncIterator[Link]:
    """The link to all peers, as slow as a simulation wants it."""

    certificate, key = keyring.files(job.keys, part.keys.party)
    meeting = on_own_thread(
        lambda: connect(
            job.party,
            part.roster.contacts,
            certificate=certificate,
            key=key,
            wait=job.wait,
            listen=job.listen,
            notice=lambda sentence: _notice(job, part, sentence),
        )
    )
    async with meeting as link:
        if job.latency or job.bandwidth != float("inf"):
            async with slowed(link, latency=job.latency, bandwidth=job.bandwidth) as slow:
                yield slow
        else:
            yield link
