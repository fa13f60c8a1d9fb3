"""The report in a real browser: on a screen, on a phone, on paper; whole, at rest, and silent."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.browser.chromium import Page, browsing
from tests.browser.pages import NASTY, hostile
from tests.harness.tiers import few_first

import covey
from covey import samples
from covey.report import render

WIDTHS = (1280, 390)

# Text that is cut off, or drawn over other text: boxes of the smallest elements that hold text are compared. What
# can be moved aside may lie outside.
COLLISIONS = """
(() => {
  const boxes = [];
  for (const each of document.querySelectorAll('h1,h2,h3,p,li,dt,dd,pre,summary,.word,.tile div,table th,table td')) {
    if (each.querySelector('p,li,ul,div,table') || !each.textContent.trim() || !each.checkVisibility()) continue;
    const range = document.createRange();
    range.selectNodeContents(each);
    for (const box of range.getClientRects()) {
      if (box.width > 1) boxes.push([box.left, box.top, box.right, box.bottom, each.textContent.slice(0, 40), each]);
    }
  }
  const wrong = [];
  const width = document.documentElement.clientWidth;
  for (const box of boxes) {
    if ((box[2] > width + 1 || box[0] < -1) && !box[5].closest('.scroll')) wrong.push('outside: ' + box[4]);
  }
  boxes.sort((a, b) => a[1] - b[1]);
  for (let i = 0; i < boxes.length; i++) {
    for (let j = i + 1; j < boxes.length && boxes[j][1] < boxes[i][3]; j++) {
      const [a, b] = [boxes[i], boxes[j]];
      if (a[5] === b[5]) continue;
      const across = Math.min(a[2], b[2]) - Math.max(a[0], b[0]);
      const down = Math.min(a[3], b[3]) - Math.max(a[1], b[1]);
      if (across > 1 && down > 4) wrong.push(a[4] + ' over ' + b[4]);
    }
  }
  return wrong;
})()
"""


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with browsing() as found:
        yield found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pages: of the sample clinic, of a simulation of the hospitals, and hostile ones."""
    if shutil.which("chromium") is None:
        pytest.skip("chromium is not on this machine (scripts/install-system.sh installs it)")
    out = tmp_path_factory.mktemp("pages")
    clinic = samples.copy("clinic", out / "clinic")
    study = covey.Study.load(clinic / "study.toml")
    release = covey.anonymize(clinic / "clinic.csv", study, algorithm="mondrian")
    release.save(out / "owner")
    (out / "owner.html").write_bytes((out / "owner" / "report.html").read_bytes())
    (out / "hostile.html").write_text(render(hostile(200)))
    (out / "party.html").write_text(render(hostile(8, parties=[NASTY[1], NASTY[2], NASTY[3], NASTY[5]])))
    return out


NAMES = ("owner", "hostile", "party")


# Short words of sample rows that are broken inside.
BROKEN = """
(() => [...document.querySelectorAll('table.cells bdi')].filter(each => {
  const range = document.createRange();
  range.selectNodeContents(each);
  return !/\\s/.test(each.textContent) && each.textContent.length < 20 && range.getClientRects().length > 1;
}).map(each => each.textContent))()
"""


def test_sample_rows_on_a_phone_are_not_broken_inside_of_words(page: Page, folder: Path) -> None:
    page.show(folder / "owner.html", 390)
    assert page.ask("document.querySelectorAll('.scroll table.cells bdi').length > 50")
    assert page.ask(BROKEN) == []
    page.ask("for (const each of document.querySelectorAll('table.cells bdi')) each.style.width = '1rem'")
    page.ask("for (const each of document.querySelectorAll('table.cells bdi')) each.style.wordBreak = 'break-all'")
    assert page.ask(BROKEN) != []


@pytest.mark.parametrize("width", few_first(WIDTHS))
@pytest.mark.parametrize("name", NAMES)
def test_nothing_overflows_or_overlaps(page: Page, folder: Path, name: str, width: int) -> None:
    page.show(folder / f"{name}.html", width)
    assert page.ask("document.documentElement.scrollWidth") == width
    assert page.ask(COLLISIONS) == []


