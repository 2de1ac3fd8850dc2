"""The cache page in a real browser: what is drawn and said is what the engine counts."""

import pytest
from playwright.sync_api import Page, expect

from mla_engine import PRESETS, costs
from tests.browser.conftest import STATEMENT
from tests.browser.waiting import nothing_shifts, settle

pytestmark = pytest.mark.browser
GIB = 2**30
# Plotly keeps what it drew on the node: name, x and y of every trace, typed arrays as lists.
DRAWN = """() => [...document.querySelectorAll(".js-plotly-plot")].map(node =>
    node._fullData.map(trace => ({
        name: trace.name, mode: trace.mode, x: Array.from(trace.x), y: Array.from(trace.y),
    })))"""


def drawn(page: Page) -> list[list[dict]]:
    settle(page)
    return page.evaluate(DRAWN)


def curve(traces: list[dict], name: str, mode: str = "lines") -> dict[float, float]:
    found = next(t for t in traces if t["mode"] == mode and t["name"].startswith(name))
    return dict(zip(found["x"], found["y"], strict=True))


def title(page: Page) -> str:
    return page.locator(STATEMENT).inner_text().replace("\xa0", " ")


def test_the_screen_shows_what_the_engine_counts(show):
    page = show("kv_cache?kv_left=deepseek-v2-lite&kv_right=llama-3-8b&kv_batch=2")
    left, right = drawn(page)
    lite, llama = PRESETS["deepseek-v2-lite"], PRESETS["llama-3-8b"]
    for traces, preset, own in ((left, lite, "MLA ★"), (right, llama, "GQA, g = 8 ★")):
        per_token = costs.cache_bytes_per_token(preset.config, 2) * preset.n_layers * 2
        line = curve(traces, own)
        assert len(line) == 15
        assert {n: y for n, y in line.items() if n in (64, 2**20)} == pytest.approx(
            {64: 64 * per_token / GIB, 2**20: 2**20 * per_token / GIB}
        )
        dots = curve(traces, own, "markers")
        assert dots == pytest.approx({n: line[n] for n in (64, 256, 1024)})
    tables = page.get_by_test_id("stTable")
    expect(tables.first).to_contain_text("512 + 64 = 576")
    expect(tables.last).to_contain_text("2 × 8 × 128 = 2,048")

    with nothing_shifts(page):
        page.get_by_role("slider", name="Context length, tokens").press("ArrowLeft")
        page.wait_for_url("**kv_context=65536**")
    kept = 576 * 27 * 2 * 2 * 65_536
    assert f"keeps {kept / GIB:.2f} GiB for 65,536 tokens" in title(page)

    page.get_by_test_id("stSidebar").get_by_text("中文").click()
    expect(page.locator(STATEMENT)).to_contain_text("缓存")
    settle(page)
    assert f"{kept / GIB:.2f} GiB" in title(page)
    page.reload()
    settle(page)
    assert f"{kept / GIB:.2f} GiB" in title(page)
    assert "kv_context=65536" in page.url
