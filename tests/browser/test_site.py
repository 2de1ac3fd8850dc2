"""A static copy, recorded from a server and opened from a bare file server, below a path."""

import io
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
from PIL import Image, ImageChops
from playwright.sync_api import Browser, Page, expect

from tests.attacks.server import App
from tests.browser import small_copy
from tests.browser.conftest import new_context
from tests.browser.small_copy import LIVE, STEPS
from tests.browser.waiting import settle, until, walk
from ui.frame.story import steps
from ui.settings.page import HOME
from ui.site import record
from ui.site.html import Still, document
from ui.site.pack import RUNS, SUFFIX
from ui.site.store import address_of

pytestmark = pytest.mark.browser
ROUNDED = 2  # of 255: round corners that are drawn once more after a page's first are off by 1
WIDE, PHONE = {"width": 1280, "height": 720}, {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def app() -> Iterator[App]:
    """A server whose pages are recorded, and here the same models as there."""
    with small_copy.recording() as server:
        yield server


@pytest.fixture(scope="module")
def folder(app: App, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The copy of some ten views, where the file server has it."""
    return small_copy.written(app, tmp_path_factory.mktemp("copy"))


@pytest.fixture(scope="module")
def served(folder: Path) -> Iterator[str]:
    """The copy's address at a server of files alone."""
    with small_copy.served(folder) as address:
        yield address


@pytest.fixture(scope="module")
def context(chromium: Browser):
    """One browser's memory for the file; what was asked for elsewhere is noted."""
    context = new_context(chromium, WIDE)
    yield context
    context.close()


@pytest.fixture(scope="module")
def tab(context, served: str) -> Page:
    """A page of the copy's reader; what he asks of others, and errors, are noted in `wrong`."""
    page, wrong = context.new_page(), []
    page.on("console", lambda told: wrong.append(told.text) if told.type == "error" else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on(
        "request", lambda asked: wrong.append(asked.url) if foreign(asked.url, served) else None
    )
    page.wrong = wrong
    return page


@pytest.fixture
def reader(tab: Page) -> Iterator[Page]:
    """The page of the copy's reader, who asks nobody else and gets no error."""
    tab.bring_to_front()  # a page behind another draws no frames, and never comes to rest
    tab.set_viewport_size(WIDE)
    yield tab
    assert tab.wrong == []


@pytest.fixture(scope="module")
def live(context) -> Page:
    """A page of the app itself."""
    return context.new_page()


def foreign(url: str, served: str) -> bool:
    return not url.startswith((served, "data:", "blob:"))


def path_of(page: str, query: dict[str, str]) -> str:
    return f"{'' if page == HOME else page}?{urlencode(query)}".rstrip("?")


PAINT_ANEW = "() => { document.body.style.opacity = document.body.style.opacity ? '' : 0.999; }"


def differing(*pages: Page) -> tuple | None:
    """Return where two pages differ by more than what is rounded; None where not a pixel does.

    Each is painted anew: a box that moved keeps the corners of its first painting.
    """
    for page in pages:
        page.evaluate(PAINT_ANEW)
    shots = [Image.open(io.BytesIO(page.screenshot())).convert("RGB") for page in pages]
    return ImageChops.difference(*shots).point(lambda by: by > ROUNDED).getbbox()


VIEWS = [
    (HOME, {}),
    (HOME, {"variant": "mha"}),
    ("kv_cache", {}),
    ("notation", {}),
    None,  # a step of the story
]


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: address_of(*view) if view else "story")
def test_a_view_is_the_live_page_to_the_pixel(view, reader, live, served, app):
    view = view or record.step_of(STEPS, {})
    for page, address in ((reader, served), (live, app.url)):
        page.emulate_media(reduced_motion="reduce")  # no way on which a picture could be taken
        page.bring_to_front()
        page.set_viewport_size(WIDE)
        walk(page, f"{address}/{path_of(*view)}")
        settle(page)
    expect(reader.locator("#still")).to_have_count(0)
    for size in (WIDE, PHONE):
        for page in (reader, live):
            page.bring_to_front()
            page.set_viewport_size(size)
            settle(page)
        assert until(reader, lambda: differing(reader, live), lambda box: box is None) is None


def test_a_choice_changes_the_page_and_its_address_and_back_undoes_it(reader, served):
    reader.goto(f"{served}/")
    settle(reader)
    lead = reader.locator(".st-key-lead")
    before = lead.inner_text()
    variants = reader.locator(".st-key-variant")
    variants.get_by_text("MHA", exact=True).click()
    reader.wait_for_url(f"{served}/?variant=mha")
    settle(reader)
    after = lead.inner_text()
    assert "4,096" in after
    assert after != before
    reader.reload()
    settle(reader)
    assert lead.inner_text() == after
    reader.goto(f"{served}/")
    settle(reader)
    reader.get_by_text("中文", exact=True).click()
    reader.wait_for_url(f"{served}/?lang=zh")
    expect(reader.locator("h1").first).to_contain_text("注意力")
    reader.go_back()
    reader.wait_for_url(f"{served}/")
    expect(lead).to_have_text(before, use_inner_text=True)


def test_a_former_address_opens_the_page_that_it_has_now_with_its_settings(reader, served):
    reader.goto(f"{served}/kv_cache/?kv_view=memory")
    settle(reader)
    memory = reader.locator("h1").inner_text()
    reader.goto(f"{served}/memory/?memory_view=memory")
    expect(reader).to_have_url(re.compile(r"/kv_cache/\?kv_view=memory$"))
    settle(reader)
    expect(reader.locator("h1")).to_have_text(memory)
    expect(reader.locator("#copy-says")).to_have_count(0)


def test_a_page_of_another_language_says_so_before_and_after_it_is_drawn(reader, context, served):
    bare = context.browser.new_context(java_script_enabled=False).new_page()
    bare.goto(f"{served}/zh/")
    expect(bare.locator("html")).to_have_attribute("lang", "zh-CN")
    expect(bare.locator("h1")).to_have_text("标题")
    bare.context.close()
    reader.goto(f"{served}/zh/")
    reader.wait_for_url(f"{served}/?lang=zh")
    settle(reader)
    expect(reader.locator("h1").first).to_contain_text("注意力")
    expect(reader.locator("html")).to_have_attribute("lang", "zh-CN")


def test_a_block_of_the_scene_opens_what_was_recorded_for_it(reader, served):
    walk(reader, f"{served}/?variant=mha")
    settle(reader)
    for part, page in ((".block[data-code=q]", "attention_maps"), (".shelves", "kv_cache")):
        reader.locator(f".scene {part}").first.press("Enter")
        reader.wait_for_url(f"{served}/{page}**")
        settle(reader)
        if page == "attention_maps":
            assert "map_tensor=q" in reader.url
            assert "variant=mha" in reader.url
        walk(reader, f"{served}/?variant=mha")
        settle(reader)


def test_the_story_goes_on_by_the_clicker_and_gives_back_what_was(reader, served):
    reader.goto(f"{served}/notation/")
    settle(reader)
    reader.get_by_role("button", name="Tell me the story").click()
    for number in range(1, STEPS + 1):
        reader.wait_for_url(f"**stop={number}*")
        settle(reader)
        bar = reader.locator(".st-key-story_bar")
        expect(bar).to_contain_text(steps()[number - 1].say["en"])
        reader.keyboard.press("PageDown" if number < STEPS else "PageUp")
    reader.wait_for_url("**stop=2*")
    settle(reader)
    reader.locator(".st-key-story_leave").get_by_role("button").click()
    reader.wait_for_url(f"{served}/notation")
    settle(reader)


def test_what_was_not_recorded_goes_back_with_one_line(reader, served):
    reader.goto(f"{served}/?variant=mha")
    settle(reader)
    reader.locator(".st-key-variant").get_by_text("GQA", exact=True).click()
    says = reader.locator("#copy-says")
    expect(says).to_contain_text("This copy has not recorded that view.")
    expect(says.get_by_role("link")).to_have_attribute("href", f"{LIVE}/?variant=mha")
    settle(reader)
    chosen = reader.locator(".st-key-variant [aria-checked=true]")
    expect(chosen).to_have_text("MHA")
    reader.goto(f"{served}/notation/?notation_of=cached&lang=zh")
    settle(reader)
    expect(says).to_contain_text("此副本没有录下这个画面。")


def test_a_line_that_went_with_the_hand_goes_back_with_it(reader, served):
    reader.goto(f"{served}/kv_cache/")
    settle(reader)
    at = "() => document.querySelector('.js-plotly-plot').layout.shapes[0].x0"
    before = reader.evaluate(at)
    reader.locator(".st-key-kv_context input").press("ArrowLeft")
    expect(reader.locator("#copy-says")).to_contain_text("not recorded")
    settle(reader)
    assert reader.evaluate(at) == before


def test_a_frame_that_went_with_a_click_goes_back_with_one_line(reader, served):
    reader.goto(f"{served}/attention_maps/?map_tensor=q&variant=mha")
    settle(reader)
    at = "() => JSON.stringify(document.querySelector('.js-plotly-plot').layout.shapes)"
    before, says = reader.evaluate(at), reader.locator("#copy-says")
    expect(says).to_have_count(0)
    reader.locator(".js-plotly-plot .nsewdrag").first.click()
    expect(says).to_contain_text("not recorded")
    expect(says.get_by_role("link")).to_have_attribute("href", re.compile("map_tensor=q"))
    settle(reader)
    assert reader.evaluate(at) == before


def test_before_any_script_a_page_says_what_it_shows(context, served):
    page = context.browser.new_context(java_script_enabled=False).new_page()
    page.goto(f"{served}/kv_cache/")
    expect(page.locator("h1")).to_have_text("Title of kv_cache")
    expect(page).to_have_title("KV cache · MLA Explorer")
    page.context.close()


def test_without_scripts_a_small_screen_scrolls_to_the_end_of_a_page(chromium, tmp_path):
    small = {"width": 320, "height": 400}
    page = chromium.new_context(java_script_enabled=False, viewport=small).new_page()
    still = Still("kv_cache", "KV cache", "It says. " * 40, "none.jpg")
    (tmp_path / "page.html").write_text(document(still, {}, ""), "utf-8")
    page.goto((tmp_path / "page.html").as_uri())
    said = page.locator("noscript p").bounding_box()
    height = page.evaluate("document.documentElement.scrollHeight")
    assert small["height"] < said["y"] + said["height"] <= height
    assert page.locator("img").bounding_box()["width"] <= small["width"]
    page.context.close()


BROKEN = {
    "a cut file": ("run", "A file of this copy is missing or damaged."),
    "an index that is gone": ("index", "A file of this copy is missing or damaged."),
    "an index of another version": ("format", "different versions"),
    "a browser without decompression": ("old", "too old"),
}


@pytest.mark.parametrize("broken", BROKEN)
def test_what_is_broken_is_said_in_one_sentence(broken, context, served, folder):
    kind, sentence = BROKEN[broken]
    page = context.new_page()
    if kind == "run":
        page.route(f"**/{RUNS}/*.{SUFFIX}", lambda route: route.fulfill(body=b"\x1f\x8b cut"))
    if kind == "index":
        page.route("**/index.json", lambda route: route.fulfill(status=404))
    if kind == "format":
        page.route("**/index.json", lambda route: route.fulfill(body='{"format": 0}'))
    if kind == "old":
        page.add_init_script("delete window.DecompressionStream")
    page.goto(f"{served}/kv_cache/")
    expect(page.locator("#copy-says")).to_contain_text(sentence)
    expect(page.locator("#copy-says a")).to_have_attribute("href", f"{LIVE}/kv_cache")
    expect(page.locator("h1").first).to_have_text("Title of kv_cache")
    page.close()


def test_it_opens_with_storage_switched_off(context, served):
    page = context.new_page()
    page.add_init_script(
        """for (const name of ["localStorage", "sessionStorage"])
             Object.defineProperty(window, name, { configurable: true,
               get() { throw new DOMException("off", "SecurityError"); } });"""
    )
    page.goto(f"{served}/")
    settle(page)
    expect(page.locator("#still")).to_have_count(0)
    expect(page.locator("h1").first).to_be_visible()
    page.close()
