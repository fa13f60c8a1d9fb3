"""A town with trustees: people hand in sealed answers, by the command line or in a browser."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from tests.collection.town import STUDY, Town, free_port, record_of

from covey.party.collection import page
from covey.party.collection.delivering import Delivery
from covey.party.collection.opening import CollectorTask
from covey.party.collection.questions import table_of
from covey.party.collection.responding import prepare
from covey.party.collection.trustee import NamedTrustee
from covey.party.collection.trustee import prepare as prepare_trustee
from covey.party.collection.web import WebTask
from covey.party.identity import keys as keyring
from covey.protocols import of_study
from covey.sources.release import arrange, canonical_csv
from covey.wire.contact import Address

THREE, FIVE = ("board", "patients", "university"), ("board", "city", "patients", "press", "university")


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
        text = STUDY.replace('method = "curve"\ngrid = {grid}\ncommittee = {committee}', "nodes = 4")
        self.path.write_text(text.format(k=self.k, privacy=self.privacy, address=self.address) + parties)

    def trustee(self, name: str) -> NamedTrustee:
        """A trustee's machine, as often as it is started."""
        return prepare_trustee(self.path, self.folder / f"keys-{name}", self.folder / name, None, lambda said: None)

    def delivery(self, place: int, token: str) -> Delivery:
        """A respondent with a record and consent in its folder."""
        study, hub, home, invitation = prepare(self.path, token, self.home(place), time.time())
        if home.record(study) is None:
            home.keep_record(study, record_of(place))
        return Delivery(study, hub, home, invitation)

    def ideal(self, people: int) -> bytes:
        """What a trusted party would release."""
        study = self.study
        tables = {f"r{place}": table_of(study, record_of(place)) for place in range(people)}
        release = of_study(study).ideal(study, tables).release
        assert release is not None
        return canonical_csv(arrange(release))


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
        options = f'nodes = 4\nweb = "{self.web}"\npage = "{page.program()}"\n'
        self.path.write_text(text.replace("nodes = 4\n", options))

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
