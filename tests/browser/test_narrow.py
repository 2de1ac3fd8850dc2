"""The narrowest windows: 320 pixels, and 640, which a zoom of 200 % leaves of 1,280.

Nothing scrolls sideways but tables in their own boxes, and no word of a chart is cut or hidden.
On pages where it is tight no words are printed over each other, in any window.
"""

from functools import partial

import pytest

from tests.browser.looks import PHONE, WORDS, Turn, colliding, resized, unreadable, until_clean
from tests.sampling import some
from ui.frame.pages import PAGES

pytestmark = pytest.mark.browser

NARROW, ZOOMED = {"width": 320, "height": 640}, {"width": 640, "height": 360}
WINDOWS = [{"width": w, "height": h} for w, h in ((1440, 900), (1280, 720), (1024, 768))]
VIEWS = (
    "attention_maps?preset=small&map_text=misunderstanding+of+the+incomprehensible+world",
    "compare?vs_view=costs",
    "kv_cache?kv_view=memory",
    "rope?rope_topic=merged",
)
# A page wider than its window, words missing at a colour bar, an axis's name among a map's words.
WRONG = """() => {
  const { scrollWidth, clientWidth } = document.querySelector("[data-testid=stMain]");
  const found = scrollWidth > clientWidth ? [`the page is ${scrollWidth} wide`] : [];
  for (const plot of document.querySelectorAll(".js-plotly-plot")) {
    const boxes = (words) => [...plot.querySelectorAll(words)]
      .map((one) => one.getBoundingClientRect()).filter(({ width }) => width);
    const chart = plot.closest("[aria-label]").ariaLabel, [name] = boxes(".xtitle");
    const words = plot._fullData.flatMap(({ colorbar }) => colorbar?.tickvals ?? []);
    if (boxes(".cbaxis text").length < words.length) found.push(`the bar is cut: ${chart}`);
    if (words.length && boxes(".xtick text").some(({ bottom }) => bottom > name.top + 3)) {
      found.push(`the name stands among the words: ${chart}`);
    }
  }
  return found;
}"""


@pytest.mark.parametrize("path", [*some(PAGES, 8), *VIEWS])
def test_all_of_a_page_is_in_sight(opened, path):
    page = opened(path, Turn.of(len(path)))
    for size in (NARROW, ZOOMED):
        resized(page, size)
        assert until_clean(page, partial(page.evaluate, WRONG)) == []
        assert unreadable(page) == []


@pytest.mark.parametrize(
    ("path", "language"),
    [("attention_maps?stop=18", 0), ("rope?rope_topic=merged", 0), ("compression", 1)],
)
def test_no_words_are_printed_over_each_other(opened, path, language):
    page = opened(path, Turn(0, language))
    for size in (*WINDOWS, ZOOMED, PHONE):
        resized(page, size)
        assert not unreadable(page) + colliding(page), size


def test_words_over_each_other_are_found(reader):
    """The check itself: planted defects do not pass, and what nobody sees does."""
    line = '<p style="position: absolute; top: {}px; left: 20px; {}">{}</p>'
    narrow = "width: 40px; overflow: hidden; white-space: nowrap;"
    planted = {
        line.format(20, "", "one") + line.format(24, "", "two"): "“one” and “two” overlap",
        line.format(20, "", "one") + line.format(60, "", "two"): None,
        line.format(20, "", "one") + line.format(24, "visibility: hidden;", "two"): None,
        line.format(20, narrow, "much longer than that"): "“much longer than that” is cut",
        line.format(20, narrow + "text-overflow: ellipsis;", "much longer than that"): None,
    }
    for body, says in planted.items():
        reader.set_content(body)
        found = reader.evaluate(WORDS)
        assert [says in one for one in found] == [True] if says else not found, body
