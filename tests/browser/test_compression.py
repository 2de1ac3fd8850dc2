"""The compression page in a real browser: a slider moves the mark along the curve of answers."""

from pathlib import Path
from statistics import fmean

import pytest
from playwright.sync_api import expect

from mla_engine.language_model import load_model
from mla_engine.language_model.accuracy import by_task
from mla_engine.language_model.retrofit import Retrofit
from tests.browser.conftest import STATEMENT
from tests.browser.waiting import nothing_shifts, settle
from ui.pages.compression import answers

pytestmark = pytest.mark.browser
TRAINED = Path(__file__).parents[2] / "assets" / "trained"
ANSWERS = """() => {
    const node = document.querySelector(".st-key-compression-answers .js-plotly-plot");
    const [x, y] = ["x", "y"].map(axis => Array.from(node._fullData[0][axis]));
    return {mark: node.layout.shapes[0].x0, x, y, trained: node._fullData[3].x[0]};
}"""


def test_a_smaller_cache_gives_fewer_right_answers(show):
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
