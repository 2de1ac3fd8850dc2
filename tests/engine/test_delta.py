"""Kimi Delta Attention against loops written from its equations, form against form."""

from dataclasses import fields, replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mla_engine import SYMBOLS, DeltaAttention, DeltaConfig
from mla_engine.delta.mechanism import MECHANISM
from mla_engine.symbols import SIZES, sources
from tests.engine.delta_samples import CONFIGS, FORMS, FULL, KDA, delta_configs, layer_of
from tests.engine.samples import arrays, assert_equals_oracle, hidden, randomized, refused
from tests.reference_delta import delta

forms = pytest.mark.parametrize("form", FORMS)
configs = pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
OWN = {"k_WY", "v_WY", "o_past", "o_near"}  # of the chunked form
EXACT = {"rtol": 1e-12, "atol": 1e-12}


def check(config, batch, tokens, form):
    """One run against the oracle, field by field."""
    layer, h = layer_of(config), hidden(batch, tokens, config.d_model)
    trace, expected = getattr(layer, form)(h), delta(config, arrays(layer), h.numpy())
    shared = [name for name in trace.steps if name not in OWN]
    whole = trace.steps
    assert set(whole) - set(shared) == (OWN if form == "forward" else set())
    for name in shared:
        np.testing.assert_allclose(getattr(trace, name), expected[name], **EXACT, err_msg=name)
    states = torch.stack([layer.states(trace, i) for i in range(config.n_heads)], dim=2)
    np.testing.assert_allclose(states, expected["states"], **EXACT)


@forms
@configs
def test_equals_the_oracle(config, form):
    check(config, batch=2, tokens=9, form=form)


@forms
@settings(max_examples=15, deadline=None)
@given(config=delta_configs(), tokens=st.integers(1, 8))
def test_equals_the_oracle_for_any_configuration(form, config, tokens):
    check(config, batch=1, tokens=tokens, form=form)


def test_the_recurrent_trace_has_the_steps_of_the_oracle_in_order():
    layer, h = layer_of(KDA), hidden(1, 3, 10)
    trace = layer.forward_recurrent(h)
    names = [field.name for field in fields(trace)]
    assert_equals_oracle(trace, delta(KDA, arrays(layer), h.numpy()), names)


@configs
@pytest.mark.parametrize("tokens", [63, 64, 65, 200])
def test_whole_chunks_give_what_single_tokens_give(config, tokens):
    layer, h = layer_of(config), hidden(2, tokens, 10)
    ours, other = layer(h), layer.forward_recurrent(h)
    for name in other.steps:
        torch.testing.assert_close(getattr(ours, name), getattr(other, name), **EXACT)


def test_a_strong_decay_forgets_in_both_forms_without_overflow():
    """Decays of e^-300 a token: their inverse is no number of float32."""
    layer = layer_of(FULL, dtype=torch.float32)
    layer.A_log.fill_(3.0)
    layer.b_A.fill_(15.0)
    h = hidden(1, 80, 10, dtype=torch.float32)
    ours, other = layer(h), layer.forward_recurrent(h)
    assert ours.log_a.max() < -100
    torch.testing.assert_close(ours.u, other.u, rtol=1e-5, atol=1e-6)
    lone = torch.einsum("bthk,bthv->bthkv", ours.k_D, ours.written)[:, -1]
    torch.testing.assert_close(ours.S, lone, rtol=1e-5, atol=1e-6)


def test_what_a_write_erases_is_what_the_state_held_along_its_key():
    """With b = 1/2 and no decay: half of the half that the first write left there."""
    layer = layer_of(replace(FULL, conv_width=1))
    layer.W_UA.zero_()
    layer.b_A.fill_(-40.0)  # nothing decays
    layer.W_B.zero_()
    h = hidden(1, 1, 10).expand(1, 2, 10)
    trace = layer.forward_recurrent(h)
    assert torch.equal(trace.b, torch.full_like(trace.b, 0.5))
    length = trace.k_D.square().sum(-1, keepdim=True)[:, 0]
    torch.testing.assert_close(trace.erased[:, 1], 0.25 * length * trace.v_D[:, 1], **EXACT)
    assert not trace.erased[:, 0].any()


