"""A town with trustees: people hand in sealed answers, by the command line or in a browser."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

from tests.collection.town import STUDY, Running, Town, free_port, record_of

from covey.crypto.rng import Rng, fresh_seed
from covey.party.collection import page, trustee_keys
from covey.party.collection.delivering import Delivery
from covey.party.collection.opening import CollectorTask
from covey.party.collection.questions import table_of
from covey.party.collection.responding import prepare
from covey.party.collection.trustee import Trustee
from covey.party.collection.trustee import prepare as prepare_trustee
from covey.party.collection.web import WebTask
from covey.party.identity import keys as keyring
from covey.protocols import of_study
from covey.protocols.peel import letters
from covey.protocols.peel.letters import Letter
from covey.protocols.peel.respondents import judge, word_of
from covey.sources.release import arrange, canonical_csv
from covey.wire.contact import Address
from covey.wire.standing.words import SignedKey

THREE = ("board", "patients", "university")


@dataclass
class PeelingTown(Town):
    """A town with trustees."""

    trustees: Sequence[str] = THREE

    def __post_init__(self) -> None:
        super().__post_init__()
        parties = ""
        for name in self.trustees:
            folder = self.folder / f"keys-{name}"
            if not folder.exists():
                keyring.save(keyring.make(name), folder)
            (self.folder / f"{name}.pem").write_bytes(keyring.load(folder).certificate.pem)
            parties += f'[parties.{name}]\nrole = "trustee"\ncertificate = "{name}.pem"\n'
        text = STUDY.replace("[protocol]\nas_printed = true\ngrid = {grid}\ncommittee = {committee}", "[protocol]")
        text = text.replace('"collect"', '"peel"')
        self.path.write_text(text.format(k=self.k, privacy=self.privacy, address=self.address) + parties)

    def trustee(self, name: str) -> Trustee:
        """A trustee's machine, as often as it is started."""
        return prepare_trustee(self.path, self.folder / f"keys-{name}", self.folder / name, None, lambda said: None)

    def delivery(self, place: int, token: str) -> Delivery:
        """A respondent with a record and consent in its folder."""
        study, hub, home, invitation = prepare(self.path, token, self.home(place), time.time())
        if home.record(study) is None:
            home.keep_record(study, record_of(place))
        return Delivery(study, hub, home, invitation)

    @property
    def width(self) -> int:
        """The bits of a record's word."""
        return word_of(self.study, judge(self.study)).width

    def signed(self, person: Delivery, answer: Letter) -> Letter:
        """The letter with the signature of that person's enrolment."""
        handle, own = person.home.handle(person.invitation) or "r-1", person.home.keys()
        content = letters.statement(self.study.study_hash, handle, answer.digests)
        return Letter(answer.parts, own.certificate.public_key, own.tls.sign(content))

    def ideal(self, people: int) -> bytes:
        """What a trusted party would release."""
        study = self.study
        tables = {f"r{place}": table_of(study, record_of(place)) for place in range(people)}
        release = of_study(study).ideal(study, tables).release
        assert release is not None
        return canonical_csv(arrange(release))


def come(town: PeelingTown, running: Running) -> None:
    """All trustees show their keys for letters, and go."""
    for shown in keys_of(town):
        running.collection.desk.serve(shown.trustee, shown.key, shown.signature)


def keys_of(town: PeelingTown) -> list[SignedKey]:
    """The trustees' keys for letters."""
    machines = [town.trustee(name) for name in town.trustees]
    study = town.study.study_hash
    return [trustee_keys.signed(study, each.keys, each.own) for each in machines if each.own is not None]


def letter_of(town: PeelingTown, person: Delivery, place: int) -> Letter:
    """The letter of that person with another's record; under the handle r-1 where there is none."""
    study, own, word = town.study, person.home.keys(), word_of(town.study, judge(town.study))
    handle = person.home.handle(person.invitation) or "r-1"
    keys = {shown.trustee: shown.key for shown in keys_of(town)}
    words, enrolment = word.words(table_of(study, record_of(place))), (own.certificate.public_key, own.tls.sign)
    return letters.write(study.study_hash, handle, words, word.width, keys, Rng(fresh_seed()), enrolment)


@asynccontextmanager
async def serving(town: PeelingTown, *names: str) -> AsyncIterator[list[asyncio.Task[str]]]:
    """Trustees that stay, all unless some are named, until the block ends."""
    tasks = [asyncio.create_task(town.trustee(name).run()) for name in names or town.trustees]
    try:
        yield tasks
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def hand_in(town: PeelingTown, people: int) -> list[Delivery]:
    """Everyone hands in and is gone."""
    made = [town.delivery(place, token) for place, token in enumerate(town.invite(people))]
    for each in made:
        await each.deliver()
    return made


@dataclass
class BrowserTown(PeelingTown):
    """A town whose collector answers browsers too."""

    web_port: int = field(default_factory=free_port)
    columns: str = ""
    """Columns to ask for instead of the town's."""

    def __post_init__(self) -> None:
        super().__post_init__()
        text = self.path.read_text()
        if self.columns:
            text = text[: text.index("[columns.age]")] + self.columns + text[text.index("[parties.office]") :]
        options = f'[protocol]\nweb = "{self.web}"\npage = "{page.program()}"\n'
        self.path.write_text(text.replace("[protocol]\n", options))

    @property
    def web(self) -> str:
        return f"http://127.0.0.1:{self.web_port}"

    @property
    def web_task(self) -> WebTask:
        return WebTask(Address("127.0.0.1", self.web_port))

    def links(self, count: int, *, days: float = 1.0) -> list[str]:
        """So many invitations, as links to the page."""
        return [f"{self.web}/#{token}" for token in self.invite(count, days=days)]

    def service(self, quorum: int, *, phase_seconds: float = 30.0) -> CollectorTask:
        task = super().service(quorum, phase_seconds=phase_seconds)
        return replace(task, web=self.web_task)
