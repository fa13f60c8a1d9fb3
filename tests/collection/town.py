"""A small town to collect from: a study with a collector, its keys and invitations, and people with records."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from covey.judge import verify
from covey.party.collection import opening
from covey.party.collection.collecting import collect
from covey.party.collection.invitation import issue
from covey.party.collection.opening import Collection, CollectorTask
from covey.party.collection.playing import How
from covey.party.collection.responding import Respondent, prepare, seated
from covey.party.identity import keys as keyring
from covey.study import Study
from covey.wire.contact import Address, fingerprint

opening.QUORUM_CLASSES = 1  # a class is enough for most tests, and half the people

STUDY = """
[study]
name = "mood"
protocol = "collect"
partition = "respondents"
[privacy]
k = {k}
{privacy}
[protocol]
as_printed = true
grid = {grid}
committee = {committee}
[columns.age]
role = "quasi"
hierarchy = {{ min = 0, max = 31, steps = [4, 8, 16] }}
missing = "error"
[columns.sex]
role = "quasi"
hierarchy = "flat"
values = ["F", "M"]
missing = "error"
[columns.mood]
role = "sensitive"
singles_out = "there are few answers"
values = ["good", "fair", "bad"]
missing = "error"
[parties.office]
role = "collector"
address = "{address}"
certificate = "office.pem"
"""
MOODS = ("good", "fair", "bad")


def free_port() -> int:
    """A port that nobody uses."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def record_of(place: int) -> dict[str, str]:
    """The record of the person with that number: two crowds of ages, all moods."""
    return {"age": str((place * 7) % 32), "sex": "FM"[place % 2], "mood": MOODS[place % 3]}


@dataclass
class Town:
    """A collection that is about to be."""

    folder: Path
    k: int = 3
    privacy: str = ""
    grid: int = 16
    committee: int = 3
    port: int = field(default_factory=free_port)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        if not (self.folder / "keys").exists():
            keyring.save(keyring.make("office"), self.folder / "keys")
        self.keys = keyring.load(self.folder / "keys")
        (self.folder / "office.pem").write_bytes(self.keys.certificate.pem)
        text = STUDY.format(
            k=self.k, privacy=self.privacy, grid=self.grid, committee=self.committee, address=self.address
        )
        self.path.write_text(text)

    @property
    def path(self) -> Path:
        return self.folder / "study.toml"

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def out(self) -> Path:
        return self.folder / "out"

    @property
    def study(self) -> Study:
        return Study.load(self.path)

    def invite(self, count: int, *, days: float = 1.0) -> list[str]:
        """So many invitations, as text."""
        made = issue(
            self.out,
            Address.parse(self.address),
            bytes.fromhex(fingerprint(self.keys.certificate.der)),
            self.study.study_hash,
            count=count,
            expires=int(time.time() + 86400 * days),
        )
        return [each.spell() for each in made]

    def person(self, place: int, token: str, *, record: dict[str, str] | None = None) -> Respondent:
        """A respondent with a record and consent in its folder."""
        study, hub, home, invitation = prepare(self.path, token, self.home(place), time.time())
        if home.record(study) is None:
            home.keep_record(study, record or record_of(place))
        return seated(study, hub, home, invitation)

    def home(self, place: int) -> Path:
        return self.folder / "people" / f"{place:04}"

    def handles(self, count: int) -> list[str]:
        """Of the first so many people."""
        kept = [json.loads((self.home(place) / "enrolment.json").read_text()) for place in range(count)]
        return [str(each["handle"]) for each in kept]

    def service(self, quorum: int, *, phase_seconds: float = 30.0) -> CollectorTask:
        return CollectorTask(
            study=self.path, keys=self.folder / "keys", out=self.out, quorum=quorum, phase_seconds=phase_seconds
        )

    def status(self) -> dict[str, object]:
        """What the collector says of itself."""
        try:
            found = json.loads((self.out / "status.json").read_bytes())
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def summary(self) -> dict[str, object]:
        found = json.loads((self.out / "summary.json").read_bytes())
        assert isinstance(found, dict)
        return found

    def judged(self) -> int:
        """The number of released rows, after the judge has found that no class is below k."""
        verdict = verify(str(self.out / "release.csv"), self.study)
        assert verdict.answer, verdict.sentence()
        return len((self.out / "release.csv").read_text().splitlines()) - 1


@dataclass
class Running:
    """A collector that runs."""

    collection: Collection
    task: asyncio.Task[None]

    @property
    def log(self) -> str:
        return (self.collection.folder.path / "run.log").read_text()

    async def begun(self) -> None:
        """Returns once a session has been started."""
        while self.collection.register.held.started is None:  # noqa: ASYNC110 - the register tells nobody
            await asyncio.sleep(0.02)


@asynccontextmanager
async def collecting(town: Town, quorum: int, *, phase_seconds: float = 30.0) -> AsyncIterator[Running]:
    """The collector, running in this event loop until the block ends."""
    collection = Collection.prepare(town.service(quorum, phase_seconds=phase_seconds))
    task = asyncio.create_task(collect(collection))
    try:
        async with asyncio.timeout(20):
            await collection.open.wait()
        yield Running(collection, task)
    finally:
        task.cancel()
        await asyncio.wait([task])
        collection.register.close()
        collection.journal.close()


def at_phase(person: Respondent, phase: str, then: Callable[[], object]) -> None:
    """Lets something happen, once, when that person's role reaches a phase."""
    done: list[bool] = []

    def say(sentence: str) -> None:
        if sentence == f"taking part: {phase}" and not done:
            done.append(True)
            then()

    person.say = say


async def everyone(people: Sequence[Respondent]) -> list[How | BaseException]:
    """How each person's part ended."""
    return await asyncio.gather(*(person.run() for person in people), return_exceptions=True)
