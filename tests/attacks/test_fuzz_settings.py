"""Settings in links: every parser takes any text, and every page any of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from tests.attacks.drawn import HOSTILE, link
from tests.attacks.nearly import fuzz
from tests.attacks.server import ROOT
from tests.sampling import many
from ui.settings.page import PAGES, SETTINGS
from ui.settings.parsers import as_text

hostile = st.sampled_from(HOSTILE)
CHEAP = sorted(set(PAGES) - {"compression", "real_models"})  # these run for seconds, elsewhere


@pytest.mark.parametrize("name", SETTINGS)
@fuzz(many(15, 80))
@given(st.text(max_size=40) | st.from_regex(r"[+-]?[\d.]{1,12}", fullmatch=True) | hostile)
def test_a_parser_gives_what_it_would_take_again(name, text):
    parse = SETTINGS[name].parse
    assert parse(as_text(SETTINGS[name].default)) == SETTINGS[name].default
    try:
        value = parse(text)
    except ValueError:
        return
    assert parse(as_text(value)) == value


@fuzz(many(10, 40))
@given(st.randoms(use_true_random=False))
def test_a_page_opens_from_any_link(draw):
    page, parameters = link(draw)
    while page not in CHEAP:
        page, parameters = link(draw)
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=600)
    for name, text in parameters:
        at.query_params[name] = text
    at.switch_page(f"pages/{page}.py")
    at.run()
    assert not at.exception, (page, parameters)
    assert at.title or at.error or at.markdown
