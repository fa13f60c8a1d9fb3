"""A whole collection on the organiser's page, in a browser: from a pilot table to the release of a trusted party."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.consortium import free_ports
from tests.ui.reader import assert_readable
from tests.ui.test_one_owner import open_page
from tests.ui.test_three_parties import save_card
from tests.ui.workbench import browsing, serving

from covey.party.collection.delivering import Delivery
from covey.party.collection.questions import table_of
from covey.party.collection.responding import prepare
from covey.party.collection.trustee import prepare as prepare_trustee
from covey.party.identity import card as cards
from covey.party.identity import keys as keyring
from covey.protocols import of_study
from covey.sources.release import arrange, canonical_csv
from covey.study import Study

TRUSTEES = ("board", "patients", "university")
PILOT = "age,sex,mood\n" + "".join(f"{20 + n % 8},{'FM'[n % 2]},{('good', 'fair')[n % 2]}\n" for n in range(40))
MOODS = ("good", "good", "fair", "fair")
ANSWERS = [{"age": str(20 + 3 * place % 8), "sex": "FM"[place % 2], "mood": mood} for place, mood in enumerate(MOODS)]


def make_study(page: Page, address: str) -> None:
    """A study of the pilot table becomes one that people answer themselves."""
    page.get_by_role("link", name="pilot.csv").click()
    expect(page.locator("h1")).to_contain_text("What are the columns")
    page.get_by_role("group", name="mood").get_by_role("radio", name="sensitive").check()
    page.get_by_role("button", name="Make the study").click()
    page.get_by_role("link", name="With partners").click()
    page.get_by_role("link", name="People answer themselves").click()
    page.get_by_label("k", exact=True).fill("2")
    page.get_by_label("Our short name").fill("office")
    page.get_by_label("The trustees' short names").fill(" ".join(TRUSTEES))
    page.get_by_label("Where people and trustees reach us").fill(address)
    assert_readable(page)
    page.get_by_role("button", name="Make it a joint study").click()
    expect(page.get_by_text("We are office", exact=False).first).to_be_visible()


def join(folder: Path, invitation: Path, name: str) -> Path:
    """A trustee takes the study, makes keys, and gives its card."""
    study = folder / name / "study.toml"
    given = cards.read(invitation.read_bytes(), "the invitation")
    cards.unpack(given, study.parent)
    cards.add(study, given)
    keyring.save(keyring.make(name), study.parent / "keys")
    card = cards.make(keyring.load(study.parent / "keys").certificate, None)
    (folder / f"{name}.covey").write_bytes(card.spell())
    return study


def answer(study: Path, folder: Path, invitation: str, record: dict[str, str]) -> None:
    """One person answers."""
    agreed, hub, home, invited = prepare(study, invitation, folder, time.time())
    home.keep_record(agreed, record)
    asyncio.run(Delivery(agreed, hub, home, invited).deliver())


def evaluate(studies: Sequence[Path]) -> list[str]:
    """The trustees evaluate the answers unseen."""

    async def all_of_them() -> list[str]:
        made = [
            prepare_trustee(study, study.parent / "keys", study.parent / "out", None, lambda said: None)
            for study in studies
        ]
        return [str(how) for how in await asyncio.gather(*(trustee.run() for trustee in made))]

    return asyncio.run(all_of_them())


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_collection_from_the_pilot_table_to_the_release_on_the_organisers_page(tmp_path: Path) -> None:
    office = tmp_path / "office"
    office.mkdir()
    (office / "pilot.csv").write_text(PILOT)
    with browsing() as browser, serving(office) as server, ThreadPoolExecutor(1) as others:
        page = open_page(browser, server.address)
        make_study(page, f"127.0.0.1:{free_ports(['office'])['office']}")
        invitation = save_card(page, tmp_path / "invitation.covey", invitation=True)
        studies = [join(tmp_path, invitation, name) for name in TRUSTEES]
        for study in studies:
            for name in TRUSTEES:
                cards.add(study, cards.read((tmp_path / f"{name}.covey").read_bytes(), name))
        for name in TRUSTEES:
            page.get_by_label("A partner's card").set_input_files(tmp_path / f"{name}.covey")
            page.get_by_role("button", name="Open the card").click()
            page.get_by_label("I have compared").check()
            page.get_by_role("button", name="Use this card").click()
            expect(page.locator("h1")).to_contain_text("with 3 partners")
        page.get_by_role("link", name="invite them and collect").click()
        expect(page.get_by_text("Nobody has been invited yet")).to_be_visible()
        page.get_by_label("How many").fill(str(len(ANSWERS)))
        page.get_by_role("button", name="Make invitations").click()
        with page.expect_download() as download:
            page.get_by_role("link", name="Download the list").click()
        download.value.save_as(tmp_path / "invitations.txt")
        tokens = (tmp_path / "invitations.txt").read_text().split()
        page.get_by_label("Answers that are needed").fill(str(len(ANSWERS)))
        page.get_by_role("button", name="Start collecting").click()
        standing = page.locator("#standing")
        expect(standing).to_contain_text(f"0 of {len(ANSWERS)} needed")
        assert_readable(page)
        study = office / "pilot" / "study.toml"
        for place, (token, record) in enumerate(zip(tokens, ANSWERS, strict=True), 1):
            others.submit(answer, study, tmp_path / f"person{place}", token, record).result()
            if place < len(ANSWERS):
                expect(standing).to_contain_text(f"{place} of {len(ANSWERS)} needed")
        expect(standing).to_contain_text("Missing (3): board, patients, university")
        assert others.submit(evaluate, studies).result() == ["released"] * 3
        page.get_by_role("link", name="Look at the release").click()
        expect(page.get_by_role("heading", name="Files")).to_be_visible()
        assert_readable(page)
    folder = office / "pilot" / "collection"
    agreed = Study.load(study)
    ideal = of_study(agreed).ideal(agreed, {f"r{n}": table_of(agreed, each) for n, each in enumerate(ANSWERS)}).release
    assert ideal is not None
    assert (folder / "release.csv").read_bytes() == canonical_csv(arrange(ideal))
    assert json.loads((folder / "summary.json").read_text())["k_reached"] >= 2
