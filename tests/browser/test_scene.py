"""The scene in a browser: areas on the screen, the morph's ends, the card, the clock, a phone."""

import pytest
import torch
from playwright.sync_api import Page, expect

from mla_engine import LatentConfig, MultiHeadLatentAttention
from mla_engine.studies.words import hidden_states
from tests.browser.waiting import settle, until, wider

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
AREAS = """blocks => Object.fromEntries(blocks.map(block => {
  const { width, height } = block.querySelector(".outline").getBoundingClientRect();
  return [block.dataset.code, width * height];
}))"""
HEIGHTS = "all => all.map(one => one.getBoundingClientRect().height)"
VALUES = "cells => cells.map(cell => Number(cell.dataset.value))"
TWO_PERCENT = 0.02


def areas(page: Page) -> dict[str, float]:
    """Square pixels of every block on the screen."""
    return page.locator(".block").evaluate_all(AREAS)


def at_rest(page: Page) -> None:
    settle(page)
    expect(page.locator(".scene svg")).not_to_have_attribute("data-moving", "")


def test_variants_turn_into_one_another_and_stay_to_scale(app_url: str, browser_page: Page) -> None:
    page = browser_page
    page.goto(f"{app_url}/{LINK}&variant=mha")
    at_rest(page)
    before = areas(page)
    scale = before["h"] / NUMBERS["mha"]["h"]
    assert before == pytest.approx(
        {code: scale * n for code, n in NUMBERS["mha"].items()}, rel=TWO_PERCENT
    )
    for variant, label in BUTTONS.items():
        page.get_by_role("radio", name=label, exact=True).click()
        page.wait_for_url(f"**variant={variant}*" if variant != "mla" else "**")
        expect(page.locator(".block")).to_have_count(len(NUMBERS[variant]))
        at_rest(page)
        wanted = {code: scale * n for code, n in NUMBERS[variant].items()}
        assert areas(page) == pytest.approx(wanted, rel=TWO_PERCENT), variant


def test_a_block_tells_its_numbers_and_opens_them(app_url: str, browser_page: Page) -> None:
    page = browser_page
    page.goto(f"{app_url}/{LINK}&variant=mla&seed=3")
    at_rest(page)
    card = page.locator(".card")
    expect(card).to_have_attribute("data-code", "c_KV")
    page.locator(".block[data-code=k_R]").hover()
    expect(card).to_have_attribute("data-code", "k_R")
    expect(card).to_contain_text("8 × 8 = 64 numbers")
    expect(card).to_contain_text("Kept in the cache: 8 numbers a token.")
    lighted = page.locator(".block.lighted").evaluate_all("all => all.map(b => b.dataset.code)")
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


def query_latent(page: Page) -> list[float]:
    """The first 8 numbers of c_Q for every token, from a layer of the engine."""
    words = page.locator(".shelves .small:not(.start)").all_text_contents()
    assert len(words) == 8
    layer = MultiHeadLatentAttention(LatentConfig(**SIZES, latent_norm=True), seed=3)
    h = torch.from_numpy(hidden_states(tuple(words), 3, SIZES["d_model"]))[None]
    with torch.inference_mode():
        return layer(h).c_Q[0, :, :8].T.flatten().tolist()


def test_the_cache_grows_with_the_clock(app_url: str, browser_page: Page) -> None:
    page = browser_page
    page.emulate_media(reduced_motion="reduce")
    page.goto(f"{app_url}/{LINK}&variant=mla")
    at_rest(page)
    said, kept = page.locator(".steps output"), page.locator(".kept")
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


def test_a_phone_scrolls_the_scene_alone(app_url: str, browser_page: Page) -> None:
    page = browser_page
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{app_url}/{LINK}")
    at_rest(page)
    assert wider(page, "h1, p, .st-key-scene", 390) == []
    picture = page.locator(".scene .picture")
    assert picture.evaluate("node => node.scrollWidth > node.clientWidth")
    last = page.locator(".block[data-code=u]")
    last.focus()
    box = until(page, last.bounding_box, lambda found: found["x"] + found["width"] <= 390)
    assert box["x"] >= 0


def test_beside_a_sidebar_nothing_of_the_scene_is_cut(app_url: str, browser_page: Page) -> None:
    page = browser_page
    page.set_viewport_size({"width": 1024, "height": 768})
    page.goto(f"{app_url}/{LINK}")
    at_rest(page)
    picture = page.locator(".scene .picture")
    assert picture.evaluate("node => node.scrollWidth - node.clientWidth") == 0
    assert picture.bounding_box()["width"] > 500, "the card stands below"
