"""Test in a minute what needs a real server and a real browser; the rest is part `browser`.

The story begins and goes on by the clicker, a link and its code open the same page, a reload keeps
what was set, one page of each kind is accessible, and a class is joined.
"""

import io
import re

import pytest
import segno
from PIL import Image
from playwright.sync_api import Page, expect

from tests.browser.looks import KINDS, LANGUAGES, Turn, looked_at, looked_through, speak
from tests.browser.test_classroom import at, classroom, goes, joined, over
from tests.browser.test_classroom import opened as class_opened
from tests.browser.test_story import STORY_BARS, wrong
from tests.browser.waiting import door, listening, menu, settle
from ui.frame.story import steps

pytestmark = pytest.mark.browser
AS_PAGE = {"accept": "text/html"}
HAN = re.compile("[\u3400-\u9fff]")
CHINESE = "".join(chr(0x4E00 + n) for n in range(256))


def test_it_begins_with_one_press_and_gives_back_what_was(show, app_url):
    page = show("notation?kv_batch=4", {"width": 1280, "height": 720})
    page.get_by_role("button", name="Tell me the story").click()
    page.wait_for_url(f"{app_url}/language_model?stop=1")
    for number in (1, 2, 3):
        expect(page.locator(".st-key-story_bar")).to_contain_text(steps()[number - 1].say["en"])
        listening(page)
        assert not wrong(page, number, *STORY_BARS, least=0)
        page.keyboard.press("PageDown" if number < 3 else "PageUp")
    page.wait_for_url("**stop=2*")
    settle(page)
    page.reload()
    settle(page)
    expect(page.locator(".st-key-story_bar")).to_contain_text(steps()[1].say["en"])
    for number in (3, 2, 1):
        page.go_back()
        page.wait_for_url(f"**stop={number}*")
        settle(page)
    page.go_back()
    page.wait_for_url(f"{app_url}/notation?kv_batch=4")
    settle(page)
    expect(page.locator(".st-key-story_bar")).to_have_count(0)

    page.get_by_role("button", name="Tell me the story").click()
    page.wait_for_url(f"{app_url}/language_model?stop=1")
    settle(page)
    page.locator(".st-key-story_leave").get_by_role("button").click()
    page.wait_for_url(f"{app_url}/notation?kv_batch=4")
    settle(page)
    page.get_by_role("button", name="Tell me the story").click()
    page.wait_for_url(f"{app_url}/language_model?stop=1")
    settle(page)
    door(page, "Claims").click()
    page.wait_for_url(f"{app_url}/claims?kv_batch=4")


def test_where_nothing_else_steps_the_clicker_turns_the_pages(show):
    page = show("claims?lecture=1&n_heads=8")
    listening(page)
    page.keyboard.press("PageDown")
    page.wait_for_url("**/quiz?**")
    assert "n_heads=8" in page.url
    assert "lecture=1" in page.url


def drawn(page: Page, quiet: int = 4) -> list[list[int]]:
    """Return the modules of the code read off the screen, with white around them."""
    picture = page.locator("img.share-code")
    shot = Image.open(io.BytesIO(picture.screenshot())).convert("RGB")
    side = picture.evaluate("image => image.naturalWidth / image.naturalHeight")
    assert side == 1
    count = len(code_of(page)) + 2 * quiet
    module = shot.width / count
    rows = [
        [shot.getpixel((int((x + 0.5) * module), int((y + 0.5) * module))) for x in range(count)]
        for y in range(count)
    ]
    assert {colour for row in rows for colour in row} == {(0, 0, 0), (255, 255, 255)}
    dark = [[int(colour == (0, 0, 0)) for colour in row] for row in rows]
    assert not any(map(any, dark[:quiet] + dark[-quiet:]))
    assert not any(any(row[:quiet] + row[-quiet:]) for row in dark)
    return [row[quiet:-quiet] for row in dark[quiet:-quiet]]


def code_of(page: Page) -> list[list[int]]:
    """Return the modules of the link that stands below the code."""
    link = page.locator(".share-link").inner_text()
    return [list(row) for row in segno.make_qr(link, error="l").matrix]


