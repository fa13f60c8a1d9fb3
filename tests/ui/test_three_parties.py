"""Three parties, three workbenches, three browsers: from three CSV files to one release, its audit and certificate."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.conftest import Covey
from tests.consortium import free_ports
from tests.ui.test_one_owner import open_page
from tests.ui.workbench import SECONDS, browsing, serving

NAMES = ("north", "south", "east")
WAIT = SECONDS * 1000
STUDY = "rows/study.toml"


def rows(party: str, number: int = 40) -> str:
    shift = NAMES.index(party) * 11
    made = (
        f"{party}{n},{20 + (n * 7 + shift) % 20},{'FM'[(n + shift) % 2]},{('flu', 'none', 'gout')[(n * 5 + shift) % 3]}"
        for n in range(number)
    )
    return "patient_id,age,sex,diagnosis\n" + "\n".join(made) + "\n"


def save_card(page: Page, path: Path, *, invitation: bool = False) -> Path:
    with page.expect_download() as download:
        page.get_by_role("link", name="Download our invitation" if invitation else "Download our card only").click()
    download.value.save_as(path)
    return path


def make_study(page: Page, address: str) -> None:
    """The one who begins: a study from the own table, and the names of the partners."""
    page.get_by_role("link", name="rows.csv").click()
    expect(page.locator("h1")).to_contain_text("What are the columns")
    page.get_by_role("button", name="Make the study").click()
    page.get_by_role("link", name="With partners").click()
    page.get_by_label("Our short name").fill("north")
    page.get_by_label("Our partners' short names").fill("south east")
    page.get_by_label("Where partners reach us").fill(address)
    page.get_by_role("button", name="Make it a joint study").click()
    expect(page.get_by_text("We are north", exact=False).first).to_be_visible()


def join(page: Page, invitation: Path, party: str, address: str) -> str:
    """One who is invited; the fingerprint that it reads of the one who invites."""
    page.get_by_role("link", name="Join a study").click()
    page.get_by_label("The invitation").set_input_files(invitation)
    page.get_by_role("button", name="Open it").click()
    expect(page.locator("h1")).to_contain_text("north invites you")
    read = page.locator(".fingerprint").inner_text()
    page.get_by_label("I have compared").check()
    page.get_by_label("You are").select_option(party)
    page.get_by_label("Where partners reach you").fill(address)
    page.get_by_label("Folder for the study").fill("rows")
    page.get_by_role("button", name="Join, and make our keys").click()
    expect(page.get_by_text(f"We are {party}", exact=False).first).to_be_visible()
    return read


def add_card(page: Page, card: Path) -> None:
    page.get_by_label("A partner's card").set_input_files(card)
    page.get_by_role("button", name="Open the card").click()
    page.get_by_label("I have compared").check()
    page.get_by_role("button", name="Use this card").click()
    expect(page.locator("h1")).to_contain_text("with 2 partners")


def start_party(page: Page) -> None:
    page.locator("#run-data").select_option("rows.csv")
    page.get_by_role("button", name="Start our party").click()
    expect(page.locator("#run")).to_contain_text("waiting for")


def meet(folder: Path, stack: ExitStack) -> dict[str, Page]:
    """Three pages of parties that have exchanged their cards."""
    browser = stack.enter_context(browsing())
    ports = free_ports(NAMES)
    pages = {}
    for name in NAMES:
        (folder / name).mkdir()
        (folder / name / "rows.csv").write_text(rows(name))
        pages[name] = open_page(browser, stack.enter_context(serving(folder / name)).address)
    make_study(pages["north"], f"127.0.0.1:{ports['north']}")
    own = pages["north"].locator(".fingerprint").inner_text()
    invitation = save_card(pages["north"], folder / "invitation.covey", invitation=True)
    assert join(pages["south"], invitation, "south", f"127.0.0.1:{ports['south']}") == own
    assert join(pages["east"], invitation, "east", "") == own
    cards = {name: save_card(pages[name], folder / f"{name}.covey") for name in ("south", "east")}
    for name, page in pages.items():
        for other, card in cards.items():
            if other != name:
                add_card(page, card)
    return pages


@pytest.mark.thorough
@pytest.mark.timeout(900)
def test_three_browsers_from_tables_to_certificate(tmp_path: Path, covey: Covey) -> None:
    with ExitStack() as stack:
        pages = meet(tmp_path, stack)
        north = pages["north"]
        north.locator("#check-data").select_option("rows.csv")
        north.get_by_role("button", name="Check it").click()
        expect(north.get_by_text("Our table fits the study.")).to_be_visible()
        north.get_by_role("button", name="Make the plan").click()
        expect(north.get_by_text("What north will learn")).to_be_visible()
        for page in pages.values():
            start_party(page)
        for page in pages.values():
            page.get_by_role("link", name="Read the question and decide").click(timeout=WAIT)
            expect(page.locator("h1")).to_contain_text("be released?")
            page.get_by_label("I have read what will be opened").check()
            page.get_by_role("button", name="Yes, release it").click()
        for page in pages.values():
            page.get_by_role("link", name="Look at the release").click(timeout=WAIT)
        north.get_by_role("button", name="Audit the run").click()
        expect(north.get_by_text("transcript, signatures, ledger and summary hold")).to_be_visible()
        north.get_by_text("Erase the journal").click()
        north.get_by_role("button", name="Erase it").click()
        expect(north.get_by_text("can no longer be resumed")).to_be_visible()
    runs = [tmp_path / name / "rows" / "run-1" for name in NAMES]
    assert not (runs[0] / "journal").exists()
    released = {(run / "release.csv").read_bytes() for run in runs}
    assert len(released) == 1
    assert all((run / "certificate.json").is_file() for run in runs)
    data = [part for name in NAMES for part in ("--data", f"{name}={tmp_path / name / 'rows.csv'}")]
    out = tmp_path / "by-hand"
    called = covey("simulate", tmp_path / "north" / STUDY, *data, "--in-process", "--out", out)
    assert called.code == 0, called.err
    assert (out / "release.csv").read_bytes() in released, "the command line publishes the same bytes"


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_no_ends_the_run_for_everyone_and_a_run_that_was_stopped_goes_on(tmp_path: Path) -> None:
    with ExitStack() as stack:
        pages = meet(tmp_path, stack)
        start_party(pages["north"])
        pages["north"].locator("#run").get_by_role("button", name="Stop").click()
        expect(pages["north"].locator("#run")).to_contain_text("interrupted")
        pages["north"].locator("#run").get_by_role("button", name="Go on").click()
        for name in ("south", "east"):
            start_party(pages[name])
        pages["east"].get_by_role("link", name="Read the question and decide").click(timeout=WAIT)
        pages["east"].get_by_role("button", name="No, do not release it").click()
        for page in pages.values():
            expect(page.locator("#run")).to_contain_text("refused")
    for name in NAMES:
        assert not list((tmp_path / name / "rows").glob("run-*/release.csv"))
        assert list((tmp_path / name / "rows").glob("run-*/ledger.json")), "what was learned stands in the ledger"
