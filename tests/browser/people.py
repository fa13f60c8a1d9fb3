"""People who answer in Debian's chromium, driven by playwright; each has a context of its own, as a device would be."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import pytest
from playwright.async_api import Browser, Page, async_playwright

CHROMIUM = "/usr/bin/chromium"
_FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
)  # fmt: skip
SECONDS = 60.0
PHONE, DESK = (390, 844), (1100, 900)


@asynccontextmanager
async def browsing() -> AsyncIterator[Browser]:
    """A browser; the test is skipped where there is none."""
    if shutil.which(CHROMIUM) is None:
        pytest.skip("chromium is not on this machine (scripts/install-system.sh installs it)")
    async with async_playwright() as driver:
        browser = await driver.chromium.launch(executable_path=CHROMIUM, args=list(_FLAGS))
        try:
            yield browser
        finally:
            await browser.close()


@asynccontextmanager
async def visiting(
    browser: Browser, link: str, size: tuple[int, int] = DESK, language: str = "en-GB"
) -> AsyncIterator[Page]:
    """A person's own device with the page open."""
    context = await browser.new_context(viewport={"width": size[0], "height": size[1]}, locale=language)
    context.set_default_timeout(SECONDS * 1000)
    try:
        page = await context.new_page()
        await page.goto(link)
        yield page
    finally:
        await context.close()


async def reached(page: Page, name: str) -> None:
    """Returns once the page is at that place: form, receipt, used, closed and so on."""
    await page.wait_for_selector(f'main[data-page="{name}"]')


async def fill(page: Page, answers: Mapping[str, str | None]) -> None:
    """Answers the questions as a person does; None is "rather not say"."""
    await reached(page, "form")
    for name, value in answers.items():
        question = page.locator(f'[data-question="{name}"]')
        if value is None and await question.locator("input[type=checkbox]").count():
            await question.locator("input[type=checkbox]").check()
        elif await question.locator("select").count():
            await question.locator("select").select_option(value if value is not None else "\0")
        elif await question.locator("input[type=radio]").count():
            wanted = "\0" if value is None else value
            boxes = question.locator("input[type=radio]")
            values = [await boxes.nth(place).get_attribute("value") for place in range(await boxes.count())]
            await boxes.nth(values.index(wanted)).check()
        else:
            await question.locator("input").first.fill(str(value))


async def agree(page: Page) -> None:
    """Agrees, and sends."""
    await page.locator("#agree").check()
    await page.locator("button.send").click()


async def answer(browser: Browser, link: str, answers: Mapping[str, str | None]) -> dict[str, str]:
    """Answers from the link to the receipt; returns the receipt."""
    async with visiting(browser, link) as page:
        await fill(page, answers)
        await agree(page)
        await reached(page, "receipt")
        return await receipt_of(page)


async def receipt_of(page: Page) -> dict[str, str]:
    """The receipt that this browser keeps."""
    kept = "JSON.parse(Object.entries(localStorage).find(([name, value]) => value.includes('signature'))[1]).receipt"
    found: dict[str, str] = await page.evaluate(kept)
    return found
