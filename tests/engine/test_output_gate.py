"""The output gate of MLA against the module of Ling-3.0, and left out; test_oracle.py has loops."""

from dataclasses import replace

import pytest
import torch
from transformers.models.bailing_hybrid import modeling_bailing_hybrid as ling

from mla_engine import (
    PRESETS,
    LatentConfig,
    RopeConfig,
    costs,
    mechanisms,
)
from mla_engine.studies.merging import heads_in_one
from mla_engine.symbols import sources
from tests.engine.families import angles, causal_mask, loaded, state_of
from tests.engine.samples import (
    hidden,
    randomized,
    refused,
    relative,
)

PLAIN = LatentConfig(
    d_model=10, n_heads=3, d_head=4, d_latent_kv=5, d_rope=4, d_value=6, d_latent_q=7,
    latent_norm=True, bias=True,
)  # fmt: skip
forms = pytest.mark.parametrize("form", ["forward", "forward_absorbed"])
CLOSE = {"rtol": 1e-12, "atol": 1e-12}


def layer_of(config, dtype=torch.float64):
    kind = mechanisms.of(config).layer
    return randomized(kind(config, seed=2, dtype=dtype))


@forms
def test_without_a_gate_nothing_is_changed(form):
    layer, h = layer_of(PLAIN), hidden(2, 6, 10)
    trace = getattr(layer, form)(h)
    assert trace.gate is trace.o_gated is layer.W_OG is layer.w_OG is None
    assert not {"gate", "o_gated"} & set(trace.steps)
    assert sources("u", trace.form, trace.steps) == ("o",)
    other = layer_of(replace(PLAIN, output_gate="channel"))
    assert torch.equal(getattr(other, form)(h).o, trace.o), "weights are drawn by their names"
    with torch.no_grad():
        other.W_OG.fill_(0)
    half = getattr(other, form)(h).u - layer.b_O
    torch.testing.assert_close(half, (trace.u - layer.b_O) / 2, **CLOSE)


@pytest.mark.parametrize("gate", ["channel", "head"])
@forms
def test_attention_of_ones_own_goes_through_the_gates(gate, form):
    layer = layer_of(replace(PLAIN, output_gate=gate))
    trace = getattr(layer, form)(hidden(2, 6, 10))
    again = mechanisms.of(layer.config).form_of(trace).weighed(layer, trace, trace.attention)
    torch.testing.assert_close(again.u, trace.u, **CLOSE)
    assert sources("u", trace.form, trace.steps) == ("o_gated",)


def test_kimi_k3s_gate_is_38_percent_of_its_layers_parameters():
    weights = costs.weight_elements(PRESETS["kimi-k3"].config)
    assert weights["W_OG"] == 7168 * 12288
    assert weights["W_OG"] / sum(weights.values()) == pytest.approx(0.38, abs=0.005)


def test_refuses_another_gate_and_to_merge_over_one():
    with refused("output_gate ('layer') must be one of None, 'channel', 'head'"):
        replace(PLAIN, output_gate="layer")
    with refused("output_gate ('head') stands between W_O and W_UV"):
        layer_of(replace(PLAIN, output_gate="head")).absorbed_matrices()
    with refused("output_gate ('channel') stands between W_O and W_UV"):
        heads_in_one(layer_of(replace(PLAIN, output_gate="channel")), hidden(1, 3, 10))


def their_module(layer):
    """Ling-3.0's attention with our weights."""
    c = layer.config
    config = ling.BailingHybridConfig(
        hidden_size=c.d_model, num_hidden_layers=2, num_attention_heads=c.n_heads,
        num_key_value_heads=c.n_heads, kv_lora_rank=c.d_latent_kv, qk_nope_head_dim=c.d_head,
        qk_rope_head_dim=c.d_rope, v_head_dim=c.d_value, layer_group_size=2,
    )  # fmt: skip
    config._attn_implementation = "eager"
    module = ling.BailingHybridAttention(config, layer_idx=1)
    return loaded(module, state_of(layer) | {"g_proj.weight": layer.w_OG})


@forms
@torch.no_grad()
def test_equals_the_module_of_ling(form):
    rope = RopeConfig(theta=6e6)
    config = LatentConfig(
        d_model=48, n_heads=4, d_head=12, d_latent_kv=16, d_rope=8, d_value=10, latent_norm=True,
        rope=rope, output_gate="head",
    )  # fmt: skip
    layer = layer_of(config, torch.float32)
    h, positions = hidden(2, 9, 48, dtype=torch.float32), torch.arange(40, 49)
    u, attention = their_module(layer)(h, angles(rope, 8, positions), causal_mask(h))
    trace = getattr(layer, form)(h, positions=positions)
    assert relative(trace.u, u) < 1e-5
    assert relative(trace.attention, attention) < 1e-5
