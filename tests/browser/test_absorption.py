"""The absorption page in a real browser: the bracket moves, and the numbers are the engine's."""

from urllib.parse import urlencode

import pytest
from playwright.sync_api import expect

from mla_engine.studies.bracketing import bracketings
from tests.browser.conftest import STATEMENT
from tests.browser.motion import at_rest
from ui.settings.sizes import SMALL_CONFIG, SMALL_SIZES
from ui.words.numbers import prefixed_count

pytestmark = pytest.mark.browser
LINK = {"preset": "small", **SMALL_SIZES, "ab_queries": 4}
BARS = """() => document.querySelector(".js-plotly-plot")._fullData
    .filter(trace => trace.type === "bar").map(trace => Array.from(trace.x))"""
# Of the picture: the texts that are seen, and the middles of the boxes inside the bracket.
DRAWN = """svg => {
    const seen = node => node.checkVisibility({ checkOpacity: true });
    const x = node => { const box = node.getBoundingClientRect(); return box.x + box.width / 2; };
    const [left, right] = [...svg.querySelectorAll(".bracket")].map(x);
    const texts = [...svg.querySelectorAll("text")].filter(seen).map(text => text.textContent);
    const boxes = [...svg.querySelectorAll(".box")].slice(0, 3);
    const inside = boxes.filter(box => left < x(box) && x(box) < right);
    return { texts, inside: inside.map(box => box.querySelector("text").textContent) };
}"""


def test_the_bracket_slides_at_once_and_the_server_follows(show):
    page = show(f"absorption?{urlencode(LINK)}")
    at_rest(page)
    orders = bracketings(SMALL_CONFIG, "scores", queries=4, keys=4100)
    counted = [list(pair) for pair in zip(*page.evaluate(BARS), strict=True)]
    assert counted == [list(order.multiply_adds) for order in orders.values()]
    picture = page.locator(".moving > svg")
    names = {"q_C": "qC", "W_UK": "WUK", "c_KV": "cKV", "k_C": "kC", "scores_C": "scoresC"}
    names |= {"q_C_absorbed": "qCabsorbed"}

    def stands(form: str, rest: int) -> None:
        order, drawn = orders[form], picture.evaluate(DRAWN)
        boxes = [*order.factors, order.inner, order.factors[rest], order.result]
        wanted = [text for m in boxes for text in (names[m.code], f"{m.rows:,} × {m.columns:,}")]
        wanted += [f"{prefixed_count(n)} multiply-adds, 4 heads" for n in order.multiply_adds]
        assert sorted(drawn["texts"]) == sorted(wanted)
        pair = order.factors[order.first : order.first + 2]
        assert drawn["inside"] == [names[m.code] for m in pair]

    stands("absorbed", 2)
    page.get_by_role("radiogroup", name="Bracket").get_by_role("radio").first.focus()
    page.keyboard.press("ArrowDown")
    page.wait_for_url("**ab_order=expanded**")
    at_rest(page)
    stands("expanded", 0)

    page.get_by_test_id("stSidebar").get_by_text("中文").click()
    page.wait_for_url("**lang=zh**")
    expect(page.locator(STATEMENT)).to_contain_text("同一个乘积，两种括号")
    assert page.evaluate("document.querySelectorAll('.katex-error').length") == 0
