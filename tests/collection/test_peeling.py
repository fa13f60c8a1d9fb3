"""Collections by peeling over TLS: respondents hand in and go, trustees evaluate, anybody may be cut off."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.collection.town import STUDY, Town, collecting, record_of
from tests.harness.clock import on_real_clock

from covey.party.audit.folders import audit
from covey.party.collection import receipts, status
from covey.party.collection.delivering import Delivery
from covey.party.collection.questions import table_of
from covey.party.collection.responding import prepare
from covey.party.collection.trustee import Trustee
from covey.party.collection.trustee import prepare as prepare_trustee
from covey.party.identity import keys as keyring
from covey.protocols import of_study
from covey.sources.release import arrange, canonical_csv

pytestmark = pytest.mark.timeout(120)
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
        text = STUDY.replace("grid = {grid}\ncommittee = {committee}", 'method = "peel"\nnodes = 4')
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


@on_real_clock
async def test_respondents_hand_in_and_go_and_the_release_is_a_trusted_partys(tmp_path: Path) -> None:
    town = PeelingTown(tmp_path)
    async with collecting(town, 8) as running:
        people = await hand_in(town, 8)
        staying = [asyncio.create_task(town.trustee(name).run()) for name in THREE]
        await running.task
        assert await asyncio.gather(*staying) == ["released"] * 3
    assert (town.out / "release.csv").read_bytes() == town.ideal(8)
    assert not [sentence for each in audit([town.out]) for sentence in each.wrong]
    board, collector = town.out / "board.json", town.keys.certificate
    for each in people:
        receipt = each.home.receipt()
        assert receipt is not None and receipts.check(town.study, collector, receipt, board) is None
    assert not any(handle in board.read_text() for handle in town.handles(8))
    assert status.read(town.out)["phase"] == "finished"
    missing = json.loads(board.read_text())
    missing["lines"].pop()
    board.write_text(json.dumps(missing))
    assert receipts.check(town.study, collector, receipt, board) == "the board is not what the collector signed"
