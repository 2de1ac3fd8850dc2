"""One server, one small copy, and each of the other browsers once."""

from collections.abc import Iterator

import pytest

from tests.attacks.server import App, copied, running
from tests.browser import small_copy
from tests.browsers.drivers import BROWSERS, Browser
from tests.browsers.reader import Reader


@pytest.fixture(scope="session")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """A server of a copy of the app, so that no model lies beside it."""
    project = copied(tmp_path_factory.mktemp("browsers") / "project", {})
    with running({"HF_HOME": str(project / "hub")}, folder=project, root=project) as server:
        yield server


@pytest.fixture(scope="session")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a static copy."""
    with small_copy.recording() as server:
        folder = small_copy.written(server, tmp_path_factory.mktemp("copy"))
    with small_copy.served(folder) as address:
        yield address


@pytest.fixture(scope="session", params=BROWSERS)
def browser(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Browser]:
    """One of the browsers, for all tests."""
    with BROWSERS[request.param](tmp_path_factory.mktemp(request.param)) as started:
        yield started


@pytest.fixture
def reader(app: App, browser: Browser) -> Iterator[Reader]:
    """Somebody at the browser's first window; others that a test has opened are closed."""
    driver = browser.driver
    first = driver.current_window_handle
    yield Reader(browser, first)
    for other in {*driver.window_handles} - {first}:
        driver.switch_to.window(other)
        driver.close()
    driver.switch_to.window(first)
    assert app.alive, app.log
    assert "passed over" not in app.log, app.log
