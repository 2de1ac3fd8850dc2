"""The compute page in a browser: what is drawn, measuring on request, a phone, the download."""

import csv

import pytest
from playwright.sync_api import expect

from mla_engine import PRESETS, costs
from tests.browser.conftest import Show
from tests.browser.looks import PHONE
from tests.browser.waiting import settle, wider

pytestmark = pytest.mark.browser

MARKS = """() => [...document.querySelectorAll(".js-plotly-plot")].map(node =>
    Object.fromEntries(node._fullData.filter(t => t.mode === "markers")
        .map(t => [t.name, [t.x[0], t.y[0]]])))"""


def test_marks_stand_at_the_engines_numbers_and_measuring_adds_hollow_ones(show: Show) -> None:
    page = show("compute?cost_batch=8&cost_context=4096&cost_gpu=a100-80")
    config = PRESETS["deepseek-v2-lite"].config
    cost = costs.decode(config, 4096, batch=8)
    intensity, rate = page.evaluate(MARKS)[0]["MLA, absorbed"]
    assert intensity == pytest.approx(cost.flops_per_byte)
    assert rate == pytest.approx(cost.flops_per_byte * 2.039)
    with page.expect_download() as download:
        page.get_by_role("button", name="Data as CSV").first.click()
    rows = list(csv.DictReader(download.value.path().read_text("utf-8-sig").splitlines()))
    (absorbed,) = [row for row in rows if row["way"] == "mla_absorbed" and row["phase"] == "decode"]
    assert int(absorbed["flop"]) == 27 * cost.total_flops

    page.get_by_role("button", name="Measure on this machine").click()
    expect(page.get_by_role("button", name="Measure again")).to_be_visible()
    settle(page)
    taken = page.evaluate(MARKS)[-1]
    assert "MLA, absorbed, Measured" in taken
    assert taken["MLA, absorbed, Measured"][0] == taken["MLA, absorbed"][0]
    expect(page.get_by_text("Taken on")).to_contain_text("1 thread")

    page.set_viewport_size(PHONE)
    assert wider(page, "h1, h3, p, table, .js-plotly-plot", 390) == []


def test_measuring_can_be_stopped(show: Show) -> None:
    page = show("compute?preset=glm-5&d_model=6144&n_heads=64&d_head=192&d_value=256")
    page.get_by_role("button", name="Measure on this machine").click()
    page.get_by_role("button", name="Stop", exact=True).click()
    expect(page.get_by_role("button", name="Measure on this machine")).to_be_visible()
    settle(page)
    expect(page.get_by_text("Taken on")).to_have_count(0)
