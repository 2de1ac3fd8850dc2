"""The scene in a browser: areas on the screen, the morph's ends, the card, the clock, a phone."""

from functools import partial
from operator import le

import pytest
import torch
from playwright.sync_api import Page, expect

from mla_engine import LatentConfig, MultiHeadLatentAttention
from mla_engine.studies.words import hidden_states
from tests.browser.looks import PHONE
from tests.browser.waiting import settle, until, walk, wider

pytestmark = pytest.mark.browser

SIZES = {
    "d_model": 64, "n_heads": 4, "d_head": 16, "d_value": 16, "d_latent_kv": 32, "d_latent_q": 48,
    "d_rope": 8,
}  # fmt: skip
LINK = "?preset=small&n_kv_heads=2&" + "&".join(f"{name}={n}" for name, n in SIZES.items())
NUMBERS = {  # of a token
    "mha": {"h": 64, "q": 64, "k": 64, "v": 64, "attention": 32, "o": 64, "u": 64},
    "gqa": {"h": 64, "q": 64, "k": 32, "v": 32, "attention": 32, "o": 64, "u": 64},
    "mla": {
        "h": 64, "c_Q": 48, "q_C": 64, "q_R": 32, "c_KV": 32, "k_C": 64, "v_C": 64, "k_R": 8,
        "attention": 32, "o": 64, "u": 64,
    },
    "mla_absorbed": {
        "h": 64, "c_Q": 48, "q_C": 64, "q_C_absorbed": 128, "q_R": 32, "c_KV": 32, "k_R": 8,
        "attention": 32, "o_latent": 128, "o": 64, "u": 64,
    },
}  # fmt: skip
BUTTONS = {"gqa": "GQA", "mla": "MLA, expanded", "mla_absorbed": "MLA, absorbed"}
BLOCK = ".block[data-code]"  # of what moves; the still has none
FIGURE = ".scene svg[role=group]"
AREAS = """blocks => Object.fromEntries(blocks.map(block => {
  const { width, height } = block.querySelector(".outline").getBoundingClientRect();
  return [block.dataset.code, width * height];
}))"""
CODES = "all => all.map(one => one.dataset.code)"
HEIGHTS = "all => all.map(one => one.getBoundingClientRect().height)"
BOXES = """all => all.map((one) => ["x", "y", "width", "height"].map(
  (name) => Number(one.getAttribute(name))))"""
PARSED = """image => new DOMParser()
  .parseFromString(decodeURIComponent(image.src.split(",")[1]), "image/svg+xml")
  .querySelectorAll(".block .outline")"""
# The words and blocks of the picture that reach beyond it.
OUTSIDE = """svg => {
  const around = svg.getBoundingClientRect();
  return [...svg.querySelectorAll("text, .outline, .kept")].filter((one) => {
    const box = one.getBoundingClientRect();
    return box.width && (box.left < around.left - 1 || box.right > around.right + 1
      || box.top < around.top - 1 || box.bottom > around.bottom + 1);
  }).map((one) => one.textContent || one.getAttribute("class"));
}"""
TYPE = (
    """all => all.map((one) => one.getScreenCTM().d * parseFloat(getComputedStyle(one).fontSize))"""
)
LEAST_TYPE = 12.5  # pixels
PROJECTORS = (1024, 768), (1280, 720), (1920, 1080)
READABLE = 0.013  # of the screen's width
WINDOWS = (
    (320, 700, "tall"), (390, 844, "tall"), (640, 360, "wide"),  # the last: 1,280 px at 200 %
    (1024, 768, "wide"), (1280, 720, "wide"), (3000, 1600, "wide"),
)  # fmt: skip
VALUES = "cells => cells.map(cell => Number(cell.dataset.value))"
TWO_PERCENT = 0.02


def areas(page: Page) -> dict[str, float]:
    """Return the square pixels of every block on the screen."""
    return page.locator(BLOCK).evaluate_all(AREAS)


def at_rest(page: Page) -> None:
    settle(page)
    expect(page.locator(FIGURE)).not_to_have_attribute("data-moving", "")


def test_variants_turn_into_one_another_and_stay_to_scale(show):
    page = show(f"{LINK}&variant=mha")
    at_rest(page)
    before = areas(page)
    scale = before["h"] / NUMBERS["mha"]["h"]
    assert before == pytest.approx(to_scale("mha", scale), rel=TWO_PERCENT)
    for variant, label in BUTTONS.items():
        page.get_by_role("radio", name=label, exact=True).click()
        page.wait_for_url(f"**variant={variant}*" if variant != "mla" else "**")
        expect(page.locator(BLOCK)).to_have_count(len(NUMBERS[variant]))
        at_rest(page)
        assert areas(page) == pytest.approx(to_scale(variant, scale), rel=TWO_PERCENT), variant
    expect(page.locator(".note")).to_contain_text("Torn edge")
    torn = page.locator(f"{BLOCK}:has(.torn)").evaluate_all(CODES)
    assert torn == ["q_C_absorbed", "o_latent"], "what heads make larger than the picture"


def to_scale(variant: str, scale: float) -> dict[str, float]:
    """Return the square pixels of each block; none is larger than h, which all heads share."""
    most = NUMBERS[variant]["h"]
    return {code: scale * min(n, most) for code, n in NUMBERS[variant].items()}


