"""A real layer in a real browser: a click chooses the head, the numbers are the engine's."""

import csv
import io
import re
from urllib.parse import urlencode

import numpy as np
import pytest
from playwright.sync_api import expect

from mla_engine.checkpoints import (
    hidden_states,
    hidden_states_of_layers,
    load_attention,
)
from mla_engine.figures import TileGrid
from mla_engine.studies.logit_shares import logit_shares
from tests.browser.conftest import STATEMENT
from tests.browser.test_attention_maps import click
from tests.browser.waiting import settle
from ui.parts.real_layer import DEMO

pytestmark = pytest.mark.browser

TEXT, LAYER, HEADS = "The cat sat on the mat.", 2, 8


def test_a_click_chooses_the_head_and_layers_are_compared(app_url, browser_page, demo):
    trace = load_attention(demo, LAYER)(hidden_states(demo, TEXT, LAYER).h)
    shares = logit_shares(trace)
    page = browser_page
    link = {"source": DEMO, "layer": LAYER, "text": TEXT}
    page.goto(f"{app_url}/real_models?{urlencode(link)}")
    settle(page)
    positional = int((shares.balance > 0.5).sum())
    expect(page.locator(STATEMENT)).to_contain_text(f"{positional} of {HEADS} heads look at places")

    grid = TileGrid.of(trace.attention[0].shape)
    top, left = grid.corner(6)
    rows, columns = grid.shape
    click(page, 0, across=(left + 2) / (columns + 1), down=(top + 5) / (rows + 0.5))
    page.wait_for_url("**map_head=6**")
    share = float(shares.balance[6])
    said = page.get_by_text(re.compile("^Head 6 looks mostly at"))
    expect(said).to_contain_text(f"{100 * max(share, 1 - share):#.3g} %")
    settle(page)  # a run under way would take the file back

    with page.expect_download() as waiting:
        page.locator(".st-key-download-real-shares").get_by_role("button").click()
    table = list(csv.DictReader(io.StringIO(waiting.value.path().read_text("utf-8-sig"))))
    assert [int(row["head"]) for row in table] == list(range(HEADS))
    found = np.array([float(row["position"]) for row in table])
    assert found == pytest.approx(shares.position.numpy(), rel=1e-6)

    page.get_by_role("button", name="Compare the layers").click()
    page.wait_for_url("**real_layers=1**")
    settle(page)
    printed = page.locator(".js-plotly-plot").last.locator(".heatmap-label text")
    cells = printed.filter(has_text=re.compile(r"\d"))
    expect(cells).to_have_count(4 * HEADS)
    every = hidden_states_of_layers(demo, TEXT, range(4))
    expected = [
        round(float(value), 2)
        for layer, found in every.items()
        for value in logit_shares(load_attention(demo, layer)(found.h)).balance
    ]
    shown = sorted(float(text) for text in cells.all_text_contents())
    assert shown == pytest.approx(sorted(expected), abs=0.011)
