"""The safe outcome, everywhere: the ideal's result, or an abort that says why with nothing released; and then a resume.

Each function makes one unlucky run, lets all parties run again in the same folders, and says in sentences what was
unsafe.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from tests.harness.disk import Disk, dying, failing
from tests.harness.doom import Doom, Moment
from tests.harness.harness import PATIENCE, End, run
from tests.harness.network import FaultyNetwork, Weather, seed_of
from tests.harness.trial import Trial

from covey.crypto.rng import Rng
from covey.party.record.names import JOURNAL, RELEASE
from covey.party.session.journal import EVERYTHING
from covey.wire import MemoryNetwork

CLOSING = ("farewell", "report", "finished")
"""The phases in which everything of a run is known, and nobody can be left behind."""
"""Who has read the last signatures is finished, before those who have not: that cannot be helped, and is all that
parties may be apart by. Whoever lacks them has computed the same release, and gets them by running again."""
ENOUGH = 60
"""Up to this many messages every one is tried; beyond, the first, a middle and the last of each sender and type."""


@dataclass(frozen=True)
class Point:
    """Where a party is killed."""

    victim: str
    moment: Moment
    at: int
    what: str

    def __str__(self) -> str:
        return f"{self.victim} {self.moment} {self.at} ({self.what})"


def points(trial: Trial, folder: Path) -> tuple[list[Point], list[str]]:
    """Every place to kill a party at, and what was left out of them, in words."""
    found: list[Point] = []
    omitted: list[str] = []
    counted = [_count(trial, victim, folder / f"count {victim}") for victim in trial.names]
    everything = sum(len(doom.tags) for doom in counted) <= ENOUGH
    for doom in counted:
        sends = range(len(doom.tags)) if everything else _spread(doom.tags)
        writes = range(doom.writes) if everything else _spread([str(i * 4 // doom.writes) for i in range(doom.writes)])
        for at in sends:
            found.append(Point(doom.victim, "before send", at, doom.tags[at]))
            found.append(Point(doom.victim, "after send", at, doom.tags[at]))
        found += [Point(doom.victim, "mid-journal", at, "a record") for at in writes]
        if not everything:
            left = len(doom.tags) - len(sends), doom.writes - len(writes)
            omitted.append(f"{doom.victim}: {left[0]} of {len(doom.tags)} messages, {left[1]} of {doom.writes} records")
    return found, omitted


def some_points(trial: Trial, place: int, folder: Path) -> list[Point]:
    """One party's place before a message, after one and in a record; another `place` gives another party and others."""
    doom = _count(trial, trial.names[place % len(trial.names)], folder)
    before, after = (at % len(doom.tags) for at in (7 * place, len(doom.tags) // 2 + 5 * place))
    return [
        Point(doom.victim, "before send", before, doom.tags[before]),
        Point(doom.victim, "after send", after, doom.tags[after]),
        Point(doom.victim, "mid-journal", (len(doom.tags) + 3 * place) % doom.writes, "a record"),
    ]


def kill(trial: Trial, point: Point, folder: Path, seed: int = 0, limit: int = EVERYTHING) -> list[str]:
    """Kills a party at that point, then lets everyone resume; the limit is that of everyone's journal."""
    network = MemoryNetwork(trial.names)
    doom = Doom(point.victim, point.moment, point.at)
    journal = (folder / point.victim / JOURNAL).resolve()
    with dying(doom, journal, lambda: network.leave(point.victim, "was cut off")):
        ends = run(trial, seed=seed, network=network, folder=folder, doom=doom, limit=limit)
    unsafe = [] if doom.dead else [f"{point}: was never reached"]
    unsafe += list(judge(trial, ends, folder, victim=point.victim))
    return [f"{point}: {sentence}" for sentence in unsafe + resume(trial, folder, seed + 1, limit)]


def weather_of(seed: int) -> Weather:
    """A bad network for a seed: always late, and one other thing now and then."""
    stream = Rng(seed_of(seed)).stream("weather")
    delay = float(stream.below(20))
    often = 5 + stream.below(60)
    match stream.below(5):
        case 0:
            return Weather(delay=delay, loss=often)
        case 1:
            return Weather(delay=delay, repeat=often)
        case 2:
            return Weather(delay=delay, swap=often)
        case 3:
            return Weather(delay=delay, cut_at=stream.below(60))
        case _:
            return Weather(delay=delay, loss=often // 2, repeat=often // 2, swap=often // 2)


def storm(trial: Trial, seed: int, folder: Path) -> list[str]:
    """One run on a bad network, then one on a good one."""
    network = FaultyNetwork(trial.names, weather_of(seed), seed, beats=True)
    ends = run(trial, seed=seed, network=network, folder=folder)
    unsafe = list(judge(trial, ends, folder))
    late = [name for name, end in ends.items() if end.seconds > 2 * PATIENCE]
    unsafe += [f"{name} ended {ends[name].seconds:g} s after the start, long after its deadline" for name in late]
    return [f"seed {seed}: {sentence}" for sentence in unsafe + resume(trial, folder, seed + 1)]


def break_disk(trial: Trial, disk: Disk, folder: Path, seed: int = 0) -> list[str]:
    """One run on a disk that fails, then one on a sound disk."""
    with failing(disk):
        ends = run(trial, seed=seed, folder=folder)
    unsafe = list(judge(trial, ends, folder))
    where = f"{disk.how} at call {disk.at}"
    return [f"{where}: {sentence}" for sentence in unsafe + resume(trial, folder, seed + 1)]


def judge(trial: Trial, ends: Mapping[str, End], folder: Path, victim: str | None = None) -> Iterator[str]:
    """What is unsafe about how a run ended, in sentences."""
    for name, end in ends.items():
        if end.finished is not None:
            if trial.answer(name, end.finished) != trial.ideal[name]:
                yield f"{name} has another result than the ideal"
        elif end.killed and name != victim:
            yield f"{name} died of another party's death"
        elif end.error is None and not end.killed and not end.stayed:
            yield f"{name} neither finished nor said why not"
        release = folder / name / RELEASE
        if release.exists() and trial.written(release.read_bytes()) != trial.ideal[name]:
            yield f"{name} has a release that is not the ideal's, or a part of one"
        if end.error is not None and not _is_late(end) and release.exists():
            yield f"{name} stopped and has a release"
    if any(end.finished is not None for end in ends.values()):
        for name, end in ends.items():
            if end.finished is None and not end.stayed and end.phase not in CLOSING:
                yield f"{name} stopped in the midst of {end.phase!r}, while another party has finished"


def resume(trial: Trial, folder: Path, seed: int, limit: int = EVERYTHING) -> list[str]:
    """Everyone runs again; all must end with the ideal's result."""
    ends = run(trial, seed=seed, folder=folder, limit=limit)
    unsafe = [f"after resume {sentence}" for sentence in judge(trial, ends, folder)]
    return unsafe + [f"after resume {name} stopped: {end.error}" for name, end in ends.items() if end.error is not None]


def _is_late(end: End) -> bool:
    """Whether all that failed is the note that everything was written."""
    return end.error is not None and JOURNAL in str(end.error)


def _count(trial: Trial, victim: str, folder: Path) -> Doom:
    """A run in which nobody dies, to know how often the victim sends and writes."""
    doom = Doom(victim)
    with ExitStack() as stack:
        stack.enter_context(dying(doom, (folder / victim / JOURNAL).resolve(), lambda: None))
        ends = run(trial, folder=folder, doom=doom)
    for end in ends.values():
        if end.error is not None:
            raise end.error
    return doom


def _spread(kinds: list[str]) -> list[int]:
    """The first, a middle and the last place of each kind."""
    chosen: set[int] = set()
    for kind in set(kinds):
        places = [place for place, other in enumerate(kinds) if other == kind]
        chosen |= {places[0], places[len(places) // 2], places[-1]}
    return sorted(chosen)
