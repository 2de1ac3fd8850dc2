"""Nothing from outside: folders of this run alone, one thread a worker, and a GPU where one is."""

import os
import tempfile

from tests.attacks.server import OURS

KEPT = tempfile.TemporaryDirectory(prefix="mla-tests-")  # what a run downloads and keeps
for name in [name for name in os.environ if name.startswith(OURS)]:
    del os.environ[name]
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["STREAMLIT_BROWSER_GATHER_USAGE_STATS"] = "false"
os.environ["HF_HOME"] = KEPT.name

import pytest  # noqa: E402 - after what the libraries read when they are imported
import torch  # noqa: E402

torch.set_num_threads(1)


def pytest_unconfigure() -> None:
    KEPT.cleanup()


@pytest.hookimpl(tryfirst=True)  # before groups are read
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    no_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here")
    for item in items:
        if item.get_closest_marker("gpu"):
            item.add_marker(no_gpu)
        if not item.get_closest_marker("xdist_group"):  # what tests share is made in one worker
            of_all = item.get_closest_marker("browser")  # one server and one Chromium
            item.add_marker(pytest.mark.xdist_group("browser" if of_all else str(item.path)))
