"""A collection by peeling in processes of their own, of which every one is killed again and again, and goes on."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import time
from multiprocessing.context import ForkServerProcess
from pathlib import Path

import numpy as np
import pytest
from tests.collection.peeling_town import THREE, PeelingTown

from covey.errors import CoveyError
from covey.party.audit.folders import audit
from covey.party.collection import receipts
from covey.party.collection.collecting import serve
from covey.party.collection.delivering import Delivery
from covey.party.collection.opening import CollectorTask
from covey.party.collection.responding import prepare
from covey.party.collection.trustee import prepare as prepare_trustee
from covey.party.collection.trustee import serve as serve_trustee
from covey.party.session.journal import Journal

PRELOADED = ["tests.collection.test_peeling_kills", "covey.judge", "covey.protocols.peel"]
OFFICE = "office"


def dying(after: int) -> None:
    """Lets this process kill itself when so many messages are new in its journal; never, if it is 0."""
    sys.stderr = open(os.devnull, "w")  # noqa: PTH123, SIM115 - for the life of the process
    write, count = Journal._add, [0]

    def add(self: Journal, record: object) -> object:
        count[0] += 1
        if count[0] == after:
            os.kill(os.getpid(), signal.SIGKILL)
        return write(self, record)  # type: ignore[arg-type]

    Journal._add = add  # type: ignore[method-assign, assignment]


def play(folder: Path, name: str, people: int, after: int) -> None:
    """The collector's process, or a trustee's."""
    dying(after)
    study = folder / "study.toml"
    try:
        if name == OFFICE:
            serve(CollectorTask(study, folder / "keys", folder / "out", quorum=people, phase_seconds=600.0))
        else:
            serve_trustee(prepare_trustee(study, folder / f"keys-{name}", folder / name, None, lambda said: None))
    except CoveyError as error:
        (folder / f"{name}-ended").write_text(f"{type(error).__name__}: {error}")
        sys.exit(error.exit_code)
    sys.exit(0)


def hand_in(study: Path, home: Path, token: str, after: float) -> None:
    """A respondent's process, which ends with its receipt, or kills itself after so many seconds."""
    sys.stderr = open(os.devnull, "w")  # noqa: PTH123, SIM115 - for the life of the process
    if after:
        signal.signal(signal.SIGALRM, lambda number, frame: os.kill(os.getpid(), signal.SIGKILL))
        signal.setitimer(signal.ITIMER_REAL, after)
    Delivery(*prepare(study, token, home, time.time())).run()
    sys.exit(0)


@pytest.mark.timeout(1500)
@pytest.mark.parametrize(
    ("people", "deaths", "span"),
    [pytest.param(6, 2, 80, marks=pytest.mark.thorough), pytest.param(50, 40, 60, marks=pytest.mark.slow)],
)
def test_everyone_is_killed_at_any_message_and_nothing_is_lost(
    tmp_path: Path, people: int, deaths: int, span: int
) -> None:
    town, draws = PeelingTown(tmp_path), np.random.default_rng(people)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    running: dict[str, ForkServerProcess] = {}
    killed = dict.fromkeys((OFFICE, *THREE), 0)

    def start(name: str) -> None:
        after = int(draws.integers(1, span)) if killed[name] < deaths else 0
        running[name] = context.Process(target=play, args=(tmp_path, name, people, after))
        running[name].start()

    def watch() -> None:
        """Starts whoever was killed again."""
        for name, process in list(running.items()):
            if process.exitcode == -signal.SIGKILL:
                killed[name] += 1
                start(name)
            elif process.exitcode not in (None, 0):
                raise AssertionError((tmp_path / f"{name}-ended").read_text())

    tokens = town.invite(people)
    try:
        for name in (OFFICE, *THREE):
            start(name)
        for place, token in enumerate(tokens):
            after = float(draws.uniform(0.02, 0.6)) if place % 5 == 0 else 0.0
            town.delivery(place, token)  # its record and consent are in its folder
            while True:
                person = context.Process(target=hand_in, args=(town.path, town.home(place), token, after))
                person.start()
                while person.is_alive():
                    person.join(0.05)
                    watch()
                if person.exitcode == 0:
                    break
                assert person.exitcode == -signal.SIGKILL
                after = 0.0
        until = time.monotonic() + 1200
        while any(process.exitcode != 0 for process in running.values()):
            assert time.monotonic() < until, killed
            watch()
            time.sleep(0.05)
    finally:
        for process in running.values():
            process.kill()
            process.join(10)
    assert (town.out / "release.csv").read_bytes() == town.ideal(people)
    assert min(killed[name] for name in THREE) >= min(deaths, 2), "they were killed, and went on"
    folders = [town.out, *(tmp_path / name for name in THREE)]
    assert [sentence for each in audit(folders) for sentence in each.wrong] == []
    for place in range(people):
        receipt = town.delivery(place, tokens[place]).home.receipt() or {}
        assert receipts.check(town.study, town.keys.certificate, receipt, town.out / "board.json") is None
