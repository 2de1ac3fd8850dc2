"""Pages opened as a link opens them: the parameters first, then one run."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from mla_engine.checkpoints import build_demo

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A checkpoint on the server, the only one in the folders that it reads."""
    folder = tmp_path_factory.mktemp("models") / "it's a demo"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLA_MODEL_FOLDERS", str(folder.parent))
        yield str(build_demo(folder))


@pytest.fixture
def opened() -> Callable[..., AppTest]:
    """`opened("pages/kv_cache.py", n_heads="7")` runs that page from that link."""

    def run(page: str = "app.py", **parameters: str) -> AppTest:
        at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
        at.query_params.update(parameters)
        if page != "app.py":
            at.switch_page(page)
        at.run()
        assert not at.exception
        return at

    return run
