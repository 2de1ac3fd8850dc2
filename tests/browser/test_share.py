"""The QR code as an audience sees it, and links that stay short, in a real browser."""

import io

import pytest
import segno
from PIL import Image
from playwright.sync_api import Page, expect

from tests.browser.waiting import menu, settle

pytestmark = pytest.mark.browser
CHINESE = "".join(chr(0x4E00 + n) for n in range(256))


def drawn(page: Page, quiet: int = 4) -> list[list[int]]:
    """The modules of the code, read off the screen; what is around them must be white."""
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
    """The modules of the link that stands below the code."""
    link = page.locator(".share-link").inner_text()
    return [list(row) for row in segno.make_qr(link, error="l").matrix]


def test_the_code_is_large_and_black_on_white_and_holds_the_link_below_it(
    app_url: str, browser_page: Page
) -> None:
    page = browser_page
    page.goto(f"{app_url}/notation?notation_of=cached&lecture=0")
    settle(page)
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
    assert link.evaluate("p => (getSelection().selectAllChildren(p), String(getSelection()))") == (
        link.inner_text()
    )


def test_a_long_text_leaves_every_link_for_others_and_survives_a_reload(
    app_url: str, browser_page: Page
) -> None:
    page = browser_page
    page.goto(f"{app_url}/notation?map_run=1&map_text={CHINESE}&seed=3")  # a page drawn fast
    settle(page)
    note = page.get_by_test_id("stAlert").filter(has_text="at most 2,000 characters")
    expect(note).to_contain_text("“map_text”")
    links = page.get_by_test_id("stSidebar").get_by_role("link")
    page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(); }")
    menu(page).get_by_role("button", name="Copy link").click()
    box = page.get_by_role("textbox", name="Copy link")
    expect(box).to_have_value(f"{app_url}/notation?lang=en&seed=3&map_run=1")
    links.get_by_text("Attention maps").click()
    page.wait_for_url("**/attention_maps**")
    settle(page)
    text = page.get_by_role("textbox").first
    expect(text).to_have_value(CHINESE)
    page.reload()
    settle(page)
    expect(text).to_have_value(CHINESE)
