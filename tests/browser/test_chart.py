"""A chart in a real browser: drawn once a change, in place, so that hover and focus stay."""

import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from mla_engine.figures import bars
from tests.browser.conftest import Show
from tests.browser.looks import PHONE, resized, unreadable
from tests.browser.waiting import everything, frames, settle, until, walk

PLOT = "document.querySelector('.js-plotly-plot')"
# Counts Plotly's draws of a chart, of its whole or of what lies over it, and remembers its node.
WATCHED = """plot => {
  window.watched = plot;
  window.draws = 0;
  const drawn = () => { window.draws += 1; };
  plot.on("plotly_afterplot", drawn);
  plot.on("plotly_relayout", drawn);
}"""
LINE = "() => watched.layout.shapes[0].x0"
MARKS = "() => watched.data.filter(({ meta }) => meta).map(({ x, y }) => [x[0], y[0]])"
ENDS = "({ _fullLayout: { xaxis2, yaxis2 } }) => [xaxis2.range, yaxis2.range.toReversed()]"
# Draws every chart so many times with the numbers of its lines changed about, as an answer does.
CHANGED = """async (times) => {
  const charts = [...document.querySelectorAll("[role=figure]")].map((host) => host.chart);
  for (let n = 0; n < times; n += 1) {
    await Promise.all(charts.map((chart) => new Promise((drawn) => {
      const sent = JSON.parse(chart.sent);
      const lines = sent.figure.data;
      const [first] = lines.map(({ y }) => y);
      lines.forEach((line, place) => { line.y = lines[place + 1]?.y ?? first; });
      chart.plot.once("plotly_afterplot", drawn);
      chart.show(JSON.stringify(sent), chart.tell);
    })));
  }
}"""
PRESSES = """plot => {
  window.framed = [];
  const frame = () => {
    const { x0, y0 } = plot.layout.shapes.find(({ name }) => name === "frame");
    const now = `${x0 + 0.5}, ${y0 + 0.5}`;
    if (framed.at(-1) !== now) framed.push(now);
  };
  plot.on("plotly_relayout", frame);
  plot.on("plotly_afterplot", frame);
  const press = (x, y) => plot.emit("plotly_click", { points: [{ x, y }] });
  press(1, 3);
  setTimeout(press, 60, 2, 5);
}"""
# The next message to the server does not arrive.
LOST = """() => {
  const { send } = WebSocket.prototype;
  window.lost = 0;
  WebSocket.prototype.send = function () { window.lost += 1; WebSocket.prototype.send = send; };
}"""
PRESSED = """plot => {
  plot.emit("plotly_click", { points: [{ x: 1, y: 3 }] });
  return plot.layout.shapes.map(({ x0, x1, y0, y1 }) => [x0, x1, y0, y1]);
}"""
HIDDEN = f"() => {PLOT}._fullData[0].visible === 'legendonly'"
# The middle of a chart's first line, on the screen.
POINT = """plot => {
  const { xaxis, yaxis } = plot._fullLayout, { x: left, y: top } = plot.getBoundingClientRect();
  const { x, y } = plot.calcdata[0][Math.floor(plot.calcdata[0].length / 2)];
  return [left + xaxis._offset + xaxis.c2p(x), top + yaxis._offset + yaxis.c2p(y)];
}"""
OTHER = """({ chart }, figure) => {
  chart.show(JSON.stringify({ ...JSON.parse(chart.sent), figure }), chart.tell);
}"""
SAME = f"() => {PLOT} === window.watched"
# Of each map of square cells: what is drawn by the chart's width and by its height, and the chart's
# height by the window's.
ROOM = """() => [...document.querySelectorAll(".stPlotlyChart")]
  .filter((chart) => chart.querySelector(".js-plotly-plot").layout.meta?.around)
  .map((chart) => {
    const { width, height } = chart.getBoundingClientRect();
    const parts = ".heatmaplayer image, .infolayer text, .xtick text, .ytick text";
    const drawn = [...chart.querySelectorAll(parts)]
      .map((one) => one.getBoundingClientRect());
    const over = (first, last) =>
      Math.max(...drawn.map((one) => one[last])) - Math.min(...drawn.map((one) => one[first]));
    return [over("left", "right") / width, over("top", "bottom") / height, height / innerHeight];
  })"""
SIZE = "() => watched.querySelector('.xtick text').getBoundingClientRect().height"


# Of the browser, and by how much each may grow a change: the browser itself learns for some hundred
# of them, by 1 to 2 kB each, and a figure that were kept is ten times that.
FLAT = {"Nodes": 0, "JSEventListeners": 0, "JSHeapUsedSize": 4000}


