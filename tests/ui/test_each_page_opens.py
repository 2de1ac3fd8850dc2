"""Each page opens in a moment, with its title, its first words and its first chart."""

import pytest

from tests.ui.screen import charts, texts
from tests.ui.test_charts import CHANGED
from ui.frame.pages import PAGES


@pytest.mark.parametrize("page", PAGES)
def test_a_page_opens_with_its_title_and_its_chart(opened, page):
    at = opened(PAGES[page].file)
    assert not at.error
    assert not at.warning
    (title,) = at.title
    assert title.value
    assert len(texts(at)) > 2
    assert bool(charts(at)) == (page in CHANGED)
