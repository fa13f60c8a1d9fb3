"""One owner's whole way in a real browser, from a CSV file to a release, with the command line's files."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Dialog, Page, expect
from tests.conftest import Covey
from tests.ui.workbench import SECONDS, browsing, serving, start, stop_jobs

ROWS = "".join(
    f"p{n},{20 + n * 7 % 50},{'FM'[n % 2]},{('Bonn', 'Ulm', 'Kiel')[n % 3]},{('flu', 'none', 'gout')[n * 5 % 7 % 3]}\n"
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


@pytest.mark.thorough
@pytest.mark.timeout(600)
def test_from_a_table_to_a_release_with_the_command_lines_files(tmp_path: Path, covey: Covey) -> None:
    folder, other = tmp_path / "by-page", tmp_path / "by-hand"
    for each in (folder, other):
        each.mkdir()
        (each / "visits.csv").write_text(TABLE)
    with browsing() as browser, serving(folder) as server:
        page = open_page(browser, server.address)
        foreign: list[str] = []
        page.on("request", lambda request: foreign.append(request.url) if "127.0.0.1" not in request.url else None)
        page.get_by_role("link", name="visits.csv").click()
        expect(page.locator("h1")).to_contain_text("What are the columns")
        expect(page.get_by_text("are the only ones with their values")).to_be_visible()
        page.get_by_role("group", name="town").get_by_role("radio", name="plain").check()
        page.get_by_role("button", name="Make the study").click()
        expect(page.get_by_role("status")).to_contain_text("visits/study.toml")
        page.get_by_label("k", exact=True).fill("8")
        page.get_by_role("button", name="Try this").click()
        expect(page.get_by_role("heading", name="Trials side by side")).to_be_visible()
        assert page.get_by_label("k", exact=True).input_value() == "8", "the controls keep what was tried"
        expect(page.get_by_text("yes, it keeps what is asked")).to_be_visible()
        page.get_by_role("link", name="Look at trial 1").click()
        expect(page.get_by_role("heading", name="Groups before and after")).to_be_visible()
        page.get_by_text("On the command line").click()
        shown = page.locator(".same code").inner_text()
        page.get_by_role("button", name="Choose this one").click()
        expect(page.get_by_role("status")).to_contain_text("This is the release now")
        page.get_by_role("button", name="Have it judged").click()
        expect(page.get_by_text("yes, the release keeps all that the study asks")).to_be_visible()
        assert foreign == []
    assert shown == "covey anonymize visits/trial-1.toml --data visits.csv --out visits/trial-1 --explain"
    _same_by_hand(folder, other, covey)


def _same_by_hand(folder: Path, other: Path, covey: Covey) -> None:
    """The commands that the pages showed, typed: every file is the same but for the seconds that it took."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(other)
        assert covey("new", "visits.csv", "--role", "town=plain", "--out", "visits/study.toml").code == 0
        assert (folder / "visits" / "trial-1.toml").read_text().replace("k = 8\n", "") in (
            (folder / "visits" / "study.toml").read_text().replace("k = 8\n", ""),
        )
        asked = covey("anonymize", "visits/study.toml", "--data", "visits.csv", "--k", "8", "--out", "out", "--explain")
        assert asked.code == 0, asked.err
    ours, theirs = folder / "visits" / "release", other / "out"
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
def test_another_site_cannot_post_and_names_do_not_run(tmp_path: Path) -> None:
    """A page of another port, in the browser that is let in: it has the cookie's site, and still gets nothing done."""
    folder = tmp_path / "folder"
    folder.mkdir()
    quoted = HOSTILE.replace('"', '""')
    (folder / "odd.csv").write_text(f'"{quoted}",town\n' + "".join(f'"{quoted}{n % 5}",Bonn\n' for n in range(60)))
    with browsing() as browser, serving(folder) as server, serving(_site(tmp_path)) as second:
        page = open_page(browser, server.address)
        alarms: list[str] = []

        def alarmed(dialog: Dialog) -> None:
            alarms.append(dialog.message)
            dialog.dismiss()

        page.on("dialog", alarmed)
        page.get_by_role("link", name="odd.csv").click()
        expect(page.locator("h1")).to_contain_text("What are the columns")
        expect(page.locator("legend").first).to_contain_text(HOSTILE)
        prefix = "/" + page.url.split("/")[3]
        attacker = page.context.new_page()
        attacker.goto(second.address)
        attacker.wait_for_selector("h1")
        evil = _evil(server.address, prefix)
        attacker.route("**/evil", lambda route: route.fulfill(body=evil, content_type="text/html"))
        attacker.goto(second.address.split("/enter")[0] + "/evil")
        attacker.wait_for_selector("text=Refused")
        assert alarms == []
    assert not (folder / ".covey-ui" / "notes.json").exists()


def _site(tmp_path: Path) -> Path:
    (tmp_path / "site").mkdir()
    return tmp_path / "site"


def _evil(address: str, prefix: str) -> str:
    there = address.split("/enter", maxsplit=1)[0] + prefix + "/source"
    field = '<input name="url" value="postgres://reader@host/db?table=x">'
    return f'<form method="post" action="{there}">{field}</form><script>document.forms[0].submit()</script>'


@pytest.mark.thorough
@pytest.mark.timeout(600)
def test_a_job_outlives_the_server_and_is_found_again(tmp_path: Path) -> None:
    """The server is killed while a table is read; another one finds the job, and then its result."""
    (tmp_path / "visits.csv").write_text(TABLE)
    first = start(tmp_path)
    try:
        assert "Reading" in first.client.get("/table", data="visits.csv").text
        first.end(signal.SIGKILL)
        job = json.loads(next(tmp_path.glob(".covey-ui/jobs/*/job.json")).read_text())
        with serving(tmp_path) as second:
            assert job["title"] in second.client.get("/jobs").text
            page = second.client.wait_for("What are the columns", "/table", data="visits.csv")
            assert len(list(tmp_path.glob(".covey-ui/jobs/*"))) <= 2, "it was not started again"
            assert "diagnosis" in page.text
    finally:
        stop_jobs(tmp_path)


def test_a_job_keeps_no_pipe_of_the_server_open(tmp_path: Path) -> None:
    """`covey ui | tee log` ends when the workbench does, whatever still runs."""
    program = (
        "import sys; from pathlib import Path; from covey.ui.jobs import Jobs; "
        "Jobs(Path(sys.argv[1]), Path(sys.argv[1]) / 'jobs').start('sleep', 'Waiting', '', [['sleep', '600']])"
    )
    try:
        subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, timeout=SECONDS, check=True)
    finally:
        stop_jobs(tmp_path, "jobs")


def test_a_job_that_is_stopped_ends_and_says_so(tmp_path: Path) -> None:
    from covey.ui.jobs import Jobs

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