@pytest.fixture
def chart(show: Show) -> Page:
    """Open the cache page, whose slider changes two charts."""
    return show("kv_cache")


def watch(page: Page, n: int = 0) -> None:
    page.locator(".js-plotly-plot").nth(n).evaluate(WATCHED)


def move(page: Page, key: str) -> None:
    """Press a key on the slider of the context, and wait for what it changes."""
    before = page.url
    page.locator(".st-key-kv_context input[type=range]").press(key)
    page.wait_for_function("before => location.href !== before", arg=before)
    settle(page)


def test_a_change_draws_once_in_place(chart):
    watch(chart)
    before = chart.locator(".stPlotlyChart").first.get_attribute("aria-label")
    move(chart, "ArrowLeft")
    assert chart.evaluate(SAME), "the node of the plot is the same"
    assert chart.evaluate("() => window.draws") == 1
    assert chart.locator(".stPlotlyChart").first.get_attribute("aria-label") != before


def test_a_line_goes_with_the_hand_and_the_server_hears_where_it_ends(chart):
    watch(chart)
    before, at = chart.url, chart.evaluate(LINE)
    rail = chart.locator(".st-key-kv_context [role=group] > div").bounding_box()
    chart.mouse.move(rail["x"] + rail["width"] / 2, rail["y"] + rail["height"] / 2)
    chart.mouse.down()
    led = chart.evaluate(LINE)
    assert led < at
    assert chart.url == before
    chart.mouse.up()
    chart.wait_for_url(f"**kv_context={led}*")
    settle(chart)
    assert chart.evaluate(LINE) == led
    assert chart.evaluate("() => window.draws") == 1, "the server's answer is the same picture"


def test_marks_go_along_their_roof_with_the_slider(show):
    page = show("compute")
    watch(page)
    page.locator(".st-key-cost_context input[type=range]").press("ArrowLeft")
    marks = page.evaluate(MARKS)
    page.wait_for_url("**cost_context=*")
    settle(page)
    assert page.evaluate(MARKS) == marks
    assert page.evaluate("() => window.draws") == 1, "the server's answer is the same picture"


def test_a_pressed_cell_has_its_frame_at_once_and_is_drawn_once(show):
    page = show("attention_maps?preset=small")
    watch(page, 1)
    framed = page.locator(".js-plotly-plot").nth(1).evaluate(PRESSED)
    assert framed == [[0.5, 1.5, 2.5, 3.5]] * 2
    page.wait_for_url("**map_query=3**")
    settle(page)
    assert page.evaluate("() => window.draws") == 1


def test_of_two_quick_presses_the_last_one_wins(show):
    page = show("attention_maps?preset=small")
    page.locator(".js-plotly-plot").nth(1).evaluate(PRESSES)
    page.wait_for_url("**map_query=5&map_key=2**")
    settle(page)
    assert page.evaluate("() => window.framed") == ["1, 3", "2, 5"]


def test_a_press_whose_message_is_lost_is_told_again(show):
    page = show("attention_maps?preset=small")
    page.evaluate(LOST)
    page.locator(".js-plotly-plot").nth(1).evaluate(PRESSED)
    page.wait_for_url("**map_query=3**")
    assert page.evaluate("() => window.lost") == 1


def test_a_note_goes_with_its_line(show):
    page = show("compression?preset=small&cmp_rank=20")
    page.locator(".st-key-cmp_rank").scroll_into_view_if_needed()  # further down on the page
    spectrum = page.locator(".js-plotly-plot").filter(has_text="20 kept")
    spectrum.evaluate(WATCHED)
    page.locator(".st-key-cmp_rank input[type=range]").press("ArrowLeft")
    expect(page.get_by_text("19 kept")).to_be_visible()
    assert page.evaluate(LINE) == 19
    page.wait_for_url("**cmp_rank=19*")
    settle(page)
    assert page.evaluate("() => window.draws") == 1, "the server's answer is the same picture"


def test_a_map_of_another_text_ends_with_its_cells(show, app_url):
    page = show("attention_maps?preset=small&map_text=one+two+three+four+five+six")
    for n, text in ((3, "one+two+three"), (5, "one+two+three+four+five")):
        walk(page, f"{app_url}/attention_maps?preset=small&map_text={text}")
        frames(page, 9)  # Plotly makes room for its labels in several steps
        assert page.locator(".js-plotly-plot").nth(1).evaluate(ENDS) == [[-0.5, n - 0.5]] * 2


