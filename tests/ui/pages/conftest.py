"""Pages that several tests read and none changes."""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import pytest
from streamlit.testing.v1 import AppTest

from tests.ui.conftest import noted_downloads, open_page


class Seen(NamedTuple):
    """A page, and file name -> what the button of that file hands out."""

    at: AppTest
    files: dict[str, object]


@pytest.fixture(scope="module")
def seen() -> Callable[..., Seen]:
    """`seen("pages/kv_cache.py", n_heads="7")`: opened once for all tests of a module."""

    @cache
    def look(page: str, **link: str) -> Seen:
        with pytest.MonkeyPatch.context() as patch:
            files = noted_downloads(patch)
            return Seen(open_page(page, **link), files)

    return look
