"""A helper as a service: it computes for every study of a folder that names it, and holds no data.

    FOLDER/STUDY.toml, FOLDER/NAME/study.toml   the studies; new ones are noticed
    FOLDER/runs/NAME/0001, 0002 …               a folder for each run; one that was cut off goes on in its own

Each study has a thread of its own, and waits for its parties there.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, Queue

import msgspec

from covey.errors import Aborted, CoveyError, InputError
from covey.party.identity import keys as keyring
from covey.party.identity.roster import Roster
from covey.party.record.names import STUDY, SUMMARY
from covey.party.session.approval import approve_always
from covey.party.session.authority import close, next_folder
from covey.party.session.progress import Listener, Snapshot
from covey.party.session.run import INTERRUPTED, Job, run_party
from covey.study import Study

ROLE = "helper"
RUNS = "runs"
LOOK_SECONDS = 10.0


@dataclass(frozen=True)
class HelperService:
    """The task of a helper."""

    folder: Path
    party: str
    keys: Path
    wait: float
    """The longest time that one study waits for its parties, in seconds; it then waits anew."""
    once: bool = False
    """True if the service ends with the first run that is finished."""
    listener: Listener = lambda snapshot: None
    """Shown is the state of each run, with the study's name in the party's place."""
    notice: Callable[[str], None] = lambda sentence: None
    look: float = LOOK_SECONDS
    """Seconds between two looks into the folder."""


@dataclass
class _Services:
    """The state of a service: the studies that run, and what was said of the others."""

    service: HelperService
    running: set[Path] = field(default_factory=set)
    said: dict[Path, str] = field(default_factory=dict)
    ended: Queue[tuple[Path, Path, BaseException | None]] = field(default_factory=Queue)

    def say(self, study: Path, sentence: str) -> None:
        """Notices a sentence about a study, unless it is the last that was said of it."""
        if self.said.get(study) != sentence:
            self.said[study] = sentence
            self.service.notice(f"{self._name(study)}: {sentence}")

    def _name(self, study: Path) -> str:
        return str(study.relative_to(self.service.folder))

    def begin(self, study: Path) -> None:
        """Begins to serve a study whose roster is complete; says what another one lacks."""
        try:
            if _names(self.service, study) and not _finished(runs := _runs(self.service, study), study):
                self.running.add(study)
                threading.Thread(target=self._serve, args=(study, next_folder(runs, study)), daemon=True).start()
        except CoveyError as error:
            self.say(study, f"waits: {error}")

    def _serve(self, study: Path, folder: Path) -> None:
        service, failure = self.service, None

        def show(snapshot: Snapshot) -> None:
            service.listener(msgspec.structs.replace(snapshot, party=self._name(study)))

        try:
            run_party(
                Job(
                    study=study,
                    party=service.party,
                    out=folder,
                    keys=service.keys,
                    decide=approve_always,
                    wait=service.wait,
                    listener=show,
                    notice=lambda sentence: self.say(study, sentence),
                )
            )
        except BaseException as error:  # the main thread judges it
            failure = error
        self.ended.put((folder, study, failure))

    def end(self, folder: Path, study: Path, error: BaseException | None) -> bool:
        """Notes how a run ended; returns True if it is finished. Raises what is no error of a run."""
        self.running.discard(study)
        if error is None:
            self.say(study, "finished")
        elif isinstance(error, InputError) or (isinstance(error, Aborted) and error.resumable):
            self.say(study, f"waits: {error}")
        elif not isinstance(error, CoveyError):
            raise error
        else:
            close(folder, str(error))
            self.say(study, f"ended: {error}")
        return error is None


def serve(service: HelperService) -> int:
    """Serves every study of the folder, each once; returns the number of finished runs. Ends by an interruption.

    Raises InputError, AccessError for a folder or keys that cannot be used, and Aborted where it is interrupted.
    """
    if not service.folder.is_dir():
        raise InputError(f"{service.folder}: is no folder; name the one in which the studies are")
    keyring.load(service.keys)
    state, finished = _Services(service), 0
    if not any(True for _ in studies(service.folder)):
        service.notice(f"{service.folder}: has no study yet; put one there, with its certificates")
    while True:
        for study in studies(service.folder):
            if study not in state.running:
                state.begin(study)
        try:
            finished += state.end(*state.ended.get(timeout=service.look))
        except Empty:
            continue
        except KeyboardInterrupt:
            raise Aborted(INTERRUPTED, resumable=True) from None
        if service.once and finished:
            return finished


def studies(folder: Path) -> Iterator[Path]:
    """The study files of a folder: those that lie in it, and one in each folder in it."""
    yield from sorted(folder.glob("*.toml"))
    yield from (path for path in sorted(folder.glob(f"*/{STUDY}")) if path.parent.name != RUNS)


def _names(service: HelperService, path: Path) -> bool:
    """True if a study names this helper and its roster is complete. Raises CoveyError with what is amiss."""
    study = Study.load(path)
    if service.party not in study.of_party_role(ROLE):
        return False
    Roster.of(study).require(keyring.load(service.keys), service.party)
    return True


def _runs(service: HelperService, study: Path) -> Path:
    name = study.stem if study.parent == service.folder else study.parent.name
    out = service.folder / RUNS / name
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{out}: cannot be written ({error.strerror}); free some room, or move the folder") from None
    return out


def _finished(runs: Path, study: Path) -> bool:
    """True if a run of this very study is finished: a second one would be a second release."""
    over = (path.parent for path in runs.glob(f"*/{SUMMARY}"))
    return any((path / STUDY).read_bytes() == study.read_bytes() for path in over)
