"""The authority of `suppress` as a service: it takes part in one session of its study after the other.

    issued.jsonl  every key before it is sent: when, to whom, for which name, and the certificate that it goes to
    0001, 0002 …  a folder for each session, as every party leaves one; a session that was cut off goes on in its own

Whom it issues a key to is decided by the roster's certificates and nothing else. Its master key follows from its own
key folder (`covey keys new authority`): whoever has that folder can open everything that was encrypted to its names.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from covey.errors import Aborted, CoveyError, InputError
from covey.files import append
from covey.party.identity import keys as keyring
from covey.party.identity.roster import Roster
from covey.party.record.names import STUDY, SUMMARY
from covey.party.session.approval import approve_always
from covey.party.session.progress import Snapshot
from covey.party.session.run import INTERRUPTED, Job, run_party
from covey.protocols import of_study
from covey.protocols.as_printed.suppress.parameters import AUTHORITY, Parameters
from covey.study import Study
from covey.wire.contact import Address

LOG = "issued.jsonl"
ENDED = "ended"
"""A file in a session's folder that says how it ended, where it will not go on."""


@dataclass(frozen=True)
class Service:
    """The task of an authority."""

    study: Path
    keys: Path
    out: Path
    listen: Address | None = None
    wait: float = 24 * 3600.0
    """Seconds that it waits for the parties of one session, before it waits anew."""
    once: bool = False
    """True if it ends with the first session that comes to its end."""
    listener: Callable[[Snapshot], None] = lambda snapshot: None
    notice: Callable[[str], None] = lambda sentence: None


def serve(service: Service) -> int:
    """Serves session after session; how many came to their end. Raises what is wrong on this machine, at once.

    A session that fails, because a party went away or was refused, is no reason to end. An interruption is: `Aborted`.
    """
    study = _prepare(service)
    finished = 0
    while True:
        folder = next_folder(service.out, service.study)
        begun = False

        def watch(snapshot: Snapshot, folder: Path = folder) -> None:
            nonlocal begun
            if snapshot.phase == "keys" and not begun:  # told before the role has sent anything
                begun = True
                note_keys(service.out, study, folder)
            service.listener(snapshot)

        try:
            run_party(
                Job(
                    study=service.study,
                    party=AUTHORITY,
                    out=folder,
                    keys=service.keys,
                    decide=approve_always,
                    listen=service.listen,
                    wait=service.wait,
                    listener=watch,
                    notice=service.notice,
                )
            )
        except InputError:
            raise
        except CoveyError as error:
            if isinstance(error, Aborted) and str(error) == INTERRUPTED:
                raise
            service.notice(f"the session in {folder.name} ended: {error}")
            if not (isinstance(error, Aborted) and error.resumable):
                close(folder, str(error))
            continue
        finished += 1
        close(folder, "finished")
        service.notice(f"the session in {folder.name} is finished; {finished} so far")
        if service.once:
            return finished


def _prepare(service: Service) -> Study:
    """The study, once everything that can be wrong here has been looked at."""
    study = Study.load(service.study)
    if of_study(study).name != "suppress" or AUTHORITY not in {party.name for party in study.parties}:
        raise InputError(f"{service.study}: needs no authority: only protocol suppress with encryption = 'waters' does")
    Roster.of(study).require(keyring.load(service.keys), AUTHORITY)
    try:
        service.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{service.out}: cannot be written ({error.strerror}); choose another with --out") from None
    return study


def next_folder(out: Path, study: Path) -> Path:
    """The folder of the last session if it was cut off and may go on with the same study, else a new one."""
    numbers = sorted(int(path.name) for path in out.iterdir() if path.name.isdecimal())
    last = out / f"{numbers[-1] if numbers else 0:04d}"
    kept = last / STUDY
    over = (last / ENDED).exists() or (last / SUMMARY).exists()
    changed = kept.exists() and kept.read_bytes() != study.read_bytes()
    return last if numbers and not over and not changed else out / f"{int(last.name) + 1:04d}"


def close(folder: Path, how: str) -> None:
    """Writes down that a session will not go on."""
    if folder.is_dir():
        (folder / ENDED).write_text(how + "\n", encoding="utf-8")


def note_keys(out: Path, study: Study, folder: Path) -> None:
    """Appends a line for each key that is about to be issued. Raises InputError if that cannot be written."""
    terms, certificates = Parameters.of(study), Roster.of(study).certificates
    lines = [
        json.dumps(
            {
                "time": datetime.now(UTC).isoformat(timespec="seconds"),
                "name": terms.name_of(party),
                "party": party,
                "certificate": certificates[party].fingerprint,
                "study_hash": study.study_hash,
                "session": folder.name,
            }
        )
        for party in terms.holders
    ]
    try:
        append(out / LOG, ("\n".join(lines) + "\n").encode())
    except OSError as error:
        raise InputError(f"{out / LOG}: cannot be written ({error.strerror}); no key was issued") from None
