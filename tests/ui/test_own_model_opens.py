"""Pages open with the app's own real model only where their address names no other model."""

import shutil

import pytest

from tests.ui.conftest import OWN
from tests.ui.controls import control, controls, link, pressed
from tests.ui.screen import clicked, component, statement
from ui.pages.attention_maps.sentences import EXAMPLES

PAGE, OTHER, WITHOUT = "pages/attention_maps.py", "pages/real_models.py", "pages/rope.py"
OPENED = next(iter(EXAMPLES.values())).settings
NAMED = {  # each means another model, also where it says what is usual
    "preset": "deepseek-v2-lite",
    "variant": "mla",
    "n_heads": "8",
    "seed": "0",
    "sentence": "anna lamp ben cup anna",
    "trained_layer": "1",
    "map_text": "the cat and the dog",
    "map_generated": "16",
    "made_up": "1",
}


def settings(app) -> dict[str, object]:
    return dict(app.session_state["settings"])


def real(app) -> bool:
    """Return whether the page shows the app's own model and the sentence that it opens with."""
    return OPENED.items() <= settings(app).items() and control(app, "reader").value == "real"


@pytest.fixture
def arriving(models, own_saved, monkeypatch):
    """Return what puts the app's own model to its place, as a server does once it is made."""
    monkeypatch.setattr("ui.sources.small_model.AS_TRAINED.names", OWN)
    yield lambda: shutil.copytree(own_saved, models / OWN[0])
    shutil.rmtree(models / "models", ignore_errors=True)


def test_a_page_opens_with_it(opened, own_model):
    app = opened(PAGE)
    assert real(app)
    assert not app.query_params
    assert component(app, "copy_link")["link"].count("source=models") == 1


@pytest.mark.parametrize("name", NAMED)
def test_a_link_that_names_another_model_opens_as_it_did(opened, arriving, name):
    before = opened(PAGE, **{name: NAMED[name]})
    arriving()
    app = opened(PAGE, **{name: NAMED[name]})
    assert settings(app) | {"made_up": 0} == settings(before) | {"made_up": 0}
    assert statement(app) == statement(before)
    assert "text" not in controls(app)


def test_a_step_of_the_story_shows_what_it_showed(opened, arriving):
    before = opened(PAGE, stop="3")
    arriving()
    app = opened(PAGE, stop="3")
    assert settings(app) == settings(before)
    pressed(app, "story_leave")
    assert settings(app) == settings(before) | {"stop": 0, "made_up": True}, "nothing jumps"


def test_the_made_up_language_is_a_press_away_and_the_real_model_another(opened, arriving):
    before = opened(PAGE)
    arriving()
    app = opened(PAGE)
    control(app, "map_key").select(3).run()
    control(app, "reader").set_value("made_up").run()
    assert settings(app) == settings(before) | {"made_up": True}
    assert link(app) == {"made_up": "1"}
    assert statement(app) == statement(before)
    control(app, "reader").set_value("real").run()
    assert real(app)
    assert not link(app)


def test_who_goes_on_from_the_made_up_language_stays_with_it(opened, own_model):
    app = opened(PAGE, made_up="1")
    app.switch_page(WITHOUT).run()
    assert link(app)["made_up"] == "1"
    app.switch_page(PAGE).run()
    assert control(app, "reader").value == "made_up"


def test_another_model_that_is_chosen_stays_also_when_it_is_the_usual_one(opened, own_model):
    app = opened(PAGE, preset="deepseek-v2-lite")
    assert control(app, "reader").value is None
    pressed(app, "take_trained")
    assert control(app, "reader").value == "made_up"
    assert settings(app)["preset"] == "trained"


def test_a_reset_leads_back_to_what_the_page_opens_with(opened, own_model):
    assert real(pressed(opened(PAGE, sentence="anna lamp anna"), "reset_page"))


def test_what_it_opened_with_stays_on_the_page(opened, own_model):
    app = opened(PAGE)
    app.switch_page(WITHOUT).run()
    assert not OPENED.items() <= settings(app).items()
    assert not link(app)


def test_a_page_at_work_takes_it_up_at_the_next_opening(opened, arriving):
    app = opened(PAGE, map_head="2")
    before, said = settings(app), statement(app)
    arriving()
    app.run()
    assert settings(app) == before
    assert statement(app) == said
    assert control(app, "reader").value == "made_up"
    control(app, "map_head").set_value(1).run()
    assert settings(app) == before | {"map_head": 1}
    control(app, "reader").set_value("real").run()
    assert real(app)


def test_the_next_page_takes_it_up(opened, arriving):
    app = opened(PAGE)
    arriving()
    app.switch_page(OTHER).run()
    app.switch_page(PAGE).run()
    assert real(app)
    assert clicked(app, "large").layout["shapes"]


def test_a_page_whose_model_was_removed_opens_without_it(opened, own_model):
    app = opened(PAGE)
    shutil.rmtree(own_model)
    app.run()
    assert "reader" not in controls(app)
    assert settings(app)["text"] == ""
