"""One server for all attacks that it must survive."""

import pytest

from tests.attacks.server import running
from tests.checkpoints.conftest import (  # noqa: F401 - a Hub on this machine, and what it serves
    empty_cache,
    hub,
    model_folder,
    sharded_folder,
    sharded_tensors,
)


@pytest.fixture(scope="session")
def app(tmp_path_factory):
    """The app as it starts without settings, with a folder of its own for what it keeps."""
    with running({"HF_HOME": str(tmp_path_factory.mktemp("hub"))}) as started:
        yield started
