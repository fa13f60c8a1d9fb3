"""One owner's whole way in a real browser, from a CSV file to a release, with the command line's files."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Dialog, Page, expect
from tests.conftest import Covey
from tests.ui.reader import assert_readable, choose, press, write
from tests.ui.workbench import SECONDS, Server, browsing, halted, start, stop_jobs

from covey.ui.jobs import Jobs

ONE_WORKER = "one workbench and one browser serve all of them"
TOWNS = ("Bonn", "<i>Ulm</i>", "=1+1")
ROWS = "".join(
    f"p{n},{20 + n * 7 % 50},{'FM'[n % 2]},{TOWNS[n % 3]},{('flu', 'none', 'gout')[n * 5 % 7 % 3]}\n"
    for n in range(120)
)
TABLE = f"patient_id,age,sex,town,diagnosis\n{ROWS}"
HOSTILE = "<script>alert(1)</script>"


def open_page(browser: Browser, address: str, wide: int = 1280) -> Page:
    page = browser.new_context(viewport={"width": wide, "height": 900}).new_page()
    page.set_default_timeout(SECONDS * 1000)
    page.goto(address)
    expect(page.locator("h1")).to_contain_text("What is in")
    return page


def without_time(text: str) -> str:
    """Figures that depend on the clock are the only ones that may differ."""
    return re.sub(r'"seconds": [\d.]+|took [\d.]+ s', "", text)


@dataclass
class Owner:
    """A steward with a folder, a workbench and a browser."""

    folder: Path
    browser: Browser
    server: Server
    page: Page
    foreign: list[str] = field(default_factory=list)
    """What the browser asked other machines for."""

    def __post_init__(self) -> None:
        self.page.context.on("request", lambda request: self._note(request.url))

    def _note(self, address: str) -> None:
        if "://127.0.0.1:" not in address:
            self.foreign.append(address)

    def come_back(self) -> None:
        """The browser is closed and the workbench killed; both are started again."""
        self.page.context.close()
        self.server.end(signal.SIGKILL)
        self.server = start(self.folder)
        self.page = open_page(self.browser, self.server.address)
        self.__post_init__()


@pytest.fixture(scope="module")
def owner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Owner]:
    folder = tmp_path_factory.mktemp("by-page")
    (folder / "visits.csv").write_text(TABLE)
    (folder / "odd.csv").write_text(f"{HOSTILE},town\n" + "".join(f"{HOSTILE}{n % 5},Bonn\n" for n in range(60)))
    with browsing() as browser:
        server = start(folder)
        made = Owner(folder, browser, server, open_page(browser, server.address))
        try:
            yield made
        finally:
            made.server.end()
            stop_jobs(folder)


@pytest.mark.thorough
@pytest.mark.timeout(600)
def test_from_a_table_to_a_release_by_the_keyboard_with_the_command_lines_files(
    owner: Owner, tmp_path: Path, covey: Covey
) -> None:
    """The mouse is not used. While the trial runs the browser is closed and the server killed: it goes on."""
    page = owner.page
    assert_readable(page)
    press(page, page.get_by_role("link", name="visits.csv"))
    expect(page.locator("h1")).to_contain_text("What are the columns")
    expect(page.get_by_text("are the only ones with their values")).to_be_visible()
    assert_readable(page)
    choose(page, page.get_by_role("group", name="town").get_by_role("radio", name="plain"))
    assert page.locator("main i").count() == 0, "cells are text"
    press(page, page.get_by_role("button", name="Make the study"))
    expect(page.get_by_role("status")).to_contain_text("visits/study.toml")
    assert_readable(page)
    limit = page.get_by_label("l of diagnosis")
    expect(page.locator("#share-0")).to_have_text(f"{1 / float(limit.input_value()):.1%}")
    write(page, limit, "4")
    expect(page.locator("#share-0")).to_have_text("25%")
    press(page, page.get_by_role("link", name="Hierarchies", exact=True))
    expect(page.locator("h1")).to_contain_text("Hierarchies")
    press(page, page.get_by_role("link", name="sex"))
    expect(page.locator("h1")).to_contain_text("Hierarchy of sex")
    assert_readable(page)
    write(page, page.get_by_label("Add a value"), "X")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_contain_text("Added")
    press(page, page.get_by_role("button", name="Undo: Add"))
    expect(page.get_by_role("status")).to_contain_text("Undone")
    press(page, page.get_by_role("link", name="Try it"))
    expect(page.locator("h1")).to_contain_text("Try the study")
    write(page, page.get_by_label("k", exact=True), "8")
    press(page, page.get_by_role("button", name="Try this"))
    expect(page.locator(".job.running")).to_be_visible()
    assert page.get_by_label("k", exact=True).input_value() == "8", "the controls keep what was tried"
    with halted(owner.folder, "trial"):
        owner.come_back()
        page = owner.page
        press(page, page.get_by_role("link", name="visits/study.toml", exact=True))
        expect(page.locator(".job.running")).to_be_visible()
    expect(page.get_by_role("heading", name="Trials side by side")).to_be_visible()
    expect(page.get_by_text("yes, it keeps what is asked")).to_be_visible()
    assert_readable(page)
    press(page, page.get_by_role("link", name="Look at trial 1"))
    expect(page.get_by_role("heading", name="Groups before and after")).to_be_visible()
    assert_readable(page)
    page.get_by_text("On the command line").click()
    shown = page.locator(".same code").inner_text()
    press(page, page.get_by_role("button", name="Choose this one"))
    expect(page.get_by_role("status")).to_contain_text("This is the release now")
    assert_readable(page)
    press(page, page.get_by_role("button", name="Have it judged"))
    expect(page.get_by_text("yes, the release keeps all that the study asks")).to_be_visible()
    assert_readable(page)
    assert owner.foreign == []
    assert shown == "covey anonymize visits/trial-1.toml --data visits.csv --out visits/trial-1 --explain"
    _same_by_hand(owner.folder, tmp_path, covey)


def _same_by_hand(folder: Path, other: Path, covey: Covey) -> None:
    """The commands that the pages showed, typed: every file is the same but for the seconds that it took."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(other)
        (other / "visits.csv").write_text(TABLE)
        assert covey("new", "visits.csv", "--role", "town=plain", "--out", "visits/study.toml").code == 0
        assert (folder / "visits" / "trial-1.toml").read_text().replace("k = 8\n", "") in (
            (folder / "visits" / "study.toml").read_text().replace("k = 8\n", ""),
        )
        asked = covey("anonymize", "visits/study.toml", "--data", "visits.csv", "--k", "8", "--out", "out", "--explain")
        assert asked.code == 0, asked.err
    ours, theirs = folder / "visits" / "release", other / "out"
    cells = [cell.strip('"') for line in (ours / "release.csv").read_text().splitlines() for cell in line.split(",")]
    assert "'=1+1" in cells
    assert not any(cell.startswith(("=", "+", "@")) for cell in cells), "a spreadsheet runs nothing of it"
    names = sorted(path.relative_to(theirs).as_posix() for path in theirs.rglob("*") if path.is_file())
    assert names == sorted(path.relative_to(ours).as_posix() for path in ours.rglob("*") if path.is_file())
    for name in names:
        if name in ("report.html", "summary.json"):
            assert without_time((ours / name).read_text()) == without_time((theirs / name).read_text()), name
        else:
            assert (ours / name).read_bytes() == (theirs / name).read_bytes(), name
        assert (ours / name).stat().st_mode == (theirs / name).stat().st_mode, name


