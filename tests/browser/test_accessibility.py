"""Every page for people who see little, listen or use keys: no serious finding, no word unreadable.

One browser session loads each page once. It is looked at on a wide and on a narrow screen, in one
of the themes and languages here and in the other there; the combinations alternate from page to
page. Its further views and states get one of these looks each, and their charts both.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from tests.browser.conftest import new_context
from tests.browser.waiting import everything, menu, settle, until, walk
from ui.frame.rooms import PAGES
from ui.parts.real_layer import DEMO

pytestmark = pytest.mark.browser

CHARTS = Path(__file__).with_name("chart_text.js").read_text("utf-8")
TITLE_TOP = 55  # pixels, the same on every page
WIDE, PHONE = {"width": 1920, "height": 1080}, {"width": 390, "height": 844}
THEMES, LANGUAGES = ("light", "dark"), ("en", "zh")
BUTTONS = {"en": "English", "zh": "中文"}
# All that axe ranks serious or critical: its WCAG rules and a few of its best practices. Words of
# charts are judged by CHARTS, which knows what they stand on.
AXE = """(chosen) => axe.run({exclude: [".main-svg"]}, {
    runOnly: {type: "tag", values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]},
    rules: Object.fromEntries(chosen.map(rule => [rule, {enabled: true}])),
    resultTypes: ["violations"], preload: false,
}).then(found => found.violations)"""
BEST_PRACTICES = (
    "accesskeys",
    "aria-dialog-name",
    "aria-text",
    "aria-treeitem-name",
    "label-title-only",
    "tabindex",
)
VIEWS = (
    "attention_maps?map_generated=24",
    *(f"rope?rope_topic={topic}" for topic in ("merged", "pairing", "scale", "yarn")),
    "compression?cmp_weights=spectrum&cmp_log=1",
    *(f"kv_cache?kv_view={view}" for view in ("memory", "layouts", "parallel", "formula")),
    "compute?cost_phase=prefill",
    "compute?preset=deepseek-v3&lecture=1",
    "compare?vs_view=costs",
    "compare?vs_view=maps",
)
EXPANDED = ("worked_example", "kv_cache", "compute")
STATES = {
    "warned": "overview?colour=red&n_heads=0",
    "refused": "overview?preset=minicpm3-4b&d_rope=64",
    "lecture": "overview?preset=deepseek-v3&lecture=1",
    "source": "compare?code=source",
    "snippet": "kv_cache?code=snippet",
    "answered": "quiz?quiz_answers=0",
    "otherwise": "quiz?quiz_answers=1",
    "summary": "quiz?quiz_count=2&quiz_answers=0&quiz_done=1",
    "asked": "worked_example?we_fade=more&we_step=14",
}


class Turn(NamedTuple):
    """Theme and language of the first look at a page; the second has the others."""

    theme: int
    language: int

    @classmethod
    def of(cls, number: int) -> "Turn":
        """The four combinations in turn."""
        return cls(number % 2, number // 2 % 2)


@pytest.fixture(scope="module")
def reader(chromium: Browser) -> Iterator[Page]:
    """One session for the file: the browser keeps what it has loaded."""
    context = new_context(chromium)
    yield context.new_page()
    context.close()


@pytest.fixture
def opened(reader: Page, app_url: str) -> Callable[[str, Turn], Page]:
    """`opened("rope?rope_pair=3", turn)` shows that page on a wide screen."""

    def load(path: str, turn: Turn) -> Page:
        name, _, query = path.partition("?")
        query += f"&lang={LANGUAGES[turn.language]}"
        reader.set_viewport_size(WIDE)
        reader.emulate_media(color_scheme=THEMES[turn.theme])
        walk(reader, f"{app_url}/{name.replace('overview', '')}?{query.lstrip('&')}")
        everything(reader)
        return reader

    return load


def resized(page: Page, size: dict[str, int]) -> None:
    """Another window, which the charts follow."""
    page.set_viewport_size(size)
    settle(page)


def speak(page: Page, language: str) -> None:
    """Switch the language by its button, which a narrow screen keeps out of sight."""
    before = page.locator("h1").inner_text()
    words = page.get_by_test_id("stSidebar").get_by_text(BUTTONS[language])
    words.evaluate("node => node.closest('button').click()")
    page.wait_for_function("said => document.querySelector('h1')?.innerText !== said", arg=before)
    settle(page)


def until_clean(page: Page, look: Callable[[], list[str]]) -> list[str]:
    """What `look` still finds when it has been given time for late changes."""
    return until(page, look, lambda found: not found)


def unreadable(page: Page) -> list[str]:
    """What is wrong with the charts' words once they have followed the window."""
    return until_clean(page, lambda: page.evaluate(CHARTS))


