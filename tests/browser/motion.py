"""What the tests of pictures that move have in common: when they rest, and what is asked."""

from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Page, expect

from tests.browser.waiting import settle


def at_rest(page: Page) -> None:
    """Until nothing moves, and the server has heard of it."""
    settle(page)
    expect(page.locator(".moving > svg")).not_to_have_attribute("data-moving", "")


@contextmanager
def one_question(page: Page) -> Iterator[None]:
    """Meanwhile the server is asked once: where it came to rest."""
    before = page.evaluate("window.asked")
    yield
    at_rest(page)
    assert page.evaluate("window.asked") == before + 1