@pytest.mark.thorough
@pytest.mark.timeout(600)
def test_another_site_cannot_post_and_names_do_not_run(owner: Owner) -> None:
    """A page of another port, in the browser that is let in: it has the cookie and the token, and gets nothing done."""
    page = owner.page.context.new_page()
    alarms: list[str] = []

    def alarmed(dialog: Dialog) -> None:
        alarms.append(dialog.message)
        dialog.dismiss()

    page.on("dialog", alarmed)
    base = owner.page.url.split("/", 4)
    here = "/".join(base[:4])
    page.goto(f"{here}/table?data=odd.csv")
    expect(page.locator("h1")).to_contain_text("What are the columns", timeout=SECONDS * 1000)
    expect(page.locator("legend").first).to_contain_text(HOSTILE)
    token = page.locator("input[name=token]").first.get_attribute("value")
    evil = (
        f'<form method="post" action="{here}/source"><input name="token" value="{token}">'
        '<input name="url" value="postgres://reader@host/db?table=x"></form><script>document.forms[0].submit()</script>'
    )
    page.route("**/evil", lambda route: route.fulfill(body=evil, content_type="text/html"))
    page.goto("http://127.0.0.1:9/evil")
    page.wait_for_selector("text=Refused")
    assert alarms == []
    page.close()
    assert "postgres" not in "".join(file.read_text() for file in owner.folder.glob(".covey-ui/notes.json"))


def test_a_job_keeps_no_pipe_of_the_server_open_and_does_not_end_with_its_terminal(tmp_path: Path) -> None:
    """`covey ui | tee log` ends when the workbench does, whatever still runs; and what runs outlives its terminal."""
    program = (
        "import sys; from pathlib import Path; from covey.ui.jobs import Jobs; "
        "Jobs(Path(sys.argv[1]), Path(sys.argv[1]) / 'jobs').start('sleep', 'Waiting', '', [['sleep', '600']])"
    )
    try:
        server = subprocess.Popen(
            [sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, start_new_session=True
        )
        assert server.communicate(timeout=SECONDS)[0] == b""
        assert server.returncode == 0
        with contextlib.suppress(ProcessLookupError):
            os.killpg(server.pid, signal.SIGKILL)  # all that is left of its terminal
        time.sleep(0.1)
        assert [job.state for job in Jobs(tmp_path, tmp_path / "jobs").all()] == ["running"]
    finally:
        stop_jobs(tmp_path, "jobs")


def test_a_job_that_is_stopped_ends_and_says_so(tmp_path: Path) -> None:
    jobs = Jobs(tmp_path, tmp_path / "jobs")
    job = jobs.start("sleep", "Waiting", "nothing", [[shutil.which("sleep") or "sleep", "60"]])
    assert jobs.find(job.id).state == "running"
    ends = time.monotonic() + SECONDS
    while jobs.find(job.id).state == "running":
        jobs.stop(job.id)
        assert time.monotonic() < ends
        time.sleep(0.05)
    assert jobs.find(job.id).state == "stopped"
    assert Jobs(tmp_path, tmp_path / "jobs").find(job.id).state == "stopped", "another server reads the same"