def test_the_code_is_large_and_black_on_white_and_holds_the_link_below_it(show, app_url):
    page = show("notation?notation_of=cached&lecture=0")
    main = page.get_by_test_id("stMain").inner_text()
    menu(page).get_by_role("button", name="QR code").click()
    dialog = page.get_by_role("dialog", name="This page on your own screen")
    expect(dialog).to_contain_text("Phones cannot reach 127.0.0.1")
    link = page.locator(".share-link")
    expect(link).to_have_text(f"{app_url}/notation?lang=en&notation_of=cached")
    for width, height, scheme in ((1920, 1080, "light"), (1024, 768, "dark"), (390, 844, "dark")):
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=scheme)
        expect(page.locator("img.share-code")).to_be_visible()
        settle(page)
        box = page.locator("img.share-code").bounding_box()
        assert 0.4 * height <= box["height"] <= box["width"] + 1
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
        assert drawn(page) == code_of(page)
        assert link.evaluate("p => parseFloat(getComputedStyle(p).fontSize)") >= 24
    shared = page.context.new_page()
    shared.goto(link.inner_text())
    settle(shared)
    assert shared.get_by_test_id("stMain").inner_text() == main
    assert link.evaluate("p => (getSelection().selectAllChildren(p), String(getSelection()))") == (
        link.inner_text()
    )


def test_a_long_text_leaves_every_link_for_others_and_survives_a_reload(app_url, browser_page):
    page = browser_page
    page.goto(f"{app_url}/notation?map_run=1&map_text={CHINESE}&seed=3")  # a page drawn fast
    settle(page)
    note = page.get_by_test_id("stAlert").filter(has_text="at most 2,000 characters")
    expect(note).to_contain_text("“map_text”")
    page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(); }")
    menu(page).get_by_role("button", name="Copy link").click()
    box = page.get_by_role("textbox", name="Copy link")
    expect(box).to_have_value(f"{app_url}/notation?lang=en&seed=3&map_run=1")
    door(page, "Attention maps").click()
    page.wait_for_url("**/attention_maps**")
    settle(page)
    text = page.get_by_role("textbox").first
    expect(text).to_have_value(CHINESE)
    page.reload()
    settle(page)
    expect(text).to_have_value(CHINESE)


@pytest.mark.parametrize("name", KINDS)
def test_a_page_of_each_kind_has_no_serious_finding(opened, name):
    turn = Turn.of(KINDS.index(name))
    assert looked_through(opened(name, turn), turn) == []


def test_a_page_tells_the_browser_its_language_and_plotly_speaks_it(opened):
    page = opened("rope", Turn(0, LANGUAGES.index("zh")))
    assert '<html lang="zh-CN"' in page.request.get(page.url, headers=AS_PAGE).text()
    for language, tag, says in (
        ("zh", "zh-CN", "下载为 PNG 图片"),
        ("en", "en", "Download plot as a PNG"),
    ):
        if language == "en":
            speak(page, language)
        expect(page.locator("html")).to_have_attribute("lang", tag)
        titles = page.locator(".modebar-btn").evaluate_all(
            "all => all.map((one) => one.dataset.title)"
        )
        assert says in titles
        assert all(bool(HAN.search(title)) == (language == "zh") for title in titles)


def test_a_step_of_the_story(opened):
    """Dimmed parts are lit again under the pointer and the focus: here all of them at once."""
    turn = Turn.of(1)
    page = opened("rope?stop=25", turn)
    page.locator(".st-key-story_bar").wait_for()
    page.add_style_tag(content=".stElementContainer { opacity: 1 !important; }")
    assert looked_at(page, turn) == []


def test_who_joins_a_class_goes_where_its_lecturer_goes(app_url, chromium):
    with classroom(chromium) as (lecturer, first, _):
        code = class_opened(lecturer, app_url)
        joined(first, app_url, code, "You follow the lecture")
        expect(over(lecturer)).to_contain_text("1 here")
        asked = lecturer.evaluate("window.asked")
        goes(lecturer, "Notation")
        lecturer.wait_for_function("asked => window.asked > asked", arg=asked)
        expect(lecturer).to_have_url(at("notation"))
        expect(first).to_have_url(at("notation"))
        settle(first)
        assert first.locator("h1").inner_text() == lecturer.locator("h1").inner_text()
