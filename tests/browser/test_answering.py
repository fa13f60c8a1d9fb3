"""People answer in a browser, others by the command line; the release is a trusted party's."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from tests.browser.people import PHONE, agree, answer, browsing, fill, reached, receipt_of, visiting
from tests.collection.peeling_town import BrowserTown, come, serving
from tests.collection.town import Running, collecting, record_of
from tests.harness.clock import on_real_clock
from tests.harness.versions import another_build

from covey.party.audit.folders import audit
from covey.party.collection import receipts
from covey.party.collection.enrolment import EnrolmentDesk
from covey.party.collection.page import build
from covey.party.collection.register import Ended, Opened, Register, moment
from covey.party.collection.trustee import DONE
from covey.party.collection.web import Web, WebTask
from covey.protocols import peel
from covey.wire.contact import Address

pytestmark = [pytest.mark.timeout(300), pytest.mark.thorough]


async def finished(town: BrowserTown, running: Running) -> None:
    """The trustees evaluate the answers, and the release is made."""
    async with serving(town) as staying:
        await running.task
        assert await asyncio.gather(*staying) == [DONE] * 3


def assert_counted(town: BrowserTown, kept: Sequence[Mapping[str, object]]) -> None:
    """Asserts that each of these receipts holds, and that its answer is on the board."""
    board = town.out / "board.json"
    assert [receipts.check(town.study, town.keys.certificate, each, board) for each in kept] == [None] * len(kept)


@on_real_clock
async def test_people_in_browsers_and_at_the_command_line_have_the_release_of_a_trusted_party(tmp_path: Path) -> None:
    town = BrowserTown(tmp_path)
    links = town.links(8)
    async with browsing() as browser, collecting(town, 8) as running:
        come(town, running)
        for place in (0, 1):
            await town.delivery(place, links[place]).deliver()
        async with visiting(browser, links[2]) as closed:  # closed before anything was sent: the link still works
            await fill(closed, record_of(5))
        kept = [await answer(browser, links[place], record_of(place)) for place in (2, 3, 4)]

        # closed after sending, before the receipt: the same link in the same browser sends the same bytes once more
        context = await browser.new_context()
        page = await context.new_page()
        await page.goto(links[5])
        await page.route("**/api/deliver", lambda route: route.abort())
        await fill(page, record_of(5))
        await agree(page)
        await reached(page, "waiting")
        stored = await page.evaluate("Object.values(localStorage).join()")
        assert '"letter"' in stored
        assert not any(f'"{value}"' in stored for value in record_of(5).values()), "answers are kept nowhere"
        await page.close()
        page = await context.new_page()
        await page.goto(links[5])
        await reached(page, "receipt")
        kept.append(await receipt_of(page))
        await page.reload()
        await reached(page, "receipt")
        assert await receipt_of(page) == kept[-1]
        await page.locator("#check").click()
        await page.get_by_text("The board is not published yet").wait_for()
        await page.evaluate("localStorage.clear()")
        await page.reload()
        await reached(page, "used")

        # an offline moment: the page goes on by itself
        await context.set_offline(True)
        other = await context.new_page()
        await context.set_offline(False)
        await other.goto(links[6])
        await fill(other, record_of(6))
        await context.set_offline(True)
        await agree(other)
        await reached(other, "waiting")
        await context.set_offline(False)
        await reached(other, "receipt")
        kept.append(await receipt_of(other))

        # the same file from a disk
        saved = tmp_path / "page.html"
        saved.write_bytes(build(town.study))
        token = links[7].partition("#")[2]
        async with visiting(browser, saved.as_uri() + "#" + token) as disk:
            await fill(disk, record_of(7))
            await agree(disk)
            await reached(disk, "receipt")
            kept.append(await receipt_of(disk))
            await finished(town, running)
        await context.close()
    assert (town.out / "release.csv").read_bytes() == town.ideal(8)
    assert not [sentence for each in audit([town.out]) for sentence in each.wrong]
    assert all(
        receipts.check(town.study, town.keys.certificate, each, town.out / "board.json") is None for each in kept
    )


@on_real_clock
async def test_the_page_says_what_is_wrong_and_why_it_takes_no_answer(tmp_path: Path) -> None:
    town = BrowserTown(tmp_path)
    links, late = town.links(4), town.links(1, days=-1)
    pictures, saved = tmp_path / "pictures", tmp_path / "newer.html"
    with another_build(peel, peel.RESPONDENTS.version + 1):
        saved.write_bytes(build(town.study))
    async with browsing() as browser, collecting(town, 3) as running:
        come(town, running)
        async with visiting(browser, links[3], PHONE) as page:
            await reached(page, "form")
            wide = "document.documentElement.scrollWidth <= innerWidth"
            assert await page.evaluate(wide), "nothing is cut off on a phone"
            await page.locator("button.send").click()
            wrong = page.locator("#summary [role=alert]")
            assert await wrong.locator("li").count() == 4, "three questions and the consent"
            assert await page.locator("[aria-invalid=true]").count() == 3
            await fill(page, {"age": "99"})
            await page.locator("button.send").click()
            assert await page.locator("#q0-wrong").inner_text() == "Please give a number from 0 to 31."
            assert await page.evaluate(wide)
            await page.screenshot(path=pictures / "form.png", full_page=True)
        first = await answer(browser, links[0], record_of(0))
        for link, name in (
            (links[0], "used"),
            (late[0], "expired"),
            (links[1].replace(f"{town.web}/", saved.as_uri()), "version"),
            (town.web, "invitation"),
            (f"{town.web}/#{'x' * 40}", "invitation"),
            (links[1][:-30] + "A" * 30, "invitation"),
        ):
            async with visiting(browser, link, PHONE) as page:
                await reached(page, name)
        async with visiting(browser, town.web) as page:  # an invitation that is typed in
            await page.locator("#invitation").fill(links[1])
            await page.locator("button.send").click()
            await fill(page, record_of(1))
            await agree(page)
            await reached(page, "receipt")
            await page.emulate_media(media="print")
            await page.screenshot(path=pictures / "receipt.png", full_page=True)
        async with visiting(browser, links[2]) as page:
            await fill(page, record_of(2))
            await town.delivery(2, town.invite(1)[0]).deliver()
            await running.begun()
            await agree(page)
            await reached(page, "full")
        async with visiting(browser, links[3]) as page:
            await reached(page, "full")
        assert len(running.collection.register.held.answers) == 3
    assert first["line"] in json.loads((town.out / "board.json").read_text())["lines"]


@pytest.mark.slow
@on_real_clock
async def test_when_all_is_over_people_still_check_their_receipts(tmp_path: Path) -> None:
    town = BrowserTown(tmp_path)
    links = town.links(4)
    async with browsing() as browser:
        context = await browser.new_context(locale="de-AT")
        page = await context.new_page()
        async with collecting(town, 3) as running:
            come(town, running)
            for place in (1, 2):
                await town.delivery(place, links[place]).deliver()
            await page.goto(links[0])
            await fill(page, record_of(0))
            await agree(page)
            await reached(page, "receipt")
            await finished(town, running)
        register = Register.open(town.out, Opened(town.study.study_hash, 0, 0, moment()))
        desk = EnrolmentDesk.of(town.study, town.keys, register, town.out)
        web = Web(town.study, desk, lambda said: None)
        assert isinstance(register.held.ended, Ended)
        async with web.open(WebTask(Address("127.0.0.1", town.web_port)), None, Path(), town.keys):
            await page.reload()
            await reached(page, "receipt")
            await page.locator("#check").click()
            await page.get_by_text("Your answer is on the board").wait_for()
            board = town.out / "board.json"
            shown = json.loads(board.read_text())
            receipt = await receipt_of(page)
            board.write_text(
                json.dumps({**shown, "lines": [each for each in shown["lines"] if each != receipt["line"]]})
            )
            await page.locator("#check").click()
            await page.get_by_text("not what the organiser signed").wait_for()
            await page.goto(links[3])
            await reached(page, "over")
        register.close()
        await context.close()


LANGUAGES = """
[columns.age]
role = "quasi"
hierarchy = { min = 0, max = 31, steps = [4, 8, 16] }
label = { de = "Wie alt sind Sie?", en = "How old are you?" }
[columns.sex]
role = "quasi"
hierarchy = "flat"
values = ["F", "M"]
label = { de = "Geschlecht", en = "Sex" }
answers.de = { F = "weiblich", M = "männlich" }
[columns.mood]
role = "sensitive"
values = ["good", "fair", "bad"]
label.de = "Wie geht es Ihnen? </script><script>document.title='run'</script>"
answers.de = { good = "gut", fair = "mäßig", bad = "schlecht" }
"""


@on_real_clock
async def test_the_page_speaks_the_languages_of_the_study_and_keeps_what_was_answered(tmp_path: Path) -> None:
    town = BrowserTown(tmp_path, columns=LANGUAGES)
    (link,) = town.links(1)
    async with browsing() as browser, collecting(town, 3) as running:
        come(town, running)
        async with visiting(browser, link, language="de-CH") as page:
            complaints: list[str] = []
            page.on("console", lambda said: complaints.append(said.text))
            await reached(page, "form")
            assert await page.evaluate("document.documentElement.lang") == "de"
            await page.get_by_text("Wie alt sind Sie?").first.wait_for()
            assert "männlich" in await page.locator('[data-question="sex"]').inner_text()
            assert "Keine Angabe" in await page.locator('[data-question="sex"]').inner_text()
            await fill(page, {"age": "7", "sex": "F", "mood": None})
            await page.get_by_role("button", name="English").click()
            await page.get_by_text("How old are you?").first.wait_for()
            assert await page.locator("#q0").input_value() == "7"
            await agree(page)
            await reached(page, "receipt")
            assert await page.title() == "mood"
            assert not complaints
        assert len(running.collection.register.held.answers) == 1


@pytest.mark.slow
@on_real_clock
async def test_twenty_browsers_and_thirty_at_the_command_line(tmp_path: Path) -> None:
    town = BrowserTown(tmp_path)
    links = town.links(50)
    async with browsing() as browser, collecting(town, 50, phase_seconds=300.0) as running:
        come(town, running)
        for place in range(20, 50):
            await town.delivery(place, links[place]).deliver()
        some = asyncio.Semaphore(5)

        async def person(place: int) -> dict[str, str]:
            async with some:
                return await answer(browser, links[place], record_of(place))

        kept = await asyncio.gather(*(person(place) for place in range(20)))
        await finished(town, running)
    assert (town.out / "release.csv").read_bytes() == town.ideal(50)
    assert all(
        receipts.check(town.study, town.keys.certificate, each, town.out / "board.json") is None for each in kept
    )
