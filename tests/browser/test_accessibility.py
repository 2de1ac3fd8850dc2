"""Every page for people who see little, listen or use keys: no serious finding, no word unreadable.

One browser session loads each page once. It is looked at on a wide and on a narrow screen, in one
of the themes and languages here and in the other there; the combinations alternate from page to
page. Its further views and states get one of these looks each, and their charts both.
"""

import pytest

from tests.browser.looks import (
    CHARTS,
    KINDS,
    Turn,
    looked_at,
    looked_through,
    serious,
)
from tests.browser.waiting import menu, settle
from ui.frame.pages import PAGES
from ui.parts.checkpoint import DEMO

pytestmark = pytest.mark.browser

TITLE_TOP = 55  # pixels, the same on every page
VIEWS = (
    "attention_maps?map_generated=24",
    *(f"rope?rope_topic={topic}" for topic in ("merged", "pairing", "scale", "yarn")),
    "compression?cmp_weights=spectrum&cmp_log=1",
    *(f"kv_cache?kv_view={view}" for view in ("memory", "layouts", "parallel", "formula")),
    "compute?cost_phase=prefill",
    "compare?vs_view=costs",
    "compare?vs_view=maps",
)
EXPANDED = ("worked_example", "kv_cache", "compute")
STATES = {
    "warned": "overview?colour=red&n_heads=0",
    "refused": "overview?preset=minicpm3-4b&d_rope=64",
    "lecture": "overview?preset=deepseek-v3&lecture=1",
    "snippet": "kv_cache?code=snippet",
    "answered": "quiz?quiz_answers=0",
    "otherwise": "quiz?quiz_answers=1",
    "summary": "quiz?quiz_count=2&quiz_answers=0&quiz_done=1",
    "asked": "worked_example?we_fade=more&we_step=14",
}


@pytest.mark.parametrize("name", [name for name in PAGES if name not in KINDS])
def test_a_page_has_no_serious_finding(opened, name):
    turn = Turn.of(list(PAGES).index(name))
    page = opened(name, turn)
    assert page.locator("h1").bounding_box()["y"] == pytest.approx(TITLE_TOP, abs=1)
    if name in EXPANDED:
        page.get_by_test_id("stMain").get_by_test_id("stExpander").first.locator("summary").click()
        settle(page)
    assert looked_through(page, turn) == []


@pytest.mark.parametrize("path", VIEWS)
def test_a_view_has_none_either(opened, path):
    turn = Turn.of(VIEWS.index(path))
    assert looked_at(opened(path, turn), turn) == []


@pytest.mark.parametrize("name", STATES)
def test_a_state(opened, name):
    turn = Turn.of(list(STATES).index(name))
    assert looked_at(opened(STATES[name], turn), turn) == []


def test_a_real_layer(opened, demo):
    turn = Turn.of(1)
    assert looked_at(opened(f"real_models?source={DEMO}&layer=1&text=ab+ab", turn), turn) == []


def test_the_dialog_with_the_link_for_the_audience(opened):
    turn = Turn.of(0)
    page = opened("notation?notation_of=cached", turn)
    menu(page).get_by_role("button", name="QR code").click()
    page.locator("img.share-code").wait_for()
    settle(page)
    assert looked_at(page, turn) == []


def test_what_cannot_be_read_is_found(reader):
    """The checks themselves: planted defects do not pass."""
    chart = """<main><h1>x</h1><div class="js-plotly-plot" style="width: 200px; height: 80px">
        <svg class="main-svg" width="200" height="80">{}</svg></div></main>"""
    text = '<text x="{}" y="40" font-size="16" fill="{}">{}</text>'
    planted = {
        text.format(20, "#999", "pale"): "“pale” has a contrast of 2.85",
        '<rect width="200" height="80" fill="#000"/>' + text.format(20, "#333", "dark"): (
            "“dark” has a contrast of 1.66"
        ),
        text.format(20, "#000", "one") + text.format(30, "#000", "two"): "“one” and “two” overlap",
        text.format(180, "#000", "beyond"): "“beyond” is cut by the edge of its chart",
        text.format(20, "#000", "one") + text.format(90, "#000", "two"): None,
    }
    for svg, says in planted.items():
        reader.set_content(chart.format(svg))
        assert reader.evaluate(CHARTS) == ([says] if says else [])
    bad = '<p style="color: #999">pale</p><img src="x">'
    reader.set_content(f"<html lang=en><title>x</title><main><h1>x</h1>{bad}</main></html>")
    assert {line.split(":")[0] for line in serious(reader)} == {"color-contrast", "image-alt"}
