"""Lecture mode: it goes along through the app, and no further; its bar takes two controls."""

from tests.ui.test_page_contract import controls
from ui.frame.story import sentence, steps


def test_a_chosen_model_leaves_the_bar_to_its_layer_and_head(opened, demo):
    at = opened("pages/real_models.py", lecture="1", source=demo)
    assert controls(at)[:2] == ["layer", "map_head"]


def test_next_leads_on_and_keeps_lecture_mode_and_sizes(opened):
    at = opened("pages/compute.py", lecture="1", n_heads="8")
    at.button(key="lecture_next").click().run()
    settings = at.session_state["settings"]
    assert at.session_state["page"] == "compare"
    assert (settings["lecture"], settings["n_heads"]) == (True, 8)
    assert at.query_params["lecture"] == "1"
    at.button(key="lecture_previous").click().run()
    assert at.session_state["page"] == "compute"


def test_the_ends_lead_no_further(opened):
    assert opened(lecture="1").button(key="lecture_previous").disabled
    assert opened("pages/notation.py", lecture="1").button(key="lecture_next").disabled


def test_the_story_keeps_lecture_mode_and_says_its_sentence(opened):
    at = opened(lecture="1")
    at.button(key="story_start").click().run()
    assert at.session_state["settings"]["stop"] == 1
    for number in (2, 3):
        at.button(key="lecture_next").click().run()
        assert at.session_state["settings"]["stop"] == number
        assert at.session_state["settings"]["lecture"]
        said = [m.value for m in at.markdown]
        assert f"{number} / {len(steps())}" in said
        assert sentence(steps()[number - 1]) in said


def test_reset_stays_in_it_and_leave_leaves(opened):
    at = opened("pages/kv_cache.py", lecture="1", kv_batch="4")
    next(b for b in at.button if b.label == "Reset to defaults").click().run()
    assert at.session_state["settings"]["lecture"]
    assert at.session_state["settings"]["kv_batch"] == 1
    at.button(key="lecture_leave").click().run()
    assert not at.session_state["settings"]["lecture"]
    assert "lecture" not in at.query_params
    assert "lecture_leave" not in [b.key for b in at.button]
    next(b for b in at.sidebar.button if b.label == "Lecture mode").click().run()
    assert at.query_params["lecture"] == "1"
