"""A later token that is NaN or Inf changes nothing before it."""

from dataclasses import replace

import pytest
import torch

from tests.engine.kinds import DSA, GQA, MLA, PLAIN_MLA, WINDOW, layer_of, ways
from tests.engine.kinds import forms as every_form
from tests.engine.samples import counted, hidden

pytestmark = pytest.mark.usefixtures("unmeasured")
CLOSE = {"rtol": 1e-12, "atol": 1e-12}
BAD = [torch.nan, torch.inf, -torch.inf]
TOKENS, AT = 7, 4
FORMS = {
    "expanded": (MLA, "forward"),
    "absorbed": (MLA, "forward_absorbed"),
    "expanded, plain": (PLAIN_MLA, "forward"),
    "absorbed, plain": (PLAIN_MLA, "forward_absorbed"),
    "grouped": (GQA, "forward"),
    "MQA": (replace(GQA, n_kv_heads=1), "forward"),
    "window": (WINDOW, "forward"),
    "indexed": (DSA, "forward"),
    "indexed, absorbed": (DSA, "forward_absorbed"),
}
forms = pytest.mark.parametrize(("config", "form"), FORMS.values(), ids=FORMS)


def broken(value, at=AT, batch=2):
    """Hidden states in which one token of the first sequence is broken."""
    h = hidden(batch, TOKENS, 10)
    h[0, at] = value
    return h


@pytest.mark.parametrize("value", BAD, ids=str)
@every_form
def test_earlier_rows_are_those_of_the_run_without_it(config, form, value):
    layer, h = layer_of(config), broken(value)
    trace, without = form.forward(layer, h), form.forward(layer, h[:, :AT])
    before, every = slice(AT), slice(None)
    maps = {"attention": (every, every, before, before), "chosen": (every, before, before)}
    for name in ("attention", "chosen", "o_latent", "o", "u"):
        if hasattr(trace, name):
            got = getattr(trace, name)[maps.get(name, (every, before))]
            torch.testing.assert_close(got, getattr(without, name), **CLOSE)
    assert not trace.u[0, AT].isfinite().any()
    torch.testing.assert_close(trace.u[1], form.forward(layer, hidden(2, TOKENS, 10)).u[1])


@pytest.mark.parametrize("value", BAD, ids=str)
@ways
def test_earlier_tokens_of_one_step_are_those_of_the_step_without_it(way, value):
    layer, h = way.layer(), broken(value)
    _, held = way.step(layer, h[:, :2], way.empty())
    trace, _ = way.step(layer, h[:, 2:], held)
    without, _ = way.step(layer, h[:, 2:AT], held)
    torch.testing.assert_close(trace.u[:, : AT - 2], without.u, **CLOSE)
    assert not trace.u[0, AT - 2].isfinite().any()


def test_a_token_that_has_left_the_window_is_gone():
    layer, h = layer_of(WINDOW), broken(torch.nan, at=1)
    u, whole = layer(h).u, layer(hidden(2, TOKENS, 10)).u
    assert not u[0, 1:4].isfinite().any()
    rows = [0, 4, 5, 6]
    torch.testing.assert_close(u[0, rows], whole[0, rows], rtol=1e-12, atol=1e-12)


@forms
def test_whole_numbers_cost_no_product_more(config, form):
    layer = layer_of(config)

    whole, nan = hidden(2, TOKENS, 10), broken(torch.nan)
    run = getattr(layer, form)
    assert counted(lambda: run(whole)) < counted(lambda: run(nan))
