"""Every panel stands alone: with its numbers and controls, and nothing of what is around a page."""

import pytest
from streamlit.testing.v1 import AppTest

from tests.ui.controls import controls, link
from tests.ui.screen import charts, lead
from ui.settings.page import PAGES, SETTINGS, Page, Panel
from ui.settings.parsers import PANELS
from ui.settings.shared import SHARED

CACHE = "pages/kv_cache.py"
OTHERS = {  # values that pages do not begin with
    "kv_left": "kimi-k2", "kv_right": "qwen3-8b", "kv_groups": "4", "kv_layers": "7",
    "kv_batch": "8", "kv_type": "fp8",
    "kv_context": "4096", "kv_ways": "two", "kv_log": "0", "kv_unit": "GB",
    "kv_gpu": "a100-80", "kv_ranks": "4", "kv_attention": "data", "kv_weights": "bf16",
    "kv_sequences": "16", "kv_pipeline": "2", "kv_dcp": "2", "kv_mtp": "1",
}  # fmt: skip


def of(name: str) -> tuple[Page, Panel]:
    page, _, own = name.partition(".")
    return PAGES[page], PAGES[page].panel(own)


@pytest.fixture
def alone(opened):
    def opened_alone(name: str, **parameters: str) -> AppTest:
        return opened(of(name)[0].file, panel=name, **parameters)

    return opened_alone


def shows(at: AppTest) -> list:
    return [chart.spec for chart in charts(at)] + [table.value.to_csv() for table in at.table]


@pytest.mark.parametrize("name", PANELS)
def test_a_panel_stands_alone_with_its_controls(alone, opened, name):
    at = alone(name)
    assert not at.warning
    assert not at.error
    assert at.main.title
    assert not at.get("page_link")
    assert not at.sidebar.button
    page, panel = of(name)
    has = set(controls(at)) & set(page.settings)
    assert has <= {*panel.settings, *panel.shown}
    if not has:  # it has none of its own on the page either
        whole = opened(page.file, **{one: str(value) for one, value in panel.shown.items()})
        assert not set(controls(whole)) & set(panel.settings)
    assert link(at) == {"panel": name} | {
        n: str(v) for n, v in panel.shown.items() if n in link(at)
    }


@pytest.mark.parametrize("name", [one for one in PANELS if of(one)[1].lead])
def test_its_number_is_that_of_the_page(alone, opened, name):
    page, panel = of(name)
    whole = opened(page.file, **{name: str(value) for name, value in panel.shown.items()})
    assert lead(alone(name)) == lead(whole)


@pytest.mark.parametrize("name", [one for one in PANELS if one.startswith("kv_cache.")])
def test_it_reads_the_settings_that_it_names_and_no_others(alone, name):
    page, panel = of(name)
    begun = shows(alone(name))
    others = (page.settings.keys() - {*panel.settings, *panel.shown}) & OTHERS.keys()
    at = alone(name, **{one: OTHERS[one] for one in others})
    assert shows(at) == begun
    assert len(at.warning) == 1
    for one in ("kv_left", "kv_right"):
        assert shows(alone(name, **{one: OTHERS[one]})) != begun, one


def test_an_unknown_panel_is_the_nearest_of_its_page(alone, opened):
    at = opened(CACHE, panel="kv_cache.memroy", kv_context="4096")
    assert "kv_cache.memroy" in at.warning[0].value.replace("&#46;", ".").replace("&#95;", "_")
    assert lead(at) == lead(alone("kv_cache.memory", kv_context="4096"))
    assert link(at)["panel"] == "kv_cache.memory"


def test_what_is_like_no_panel_shows_the_whole_page(opened):
    at = opened(CACHE, panel="-0")
    assert len(at.warning) == 1
    assert at.get("page_link")
    assert "panel" not in link(at)


def test_a_panel_of_another_page_opens_there(opened):
    at = opened("pages/compute.py", panel="kv_cache.layouts", kv_left="kimi-k2")
    assert at.session_state["page"] == "kv_cache"
    assert link(at)["kv_left"] == "kimi-k2"
    assert not at.get("page_link")


def test_a_control_of_a_panel_changes_its_numbers_and_its_link(alone):
    at = alone("kv_cache.context")
    before = lead(at)
    at.select_slider(key="kv_context").set_value(4096).run()
    assert link(at) == {"panel": "kv_cache.context", "kv_context": "4096"}
    assert lead(at) != before


def test_what_a_layer_has_not_is_said_and_the_first_panel_shown(alone):
    at = alone("attention_maps.cell", preset="small", variant="kda")
    assert len(at.info) == 1
    assert "map_head" in controls(at)


def test_every_panel_names_settings_that_there_are():
    for name in PANELS:
        page, panel = of(name)
        assert {*panel.settings, *panel.shown} <= SETTINGS.keys() & {*page.settings, *SHARED}
