"""A busy engine: the last picture stays, and the reader is told the place in the queue."""

import pytest
from playwright.sync_api import Browser, Page, expect

from tests import patience
from tests.attacks.client import Session
from tests.attacks.server import copied, running, wait_until
from tests.browser.conftest import new_context
from tests.browser.waiting import AS_BACK, settle

pytestmark = pytest.mark.browser

LINE = "return Queue(MOST_WAITING, LIMIT_SECONDS)"
PICTURE = """() => JSON.stringify(document.querySelector(
  '[data-testid=stMain] .js-plotly-plot').data)"""
LAST_LINE = "        frame.view = shown"
HOLD = """        frame.view = shown
        import time
        from pathlib import Path
        from ui.engine import queue
        from ui.settings import state
        if state.settings()["seed"] == 9999:
            with queue.turn(whole=True):
                Path("held").touch()
                while not Path("free").exists():
                    time.sleep(0.05)
"""


BEFORE = "Line(PAGES_AT_ONCE, PAGE_LIMIT_SECONDS, PAGE_POLL_SECONDS)"
STAY = """        frame.view = shown
        import time
        from pathlib import Path
        from ui.settings import state
        if state.settings()["seed"] == 9999:
            Path("held").touch()
            while not Path("free").exists():
                time.sleep(0.05)
"""


@pytest.fixture
def opened(chromium: Browser) -> Page:
    context = new_context(chromium)
    yield context.new_page()
    context.close()


def test_who_waits_is_told_the_place_and_keeps_the_picture(tmp_path, opened):
    changes = {"app.py": (LAST_LINE, HOLD)}
    changes["ui/engine/queue.py"] = LINE, f"return Queue(MOST_WAITING, {patience.SECONDS})"
    root = copied(tmp_path, changes)
    with running(root=root, folder=root) as app, Session(app.url) as busy, Session(app.url) as more:
        more.open("decode")
        opened.goto(f"{app.url}/attention_maps?lang=zh&preset=small")
        settle(opened)
        picture = opened.evaluate(PICTURE)
        busy.open("", "seed=9999", wait=False)
        wait_until((root / "held").exists, "the engine is busy")
        opened.evaluate(AS_BACK, f"{app.url}/attention_maps?lang=zh&preset=small&seed=5")
        waits = opened.locator(".st-key-waits")
        expect(waits).to_have_text("计算中：排在第 1 位")
        assert opened.evaluate(PICTURE) == picture
        more.open("decode", "seed=6", wait=False)
        while more.receive().delta.new_element.markdown.body != "Computing: number 2 in the queue":
            pass
        (root / "free").touch()
        busy.finished()
        settle(opened)
        expect(waits).to_have_text("")
        assert opened.evaluate(PICTURE) != picture
        assert not [text for text in more.finished().texts if text.startswith("Computing")]
        assert "Traceback" not in app.log


def test_who_waits_before_the_page_is_run_is_told_in_the_same_place(tmp_path, opened):
    changes = {"app.py": (LAST_LINE, STAY)}
    changes["ui/engine/queue.py"] = BEFORE, f"Line(1, {patience.SECONDS}, PAGE_POLL_SECONDS)"
    root = copied(tmp_path, changes)
    with (
        running(root=root, folder=root) as app,
        Session(app.url) as busy,
        Session(app.url) as other,
        Session(app.url) as new,
    ):
        other.open("decode")
        opened.goto(f"{app.url}/decode?lang=zh")
        settle(opened)
        title, before = opened.locator("h1"), opened.locator("h1").text_content()
        place = title.bounding_box()
        busy.open("", "seed=9999", wait=False)
        wait_until((root / "held").exists, "a page is run for long")
        opened.evaluate(AS_BACK, f"{app.url}/decode?lang=zh&preset=deepseek-v3&dec_step=9")
        waits = opened.locator(".st-key-waits")
        expect(waits).to_have_text("计算中：排在第 1 位")
        assert (title.text_content(), title.bounding_box()) == (before, place)
        other.open("rope", "", wait=False)  # another page: the browser has taken theirs away
        wait_until(lambda: told(other, "Computing: number 2 in the queue"), "the place is told")
        new.open("rope", "", wait=False)  # nothing is known of them: both languages are said
        both = "Computing: number 3 in the queue · 计算中：排在第 3 位"
        wait_until(lambda: told(new, both), "the place is told to who has no page yet")
        (root / "free").touch()
        busy.finished()
        expect(waits).to_have_text("")
        settle(opened)
        for one in (other, new):
            assert not [text for text in one.finished().texts if "Computing" in text]
        assert "Traceback" not in app.log


def told(session: Session, text: str) -> bool:
    """Tell whether the next message says this, in the place of a page's first element."""
    message = session.receive()
    return (message.delta.new_element.markdown.body, *message.metadata.delta_path) == (text, 0, 0)
