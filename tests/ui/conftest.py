"""Open pages as a link opens them: the parameters first, then one run."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import streamlit
import torch
from streamlit.delta_generator import DeltaGenerator
from streamlit.testing.v1 import AppTest

from mla_engine import figures
from tests import patience
from tests.ui import trained_models
from ui.engine import shared_cache
from ui.frame import open_all  # noqa: F401, opens the rooms before a test changes what is there
from ui.sources.small_model import AS_TRAINED

ROOT = Path(__file__).parents[2]
SHIPPED = ROOT / "assets" / "trained"
OWN = AS_TRAINED.names  # of the app's own real model, before a test changes them
CHECKPOINT, REAL_TEXT = 1, "The cat sat on the mat and looked at the moon."


def open_page(page: str = "app.py", **parameters: str) -> AppTest:
    """Run a page once from a link with these parameters."""
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=patience.SECONDS)
    at.query_params.update(parameters)
    if page != "app.py":
        at.switch_page(page)
    at.run()
    assert not at.exception
    return at


@pytest.fixture(scope="session", autouse=True)
def unmarked() -> Iterator[None]:
    """Leave sentences as the catalogue has them; test_glossary looks at marked terms."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ui.parts.prose.explained", lambda text: text)
        patch.setattr("ui.parts.prose.weights_mark", lambda *_: "")
        yield


@pytest.fixture(scope="session", autouse=True)
def no_real_model() -> Iterator[None]:
    """Open the page Real models empty, also where the app's own real model is there."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ui.sources.small_model.AS_TRAINED.names", ())
        yield


@pytest.fixture(scope="session", autouse=True)
def small_models(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Put small models in the place of those that `make train` builds, with its study."""
    folder = tmp_path_factory.mktemp("trained")
    trained_models.write(folder)
    for name in ("plan.json", "study"):
        (folder / name).symlink_to(ROOT / "assets/trained" / name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ui.sources.trained.FOLDER", folder)
        yield folder


@contextmanager
def shipped_in_use() -> Iterator[None]:
    """Use the project's own models in the place of the small ones."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ui.sources.trained.FOLDER", SHIPPED)
        shared_cache.clear()
        yield
        shared_cache.clear()


@pytest.fixture
def shipped_models() -> Iterator[Path]:
    """Return the folder of the project's own models, which are in use."""
    with shipped_in_use():
        yield SHIPPED


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[figures.Figure]:
    """Return a list that collects every figure that is built."""
    made: list[figures.Figure] = []
    make = figures.Figure.__init__

    def noting(self: figures.Figure, spec: dict) -> None:
        made.append(self)
        make(self, spec)

    monkeypatch.setattr(figures.Figure, "__init__", noting)
    return made


@pytest.fixture
def opened() -> Callable[..., AppTest]:
    """`opened("pages/kv_cache.py", n_heads="7")` runs that page from that link."""
    return open_page


@pytest.fixture
def downloads(monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """Return file name -> content of each download button that is drawn from now on."""
    return noted_downloads(monkeypatch)


def noted_downloads(patch: pytest.MonkeyPatch) -> dict[str, object]:
    """Do as the fixture `downloads`, for fixtures that serve a whole module."""
    drawn: dict[str, object] = {}

    def noting(draw: Callable[..., bool]) -> Callable[..., bool]:
        def button(*args: object, **options: object) -> bool:
            at = 1 if isinstance(args[0], DeltaGenerator) else 0  # drawn by a place, or by st
            named = dict(zip(("label", "data", "file_name"), args[at:], strict=False)) | options
            drawn[named["file_name"]] = named["data"]
            return draw(*args, **options)

        return button

    for owner in (streamlit, DeltaGenerator):
        patch.setattr(owner, "download_button", noting(owner.download_button))
    return drawn


@pytest.fixture(scope="session")
def llama(demo: str) -> str:
    """Save a grouped model with 8 heads over 2 KV heads, and the same tokenizer."""
    from transformers import LlamaConfig, LlamaForCausalLM  # takes a second

    folder = Path(demo).parent / "llama"
    sizes = {"hidden_size": 64, "num_attention_heads": 8, "num_key_value_heads": 2}
    sizes |= {"head_dim": 16, "num_hidden_layers": 2, "intermediate_size": 32}
    torch.manual_seed(5)
    LlamaForCausalLM(LlamaConfig(**sizes, vocab_size=800)).save_pretrained(folder)
    shutil.copy(Path(demo) / "tokenizer.json", folder)
    return str(folder)


@pytest.fixture(scope="session")
def own_saved(llama: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Save a small model of as many layers as the sentences of the pages need."""
    from transformers import LlamaConfig, LlamaForCausalLM  # takes a second

    folder = tmp_path_factory.mktemp("own")
    config = LlamaConfig.from_pretrained(llama, num_hidden_layers=30)
    config.initializer_range = 0.2  # so that heads differ
    torch.manual_seed(6)
    LlamaForCausalLM(config).save_pretrained(folder)
    shutil.copy(Path(llama) / "tokenizer.json", folder)
    return folder


@pytest.fixture
def own_model(models: Path, own_saved: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Put it where the app's own real model lies; another file has another one lie there.

    What the app keeps of it stays for the next test: its keys know when the files were written.
    """
    monkeypatch.setattr("ui.sources.small_model.AS_TRAINED.names", OWN)
    shutil.copytree(own_saved, models / OWN[0])
    yield str(models / OWN[0])
    shutil.rmtree(models / "models")


@pytest.fixture(scope="session")
def hybrids(demo: str) -> dict[str, str]:
    """Save small models with three layers of a state before one of MLA, and the same tokenizer."""
    from tests.ui import hybrid_models  # which takes a second

    return hybrid_models.saved(Path(demo))


@pytest.fixture
def real(opened: Callable[..., AppTest], demo: str) -> Callable[..., AppTest]:
    """`real("rope", rope_head="2")` opens that page on CHECKPOINT of the demonstration model."""

    def run(page: str, **link: str) -> AppTest:
        given = {"source": demo, "layer": str(CHECKPOINT), "text": REAL_TEXT} | link
        return opened(f"pages/{page}.py", **given)

    return run
