"""Any text for the app's own real model: it is read, or refused in a sentence; nothing is lost."""

import pytest

from tests.sampling import some
from tests.ui.controls import control
from tests.ui.pages.test_atlas import ids_of

PAGES = "trained_heads", "attention_maps", "decode", "real_models"
ODD = "a", "🌙🎉👩‍👩‍👧", "中国的首都是北京", "ذهبت أليس إلى السوق", "\u200b", "\n\n"
LONG = "a b " * 500


@pytest.mark.parametrize("page", PAGES)
def test_a_short_one_of_any_script_is_read(opened, own_model, page):
    app = opened(f"pages/{page}.py", layer="3", map_head="2")
    title = app.title[0].value
    for text in some(ODD, 3, seed=len(page)):
        control(app, "text").set_value(text).run()
        assert not [*app.exception, *app.error], text
        assert (app.title[0].value, control(app, "text").value) == (title, text)
    assert app.query_params["map_head"] == "2"


@pytest.mark.parametrize("page", PAGES)
def test_one_that_is_too_long_is_refused_beside_its_box(opened, own_model, page):
    app = opened(f"pages/{page}.py", layer="3", map_head="2")
    title = app.title[0].value
    control(app, "text").set_value(LONG).run()
    [refused] = app.error
    assert f"{len(ids_of(own_model, LONG)):,} tokens" in refused.value
    assert "give 1 to 512" in refused.value
    assert not app.exception
    assert (app.title[0].value, control(app, "text").value) == (title, LONG)
    control(app, "text").set_value("the moon and the cat").run()
    assert not app.error
    assert app.query_params["map_head"] == "2"
