"""The attention maps in a real browser: clicks, a slider, Chinese and a reload, numbers checked."""

import re
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
import torch
from playwright.sync_api import Page, expect

from mla_engine import MultiHeadLatentAttention
from mla_engine.figures import TileGrid
from mla_engine.studies import words as tokens
from tests.browser.looks import PHONE
from tests.browser.waiting import everything, nothing_shifts, settle
from ui.settings.sizes import SMALL_CONFIG, SMALL_SIZES

pytestmark = pytest.mark.browser

WORDS = ("the", "cat", "sees", "the", "dog")
FRAMED = "p:has-text('(framed'), p:has-text('（加框')"  # above the large map
LINK = {"preset": "small", "map_text": " ".join(WORDS), **SMALL_SIZES}
ENDS = "one => [one, one.lastChild].map((each) => each.getBoundingClientRect().bottom)"


def attention(temperature: float = 1.0) -> torch.Tensor:
    """Return the engine's attention [h,t,s] of this link."""
    h = torch.tensor(tokens.hidden_states(WORDS, 0, SMALL_CONFIG.d_model))[None]
    trace = MultiHeadLatentAttention(SMALL_CONFIG)(h)
    return torch.softmax(trace.scores[0].double() / temperature, -1)


def click(page: Page, chart: int, across: float, down: float) -> None:
    """Hover and click the `chart`-th plot at these shares of its drawing area."""
    plot = page.locator(".js-plotly-plot").nth(chart)
    plot.scroll_into_view_if_needed()
    place = cell_of(page, chart, across, down)
    plot.hover(position=place)
    page.locator(".hovertext").first.wait_for()
    plot.click(position=place)


def cell_of(page: Page, chart: int, across: float, down: float) -> dict[str, float]:
    """Return these shares of the plot's drawing area in pixels from the chart's corner."""
    plot = page.locator(".js-plotly-plot").nth(chart)
    corner, area = plot.bounding_box(), plot.locator(".nsewdrag").last.bounding_box()
    return {
        "x": area["x"] - corner["x"] + across * area["width"],
        "y": area["y"] - corner["y"] + down * area["height"],
    }


def setting(page: Page, name: str) -> str:
    return parse_qs(urlsplit(page.url).query)[name][0]


def share(page: Page) -> float:
    found = re.search(r"([\d.]+)\s?%", page.locator(FRAMED).inner_text())
    return float(found[1])


def test_maps_answer_clicks_slider_language_and_reload(show):
    page = show(f"attention_maps?{urlencode(LINK)}", {"width": 1280, "height": 800})
    numbers = page.locator(".heatmap-label text").filter(has_text=re.compile(r"\d"))
    expect(numbers).to_have_count(15)
    fills = numbers.evaluate_all("all => all.map(one => getComputedStyle(one).fill)")
    assert set(fills) == {"rgb(0, 0, 0)", "rgb(255, 255, 255)"}
    everything(page)
    content, position = (page.locator(".terms").nth(n).bounding_box() for n in (0, 1))
    assert content["y"] + content["height"] <= position["y"], "tables overlap"

    click(page, 1, across=2.5 / 5, down=4.5 / 5)
    page.wait_for_url("**map_key=2**")
    settle(page)
    expect(page.locator(FRAMED)).to_contain_text(re.compile("“.?dog.?” gives"))
    assert setting(page, "map_query") == "4"
    assert share(page) == pytest.approx(100 * attention()[0, 4, 2].item(), rel=5e-3)
    page.mouse.move(0, 0)
    page.locator(".js-plotly-plot").nth(1).hover(position=cell_of(page, 1, 0.5, 0.9))
    expect(page.locator(".hovertext").first).to_contain_text("query dog (4)key sees (2)head 0")

    products = page.locator(".terms").first
    expect(products).to_contain_text("10 more")

    grid = TileGrid.of((4, 5, 5))
    top, left = grid.corner(3)
    rows, columns = grid.shape
    across, down = (left + 2 + 1) / (columns + 1), (top + 2 + 0.5) / (rows + 0.5)
    click(page, 0, across=across, down=down)
    page.wait_for_url("**map_head=3**")
    settle(page)
    expect(page.locator(FRAMED)).to_contain_text("Head 3")
    assert share(page) == pytest.approx(100 * attention()[3, 4, 2].item(), rel=5e-3)

    with nothing_shifts(page):
        page.get_by_role("slider", name="Softmax temperature").press("ArrowRight")
        page.wait_for_url("**map_temperature=1.5**")
    settle(page)
    warmer = 100 * attention(1.5)[3, 4, 2].item()
    expect(page.locator(FRAMED)).to_contain_text(f"{warmer:#.3g} %")

    page.get_by_test_id("stSidebar").get_by_text("中文").click()
    page.wait_for_url("**lang=zh**")
    expect(page.locator(FRAMED)).to_contain_text("第 3 头")
    settle(page)
    page.reload()
    settle(page)
    expect(page.locator(FRAMED)).to_contain_text("第 3 头")
    assert share(page) == pytest.approx(warmer, rel=5e-3)
    expect(page.get_by_role("slider", name="Softmax 温度")).to_have_attribute(
        "aria-valuetext", "1.5"
    )


def test_a_pooled_map_answers_with_the_cell_that_it_shows(show):
    link = LINK | {"map_generated": "300", "map_causal": "0"}
    page = show(f"attention_maps?{urlencode(link)}")

    page.locator(".js-plotly-plot").nth(0).hover(position=cell_of(page, 0, 0.2, 0.3))
    tile = page.locator(".hovertext").first
    expect(tile).to_contain_text(re.compile(r"^head 0query \d+–\d+key \d+–\d+0\.\d+"))

    plot, place = page.locator(".js-plotly-plot").nth(1), cell_of(page, 1, 0.31, 0.62)
    plot.hover(position=place)
    hovered = page.locator(".hovertext", has_text="attention 0.").first
    value = float(hovered.text_content().partition("attention ")[2])
    plot.click(position=place)
    page.wait_for_url("**map_key=9*")
    settle(page)
    assert share(page) == pytest.approx(100 * value, rel=5e-3)

    page.set_viewport_size(PHONE)
    expect(page.locator(".modebar").first).to_be_hidden()


def test_a_sentence_less_mounts_no_chart_anew(show):
    page = show("attention_maps?preset=trained&map_temperature=1.5")
    everything(page)
    said, plots = page.locator(".stMain .stMarkdown"), page.locator(".js-plotly-plot")
    before = said.count()
    plots.evaluate_all("all => all.forEach((one) => { one.kept = true; })")
    page.get_by_role("slider", name="Softmax temperature").press("ArrowLeft")
    expect(said).to_have_count(before - 1)
    settle(page)
    assert plots.evaluate_all("all => all.map((one) => one.kept)") == [True] * 7


def test_two_panels_keep_the_room_of_two_on_a_phone(show):
    page = show("attention_maps?preset=small&variant=mha", PHONE)
    everything(page)
    place = page.locator(".st-key-logits")
    expect(place.locator(".js-plotly-plot")).to_have_count(2)
    ends = place.evaluate(ENDS)
    assert ends[0] == pytest.approx(ends[1], abs=30)
