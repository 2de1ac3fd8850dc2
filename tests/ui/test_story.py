"""The story: every step opens with its whole state, says what its page shows, and gives back."""

import re
from collections.abc import Callable, Iterator

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from tests.ui.conftest import shipped_in_use
from tests.ui.screen import component
from ui.frame import presenter
from ui.frame.story import Step, chapters, css, steps
from ui.settings.page import PAGES, SETTINGS
from ui.settings.parsers import as_text
from ui.settings.shared import LANGUAGES

NUMBER = r"\d+(?:,\d{3})*(?:\.\d+)?"
NAMED = r"DeepSeek-V\d"
SUM = rf"([\d,]+(?: [×+/] [\d,]+)+) = ({NUMBER})"
LARGE = {"million": 1e6, "billion": 1e9, "万": 1e4, "亿": 1e8}
OURS = ("story_stage", "wish", "wishes")  # components of the story itself


@pytest.fixture(scope="module", autouse=True)
def shipped() -> Iterator[None]:
    """Use the project's own models, and one cache for all steps."""
    with shipped_in_use():
        yield


def shown(at: AppTest, say: str) -> str:
    """Return all that stands on the page but the story's own words."""
    sent = [getattr(element, "proto", "") for element in at.main]
    others = [str(one) for one in sent if getattr(one, "component_name", "") not in OURS]
    return "\n".join(one for one in others if say not in one)


def link(number: int) -> dict[str, str]:
    step = steps()[number - 1]
    return {name: as_text(value) for name, value in step.link(number).items()}


def test_about_a_dozen_chapters_each_in_steps():
    told = chapters()
    assert 10 <= len(told) <= 14
    assert [number for chapter in told for number, _ in chapter] == [*range(1, len(steps()) + 1)]
    assert all(2 <= len(chapter) <= 4 for chapter in told)
    assert all(len({step.title["en"] for _, step in chapter}) == 1 for chapter in told)
    assert SETTINGS["stop"].can_be(len(steps()))


@pytest.mark.parametrize("number", range(1, len(steps()) + 1))
def test_every_step_opens_from_its_link_and_says_what_its_page_shows(opened, number):
    step = steps()[number - 1]
    at = opened(PAGES[step.page].file, **link(number))
    assert not at.error
    assert not at.warning
    for name, value in step.own.items():
        assert at.session_state["settings"][name] == value, name

    said = [written.value for written in at.markdown]
    assert step.say["en"] in said
    assert f"Step {number} of {len(steps())}" in said
    assert any(step.title["en"] in one and "Chapter" in one for one in said)

    says_what_is_shown(step, shown(at, step.say["en"]))
    lights_what_is_there(step, at)
    stage = component(at, "story_stage")
    assert (stage["number"], stage["look"]) == (number, list(map(css, step.look)))


def says_what_is_shown(step: Step, text: str) -> None:
    """Assert that every figure of the sentence is on the page, the same in both languages."""
    english, chinese = (re.sub(NAMED, "", step.say[lang]) for lang in LANGUAGES)
    assert values(english) == pytest.approx(values(chinese), rel=1e-9)
    for figure in re.findall(NUMBER, english):
        assert re.search(rf"(?<![\d,.]){re.escape(figure)}(?![\d,]|\.\d)", text), figure


def values(text: str) -> list[float]:
    """Return the figures of a sentence, those of millions and more with their words."""
    found = re.findall(rf"({NUMBER}) ?({'|'.join(LARGE)})?", text)
    return sorted(float(number.replace(",", "")) * LARGE.get(word, 1) for number, word in found)


def lights_what_is_there(step: Step, at: AppTest) -> None:
    keys = [str(getattr(getattr(element, "proto", None), "id", "")) for element in at.main]
    for key in step.look:
        assert any(one.endswith(f"-{key}") for one in keys), key
    (style,) = dimming(at)
    assert all(f".st-key-{css(key)}" in style for key in step.look)
    if step.blocks:
        scene = component(at, "scene")
        assert set(step.blocks) <= {block["code"] for block in scene["blocks"]} | {"shelf"}
        assert scene["told"] == list(step.blocks)


def dimming(at: AppTest) -> list[str]:
    return [one.proto.body for one in at.get("html") if "opacity: 0.2" in one.proto.body]


def test_the_whole_story_is_told_to_the_presenter(opened):
    at = opened(PAGES[steps()[2].page].file, **link(3) | {"lang": "zh"})
    stage = component(at, "story_stage")
    assert [one["say"] for one in stage["steps"]] == [step.say["zh"] for step in steps()]
    assert [one["note"] for one in stage["steps"]] == [step.note["zh"] for step in steps()]
    assert stage["steps"][0]["chapter"] == 1


def first(page: str, **own: object) -> int:
    """Return the number of the first step of a page in this state."""
    return next(n for n, s in enumerate(steps(), 1) if (s.page, dict(s.own)) == (page, own))


# Steps as they were numbered before the story began with a trained model.
MOVED = (
    ("overview", "1", {"variant": "mha"}),
    ("kv_cache", "5", {"kv_view": "memory"}),
    ("overview", "7", {"variant": "mqa"}),
    ("absorption", "12", {"preset": "deepseek-v3", "ab_order": "expanded"}),
    ("rope", "19", {"rope_topic": "merged"}),
    ("quiz", "28", {"quiz_seed": 15}),
)


