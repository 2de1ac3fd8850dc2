"""Hybrids on the pages: a layer that no page shows is refused in a sentence, with one that is."""

import html

import numpy as np
import pytest
import torch

from mla_engine.checkpoints import hidden_states, load_attention
from tests.ui.controls import pressed
from tests.ui.pages.test_real_models import balance, shares
from tests.ui.screen import charts, prose, refusal, says, statement

PAGES = ("absorption", "compression", "rope")
TEXT = "the cat sat on the mat and the moon"
SAID = "this page does not show delta attention (KDA), which layer 1 is, but Attention maps, "
CASES = [(page, "kimi") for page in PAGES] + [("absorption", "ling")]


@pytest.mark.parametrize(("page", "name"), CASES)
def test_a_linear_layer_is_refused_with_the_next_one_that_is_shown(page, name, hybrids, opened):
    at = opened(f"pages/{page}.py", source=hybrids[name], layer="1")
    assert not at.exception
    assert SAID in refusal(at)
    assert says(refusal(at), "refused.not_here_of_layer", other="3")
    pressed(at, "Show layer 3")
    merged = (page, name) == ("absorption", "ling")  # whose output gate stands between
    said = [html.unescape(error.value) for error in at.error]
    assert bool(said) == merged
    assert all("stands between W_O and W_UV" in one for one in said)
    assert at.query_params["layer"] in ("3", ["3"])


def test_a_layer_is_chosen_by_its_number_and_its_kind(hybrids, opened):
    at = opened("pages/attention_maps.py", source=hybrids["kimi"], layer="1", text=TEXT)
    (chosen,) = (box for box in at.selectbox if box.key == "layer")
    assert chosen.options == ["0 · KDA", "1 · KDA", "2 · KDA", "3 · MLA"]
    assert chosen.value == 1
    chosen.set_value(3).run()
    assert at.query_params["layer"] == "3"
    assert any(says(chart.alt, "maps.alt_attention", head="0") for chart in charts(at))


def test_layers_of_two_kinds_are_not_compared(hybrids, opened):
    at = opened("pages/real_models.py", source=hybrids["kimi"], layer="3", real_layers="yes")
    assert not at.exception
    assert any(says(m.value, "real_models.layers_mixed") for m in at.caption)


def test_a_shared_key_that_nothing_rotates_is_not_said_to_tell_places(hybrids, opened):
    folder = hybrids["kimi"]
    with torch.inference_mode():
        trace = load_attention(folder, 3)(hidden_states(folder, TEXT, 3).h)
    wanted, parts = balance(trace), shares(trace)
    at = opened("pages/real_models.py", source=folder, layer="3", text=TEXT, map_head="1")
    follow = int((wanted > 0.5).sum())
    assert says(statement(at), "real_models.line_shared", heads=len(wanted), positional=follow)
    assert not any("looks mostly at" in one or "rotary" in one for one in prose(at))
    (chart,) = (one for one in charts(at) if one.alt.startswith("Vertical bars"))
    assert chart.names == ["own keys", "shared key", "twice the covariance"]
    for name, part in zip(chart.names, parts.T, strict=True):
        np.testing.assert_allclose(chart.values(name, "y"), part, rtol=1e-3, atol=1e-5)
    most = max(wanted[1], 1 - wanted[1])
    (kind,) = (one for one in prose(at) if one.startswith("Head 1 goes mostly by"))
    assert f"{100 * most:#.3g} %" in kind.replace("\xa0", " ")
