"""A crowd of respondents and a collector, each a process of its own, of which any can be killed in any phase."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.context import ForkServerProcess
from pathlib import Path

from tests.collection.town import Town

from covey.errors import CoveyError
from covey.party.collection.collecting import serve
from covey.party.collection.opening import CollectorTask
from covey.party.collection.responding import prepare, respond, seated
from covey.party.session.progress import Snapshot

PRELOADED = ["tests.collection.crowd", "covey.judge", "covey.party.collection.responding"]
RELEASED, WITHHELD = 0, 10


def take_part(study: Path, token: str, folder: Path, dies_at: str | None) -> None:
    """A respondent's process, which kills itself in that phase, once the collector has what was said before."""
    sys.stderr = open(os.devnull, "w")  # noqa: PTH123, SIM115 - for the life of the process
    agreed, hub, home, invitation = prepare(study, token, folder, time.time())

    def say(sentence: str) -> None:
        if sentence == f"taking part: {dies_at}":
            threading.Thread(target=die, daemon=True).start()

    def die() -> None:
        while person._visit is None or not person._visit.line.settled:
            time.sleep(0.002)
        os.kill(os.getpid(), signal.SIGKILL)

    person = seated(agreed, hub, home, invitation, say=say)
    try:
        how = respond(person)
    except CoveyError as error:
        (folder / "ended").write_text(str(error))
        sys.exit(error.exit_code)
    sys.exit(RELEASED if how == "released" else WITHHELD)


def collect(folder: Path, quorum: int, phase_seconds: float, dies_at: str | None, after: float) -> None:
    """The collector's process, which kills itself so many seconds after it has reached that phase."""
    sys.stderr = open(os.devnull, "w")  # noqa: PTH123, SIM115 - for the life of the process

    def listener(snapshot: Snapshot) -> None:
        if snapshot.phase == dies_at and not armed:
            armed.append(True)
            if not after:
                os.kill(os.getpid(), signal.SIGKILL)
            threading.Timer(after, os.kill, (os.getpid(), signal.SIGKILL)).start()

    armed: list[bool] = []
    service = CollectorTask(
        study=folder / "study.toml",
        keys=folder / "keys",
        out=folder / "out",
        quorum=quorum,
        phase_seconds=phase_seconds,
        listener=listener,
    )
    try:
        serve(service)
    except CoveyError as error:
        (folder / "out" / "ended").write_text(str(error))
        sys.exit(error.exit_code)
    sys.exit(0)


@dataclass
class Crowd:
    """The processes of a collection."""

    town: Town
    people: list[ForkServerProcess]
    context: multiprocessing.context.ForkServerContext

    def collector(
        self, quorum: int, *, phase_seconds: float, dies_at: str | None = None, after: float = 0.0
    ) -> ForkServerProcess:
        """The collector, started."""
        process = self.context.Process(target=collect, args=(self.town.folder, quorum, phase_seconds, dies_at, after))
        process.start()
        return process

    def ends(self, seconds: float) -> list[int | None]:
        """Everyone's exit code; None for who has not ended within so many seconds."""
        until = time.monotonic() + seconds
        for process in self.people:
            process.join(max(0.1, until - time.monotonic()))
        return [process.exitcode for process in self.people]


@contextmanager
def crowd(town: Town, count: int, dying: Mapping[int, str]) -> Iterator[Crowd]:
    """So many respondents, started one after the other; those in `dying` kill themselves in that phase."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    people = []
    try:
        for place, token in enumerate(town.invite(count)):
            town.person(place, token)
            arguments = (town.path, token, town.home(place), dying.get(place))
            process = context.Process(target=take_part, args=arguments)
            process.start()
            people.append(process)
        yield Crowd(town, people, context)
    finally:
        for process in people:
            process.kill()
            process.join(10)