def test_a_still_gives_way_to_blocks_that_tell_their_numbers_and_open(show, app_url):
    page = show(f"{LINK}&variant=mla&seed=3")
    at_rest(page)
    drawn = page.locator(f"{FIGURE} .block .outline").evaluate_all(BOXES)
    still = page.locator(".still img.wide")
    assert still.evaluate(f"image => ({BOXES})([...({PARSED})(image)])") == [
        pytest.approx(box, abs=0.06) for box in drawn
    ]
    assert still.evaluate("image => image.naturalWidth") > 0, "an image that can be shown"
    assert not still.is_visible(), "it gave way"

    card = page.locator(".card")
    expect(card).to_have_attribute("data-code", "c_KV")
    page.locator(".block[data-code=k_R]").hover()
    expect(card).to_have_attribute("data-code", "k_R")
    expect(card).to_contain_text("8 × 8 = 64 numbers")
    expect(card).to_contain_text("Kept in the cache: 8 numbers per token.")
    expect(card.locator(".formula")).to_contain_text("RoPE")
    expect(card).to_contain_text("Cost: 4.10 k multiply-adds for 8 tokens.")
    expect(card).to_contain_text("RoPE shows its inside.")
    lighted = page.locator(".block.lighted").evaluate_all(CODES)
    assert sorted(lighted) == ["h", "k_R"]

    block = page.locator(".block[data-code=c_Q]")
    block.focus()
    expect(card).to_have_attribute("data-code", "c_Q")
    shown = card.locator(".cells i").evaluate_all(VALUES)
    assert shown == pytest.approx(query_latent(page), rel=6e-3)
    page.keyboard.press("Enter")
    page.wait_for_url("**/attention_maps?**")
    assert "map_tensor=c_Q" in page.url
    assert "seed=3" in page.url
    opens(page, app_url, ".block[data-code=q_R]", "rope")
    opens(page, app_url, ".shelves", "kv_cache")


@pytest.mark.parametrize("variant", ["mla", "csa", "kda"])
def test_a_formula_is_read_whole(show, variant):
    page = show(f"{LINK}&variant={variant}")
    at_rest(page)
    for code in page.locator(BLOCK).evaluate_all(CODES):
        page.locator(f".block[data-code={code}]").focus()
        expect(page.locator(".card")).to_have_attribute("data-code", code)
        wide = page.locator(".card").evaluate(
            "card => [...card.querySelectorAll('.formula')].map(p => p.scrollWidth - p.clientWidth)"
        )
        assert set(wide) <= {0}, code
        label = page.locator(f".block[data-code={code}]")
        assert label.evaluate("g => g.querySelector('.reach').nextSibling.localName") == "text"


def opens(page: Page, app_url: str, part: str, name: str) -> None:
    """Assert that Enter on a part of the scene opens its page with the same sizes."""
    settle(page)  # what a page asks while it is left is never answered
    walk(page, f"{app_url}/{LINK}&variant=mla&seed=3")
    at_rest(page)
    page.locator(f"{FIGURE} {part}").focus()
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/{name}?**")
    assert "preset=small" in page.url
    assert "seed=3" in page.url


def query_latent(page: Page) -> list[float]:
    """Return the first 8 numbers of c_Q for every token, from a layer of the engine."""
    words = page.locator(".shelves .small:not(.start)").all_text_contents()  # not the facts
    assert len(words) == 8
    layer = MultiHeadLatentAttention(LatentConfig(**SIZES, latent_norm=True), seed=3)
    h = torch.from_numpy(hidden_states(tuple(words), 3, SIZES["d_model"]))[None]
    with torch.inference_mode():
        return layer(h).c_Q[0, :, :8].T.flatten().tolist()


def test_the_cache_grows_with_the_clock(app_url, browser_page):
    page = browser_page
    page.emulate_media(reduced_motion="reduce")
    page.goto(f"{app_url}/{LINK}&variant=mla")
    at_rest(page)
    said, kept = page.locator(".steps output"), page.locator(".shelves .kept")
    expect(said).to_have_text("8 tokens: 320 numbers kept")
    assert kept.count() == 2 * 8
    page.locator(".steps input").focus()
    page.keyboard.press("Home")
    expect(said).to_have_text("1 token: 40 numbers kept")
    assert kept.count() == 2
    page.get_by_role("button", name="Play").click()
    expect(said).to_have_text("8 tokens: 320 numbers kept")
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    latent, rotary = kept.evaluate_all(HEIGHTS)[:2]
    assert latent / rotary == pytest.approx(32 / 8, rel=TWO_PERCENT)


def test_no_window_is_too_narrow_or_too_wide(show):
    page = show(LINK)
    at_rest(page)
    for width, height, kind in WINDOWS:
        page.set_viewport_size({"width": width, "height": height})
        expect(page.locator(FIGURE)).to_have_class(kind)
        assert wider(page, "h1, p, .st-key-scene", width) == []
        outside = until(page, lambda: page.locator(FIGURE).evaluate(OUTSIDE), lambda one: not one)
        assert outside == [], (width, height)
        sizes = page.locator(f"{FIGURE} .block text").evaluate_all(TYPE)
        assert min(sizes) >= LEAST_TYPE - 0.1, (width, height)
    page.locator(".block[data-code=u]").focus()
    page.set_viewport_size(PHONE)
    expect(page.locator(FIGURE)).to_have_class("tall")  # another picture, and the block keeps the
    # focus: its card comes up from the edge below
    card = until(page, page.locator(".card").bounding_box, lambda box: box["y"] < 844)
    assert card["y"] + card["height"] <= 844 + 1


def test_its_words_can_be_read_in_a_lecture_hall(show):
    page = show(f"{LINK}&lecture=1")
    at_rest(page)
    words = page.locator(f"{FIGURE} text")
    for width, height in PROJECTORS:
        page.set_viewport_size({"width": width, "height": height})
        enough = partial(le, READABLE * width)
        assert enough(until(page, lambda: min(words.evaluate_all(TYPE)), enough)), width
        assert page.locator(FIGURE).evaluate(OUTSIDE) == [], width
