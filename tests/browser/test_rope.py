"""The page on rotations in a real browser: play, a click, a slider and keys, numbers read."""

import numpy as np
import pytest
import torch
from playwright.sync_api import expect

from mla_engine import MultiHeadLatentAttention
from mla_engine.studies.words import hidden_states, words_of
from tests.browser.conftest import STATEMENT
from tests.browser.motion import at_rest, one_question
from tests.browser.waiting import nothing_shifts, settle
from tests.reference_rope import rotate
from ui.settings.sizes import SMALL_CONFIG, SMALL_SIZES
from ui.words.numbers import signed
from ui.words.text import catalogue

pytestmark = pytest.mark.browser
LINK = "preset=small&" + "&".join(f"{name}={size}" for name, size in SMALL_SIZES.items())
ARROWS = """arms => arms.map(arm => {
    const [line, tip] = [arm.querySelector(".line"), arm.querySelector(".tip")];
    const [x, y, u, v] = ["x1", "y1", "x2", "y2"].map(name => Number(line.getAttribute(name)));
    const { x: left, y: top, width, height } = tip.getBBox();
    return [u - x, y - v, left + width / 2 - x, y - top - height / 2];
})"""
FRAMED = """() => { // the cell of the map inside the frame
    const plot = document.querySelector(".js-plotly-plot");
    const box = plot.querySelector(".shapelayer path").getBoundingClientRect();
    const map = plot.querySelector(".nsewdrag").getBoundingClientRect();
    const [x, y] = [box.x + box.width / 2 - map.x, box.y + box.height / 2 - map.y];
    return [Math.floor(16 * y / map.height), Math.floor(16 * x / map.width)];
}"""


def turned() -> tuple[np.ndarray, np.ndarray]:
    """Return the rotary query and key of the second word at every position, by the engine."""
    words = tuple(words_of(catalogue()["maps.example"]["en"]))
    h = torch.tensor(hidden_states(words, 0, SMALL_CONFIG.d_model))[None]
    trace = MultiHeadLatentAttention(SMALL_CONFIG)(h)
    rotary = trace.q_R_pre[0, 1, 0], trace.k_R_pre[0, 1]
    return tuple(
        np.array([rotate(SMALL_CONFIG.rope, x.double().numpy(), p, 16) for p in range(16)])
        for x in rotary
    )


def test_the_pair_turns_without_the_server_and_tells_where_it_rests(app_url, browser_page):
    page, (query, key) = browser_page, turned()

    def stands_at(t: int, i: int) -> None:
        """Assert that both arrows, the score and the frame are of these positions."""
        arrows = np.array(page.locator(".arm").evaluate_all(ARROWS))
        wanted = np.array([query[t, :2], key[i, :2]])
        scale = np.linalg.norm(arrows[:, :2]) / np.linalg.norm(wanted)
        np.testing.assert_allclose(arrows, np.tile(scale * wanted, 2), atol=0.1)
        score = signed(float(query[t] @ key[i]))
        told = f"Distance {t - i}: all pairs together score {score}"
        expect(page.locator(".moving output")).to_have_text(told)
        assert page.evaluate(FRAMED) == [t, i]

    page.goto(f"{app_url}/rope?{LINK}&rope_query=13&rope_key=4")
    at_rest(page)
    stands_at(13, 4)
    with one_question(page):
        page.get_by_role("button", name="Play").click()
        page.wait_for_url("**rope_query=15**")  # it comes to the end
    stands_at(15, 4)
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    with one_question(page):
        page.get_by_role("slider", name="Key position i").press("ArrowRight")
        page.wait_for_url("**rope_query=15&rope_key=5**")
    stands_at(15, 5)
    with one_question(page):
        page.keyboard.press("PageUp")
        page.wait_for_url("**rope_query=14&rope_key=5**")
    stands_at(14, 5)
    page.reload()
    at_rest(page)
    stands_at(14, 5)


def test_a_click_a_key_and_a_slider_turn_the_pair(show):
    page = show(f"rope?{LINK}")
    area = page.locator(".js-plotly-plot").last.locator(".nsewdrag").last.bounding_box()
    page.mouse.click(area["x"] + 2.5 / 16 * area["width"], area["y"] + 7.5 / 16 * area["height"])
    page.wait_for_url("**rope_query=7**")
    settle(page)
    assert "rope_key=2" in page.url
    expect(page.locator(STATEMENT)).to_contain_text("At distance 5 ")
    before = page.locator(STATEMENT).inner_text()
    page.keyboard.press("PageDown")
    page.wait_for_url("**rope_query=8**")
    settle(page)
    with nothing_shifts(page):
        page.get_by_role("slider", name="Key position i").press("ArrowRight")
        page.wait_for_url("**rope_key=3**")
    settle(page)
    expect(page.locator(STATEMENT)).to_have_text(before)
