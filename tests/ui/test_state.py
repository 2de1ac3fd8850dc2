"""Settings in links: parsed, clamped, kept over language and page, never a crash."""

import pytest
from streamlit.runtime.state import QueryParamsProxy

from tests.ui.screen import statement
from ui.settings.page import SETTINGS


def test_numbers_come_to_the_nearest_valid_value():
    assert SETTINGS["n_heads"].parse("9999") == 128
    assert SETTINGS["d_rope"].parse("63") == 62
    assert SETTINGS["d_head"].parse("-5") == 2


def test_a_language_switch_changes_no_setting(opened):
    given = {"n_heads": "8", "d_rope": "32", "variant": "gqa", "n_kv_heads": "2", "seed": "7"}
    at = opened(**given)
    before = dict(at.session_state["settings"])
    language = at.sidebar.get("button_group")[0]
    language.set_value("zh").run()
    assert statement(at).startswith("GQA 每个词元")
    at.select_slider[0].set_value(1024).run()
    at.sidebar.get("button_group")[0].set_value("en").run()
    after = dict(at.session_state["settings"])
    assert after == before | {"d_model": 1024}


def test_a_preset_in_a_link_brings_its_sizes_and_its_variant(opened):
    at = opened(preset="llama-3-8b", n_heads="16")
    settings = at.session_state["settings"]
    assert (settings["d_model"], settings["n_kv_heads"], settings["variant"]) == (4096, 8, "gqa")
    assert settings["n_heads"] == 16
    assert dict(at.query_params) == {"preset": "llama-3-8b", "n_heads": "16"}


def test_another_spelling_of_a_value_is_no_note(opened):
    at = opened("pages/attention_maps.py", map_temperature="2", seed="007")
    assert not at.warning
    assert at.session_state["settings"]["seed"] == 7


def test_reset_of_a_page_brings_back_what_it_draws(opened):
    at = opened(preset="llama-3-8b", n_heads="16", kv_batch="4")
    next(b for b in at.button if b.label == "Reset this page").click().run()
    assert dict(at.query_params) == {"kv_batch": "4"}


def test_reset_keeps_the_language(opened):
    at = opened(lang="zh", n_heads="8")
    next(b for b in at.button if b.label == "恢复全部默认值").click().run()
    assert at.session_state["settings"]["n_heads"] == SETTINGS["n_heads"].default
    assert at.session_state["settings"]["lang"] == "zh"


@pytest.fixture
def told(monkeypatch) -> list[dict[str, str]]:
    """Return a list that collects the addresses that the browser is told."""
    found, write = [], QueryParamsProxy.from_dict

    def noting(self: QueryParamsProxy, parameters: dict[str, str]) -> None:
        found.append(dict(parameters))
        write(self, parameters)

    monkeypatch.setattr(QueryParamsProxy, "from_dict", noting)
    return found


def test_a_browser_that_asked_with_an_older_address_is_told_the_present_one(opened, told):
    at = opened(n_heads="8")
    older, size = dict(at.query_params), at.select_slider[0].value
    at.select_slider[0].set_value(1024).run()
    at.query_params.clear()
    at.query_params.update(older)
    at.select_slider[0].set_value(size).run()
    assert told == [{"n_heads": "8", "d_model": "1024"}, {"n_heads": "8"}]


def test_an_address_that_a_browser_comes_with_is_not_told_again(opened, told):
    at = opened("pages/compute.py", n_heads="8")
    at.query_params["d_model"] = "1024"
    at.switch_page("pages/absorption.py").run()
    assert at.session_state["settings"]["d_model"] == 1024
    assert told == []


def test_a_link_that_leaves_the_story_is_not_told_again(opened, told):
    at = opened("pages/absorption.py", stop="24")
    del at.query_params["stop"]
    at.switch_page("pages/kv_cache.py").run()
    assert at.session_state["settings"]["stop"] == 0
    assert told == []
