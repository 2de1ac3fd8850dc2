"""The compression page in a real browser: sliders move the mark along curves of the engine."""

from pathlib import Path
from statistics import fmean
from urllib.parse import urlencode

import pytest
from playwright.sync_api import expect

from mla_engine import GroupedConfig, RopeConfig
from mla_engine.language_model import load_model
from mla_engine.language_model.accuracy import by_task
from mla_engine.language_model.retrofit import Retrofit
from tests.browser.conftest import STATEMENT, Show
from tests.browser.waiting import nothing_shifts, settle
from ui.pages.compression import answers
from ui.pages.compression.run import Source, lost
from ui.settings.sizes import SMALL_SIZES

pytestmark = pytest.mark.browser
LINK = {"preset": "small", **SMALL_SIZES, "cmp_weights": "spectrum", "cmp_rank": 32}
WORDS = ("the", "cat", "sat", "on", "the", "mat", "because", "the", "cat", "was", "tired")
CONFIG = GroupedConfig(d_model=64, n_heads=4, n_kv_heads=4, d_head=16, rope=RopeConfig())
SOURCE = Source(CONFIG, 0, (0, 1, 2, 3), 1.0)
DRAWN = """() => {
    const node = [...document.querySelectorAll(".js-plotly-plot")].find(
        plot => plot._fullData.length === 4);
    return {
        mark: node.layout.shapes[0].x0, x: Array.from(node._fullData[3].x),
        y: Array.from(node._fullData[3].y),
    };
}"""


def test_the_mark_walks_along_the_curve(show: Show) -> None:
    page = show(f"compression?{urlencode(LINK)}")
    drawn = page.evaluate(DRAWN)
    assert drawn["mark"] == 32
    output = dict(zip(drawn["x"], drawn["y"], strict=True))[32]
    assert output == pytest.approx(100 * lost(SOURCE, WORDS, "joint", (32,))[0].u, rel=1e-3)

    with nothing_shifts(page):
        page.get_by_role("slider", name="Size of the latent").press("ArrowRight")
        page.wait_for_url("**cmp_rank=33**")
    settle(page)
    now = 100 * lost(SOURCE, WORDS, "joint", (33,))[0].u
    expect(page.locator(STATEMENT)).to_contain_text(f"output by {now:.1f}")
    assert page.evaluate(DRAWN)["mark"] == 33

    page.get_by_test_id("stSidebar").get_by_text("中文").click()
    page.wait_for_url("**lang=zh**")
    expect(page.locator(STATEMENT)).to_contain_text("用 33 个数代替")


TRAINED = Path(__file__).parents[2] / "assets" / "trained"
ANSWERS = """() => {
    const node = document.querySelector(".st-key-compression-answers .js-plotly-plot");
    const [x, y] = ["x", "y"].map(axis => Array.from(node._fullData[0][axis]));
    return {mark: node.layout.shapes[0].x0, x, y, trained: node._fullData[3].x[0]};
}"""


def test_a_smaller_cache_gives_fewer_right_answers(show: Show) -> None:
    mha = load_model(TRAINED / "mha.safetensors")[0]
    page = show("compression?cmp_size=32")
    for size, key in ((32, ""), (28, "ArrowLeft")):
        if key:
            with nothing_shifts(page):
                page.get_by_role("slider", name="Numbers cached").press(key)
                page.wait_for_url(f"**cmp_size={size}**")
            settle(page)
        shares = by_task(Retrofit.by_weights(mha).cut(size), answers.ASKED, answers.SEED)
        right = 100 * fmean(shares.values())
        drawn = page.evaluate(ANSWERS)
        assert (drawn["mark"], drawn["trained"]) == (size, 32)
        assert dict(zip(drawn["x"], drawn["y"], strict=True))[size] == pytest.approx(right)
        expect(page.locator(STATEMENT)).to_contain_text(f"keeps {size} of 128 numbers")
        expect(page.locator(".st-key-lead")).to_contain_text(f"{right:.0f}")