@forms
def test_heads_are_slices_of_the_whole_run_and_their_outputs_add_up(form):
    layer, h = layer_of(KDA), hidden(2, 70, 10)
    full, part = getattr(layer, form)(h), getattr(layer, form)(h, heads=[2, 0])
    for name in ("a", "k_D", "erased", "written", "o", "gate", "o_gated"):
        wanted = getattr(full, name)[:, :, [2, 0]]
        torch.testing.assert_close(getattr(part, name), wanted, **EXACT)
    torch.testing.assert_close(part.S, full.S[:, [2, 0]], **EXACT)
    other = getattr(layer, form)(h, heads=[1])
    torch.testing.assert_close(part.u + other.u, full.u, **EXACT)


@forms
@pytest.mark.parametrize("value", [torch.nan, torch.inf])
def test_a_broken_later_token_changes_nothing_before_it(form, value):
    layer, h = layer_of(KDA), hidden(2, 9, 10)
    h[0, 5] = value
    trace, without = getattr(layer, form)(h), getattr(layer, form)(h[:, :5])
    torch.testing.assert_close(trace.u[:, :5], without.u, **EXACT)
    assert not trace.u[0, 5].isfinite().any()


def test_fused_is_the_chunked_form_and_gradients_flow_through_both():
    layer, h = layer_of(KDA), hidden(1, 70, 10).requires_grad_()
    torch.testing.assert_close(MECHANISM.fused(layer, h, torch.arange(70)), layer(h).u, **EXACT)
    slopes = [torch.autograd.grad(getattr(layer, form)(h).u[0, -1].sum(), h)[0] for form in FORMS]
    torch.testing.assert_close(*slopes, rtol=1e-10, atol=1e-12)
    assert slopes[0][0, 0].abs().max() > 0


def test_weights_are_drawn_by_their_names_and_rates_spread_as_models_start_them():
    one, other = (randomized(DeltaAttention(KDA, seed=4, heads=h)) for h in (None, [2]))
    for name in ("W_UA", "W_B", "W_UG", "W_Q"):
        assert torch.equal(one.get_parameter(name)[[2]], other.get_parameter(name)), name
    many = DeltaAttention(DeltaConfig(d_model=4, n_heads=512, d_head=2), dtype=torch.float64)
    rates, steps = many.A_log.exp(), torch.nn.functional.softplus(many.b_A)
    assert 1 <= rates.min() < 1.3 < 15.5 < rates.max() <= 16
    assert 1e-3 <= steps.min() < 1.2e-3 < 0.09 < steps.max() <= 0.1


@forms
@configs
def test_axes_sources_and_contractions_of_the_glossary_are_those_of_the_run(config, form):
    layer, h = layer_of(config), hidden(2, 5, 10)
    trace = getattr(layer, form)(h)
    width = {letter: getattr(config, name, None) for letter, name in SIZES.items()}
    width |= {"b": 2, "t": 5, "i": config.d_decay or 10, "e": config.d_gate or 10}
    held = {name: getattr(trace, name) for name in trace.steps} | dict(layer.named_parameters())
    for name, tensor in held.items():
        assert tuple(tensor.shape) == tuple(width[x] for x in SYMBOLS[name].axes.split()), name
    seen = []
    for code in trace.steps:
        feeding = sources(code, trace.form, trace.steps)
        assert set(feeding) <= set(seen), code
        assert bool(feeding) == (code != "h"), code
        seen.append(code)
        step = SYMBOLS[code].step(trace.form)
        if step.einsum:
            again = torch.einsum(step.einsum, *(held[name] for name in step.inputs))
            torch.testing.assert_close(held[code], again, **EXACT)


REFUSED = {
    "heads": ({"n_heads": 0}, "n_heads (0) must be at least 1"),
    "kernel": ({"conv_width": 65}, "conv_width (65) must be at least 1 and at most 64"),
    "rank": ({"d_decay": 0}, "d_decay (0) must be at least 1"),
    "floor": ({"decay_floor": 5.0}, "decay_floor (5.0) must be a number below 0"),
    "word": ({"decay_floor": "low"}, "decay_floor ('low') must be a number below 0"),
}


@pytest.mark.parametrize(("changes", "said"), REFUSED.values(), ids=REFUSED)
def test_refuses_what_no_layer_can_have(changes, said):
    with refused(said):
        DeltaConfig(**{"d_model": 8, "n_heads": 2, "d_head": 4} | changes)


def test_refuses_inputs_that_do_not_fit():
    layer = layer_of(KDA, dtype=torch.float32)
    with refused("h"):
        layer(hidden(1, 3, 9, dtype=torch.float32))
    with refused("positions"):
        layer(hidden(1, 3, 10, dtype=torch.float32), positions=[0, 1])
    with refused("heads has 7"):
        layer.states(layer(hidden(1, 3, 10, dtype=torch.float32)), head=7)
