"""The costs of DSA: by hand, by torch on real runs, and on a step that gathers its choice."""

from dataclasses import replace

import pytest
import torch
from torch import einsum

from mla_engine import PRESETS, IndexedCache, costs
from mla_engine.latent.projections import queries_of, turn_of
from mla_engine.rope import per_head
from tests.engine.by_hand import BATCH, DSA, OF_DSA, flops
from tests.engine.kinds import layer_of
from tests.engine.samples import counted, hidden

configs = pytest.mark.parametrize("config", OF_DSA.values(), ids=OF_DSA)
forms = pytest.mark.parametrize("form", ["expanded", "absorbed"])
pytestmark = pytest.mark.usefixtures("unmeasured")
V32, GLM5 = PRESETS["deepseek-v3.2-exp"], PRESETS["glm-5"]


def gathered(layer, h, cache):
    """u of one new token as a kernel makes it: absorbed, over only the latents of its choice."""
    trace, cache = layer.decode(h, cache)
    config, w = layer.config, layer.weights()
    positions = torch.arange(cache.length - 1, cache.length)

    def step():
        queries = queries_of(w, h, per_head(turn_of(config, positions)))
        c_KV, k_R = cache.c_KV[trace.chosen[:, 0]], cache.k_R[trace.chosen[:, 0]]
        c_KV, k_R = (x.unflatten(0, (BATCH, -1)) for x in (c_KV, k_R))
        absorbed = einsum("bthk,hkc->bthc", queries.q_C, w.W_UK)
        logits = einsum("bthc,bsc->bhts", absorbed, c_KV)
        logits = config.scale * (logits + einsum("bthr,bsr->bhts", queries.q_R, k_R))
        o_latent = einsum("bhts,bsc->bthc", logits.softmax(-1), c_KV)
        o = einsum("bthc,hvc->bthv", o_latent, w.W_UV)
        return einsum("bthv,dhv->btd", o, w.W_O) + w.b_O

    return trace, step


@pytest.mark.parametrize("context", [3, 7, 8, 40])
def test_a_step_that_gathers_its_choice_gives_the_same_and_costs_what_is_counted(context):
    layer = layer_of(DSA)
    past, new = hidden(BATCH, context, 31, 1), hidden(BATCH, 1, 31, 2)
    _, cache = layer.decode(past, IndexedCache.empty(DSA, BATCH, torch.float64))
    trace, step = gathered(layer, new, cache)
    torch.testing.assert_close(step(), trace.u, rtol=1e-12, atol=1e-12)
    cost = costs.decode(DSA, context, batch=BATCH)
    of_keys = ("c_KV_pre", "k_R_pre", "q_I_pre", "w_I", "k_I_pre", "scores_I", "index")
    assert counted(step) == cost.total_flops - sum(cost.step_flops[name] for name in of_keys)
    latents = min(context, 8) * (7 + 2)
    assert cost.cache_read_bytes == BATCH * 2 * (latents + context * 17)
    assert cost.cache_written_bytes == BATCH * 2 * (7 + 2 + 17)


@configs
@forms
@pytest.mark.parametrize("new", [1, 3])
@pytest.mark.parametrize("context", [2, 8, 40])
def test_a_step_counts_what_its_queries_read(config, form, new, context):
    cost = costs.decode(config, context, form, batch=BATCH, new_tokens=new)
    keys, index = context + new, 0 if config.index_shared else 17
    few, read = min(keys, 8), min(context, 8 * new)
    expanded = min(keys, 8 * new)
    made = flops(config, form, 6, new, new, keys, over=few, expanded=expanded)
    assert cost.total_flops == made
    assert cost.cache_read_bytes == BATCH * 2 * (read * (7 + config.d_rope) + context * index)
    up_projected = 2 * BATCH * 2 * expanded * 6 * (5 + 3) if form == "expanded" else 0
    assert cost.up_projected_bytes == up_projected


@configs
def test_caches_are_those_of_real_layers(config):
    cache = IndexedCache.empty(config, dtype=torch.bfloat16).with_zeros(9)
    assert cache.nbytes == 9 * 2 * costs.cache_elements(config)
    assert costs.rank_cache_elements(config, 6) == costs.cache_elements(config), "whole on a rank"


def test_handing_in_the_keys_leaves_out_what_makes_them():
    made, given = (costs.prefill(DSA, 20, latents=latents) for latents in (False, True))
    gone = {"c_KV_pre", "k_R_pre", "k_I_pre"}
    assert set(made.step_flops) - set(given.step_flops) == gone
    parameters = 7 * 31 + 2 * 31 + 17 * 31 + 7 + 2 + 7 + 17 + 17  # with biases and norms
    assert made.weight_bytes - given.weight_bytes == 2 * parameters
    assert given.cache_read_bytes == 2 * 20 * (7 + 2 + 17)


def test_published_caches():
    """DeepSeek-V3.2 has 61 x (512 + 64 + 128) numbers per token, GLM-5 78 x as many."""
    for preset, layers in ((V32, 61), (GLM5, 78)):
        assert preset.n_caches == layers
        assert costs.cache_elements(preset.config) == 512 + 64 + 128
    assert V32.n_caches * costs.cache_elements(V32.config) == 42_944
    shared = costs.cache_elements(replace(GLM5.config, index_shared=True))
    assert 21 * costs.cache_elements(GLM5.config) + 57 * shared == 78 * 576 + 21 * 128, "GLM-5.2"
    right, without, *_ = costs.formulas(V32.config)
    assert right.off(V32.config) == 1
    assert without.off(V32.config) == 576 / 704


def test_the_log_of_a_serving_engine_tells_both_parts_of_a_token():
    """sgl-project/sglang #11309: for 1,462,784 tokens 54.52 GB without index keys, 65.49 with them.

    By layer and token that is 656 bytes, the latent in FP8 with a scale for each 128 numbers and
    the rotary key in bfloat16, and 132 bytes, an index key in FP8 with its scale.
    """
    tokens, c = 1_462_784 * V32.n_caches, V32.config
    latent, index = 54.52 * 2**30 / tokens, (65.49 - 54.52) * 2**30 / tokens
    scales = {"latent": 4 * c.d_latent_kv / 128, "index": 4 * c.d_index / 128}
    assert latent == pytest.approx(c.d_latent_kv + scales["latent"] + 2 * c.d_rope, rel=1e-3)
    assert index == pytest.approx(c.d_index + scales["index"], rel=1e-3)


def test_reading_stays_and_the_index_grows():
    """At 128 Ki tokens a step of V3.2 reads 2,048 latents and every index key."""
    sparse = costs.decode(V32.config, 2**17)
    dense = costs.decode(PRESETS["deepseek-v3"].config, 2**17)
    assert sparse.cache_read_bytes == 2 * (2**17 * 128 + 2048 * 576)
    assert dense.cache_read_bytes == 2 * 2**17 * 576
    attention = sum(sparse.step_flops[name] for name in ("scores_C", "scores_R", "o_latent"))
    assert attention == 2 * 128 * 2048 * (512 + 64 + 512)
    assert sparse.step_flops["scores_I"] == 2 * 64 * 2**17 * 128 + 2 * 64 * 128
    assert sparse.attention_flops < dense.attention_flops / 10
