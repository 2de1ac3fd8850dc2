"""A real browser through the proxy: pages, an upload, and a process that dies under it."""

import os
import signal
from urllib.parse import urlencode

import pytest
from playwright.sync_api import expect

from mla_engine.checkpoints import hidden_states
from tests.attacks.server import wait_until
from tests.browser.conftest import new_context
from tests.browser.waiting import settle
from tests.ui.pages.test_real_models_pieces import saved

pytestmark = pytest.mark.browser

APP = "[data-testid=stApp][data-test-connection-state={}]"


@pytest.fixture
def page(chromium):
    context = new_context(chromium)
    yield context.new_page()
    context.close()


def process(page):
    """Return the process that the browser's cookie names."""
    cookies = {one["name"]: one for one in page.context.cookies()}
    assert cookies["mla_process"]["httpOnly"]
    assert cookies["mla_process"]["sameSite"] == "Lax"
    return int(cookies["mla_process"]["value"])


def test_an_upload_arrives_and_survives_the_process_that_took_it(front, two, page, demo, tmp_path):
    h = hidden_states(demo, "The sea.", 2).h
    file = saved(tmp_path / "own.safetensors", h, [f"word{n}" for n in range(h.shape[1])], 2)
    link = {"source": demo, "layer": 2, "text": "The sea.", "lang": "en"}
    page.goto(f"{front.url}/real_models?{urlencode(link)}")
    settle(page)
    first = process(page)
    with page.expect_response("**/_stcore/upload_file/**") as sent:
        page.locator("input[type=file]").set_input_files(file)
    assert sent.value.status == 204
    page.wait_for_url("**activations=**")
    expect(page.get_by_text("from your file").first).to_be_visible()

    killed = two.pid(first)
    os.kill(killed, signal.SIGKILL)
    wait_until(lambda: process(page) != first, "the browser has another process")
    page.wait_for_selector(APP.format("CONNECTED"))
    settle(page)
    expect(page.get_by_text("from your file").first).to_be_visible()
    assert "activations=" in page.url
    page.reload()
    settle(page)
    expect(page.get_by_text("from your file").first).to_be_visible()
    wait_until(lambda: two.warm(first), "the killed process is back")
    assert process(page) != first
