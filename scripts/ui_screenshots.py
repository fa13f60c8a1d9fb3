"""Makes the pictures of docs/ui.md: drives the workbench through a table, trials and a joint run, as a person would.

python scripts/ui_screenshots.py [FOLDER]  writes the pictures of the page to docs/images; with FOLDER it writes
every page there instead, at both widths, light and dark.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, expect

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.consortium import free_ports  # noqa: E402
from tests.ui.test_collection import PILOT  # noqa: E402
from tests.ui.test_collection import make_study as make_collection  # noqa: E402
from tests.ui.test_one_owner import open_page  # noqa: E402
from tests.ui.test_three_parties import gathered, start_party  # noqa: E402
from tests.ui.workbench import SECONDS, browsing, serving  # noqa: E402

from covey import samples  # noqa: E402

WAIT = SECONDS * 4000
IMAGES = ROOT / "docs" / "images"
_HEIGHTS = {"ui-trials": 1176, "ui-hierarchy": 900}


class Camera:
    """Takes the pictures that are wanted."""

    def __init__(self, gallery: Path | None) -> None:
        self.gallery = gallery

    def shoot(self, page: Page, name: str, *, image: str = "") -> None:
        """Takes a picture of a page; `kept` is its name in the documentation."""
        if self.gallery is not None:
            for width, scheme in ((1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")):
                _look(page, width, 860, scheme)
                page.screenshot(path=self.gallery / f"{name}-{width}-{scheme}.png", full_page=True)
            _look(page, 1280, 860, "light")
        elif image:
            wide = image != "ui-phone"
            _look(page, 1080 if wide else 390, _HEIGHTS.get(image, 720), "light" if wide else "dark")
            page.evaluate("scrollTo(0, 0)")
            page.screenshot(path=IMAGES / f"{image}.png")
            _look(page, 1280, 860, "light")


def _look(page: Page, width: int, height: int, scheme: str) -> None:
    page.set_viewport_size({"width": width, "height": height})
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")


def one_owner(camera: Camera, folder: Path) -> None:
    """A table, its columns, trials, and the choice."""
    shutil.copy(samples.path("clinic") / "clinic.csv", folder)
    with browsing() as browser, serving(folder) as server:
        page = open_page(browser, server.address)
        camera.shoot(page, "start")
        page.get_by_role("link", name="clinic.csv").click()
        expect(page.locator("h1")).to_contain_text("What are the columns", timeout=WAIT)
        for name, role in (("stay", "sensitive"), ("invoice", "left out"), ("admission", "plain")):
            page.get_by_role("group", name=name).get_by_role("radio", name=role).check()
        expect(page.locator("#together-live")).to_contain_text("in the 5 columns", timeout=WAIT)
        camera.shoot(page, "columns", image="ui-columns")
        camera.shoot(page, "columns", image="ui-phone")
        page.get_by_role("button", name="Make the study").click()
        camera.shoot(page, "study")
        page.get_by_role("link", name="Hierarchies", exact=True).click()
        camera.shoot(page, "hierarchies")
        page.locator("ul.rows a").nth(1).click()
        camera.shoot(page, "hierarchy", image="ui-hierarchy")
        page.get_by_role("link", name="Try it").click()
        for number, k in enumerate((5, 10, 25), 1):
            page.get_by_label("k", exact=True).fill(str(k))
            page.get_by_role("button", name="Try this").click()
            expect(page.get_by_role("link", name=f"Look at trial {number}")).to_be_visible(timeout=WAIT)
            expect(page.locator(".job.running")).to_have_count(0, timeout=WAIT)
        camera.shoot(page, "trials", image="ui-trials")
        page.get_by_role("link", name="Look at trial 2").click()
        camera.shoot(page, "trial")
        page.get_by_role("button", name="Choose this one").click()
        camera.shoot(page, "release")
        page.get_by_role("button", name="Have it judged").click()
        expect(page.get_by_text("yes, the release keeps")).to_be_visible(timeout=WAIT)
        camera.shoot(page, "judged")
        if camera.gallery is not None:
            _other_pages(camera, page)


def _other_pages(camera: Camera, page: Page) -> None:
    """Pages that the documentation does not show."""
    page.get_by_role("link", name="Try it").click()
    page.get_by_text("Weights, algorithm and seed").click()
    camera.shoot(page, "controls")
    page.get_by_role("link", name="Hierarchies", exact=True).click()
    page.get_by_role("link", name="age", exact=True).click()
    page.get_by_text("Numbers in steps").click()
    page.get_by_label("Widths of the steps").fill("10 20")
    expect(page.get_by_role("button", name="Use this one")).to_be_visible()
    camera.shoot(page, "wizard")
    page.get_by_role("link", name="With partners").click()
    for label in ("Rows are split", "Columns are split", "People answer themselves"):
        page.get_by_role("link", name=label).click()
        camera.shoot(page, f"joint-{label.split()[0].lower()}")
    page.get_by_role("link", name="Join a study").click()
    camera.shoot(page, "join")
    page.get_by_role("link", name="Jobs").click()
    camera.shoot(page, "jobs")
    page.get_by_role("link", name="Details").first.click()
    camera.shoot(page, "job")
    page.goto(page.url.rsplit("/", 1)[0] + "/table?data=nothing.csv")
    camera.shoot(page, "error")
    page.goto(page.url.rsplit("/", 1)[0] + "/")
    camera.shoot(page, "folder")


def together(camera: Camera, folder: Path) -> None:
    """Three parties up to the question."""
    with gathered(folder) as consortium:
        pages = consortium.pages
        if camera.gallery is not None:
            _invited(camera, pages["north"], folder / "invitation.covey")
        camera.shoot(pages["north"], "partners", image="ui-partners")
        for page in pages.values():
            start_party(page)
        east = pages["east"]
        camera.shoot(east, "running")
        east.get_by_role("link", name="Read the question and decide").click(timeout=WAIT)
        camera.shoot(east, "decide", image="ui-decide")
        east.get_by_label("End the run for all parties").check()
        east.get_by_role("button", name="No, do not release it").click()
        expect(east.locator("#run")).to_contain_text("refused", timeout=WAIT)
        camera.shoot(east, "refused")


def _invited(camera: Camera, page: Page, invitation: Path) -> None:
    """The pages of an invitation, and of a card that is to be compared."""
    address = page.url
    page.get_by_role("link", name="Join a study").click()
    page.get_by_label("The invitation").set_input_files(invitation)
    page.get_by_role("button", name="Open it").click()
    camera.shoot(page, "invited")
    page.goto(address)
    page.get_by_text("A partner has changed the study").click()
    page.get_by_label("A partner's card or invitation").set_input_files(invitation)
    page.get_by_role("button", name="Open the card").click()
    camera.shoot(page, "compare")
    page.goto(address)


def collection(camera: Camera, folder: Path) -> None:
    """A collection that has begun; the documentation does not show it."""
    if camera.gallery is None:
        return
    (folder / "pilot.csv").write_text(PILOT)
    with browsing() as browser, serving(folder) as server:
        page = open_page(browser, server.address)
        make_collection(page, f"127.0.0.1:{free_ports(['office'])['office']}")
        camera.shoot(page, "collection-partners")
        page.get_by_role("link", name="invite them and collect").click()
        expect(page.get_by_role("heading", name="Invite people")).to_be_visible()
        camera.shoot(page, "collection")


def main(gallery: Path | None) -> None:
    """Takes all pictures."""
    IMAGES.mkdir(exist_ok=True)
    if gallery is not None:
        gallery.mkdir(parents=True, exist_ok=True)
    camera = Camera(gallery)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        for name, make in (("clinic-data", one_owner), ("parties", together), ("survey", collection)):
            (Path(folder) / name).mkdir()
            make(camera, Path(folder) / name)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
