"""The app's own real model with damaged files: pages go on without it, and say so once."""

import logging
import os
import shutil
from pathlib import Path

import pytest

from tests.ui.conftest import OWN
from tests.ui.controls import controls
from tests.ui.screen import clicked, plain, statement

MAPS, EMPTY, WITHOUT = "pages/attention_maps.py", "pages/real_models.py", "pages/rope.py"
SAID = f"The small real model in `{OWN[0]}` is damaged, so this page opens without it"


def shorten(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


DAMAGE = {
    "weights cut short": lambda folder: shorten(folder / "model.safetensors"),
    "no weights": lambda folder: (folder / "model.safetensors").unlink(),
    "no tokenizer": lambda folder: (folder / "tokenizer.json").unlink(),
    "a tokenizer cut short": lambda folder: shorten(folder / "tokenizer.json"),
    "no JSON": lambda folder: (folder / "config.json").write_text('{"model_type": "llama",'),
    "another model's JSON": lambda folder: (folder / "config.json").write_text('{"a": 1}'),
    "an empty folder": lambda folder: [file.unlink() for file in folder.iterdir()],
}


def warnings(app) -> list[str]:
    return [plain(one.value) for one in app.warning]


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_page_opens_as_without_it_and_names_the_folder_and_the_fix(
    opened, own_model, damage, caplog, monkeypatch
):
    with monkeypatch.context() as patch:
        patch.setattr("ui.sources.small_model.AS_TRAINED.names", ())
        without = {page: statement(opened(page)) for page in (MAPS,)}
    damage(Path(own_model))
    with caplog.at_level(logging.WARNING, "ui.sources.small_model"):
        for page in (MAPS, EMPTY):
            app = opened(page)
            [told] = warnings(app)
            assert told.startswith(SAID)
            assert "make real-model" in told
            assert not app.error
            assert page == EMPTY or statement(app) == without[page]
            assert "reader" not in controls(app)
    assert len(caplog.records) == 1, "the reason stands in the log, once"
    assert not warnings(opened(WITHOUT))


def test_who_names_another_model_or_is_told_the_story_hears_nothing_of_it(opened, own_model):
    (Path(own_model) / "tokenizer.json").unlink()
    for link in ({"made_up": "1"}, {"stop": "3"}, {"preset": "deepseek-v3"}):
        assert not warnings(opened(MAPS, **link)), link


def test_once_it_is_made_again_pages_open_with_it(opened, own_model, own_saved):
    rules = Path(own_model) / "tokenizer.json"
    rules.unlink()
    assert warnings(opened(EMPTY))
    shutil.copy(own_saved / "tokenizer.json", rules)
    app = opened(EMPTY)
    assert not warnings(app)
    assert "layer 17, head 5 of smollm2-135m-instruct" in plain(statement(app))
    assert clicked(app, "large")
