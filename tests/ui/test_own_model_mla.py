"""The app's own real model and the one with MLA that is made of it, a press away."""

import shutil

import pytest

from tests.checkpoints.texts import folder_of
from tests.ui.controls import control
from ui.engine import real_mla

PAGE = "pages/attention_maps.py"
NAMES = real_mla.NAMES


@pytest.fixture
def with_mla(own_model, models, monkeypatch, tmp_path):
    """Put a small model of MLA where that one lies."""
    monkeypatch.setattr("ui.engine.real_mla.NAMES", NAMES)
    shutil.copytree(folder_of("youtu", tmp_path), models / NAMES[0])
    return NAMES[0]


def test_a_press_lets_it_read_the_same_text(opened, with_mla):
    app = opened(PAGE)
    before = dict(app.session_state["settings"])
    control(app, "reader").set_value("mla").run()
    assert not app.exception
    assert not app.error
    assert app.session_state["settings"]["source"] == with_mla
    assert app.session_state["settings"]["text"] == before["text"]
    assert [one for one in app.caption if "192 numbers" in one.value]
    assert control(app, "reader").value == "mla"
    control(app, "reader").set_value("made_up").run()
    control(app, "reader").set_value("mla").run()  # from there, too
    assert app.session_state["settings"]["source"] == with_mla
    control(app, "reader").set_value("real").run()
    assert dict(app.session_state["settings"]) == before


def test_where_it_is_not_there_nothing_is_offered(opened, own_model):
    assert list(control(opened(PAGE), "reader").options) == ["SmolLM2-135M", "made-up language"]
