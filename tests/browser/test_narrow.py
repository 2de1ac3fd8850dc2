"""The narrowest windows: 320 pixels, and 640, which a zoom of 200 % leaves of 1,280.

Nothing scrolls sideways but tables in their own boxes, and no word of a chart is cut or hidden.
"""

from functools import partial

import pytest

from tests.browser.looks import Turn, resized, unreadable, until_clean
from tests.sampling import some
from ui.frame.rooms import PAGES

pytestmark = pytest.mark.browser

NARROW, ZOOMED = {"width": 320, "height": 640}, {"width": 640, "height": 360}
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
