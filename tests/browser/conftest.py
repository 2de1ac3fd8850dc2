"""One real server and one headless Chromium for all browser tests."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize, expect

from mla_engine.checkpoints import build_demo
from tests import patience
from tests.attacks.server import App, copied, running
from tests.browser.looks import LANGUAGES, THEMES, WIDE, Turn
from tests.browser.waiting import everything, settle, walk
from ui.handout.sheets import STATEMENT  # noqa: F401, of what the tests read
from ui.parts.checkpoint import DEMO

ROOT = Path(__file__).parents[2]
PROJECTOR: ViewportSize = WIDE
Show = Callable[..., Page]
SEEN = "try { sessionStorage.mlaOpening = true; } catch { /* about:blank */ }"
UNANSWERED = Path(__file__).with_name("unanswered.js")

expect.set_options(timeout=patience.MILLISECONDS)


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the app, so that the models beside it are this run's own."""
    return copied(tmp_path_factory.mktemp("browser") / "project", {})


@pytest.fixture(scope="session")
def server(project: Path) -> Iterator[App]:
    """A server that is up; all that it keeps lies in the copy."""
    with running({"HF_HOME": str(project / "hub")}, folder=project, root=project) as app:
        yield app


@pytest.fixture(autouse=True)
def as_the_server_tells_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read the story as the copy tells it, which has no real model, whatever lies here."""
    monkeypatch.setattr("ui.frame.story.AS_TRAINED.names", ())


@pytest.fixture
def app_url(server: App) -> Iterator[str]:
    """Return the server's address; fail with its log if the server ends before or during a test.

    So does one in which it cannot read what the browser says of a widget.
    """
    assert server.alive, server.log
    yield server.url
    assert server.alive, server.log
    assert "passed over" not in server.log, server.log


@pytest.fixture(scope="session")
def demo(project: Path) -> Path:
    """The demonstration model, where the server looks for it."""
    return build_demo(project / DEMO)


def new_context(
    browser: Browser,
    viewport: ViewportSize = PROJECTOR,
    locale: str = "en-US",
    *,
    first_visit: bool = False,
) -> BrowserContext:
    """Open a browser context whose pages know what they have asked the server.

    They have seen the overview's opening, unless it is the first visit.
    """
    context = browser.new_context(viewport=viewport, locale=locale)
    context.set_default_timeout(patience.MILLISECONDS)
    context.set_default_navigation_timeout(patience.MILLISECONDS)
    context.add_init_script(path=UNANSWERED)
    if not first_visit:
        context.add_init_script(SEEN)
    return context


@pytest.fixture(scope="session")
def visitor(chromium: Browser, server: App) -> Iterator[BrowserContext]:
    """Keep a page open, so that its compiled scripts are there for the others: that takes long."""
    context = new_context(chromium)
    context.new_page().goto(server.url)
    yield context
    context.close()


@pytest.fixture
def browser_page(visitor: BrowserContext) -> Iterator[Page]:
    """Open a fresh session at the size of a projector, and leave nothing of it behind."""
    yield visitor.new_page()
    kept, *others = visitor.pages
    kept.evaluate("localStorage.clear()")
    visitor.clear_cookies()
    for page in others:
        page.close()


@pytest.fixture
def show(app_url: str, browser_page: Page) -> Show:
    """`show("rope?rope_key=6", PHONE)` opens that page in a fresh session, and lets it settle."""

    def shown(path: str, size: ViewportSize = PROJECTOR) -> Page:
        browser_page.set_viewport_size(size)
        browser_page.goto(f"{app_url}/{path}")
        settle(browser_page)
        return browser_page

    return shown


@pytest.fixture(scope="module")
def reader(chromium: Browser) -> Iterator[Page]:
    """One session for the file: the browser keeps what it has loaded."""
    context = new_context(chromium)
    yield context.new_page()
    context.close()


@pytest.fixture
def opened(reader: Page, app_url: str) -> Callable[[str, Turn], Page]:
    """`opened("rope?rope_pair=3", turn)` shows that page on a wide screen."""

    def load(path: str, turn: Turn) -> Page:
        name, _, query = path.partition("?")
        query += f"&lang={LANGUAGES[turn.language]}"
        reader.set_viewport_size(WIDE)
        reader.emulate_media(color_scheme=THEMES[turn.theme])
        walk(reader, f"{app_url}/{name.replace('overview', '')}?{query.lstrip('&')}")
        everything(reader)
        return reader

    return load