@pytest.mark.parametrize("path", ["attention_maps?preset=small", "trained_heads", "compare"])
def test_a_map_is_as_large_as_its_column_and_the_window_let_it(show, path):
    page = show(path)
    everything(page)
    for width, height in ((1920, 1080), (1440, 900), (1280, 720)):
        resized(page, {"width": width, "height": height})
        maps = until(page, lambda: page.evaluate(ROOM), lambda found: all(map(_fills, found)))
        assert maps
        assert all(map(_fills, maps)), (width, maps)


def _fills(room: tuple[float, float, float]) -> bool:
    """Tell whether a map leaves no empty sides, unless it is over half as high as the window."""
    across, down, of_window = room
    return down > 0.55 and (across > 0.8 or of_window > 0.55)


def test_full_screen_enlarges_words_and_escape_leaves_it(chart):
    watch(chart)
    small = chart.evaluate(SIZE)
    chart.locator(".stPlotlyChart").first.hover()
    button = chart.get_by_role("button", name="Fullscreen").first
    button.click()
    dialog = chart.get_by_role("dialog")
    expect(dialog).to_be_visible()
    settle(chart)
    assert dialog.bounding_box() == {"x": 0, "y": 0, **chart.viewport_size}
    assert chart.evaluate(SIZE) > 1.2 * small
    chart.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    settle(chart)
    assert chart.evaluate(SAME)
    assert chart.evaluate(SIZE) == small
    expect(button).to_be_focused()


def test_another_theme_redraws_in_its_colours(chart):
    inks = []
    for scheme in ("light", "dark"):
        chart.emulate_media(color_scheme=scheme)
        settle(chart)
        inks.append(chart.evaluate(f"() => {PLOT}._fullLayout.font.color"))
    assert inks[0] != inks[1]


def test_many_changes_leave_no_node_behind(chart):
    move(chart, "ArrowLeft")
    nodes = chart.evaluate("() => document.querySelectorAll('*').length")
    for _ in range(5):
        move(chart, "ArrowLeft")
        move(chart, "ArrowRight")
    assert chart.evaluate("() => document.querySelectorAll('*').length") == nodes


def test_500_changes_of_every_chart_leave_nothing_in_memory(chart):
    browser = chart.context.new_cdp_session(chart)
    browser.send("Performance.enable")
    taken = []
    for times in (100, 400):
        chart.evaluate(CHANGED, times)
        browser.send("HeapProfiler.collectGarbage")
        found = browser.send("Performance.getMetrics")["metrics"]
        taken.append({one["name"]: one["value"] for one in found})
    grown = {name: (taken[1][name] - taken[0][name]) / 400 for name in FLAT}
    assert all(grown[name] <= most for name, most in FLAT.items()), grown


def test_a_picture_is_saved_under_its_name(chart):
    chart.locator(".stPlotlyChart").first.hover()
    with chart.expect_download() as got:
        chart.get_by_role("button", name="Download").first.click()
    assert got.value.suggested_filename == "kv_cache_deepseek-v3.png"
    with Image.open(got.value.path()) as picture:
        assert picture.width == 2 * chart.evaluate(f"() => {PLOT}.clientWidth")


def test_a_hidden_series_stays_hidden(show):
    page = show("absorption")
    plot = page.locator(".js-plotly-plot").first
    plot.locator(".legendtoggle").first.click()
    page.wait_for_function(HIDDEN)
    page.locator(".st-key-ab_queries input[type=range]").press("ArrowRight")
    page.wait_for_url("**ab_queries=*")
    settle(page)
    assert page.evaluate(HIDDEN)


def test_hover_and_focus_stay(chart):
    plot = chart.locator(".js-plotly-plot").first
    chart.mouse.move(*plot.evaluate(POINT))
    expect(plot.locator(".hovertext")).to_have_count(1)
    slider = chart.locator(".st-key-kv_context input[type=range]")
    slider.evaluate("one => one.focus({ preventScroll: true })")
    move(chart, "ArrowLeft")
    expect(plot.locator(".hovertext")).to_have_count(1)
    expect(slider).to_be_focused()


def test_a_phone_shows_all_of_a_number_behind_a_bar_with_a_long_name(show):
    page = show("kv_cache", PHONE)
    names = ["this model: GQA, 3 KV heads", "本模型：GQA，3 个 KV 头"]
    figure = bars(names, {"kept": [17_280_000.0, 5_760_000.0]}, totals=["17,280,000", "5,760,000"])
    page.locator("[role=figure]").first.evaluate(OTHER, figure.to_plotly_json())
    expect(page.locator(".js-plotly-plot").first).to_contain_text("17,280,000")
    assert unreadable(page) == []
