"""Three parties, three workbenches, three browsers: from three CSV files to one release, its audit and certificate."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.conftest import Covey
from tests.consortium import free_ports
from tests.ui.reader import assert_readable
from tests.ui.test_one_owner import open_page
from tests.ui.workbench import SECONDS, Server, browsing, kill_job, serving

ONE_WORKER = "three workbenches and one browser serve all of them"
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
    expect(page.locator("h1")).to_contain_text("north invites you to the study")
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
    page.get_by_role("button", name=re.compile("Start our party|Start another run")).click()
    expect(page.locator("#run")).to_contain_text("running for")


@dataclass
class Consortium:
    """Three parties that have exchanged their cards, each with a workbench and a browser of its own."""

    folder: Path
    browser: Browser
    stack: ExitStack
    servers: dict[str, Server] = field(default_factory=dict)
    pages: dict[str, Page] = field(default_factory=dict)
    left: dict[str, str] = field(default_factory=dict)

    def open(self, name: str) -> None:
        """Starts a party's workbench, and lets its browser in."""
        self.servers[name] = self.stack.enter_context(serving(self.folder / name))
        self.pages[name] = open_page(self.browser, self.servers[name].address)

    def close_browser(self, name: str) -> None:
        """Closes a party's browser; it is let in again with the cookie that it keeps."""
        self.left[name] = self.pages[name].url
        self.pages[name].close()

    def open_browser(self, name: str) -> None:
        """Opens a party's browser where it was closed."""
        self.pages[name] = self.pages[name].context.new_page()
        self.pages[name].set_default_timeout(WAIT)
        self.pages[name].goto(self.left[name])

    def meet(self) -> None:
        """The study is written, joined and every card exchanged."""
        ports, pages = free_ports(NAMES), self.pages
        make_study(pages["north"], f"127.0.0.1:{ports['north']}")
        own = pages["north"].locator(".fingerprint").inner_text()
        invitation = save_card(pages["north"], self.folder / "invitation.covey", invitation=True)
        assert join(pages["south"], invitation, "south", f"127.0.0.1:{ports['south']}") == own
        assert join(pages["east"], invitation, "east", "") == own
        cards = {name: save_card(pages[name], self.folder / f"{name}.covey") for name in ("south", "east")}
        for name, page in pages.items():
            for other, card in cards.items():
                if other != name:
                    add_card(page, card)


@pytest.fixture(scope="module")
def met(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Consortium]:
    with gathered(tmp_path_factory.mktemp("consortium")) as made:
        yield made


@contextmanager
def gathered(folder: Path) -> Iterator[Consortium]:
    """Three parties that have met, as long as the block runs."""
    with ExitStack() as stack:
        made = Consortium(folder, stack.enter_context(browsing()), stack)
        for name in NAMES:
            (folder / name).mkdir()
            (folder / name / "rows.csv").write_text(rows(name))
            made.open(name)
        made.meet()
        yield made


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_run_that_was_stopped_and_killed_goes_on_and_a_no_ends_it_for_everyone(met: Consortium) -> None:
    pages = met.pages
    north = pages["north"].locator("#run")
    start_party(pages["north"])
    expect(north).to_contain_text("waiting for")
    north.get_by_role("button", name="Stop").click()
    expect(north).to_contain_text("interrupted")
    north.get_by_role("button", name="Go on").click()
    expect(north).to_contain_text("waiting for")
    kill_job(met.folder / "north", "run")
    expect(north).to_contain_text("ended without a word")
    north.get_by_role("button", name="Try again").click()
    for name in ("south", "east"):
        start_party(pages[name])
    for name in ("north", "east"):
        pages[name].get_by_role("link", name="Read the question and decide").click(timeout=WAIT)
    pages["north"].get_by_label("I have read what will be opened").check()
    pages["north"].get_by_role("button", name="Yes, release it").click()
    pages["east"].get_by_label("End the run for all parties").check()
    pages["east"].get_by_role("button", name="No, do not release it").click()
    expect(pages["east"].locator("#run")).to_contain_text("We refused")
    for name in ("north", "south"):
        expect(pages[name].locator("#run")).to_contain_text("Party 'east' refused the release")
        expect(pages[name].get_by_role("button", name="Start another run")).to_be_visible()
    pages["south"].get_by_role("link", name="look at it").click()
    expect(pages["south"].get_by_role("heading", name=re.compile("^What .* learned$")).first).to_be_visible()
    pages["south"].get_by_role("link", name="With partners").click()
    for name in NAMES:
        assert list((met.folder / name / "rows").glob("run-*/ledger.json")), "what was learned stands in the ledger"


@pytest.mark.thorough
@pytest.mark.timeout(900)
def test_three_browsers_from_tables_to_certificate(met: Consortium, covey: Covey, tmp_path: Path) -> None:
    """On the way a workbench is killed and a browser closed while their parties run: these go on."""
    pages = met.pages
    north = pages["north"]
    north.locator("#check-data").select_option("rows.csv")
    north.get_by_role("button", name="Check it").click()
    expect(north.get_by_text("Our table fits the study.")).to_be_visible()
    north.get_by_label("Rows that each party has").fill("40")
    north.get_by_role("button", name="Make the plan").click()
    expect(north.get_by_text("What north will learn")).to_be_visible()
    assert_readable(north)
    for name in ("north", "south"):
        start_party(pages[name])
    met.servers["north"].end(signal.SIGKILL)
    met.open("north")
    pages["north"].get_by_role("link", name="with partners").click()
    expect(pages["north"].locator("#run")).to_contain_text("running for")
    met.close_browser("south")
    start_party(pages["east"])
    expect(pages["east"].get_by_role("link", name="Read the question and decide")).to_be_visible()
    met.open_browser("south")
    for page in pages.values():
        assert_readable(page)
        page.get_by_role("link", name="Read the question and decide").click()
        expect(page.locator("h1")).to_contain_text("be released?")
        assert_readable(page)
        page.get_by_label("I have read what will be opened").check()
        page.get_by_role("button", name="Yes, release it").click()
    for page in pages.values():
        page.get_by_role("link", name="Look at the release").click(timeout=WAIT)
        expect(page.get_by_role("heading", name="Files")).to_be_visible()
        assert_readable(page)
    north = pages["north"]
    north.get_by_role("button", name="Audit the run").click()
    expect(north.get_by_text("transcript, signatures, ledger and summary hold")).to_be_visible()
    north.get_by_text("Erase the journal").click()
    north.get_by_role("button", name="Erase it").click()
    expect(north.get_by_text("can no longer be resumed")).to_be_visible()
    runs = [next((met.folder / name / "rows").glob("run-*/release.csv")).parent for name in NAMES]
    assert not (runs[0] / "journal").exists()
    released = {(run / "release.csv").read_bytes() for run in runs}
    assert len(released) == 1
    assert all((run / "certificate.json").is_file() for run in runs)
    data = [part for name in NAMES for part in ("--data", f"{name}={met.folder / name / 'rows.csv'}")]
    called = covey("simulate", met.folder / "north" / STUDY, *data, "--in-process", "--out", tmp_path / "by-hand")
    assert called.code == 0, called.err
    assert (tmp_path / "by-hand" / "release.csv").read_bytes() in released, "the command line publishes the same bytes"
