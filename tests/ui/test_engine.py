"""The engine in this process."""

import pytest

from tests.ui.engine_contract import *  # noqa: F403
from tests.ui.engine_contract import placed


@pytest.fixture
def engine(monkeypatch):
    return placed(monkeypatch, lambda cache: cache)
