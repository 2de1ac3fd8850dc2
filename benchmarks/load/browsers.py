"""Real browsers among a crowd: until a page has settled, and until a change of a slider shows."""

import asyncio
import time
from collections.abc import Sequence
from random import Random

from playwright.async_api import Browser, Error, Page, async_playwright

from benchmarks.load.crowd import Plan, Tally, until
from tests.browser.conftest import UNANSWERED
from tests.browser.waiting import ANSWERED
from ui.handout.browser import FLAGS, chromium_path
from ui.settings.page import HOME

SLIDER = "[data-testid=stMain] [role=slider]"


async def among(urls: Sequence[str], count: int, plan: Plan) -> Tally:
    """So many browsers do as the plan says; they come evenly among the others."""
    tally = Tally()
    began = time.monotonic()
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium_path(), args=FLAGS)
        async with asyncio.TaskGroup() as group:
            for number in range(count):
                due = began + plan.arriving * number / count
                url = urls[number % len(urls)]
                group.create_task(_stay(browser, url, plan, tally, due, began))
        await browser.close()
    return tally


async def _stay(
    browser: Browser, url: str, plan: Plan, tally: Tally, due: float, began: float
) -> None:
    draw = Random(due)
    await until(due)
    context = await browser.new_context(locale="en-US")
    context.set_default_timeout(1000 * plan.patience)
    await context.add_init_script(path=UNANSWERED)
    page = await context.new_page()
    try:
        name = draw.choice(plan.pages)
        await page.goto(f"{url}/{'' if name == HOME else name}?lang=en")
        await _settled(page)
        tally.entered.append(time.monotonic() - due)
        while (due := time.monotonic() + plan.pause) < began + plan.arriving + plan.staying:
            await until(due)
            await _act(page, draw, tally)
    except Error as error:
        tally.errors.append(f"browser: {error.message:.200}")
    finally:
        await context.close()


async def _act(page: Page, draw: Random, tally: Tally) -> None:
    """Move a slider in sight, or turn to another page where there is none."""
    tally.asked += 1
    asked = time.monotonic()
    if await (slider := page.locator(SLIDER).first).is_visible():
        await slider.press(draw.choice(["ArrowLeft", "ArrowRight"]))
    else:
        links = page.get_by_test_id("stPageLink-NavLink").and_(page.locator(":not([inert] *)"))
        await draw.choice(await links.all()).click()
    await _settled(page)
    tally.answers.append(time.monotonic() - asked)


async def _settled(page: Page) -> None:
    await page.wait_for_function(ANSWERED)
