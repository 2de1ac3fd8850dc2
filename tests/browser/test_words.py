"""The words that a newcomer meets above the fold of a laptop's screen, at the defaults."""

from pathlib import Path

import pytest
from playwright.sync_api import Page

from mla_engine.checkpoints import real_model
from tests.attacks.server import ROOT, running
from tests.browser.conftest import new_context
from tests.browser.waiting import walk
from ui.frame.pages import PAGES
from ui.settings.page import HOME

pytestmark = pytest.mark.browser
WORDS = Path(__file__).with_name("words.js").read_text("utf-8")
LAPTOP = {"width": 1440, "height": 900}
MOST = 60
REAL = "attention_maps", "language_model", "trained_heads", "decode", "real_models"


@pytest.fixture(scope="module")
def reader_of_a_real_model(chromium, project):
    if not (ROOT / real_model.FOLDER).is_dir():
        pytest.skip(f"no model in {real_model.FOLDER}: its pages' words were not counted")
    folders = {"MLA_MODEL_FOLDERS": str(ROOT / real_model.FOLDER.parent)}
    with running(folders, folder=project, root=project) as app:
        context = new_context(chromium)
        yield context.new_page(), app.url
        context.close()


@pytest.mark.parametrize("name", PAGES)
def test_a_page_says_little_before_its_picture(reader: Page, app_url, name):
    says_little(reader, f"{app_url}/{'' if name == HOME else name}")


@pytest.mark.parametrize("name", REAL)
def test_a_page_of_a_real_model_says_as_little(reader_of_a_real_model, name):
    reader, url = reader_of_a_real_model
    says_little(reader, f"{url}/{name}")


def says_little(reader: Page, address: str) -> None:
    reader.set_viewport_size(LAPTOP)
    walk(reader, address)
    words = reader.evaluate(WORDS)
    assert len(words) <= MOST, " ".join(words)
