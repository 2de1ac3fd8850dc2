"""A class over two processes behind the proxy, which drops every connection in its middle."""

import os
import signal

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_classroom import at, classroom, goes, joined, opened, over
from tests.browser.waiting import settle
from tests.deploy.proxied import Proxy

pytestmark = pytest.mark.browser


def drop(front: Proxy, *pages: Page) -> None:
    """End all workers of nginx, and with them every connection; new ones take their places."""
    if not pages:
        for worker in front.processes()[1:]:
            os.kill(worker, signal.SIGKILL)
        return
    with pages[0].expect_websocket():  # a new one
        drop(front, *pages[1:])


def test_a_proxy_that_drops_websockets_loses_nobody_of_a_class(front, chromium):
    with classroom(chromium) as (lecturer, first, second):
        code = opened(lecturer, front.url)
        joined(first, front.url, code, "You follow the lecture")
        joined(second, front.url, code, "正在跟随讲课")
        expect(over(lecturer)).to_contain_text("2 here")
        for page in (lecturer, first, second):
            settle(page)
        drop(front, lecturer, first, second)
        goes(lecturer, "KV cache")
        for page, says in ((first, "You follow the lecture"), (second, "正在跟随讲课")):
            expect(page).to_have_url(at("kv_cache"))
            settle(page)
            expect(over(page)).to_contain_text(says)
        expect(second.locator("h1")).to_have_text("缓存随每个词元增长")
        expect(over(lecturer)).to_contain_text("2 here")