@pytest.mark.parametrize(("page", "then", "own"), MOVED)
def test_a_link_to_a_step_that_had_another_number_opens_that_step(opened, page, then, own):
    texts = {name: as_text(value) for name, value in own.items()}
    at = opened(PAGES[page].file, stop=then, **texts)
    now = first(page, **own)
    assert at.session_state["settings"]["stop"] == now != int(then)
    assert steps()[now - 1].say["en"] in [written.value for written in at.markdown]
    assert not at.warning


def test_of_several_steps_that_show_the_same_the_nearest_opens(opened):
    *_, before, after = (n for n, s in enumerate(steps(), 1) if (s.page, s.own) == ("overview", {}))
    for then, now in ((before + 1, before), (after - 1, after)):
        at = opened(stop=str(then))
        assert at.session_state["settings"]["stop"] == now


def test_a_link_to_a_step_that_is_no_more_opens_its_page_alone(opened):
    at = opened("pages/attention_maps.py", stop="23", map_head="2")
    assert at.session_state["settings"]["stop"] == 0
    assert at.session_state["settings"]["map_head"] == 2
    assert "story_next" not in [button.key for button in at.button]


def test_what_a_reader_changes_on_a_steps_page_does_not_end_it(opened):
    number = first("kv_cache", kv_view="memory")
    at = opened("pages/kv_cache.py", **link(number) | {"kv_batch": "4"})
    assert at.session_state["settings"]["stop"] == number


@pytest.mark.parametrize("step", steps())
def test_what_a_note_computes_is_right_and_the_same_in_both_languages(step):
    sums = [re.findall(SUM, step.note[lang]) for lang in LANGUAGES]
    assert sums[0] == sums[1]
    for asked, result in sums[0]:
        exact = eval(asked.replace(",", "").replace("×", "*"))
        assert f"{exact:,.{len(result.partition('.')[2])}f}" == result, asked


def test_outside_the_story_nothing_is_dimmed_and_all_blocks_are_told(opened):
    at = opened()
    assert dimming(at) == []
    assert component(at, "scene")["told"] == []


def test_leaving_gives_back_page_and_settings(opened):
    at = opened("pages/kv_cache.py", kv_batch="4", n_heads="8")
    at.button(key="story_start").click().run()
    first = steps()[0].page
    assert (at.session_state["page"], at.session_state["settings"]["stop"]) == (first, 1)
    assert at.session_state["settings"]["n_heads"] == 16
    at.button(key="story_next").click().run()
    assert at.session_state["settings"]["stop"] == 2
    at.button(key="story_leave").click().run()
    assert at.session_state["page"] == "kv_cache"
    assert at.query_params == {"kv_batch": "4", "n_heads": "8"}
    assert at.session_state["settings"]["kv_batch"] == 4


def test_the_language_chosen_in_the_story_stays(opened):
    at = opened(n_heads="8")
    at.button(key="story_start").click().run()
    at.sidebar.button_group[0].set_value("zh").run()
    at.button(key="story_leave").click().run()
    assert at.query_params == {"n_heads": "8", "lang": "zh"}


def test_links_of_the_navigation_give_back_as_well(opened):
    at = opened("pages/kv_cache.py", kv_batch="4")
    at.button(key="story_start").click().run()
    links = {one.proto.page: one.proto.query_string for one in at.sidebar.get("page_link")}
    assert set(links.values()) == {"kv_batch=4"}


def test_from_a_link_into_the_story_links_of_the_navigation_leave_it(opened):
    at = opened("pages/kv_cache.py", **link(first("kv_cache", kv_view="memory")) | {"lang": "zh"})
    links = {one.proto.query_string for one in at.sidebar.get("page_link")}
    assert links == {"lang=zh&kv_view=memory"}


def test_from_a_link_leaving_stays_where_it_is(opened):
    at = opened(PAGES[steps()[3].page].file, **link(4))
    at.button(key="story_leave").click().run()
    assert at.session_state["page"] == steps()[3].page
    assert at.session_state["settings"]["stop"] == 0


def test_the_presenter_opens_any_step(opened, monkeypatch):
    asked: list[object] = []

    def drawn(*_: object, on_go_change: Callable[[], None], **__: object) -> None:
        if asked:
            st.session_state[presenter.KEY] = {"go": asked.pop()}
            on_go_change()

    monkeypatch.setattr(presenter, "_component", lambda: drawn)
    at = opened(**link(first("overview", variant="mha")))
    for to, expected in ((5, 5), ("2", 5), (None, 5), (999, len(steps())), (-3, 1)):
        asked.append(to)
        at.run()
        at.run()
        assert at.session_state["settings"]["stop"] == expected
        assert at.session_state["page"] == steps()[expected - 1].page


def test_the_story_ends_at_its_last_step_and_begins_at_its_first(opened):
    last = len(steps())
    for number in (1, 2, last):
        at = opened(PAGES[steps()[number - 1].page].file, **link(number))
        shut = {way: at.button(key=f"story_{way}").disabled for way in ("previous", "next")}
        assert shut == {"previous": number == 1, "next": number == last}