def findings(page: Page) -> list[str]:
    """Serious and critical findings, and words of charts that cannot be read."""
    return until_clean(page, lambda: serious(page)) + unreadable(page)


def serious(page: Page) -> list[str]:
    """What axe finds serious or critical."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(Axe().axe_script)
    return [
        f"{rule['id']}: {node['target']} {node['html'][:120]}"
        for rule in page.evaluate(AXE, BEST_PRACTICES)
        if rule["impact"] in ("serious", "critical")
        for node in rule["nodes"]
    ]


def looked_at(page: Page, turn: Turn) -> list[str]:
    """The findings on one of the screens, and the words of charts on the other."""
    looks = (unreadable, findings) if turn.language else (findings, unreadable)
    found = looks[0](page)
    page.emulate_media(color_scheme=THEMES[1 - turn.theme])
    resized(page, PHONE)
    return found + looks[1](page)


Opened = Callable[[str, Turn], Page]


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_no_serious_finding(opened: Opened, name: str) -> None:
    """The words of charts are read in both languages on both screens."""
    turn = Turn.of(list(PAGES).index(name))
    page = opened(name, turn)
    assert page.locator("h1").bounding_box()["y"] == pytest.approx(TITLE_TOP, abs=1)
    if name in EXPANDED:
        page.get_by_test_id("stMain").get_by_test_id("stExpander").first.locator("summary").click()
        settle(page)
    assert findings(page) == []
    resized(page, PHONE)
    assert unreadable(page) == []
    page.emulate_media(color_scheme=THEMES[1 - turn.theme])
    speak(page, LANGUAGES[1 - turn.language])
    assert findings(page) == []
    resized(page, WIDE)
    assert unreadable(page) == []


@pytest.mark.parametrize("path", VIEWS)
def test_a_view_has_none_either(opened: Opened, path: str) -> None:
    turn = Turn.of(VIEWS.index(path))
    assert looked_at(opened(path, turn), turn) == []


@pytest.mark.parametrize("name", STATES)
def test_a_state(opened: Opened, name: str) -> None:
    turn = Turn.of(list(STATES).index(name))
    assert looked_at(opened(STATES[name], turn), turn) == []


def test_a_step_of_the_story(opened: Opened) -> None:
    """What is dimmed is lit again under the pointer and the focus: here all of it at once."""
    turn = Turn.of(1)
    page = opened("rope?stop=25", turn)
    page.locator(".st-key-story_bar").wait_for()
    page.add_style_tag(content=".stElementContainer { opacity: 1 !important; }")
    assert looked_at(page, turn) == []


def test_a_real_layer(opened: Opened, demo: Path) -> None:
    turn = Turn.of(1)
    assert looked_at(opened(f"real_models?source={DEMO}&layer=1&text=ab+ab", turn), turn) == []


def test_the_dialog_with_the_link_for_the_audience(opened: Opened) -> None:
    turn = Turn.of(0)
    page = opened("notation?notation_of=cached", turn)
    menu(page).get_by_role("button", name="QR code").click()
    page.locator("img.share-code").wait_for()
    settle(page)
    assert looked_at(page, turn) == []


def test_what_cannot_be_read_is_found(reader: Page) -> None:
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
