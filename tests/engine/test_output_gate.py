"""The output gate of MLA against loops, against the module of Ling-3.0, and left out."""

from dataclasses import fields, replace

import numpy as np
import pytest
import torch
from transformers.models.bailing_hybrid import modeling_bailing_hybrid as ling

from mla_engine import (
    PRESETS,
    SYMBOLS,
    IndexedConfig,
    LatentCache,
    LatentConfig,
    MultiHeadLatentAttention,
    RopeConfig,
    costs,
    mechanisms,
)
from mla_engine.studies.merging import heads_in_one
from mla_engine.symbols import SIZES, sources
from tests import reference
from tests.engine.families import angles, causal_mask, loaded, state_of
from tests.engine.samples import (
    arrays,
    assert_equals_oracle,
    counted,
    hidden,
    randomized,
    refused,
    relative,
)
from tests.reference_delta import sigmoid

PLAIN = LatentConfig(
    d_model=10, n_heads=3, d_head=4, d_latent_kv=5, d_rope=4, d_value=6, d_latent_q=7,
    latent_norm=True, bias=True,
)  # fmt: skip
CONFIGS = {gate: replace(PLAIN, output_gate=gate) for gate in ("channel", "head")}
configs = pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
FORMS = {"forward": reference.latent, "forward_absorbed": reference.absorbed}
forms = pytest.mark.parametrize("form", FORMS)
CLOSE = {"rtol": 1e-12, "atol": 1e-12}


def layer_of(config, dtype=torch.float64):
    kind = mechanisms.of(config).layer
    return randomized(kind(config, seed=2, dtype=dtype))


def gated(config, w, h, form):
    """The oracle without a gate, then the gate and the output again, number by number."""
    out = FORMS[form](config, w, h)
    out |= reference._blank(gate=out["o"].shape, o_gated=out["o"].shape)
    for b, t, i in np.ndindex(*out["o"].shape[:3]):
        for c in range(config.d_value):
            row = w["W_OG"][i, c] if config.output_gate == "channel" else w["w_OG"][i]
            out["gate"][b, t, i, c] = sigmoid(reference.dot(row, h[b, t]))
        out["o_gated"][b, t, i] = out["gate"][b, t, i] * out["o"][b, t, i]
    return out | {"u": reference._output(w, out["o_gated"])}


@configs
@forms
def test_equals_the_oracle(config, form):
    layer, h = layer_of(config), hidden(2, 6, 10)
    trace = getattr(layer, form)(h)
    assert_equals_oracle(trace, gated(config, arrays(layer), h.numpy(), form), trace.steps)
    assert trace.steps[-3:] == ("gate", "o_gated", "u")


@forms
def test_without_a_gate_nothing_is_changed(form):
    layer, h = layer_of(PLAIN), hidden(2, 6, 10)
    trace = getattr(layer, form)(h)
    assert trace.gate is trace.o_gated is layer.W_OG is layer.w_OG is None
    assert not {"gate", "o_gated"} & set(trace.steps)
    assert sources("u", trace.form, trace.steps) == ("o",)
    other = layer_of(CONFIGS["channel"])
    assert torch.equal(getattr(other, form)(h).o, trace.o), "weights are drawn by their names"
    with torch.no_grad():
        other.W_OG.fill_(0)
    half = getattr(other, form)(h).u - layer.b_O
    torch.testing.assert_close(half, (trace.u - layer.b_O) / 2, **CLOSE)


@configs
@forms
def test_rows_heads_and_steps_have_the_gates_of_the_whole_run(config, form):
    layer, h = layer_of(config), hidden(2, 6, 10)
    full = getattr(layer, form)(h)
    part = getattr(layer, form)(h, heads=[2, 0], queries=slice(1, 5, 2))
    torch.testing.assert_close(part.gate, full.gate[:, 1:5:2, [2, 0]], **CLOSE)
    torch.testing.assert_close(part.o_gated, full.o_gated[:, 1:5:2, [2, 0]], **CLOSE)
    mechanism = mechanisms.of(config)
    for name in ("latent", "kv"):
        _, held = layer.decode(h[:, :4], layer.empty_cache(mechanism.cache(name), batch=2))
        trace, _ = layer.decode(h[:, 4:], held)
        torch.testing.assert_close(trace.u, full.u[:, 4:], **CLOSE)
    torch.testing.assert_close(mechanism.fused(layer, h, torch.arange(6)), full.u, **CLOSE)
    again = mechanism.form_of(full).weighed(layer, full, full.attention)
    torch.testing.assert_close(again.u, full.u, **CLOSE)


@configs
@forms
def test_its_costs_and_glossary_are_those_of_its_runs(config, form):
    layer, h = layer_of(config), hidden(2, 6, 10)
    assert costs.weight_elements(config) == {n: p.numel() for n, p in layer.named_parameters()}
    trace = getattr(layer, form)(h)
    name, real = mechanisms.of(config).form_of(trace).name, counted(lambda: getattr(layer, form)(h))
    assert costs.prefill(config, 6, name, batch=2).total_flops == real
    width = {letter: getattr(config, size, None) for letter, size in SIZES.items()}
    for code in {"W_OG", "w_OG"} & dict(layer.named_parameters()).keys():
        wanted = [width[letter] for letter in SYMBOLS[code].axes.split()]
        assert list(layer.get_parameter(code).shape) == wanted
    assert sources("u", trace.form, trace.steps) == ("o_gated",)


def test_an_indexed_layer_can_have_one_too():
    own = {field.name: getattr(PLAIN, field.name) for field in fields(PLAIN)}
    config = IndexedConfig(**own, n_index_heads=2, d_index=6, index_topk=100)
    config = replace(config, output_gate="channel")
    layer, h = layer_of(config), hidden(1, 6, 10)
    plan = MultiHeadLatentAttention(CONFIGS["channel"], device="meta")
    weights = {name: layer.get_parameter(name) for name, _ in plan.named_parameters()}
    dense = MultiHeadLatentAttention.of_weights(plan.config, weights, dtype=torch.float64)
    assert torch.equal(layer(h).u, dense(h).u)


def test_kimi_k3s_gate_is_38_percent_of_its_layers_parameters():
    weights = costs.weight_elements(PRESETS["kimi-k3"].config)
    assert weights["W_OG"] == 7168 * 12288
    assert weights["W_OG"] / sum(weights.values()) == pytest.approx(0.38, abs=0.005)


def test_refuses_another_gate_and_to_merge_over_one():
    with refused("output_gate ('layer') must be one of None, 'channel', 'head'"):
        replace(PLAIN, output_gate="layer")
    with refused("output_gate ('head') stands between W_O and W_UV"):
        layer_of(CONFIGS["head"]).absorbed_matrices()
    with refused("output_gate ('channel') stands between W_O and W_UV"):
        heads_in_one(layer_of(CONFIGS["channel"]), hidden(1, 3, 10))


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


def test_a_cache_holds_what_it_does_without_a_gate():
    for config in CONFIGS.values():
        assert costs.cache_elements(config) == costs.cache_elements(PLAIN)
        assert LatentCache.empty(config).with_zeros(3).nbytes == 3 * 4 * 9
