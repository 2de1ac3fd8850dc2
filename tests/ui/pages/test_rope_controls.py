"""The page on rotations by hand: controls, clicks, keys, play, the queue, and both languages."""

import html
from functools import partial
from pathlib import Path

from mla_engine.checkpoints import describe, open_checkpoint
from tests.ui.pages.test_rope import LINK, PAGE
from tests.ui.screen import charts, component, says, statement
from tests.ui.wishes import wish
from ui.engine import shared_cache
from ui.pages import rope
from ui.settings import state

TOPICS = {
    "turning": "A pair turns",
    "merged": "Nothing merges",
    "pairing": "Wrong pairing",
    "scale": "Wrong scale",
    "yarn": "YaRN",
}


def widget(at, name: str):
    kinds = (at.slider, at.number_input, at.radio, at.button_group)
    return next(w for kind in kinds for w in kind if w.key == name)


def test_a_click_on_the_scores_chooses_both_positions(opened, monkeypatch):
    cells = [{"chart": "rope_scores", "x": 2.4, "y": 20}, {"chart": "rope_right", "x": 1, "y": 1}]
    at = opened(PAGE, **LINK)
    for cell in cells:  # of what the page listens to, between two runs
        with monkeypatch.context() as patch:
            patch.setattr(state, "follow", partial(rope.turning.clicked, cell))
            at.run()
    assert statement(at).startswith("At distance 13 ")
    assert (at.query_params["rope_query"], at.query_params["rope_key"]) == ("15", "2")
    assert [chart.clicks for chart in charts(at)] == ["rope_scores"], (
        "a click elsewhere tells nothing"
    )


def test_a_clicker_turns_on_by_one_position(opened):
    for topic, place, distance in (("turning", 10, 6), ("merged", 4, 4)):
        at = opened(PAGE, **LINK | {"rope_topic": topic})
        wish(at, str(place))
        assert statement(at).startswith(f"At distance {distance} ")
    at = opened(PAGE, **LINK | {"rope_topic": "yarn"})
    sent = [one.proto.component_name for one in at.get("bidi_component")]
    assert "wish" not in sent, "nothing to step through"


def test_in_a_lecture_a_clicker_goes_through_the_topics(opened):
    at = opened(PAGE, **LINK | {"rope_topic": "merged", "lecture": "1"})
    topics = list(TOPICS)
    stops = component(at, "wish")["stops"]
    assert [one for one in stops if not one.isdecimal()] == [
        one for one in topics if one != "merged"
    ]
    assert (stops[0], stops[1], stops[-1]) == ("turning", "0", "yarn")
    for topic in topics:
        wish(at, topic)
        assert at.session_state["settings"]["rope_topic"] == topic


def test_bad_values_are_refused_or_brought_near(opened):
    at = opened(PAGE, d_rope="0")
    assert statement(at) == ""
    assert "raise it above" in at.error[0].value
    assert widget(at, "rope_topic").value == "turning"
    assert not charts(at)
    at = opened(PAGE, rope_head="99", rope_pair="99", rope_distance="-4", rope_topic="sideways")
    assert widget(at, "rope_pair").value == 31
    assert widget(at, "rope_head").value == 15
    assert "sideways" in at.warning[0].value


def test_too_little_memory_is_said_and_the_topics_stay(opened, monkeypatch):
    monkeypatch.setenv("MLA_MEMORY_BUDGET_GIB", "0.001")
    shared_cache.clear()
    at = opened(PAGE)
    assert says(at.error[0].value, "common.too_large")
    assert widget(at, "rope_topic").options == list(TOPICS.values())


def test_a_real_model_is_called_by_its_name_as_it_is(opened, demo, request):
    name = "*x*_y_`$1`|[a](b)#"
    link = Path(demo).with_name(name)
    link.symlink_to(demo)
    request.addfinalizer(link.unlink)
    at = opened(PAGE, source=str(link), layer="1", rope_topic="yarn")
    scale = describe(open_checkpoint(demo), 1).config.scale
    title = statement(at)
    assert title.endswith(f"{scale:.8f}")
    assert f" of {name} by " in html.unescape(title)
    assert not set("*_`$|[]()") & set(title)
