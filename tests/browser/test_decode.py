"""Decoding in a browser: blocks of the right width, play and pause, a clicker, a phone."""

import re

import pytest
import torch
from playwright.sync_api import Page, expect

from mla_engine.language_model import load_model
from tests.browser.conftest import ROOT
from tests.browser.looks import PHONE
from tests.browser.motion import at_rest, one_question
from tests.browser.waiting import settle, wider
from ui.words.numbers import tied_size

pytestmark = pytest.mark.browser

SMALL = (
    "preset=small&d_model=64&n_heads=4&n_kv_heads=2&d_head=16&d_value=16&d_latent_kv=32"
    "&d_latent_q=48&d_rope=8&dec_ways=all"
)
PER_TOKEN = [4 * n for n in (2 * 4 * 16, 2 * 2 * 16, 2 * 16, 40, 40, 4 * 40, 40 + 16)]


def kept(tokens: int) -> list[int]:
    """Return the bytes of CSA, HCA, KDA and Block DSA: a window of 3, entries, tokens that wait."""
    window, entries, waiting = 3 * 32, tokens // 2, tokens % 2
    csa = window + (32 + 16) * (entries + 4 * waiting + 4)  # twice two series; a block for the next
    hca = window + 32 * (tokens // 4 + 2 * (tokens % 4))
    kda = 4 * 16 * 16 + 3 * 4 * 3 * 16  # the states, and what the convolutions need
    block_dsa = tokens * 32 + 16 * (entries + 2 * waiting)  # a key of a block, or key and gate
    return [4 * n for n in (csa, hca, kda, block_dsa)]


WAYS = """ways => ways.map(way => [...way.querySelectorAll("rect")]
    .map(block => Number(block.getAttribute("width"))).filter(Boolean))"""
HELD = "() => [...document.querySelectorAll('td:nth-of-type(1)')].map(cell => cell.textContent)"


def stands_at(page: Page, step: int) -> None:
    """Assert that every cache has a block per token, or one, on one scale, and tells its bytes."""
    at_rest(page)
    ways = page.locator(".way").evaluate_all(WAYS)
    scale = ways[0][0] / (8 * PER_TOKEN[0])
    wanted = [[n * size for n in (8, *[1] * step)] for size in PER_TOKEN]
    wanted += [[size] for size in kept(8 + step)]
    for blocks, sizes in zip(ways, wanted, strict=True):
        assert blocks == pytest.approx([scale * size for size in sizes], rel=1e-3)
    held = [tied_size(sum(sizes)) for sizes in wanted]
    told = page.locator(".way text").all_text_contents()  # and of how many heads it is
    assert [one.partition(", ")[0] for one in told] == held
    expect(page.get_by_role("img")).to_have_attribute(
        "aria-label", re.compile(f"Caches after {8 + step} tokens")
    )
    expect(page.get_by_test_id("stTable")).not_to_contain_text("…")
    assert page.evaluate(HELD) == held, "of the table, by the server"


def test_caches_grow_without_the_server_and_tell_where_they_rest(show):
    page = show(f"decode?{SMALL}&dec_speed=fast&dec_step=5")
    stands_at(page, 5)
    with one_question(page):
        page.keyboard.press("PageDown")
        page.wait_for_url("**dec_step=6**")
    stands_at(page, 6)
    page.get_by_role("button", name="Play").click()
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    slider = page.get_by_role("slider", name="Step (of 32)")
    slider.press("End")
    page.wait_for_url("**dec_step=32**")
    slider.fill("29")
    page.wait_for_url("**dec_step=29**")
    settle(page)
    with one_question(page):
        page.get_by_role("button", name="Play").click()
        page.wait_for_url("**dec_step=32**")
    stands_at(page, 32)

    page.emulate_media(reduced_motion="reduce")
    page.set_viewport_size(PHONE)
    page.get_by_role("button", name="Back").click()
    assert page.locator(".moving > svg").get_attribute("data-moving") is None, "no motion"
    page.wait_for_url("**dec_step=31**")
    stands_at(page, 31)
    assert wider(page, "h1, p, table, .moving, .moving > svg", 390) == []


def test_a_long_prompt_can_be_cancelled_and_run_again(app_url, browser_page):
    page = browser_page
    page.goto(f"{app_url}/decode?dec_prompt=1024&seed=41")
    # At once: a busy browser may take longer to see it stand still than the run lasts.
    page.get_by_role("button", name="Cancel").dispatch_event("click")
    run = page.get_by_role("button", name="Run this step")
    expect(run).to_be_visible()
    expect(page.get_by_test_id("stTable")).to_contain_text("…")
    run.click()
    expect(run).to_be_hidden()
    expect(page.get_by_test_id("stTable")).not_to_contain_text("…")


SEEN = """words => words.filter(word => word.checkVisibility({ checkOpacity: true })
    && Number(word.getAttribute("opacity") ?? 1)).map(word => word.textContent)"""


def test_a_trained_model_writes_on_word_by_word(app_url, browser_page):
    page, text = browser_page, "anna lamp ben cup anna"
    model, _ = load_model(ROOT / "assets/trained/mla.safetensors")
    tokens = model.config.tokens(text)
    for _ in range(7):
        tokens.append(int(model.logits(torch.tensor([tokens]))[0, -1].argmax()))
    words = model.config.text(tokens).split()
    assert words[5] == "lamp", "what it was trained for"
    page.goto(f"{app_url}/decode?sentence={text.replace(' ', '+')}&dec_step=5&dec_speed=fast")
    for step in (5, 6, 7):
        at_rest(page)
        assert page.locator(".word").evaluate_all(SEEN) == words[: 5 + step]
        newest = page.locator(".word:has(.new)")
        assert newest.evaluate_all(SEEN) == words[4 + step : 5 + step]
        expect(page.locator(".moving output")).to_contain_text(f"“{words[4 + step]}”")
        if step < 7:
            with one_question(page):
                page.keyboard.press("PageDown")
                page.wait_for_url(f"**dec_step={step + 1}**")
    page.set_viewport_size(PHONE)
    at_rest(page)
    assert wider(page, "h1, p, table, .moving, .moving > svg", 390) == []
