"""One thread a worker, and GPU tests only where there is a GPU."""

import os

os.environ["OMP_NUM_THREADS"] = "1"
os.environ.setdefault("STREAMLIT_BROWSER_GATHER_USAGE_STATS", "false")

import pytest
import torch

torch.set_num_threads(1)


@pytest.hookimpl(tryfirst=True)  # before groups are read
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    no_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here")
    for item in items:
        if item.get_closest_marker("gpu"):
            item.add_marker(no_gpu)
        if item.get_closest_marker("browser"):  # all of them share one server and one browser
            item.add_marker(pytest.mark.xdist_group("browser"))