@pytest.mark.parametrize("name", NAMES)
def test_no_request_leaves_the_page_and_nothing_in_it_runs(page: Page, folder: Path, name: str) -> None:
    file = folder / f"{name}.html"
    page.complaints.clear()
    page.show(file, 1280, scripts=True)
    assert page.requests == [file.as_uri()]
    assert page.complaints == []
    assert str(page.ask("document.title")).endswith(": report")
    assert page.ask("document.scripts.length") == 0


def test_the_page_may_not_load_or_run_anything_even_if_something_got_in(page: Page, folder: Path) -> None:
    planted = folder / "planted.html"
    text = (folder / "owner.html").read_text()
    with socket.create_server(("127.0.0.1", 0)) as server:
        image = f"<img src='http://127.0.0.1:{server.getsockname()[1]}/x'>"
        planted.write_text(text.replace("</main>", f"<script>document.title='run'</script>{image}</main>"))
        page.complaints.clear()
        page.show(planted, 1280, scripts=True)
        assert page.ask("document.title") == "clinic: report"
        assert len(page.complaints) >= 2
        server.settimeout(0.2)
        with pytest.raises(TimeoutError):
            server.accept()


def test_text_that_is_drawn_over_other_text_would_be_found(page: Page, folder: Path) -> None:
    page.show(folder / "owner.html", 1280)
    page.ask("document.querySelector('h2').style.marginBottom = '-1.5rem'")
    assert page.ask(COLLISIONS) != []


def test_the_main_parts_are_on_the_page_and_the_answer_on_the_first_screen(page: Page, folder: Path) -> None:
    page.show(folder / "owner.html", 1280, 900)
    heads = page.ask("[...document.querySelectorAll('h2')].map(each => each.textContent)")
    assert heads == [
        "Rows of the release",
        "What each column lost",
        "How large the classes are",
        "The classes to look at first",
        "How likely a stranger is to find a person",
        "Each column before and after",
        "What another k would cost",
        "What it cost",
        "What others could learn from the run",
        "How to check it",
    ]
    assert page.ask("document.querySelector('.word').textContent") == "Yes"
    lowest = page.ask("document.querySelector('dl').getBoundingClientRect().bottom")
    assert isinstance(lowest, float | int)
    assert lowest < 900
    assert page.ask(
        "[...document.querySelectorAll('svg rect')].filter(r => r.getBoundingClientRect().width > 50).length"
    )


@pytest.mark.parametrize("name", ["owner", "party"])
def test_paper_has_the_whole_page(page: Page, folder: Path, name: str) -> None:
    page.show(folder / f"{name}.html", 700, paper=True)
    assert page.ask("document.documentElement.scrollWidth") == 700
    assert page.ask(COLLISIONS) == []


def test_before_and_after_differ_by_pattern_and_not_by_colour_alone(page: Page, folder: Path) -> None:
    page.show(folder / "owner.html", 1280)
    fills = page.ask(
        "[...new Set([...document.querySelectorAll('.card rect')].map(r => r.getAttribute('fill')))].sort()"
    )
    assert fills == ["#1f4e79", "url(#hatched)"]


@pytest.mark.slow
def test_the_demonstrations_pages_hold_on_a_screen_and_on_a_phone(page: Page, tmp_path: Path) -> None:
    demo = tmp_path / "demo"
    subprocess.run([Path(sys.executable).with_name("covey"), "demo", "--out", demo], check=True, capture_output=True)
    for file in (demo / "report.html", demo / "north" / "report.html"):
        for width in WIDTHS:
            page.show(file, width)
            assert page.ask("document.documentElement.scrollWidth") == width
            assert page.ask(COLLISIONS) == []
            assert page.requests == [file.as_uri()]
            assert page.ask("document.querySelector('.word').textContent") == "Yes"
            assert "all signatures hold" in str(page.ask("document.querySelector('dl').textContent"))
