"""Keep each run to folders of its own and one thread a worker, with a GPU where there is one."""

import functools
import logging
import os
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.attacks.server import OURS

# Files of few but long tests: begun last, one of them would run alone while a worker has no more.
LONGEST = (
    "browser/test_story.py",
    "browser/test_accessibility.py",
    "load/test_load.py",
    "browser/test_lecture.py",
    "engine/test_compiled.py",
    "browser/test_classroom.py",
    "classroom/test_following.py",
    "browser/test_handout.py",
    "language_model/test_compiled.py",
    "load/test_class.py",
)
KEPT = tempfile.TemporaryDirectory(prefix="mla-tests-")  # what a run downloads and keeps
OF_A_RUN = ("MLA_TESTS", "MLA_BUSY")  # what tests/sampling.py and tests/patience.py read
for name in [name for name in os.environ if name.startswith(OURS) and name not in OF_A_RUN]:
    del os.environ[name]
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["STREAMLIT_BROWSER_GATHER_USAGE_STATS"] = "false"
os.environ["HF_HOME"] = KEPT.name

import pytest  # noqa: E402 - after what the libraries read when they are imported
import torch  # noqa: E402
from playwright.sync_api import Browser, sync_playwright  # noqa: E402
from streamlit.components.v2 import manifest_scanner  # noqa: E402
from streamlit.runtime.scriptrunner_utils import script_run_context  # noqa: E402
from streamlit.testing.v1 import local_script_runner  # noqa: E402

from mla_engine.checkpoints import build_demo  # noqa: E402
from ui.handout.browser import FLAGS, chromium_path  # noqa: E402

pytest_plugins = ["tests.sampling", "tests.spent"]
torch.set_num_threads(1)
# Two thirds of the time of many tests: Streamlit looks through all packages for components before
# each run of a page that a test opens, and warns of each use outside a page.
manifest_scanner.scan_component_manifests = functools.cache(
    manifest_scanner.scan_component_manifests
)
# A page that a test opens or runs again is compiled once in a process, as in a server.
COMPILED = local_script_runner.ScriptCache()
local_script_runner.ScriptCache = lambda: COMPILED
logging.getLogger(script_run_context.__name__).disabled = True


def pytest_unconfigure() -> None:
    KEPT.cleanup()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what needs a GPU; the longest files first, then those of many tests.

    Those of the browser come behind all others: Playwright leaves a loop of events running in its
    process, in which no other can be run.
    """
    tests, here = Counter(item.path for item in items), Path(__file__).parent
    places = {here / name: place for place, name in enumerate(LONGEST)}
    browsing = {item.path for item in items if "chromium" in item.fixturenames}

    def place(item: pytest.Item) -> tuple[bool, int, int, Path]:
        longest = places.get(item.path, len(places))
        return item.path in browsing, longest, -tests[item.path], item.path

    items.sort(key=place)
    no_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here")
    for item in items:
        if item.get_closest_marker("gpu"):
            item.add_marker(no_gpu)


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Build a checkpoint on the server, the only one in the folders that it reads."""
    folder = tmp_path_factory.mktemp("models") / "it's a demo"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLA_MODEL_FOLDERS", str(folder.parent))
        yield str(build_demo(folder))


@pytest.fixture(scope="session")
def models(demo: str) -> Path:
    """Return the only folder that the server reads."""
    return Path(demo).parent


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """Start the only browser of a run: Playwright is started once in a process."""
    with sync_playwright() as playwright:
        flags = [*FLAGS, "--process-per-site"]  # what one page has compiled, the others use
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=flags)
        yield browser
        browser.close()
