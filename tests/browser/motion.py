"""Helpers for pictures that move: wait until they rest, and count questions to the server."""

from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Page, expect

from tests.browser.waiting import settle


def at_rest(page: Page) -> None:
    """Wait until nothing moves, and the server has heard of it."""
    settle(page)
    expect(page.locator(".moving > svg")).not_to_have_attribute("data-moving", "")


@contextmanager
def one_question(page: Page) -> Iterator[None]:
    """Assert that the server is asked once meanwhile: when the picture comes to rest."""
    before = page.evaluate("window.asked")
    yield
    at_rest(page)
    assert page.evaluate("window.asked") == before + 1
