"""DSA against DeepseekV32Attention and GlmMoeDsaAttention of transformers, with our weights.

Their index scores are float32 in every dtype, and no order is promised among equal ones: every run
here is checked to leave a gap between the last key that is chosen and the first that is not.
"""

from dataclasses import dataclass, field, replace

import pytest
import torch
from transformers import DynamicCache
from transformers.models.deepseek_v32 import modeling_deepseek_v32 as deepseek
from transformers.models.glm_moe_dsa import modeling_glm_moe_dsa as glm

from mla_engine import PRESETS, IndexedCache, IndexedConfig, RopeConfig
from tests.engine.families import (
    angles,
    causal_mask,
    config_of,
    gap,
    loaded,
    rope_parameters,
    state_of,
    yarn,
)
from tests.engine.kinds import layer_of
from tests.engine.samples import hidden, relative

pytestmark = pytest.mark.usefixtures("unmeasured")
SIZES = {"d_model": 48, "n_heads": 4, "d_head": 12, "d_rope": 8, "d_value": 10, "latent_norm": True}
SIZES |= {"d_latent_kv": 16, "d_latent_q": 24, "n_index_heads": 5, "d_index": 12, "index_topk": 4}


@dataclass(frozen=True)
class Family:
    """A module of transformers and the configuration of ours that should equal it."""

    module: type
    config: type
    ours: IndexedConfig
    theirs: dict = field(default_factory=dict)


FAMILIES = {
    "DeepSeek-V3.2": Family(
        deepseek.DeepseekV32Attention,
        deepseek.DeepseekV32Config,
        IndexedConfig(**SIZES, index_pairing="half", rope=RopeConfig(scaling=yarn(40.0, 64, 1.0))),
    ),
    "DeepSeek-V3.2 with biases": Family(
        deepseek.DeepseekV32Attention,
        deepseek.DeepseekV32Config,
        IndexedConfig(**SIZES, index_pairing="half", bias=True),
    ),
    "GLM-5": Family(
        glm.GlmMoeDsaAttention,
        glm.GlmMoeDsaConfig,
        IndexedConfig(**SIZES, index_pairing="interleaved", rope=RopeConfig(theta=1e6)),
    ),
}
families = pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
starts = pytest.mark.parametrize("start", [0, 3, 150], ids=["start", "offset", "beyond 64"])


def their_config(family, attention="eager"):
    more = {"max_position_embeddings": 256, "rope_parameters": rope_parameters(family.ours.rope)}
    return config_of(family.config, family.ours, attention, **more, **family.theirs)


def their_module(family, layer, attention="eager"):
    number = int(layer.config.index_shared)
    module = family.module(their_config(family, attention), layer_idx=number)
    return loaded(module, state_of(layer), layer.dtype)


def run_theirs(module, config, h, positions, cache=None, **more):
    """Their (u, attention, ...); new tokens stand behind what the cache holds."""
    held = cache.get_seq_length() if cache is not None else 0
    return module(
        hidden_states=h,
        position_embeddings=angles(config.rope, config.d_rope, positions, h.dtype),
        attention_mask=causal_mask(h, held),
        past_key_values=cache,
        position_ids=positions[None],
        **more,
    )


def has_gap(trace, least=1e-3):
    """Tell whether something is left out, and no index score that is comes near one that is not."""
    seen = trace.mask.expand_as(trace.chosen)
    clear = gap(trace.index, trace.chosen, seen) > least
    return clear and bool((trace.chosen != seen).any())


def seeded(family, start, dtype, tokens=10):
    """Layer, hidden states and positions of the first seed whose choices are clear."""
    positions = torch.arange(start, start + tokens)
    for seed in range(200):
        layer, h = layer_of(family.ours, seed, dtype), hidden(2, tokens, 48, seed, dtype)
        if has_gap(layer(h, positions=positions)):
            return layer, h, positions
    raise AssertionError("no seed has clear choices")


@families
@starts
@torch.no_grad()
def test_equals_the_module(family, start):
    layer, h, positions = seeded(family, start, torch.float32)
    u, attention, *_ = run_theirs(their_module(family, layer), family.ours, h, positions)
    for trace in (layer(h, positions=positions), layer.forward_absorbed(h, positions=positions)):
        assert relative(trace.u, u) < 1e-5
        assert relative(trace.attention, attention) < 1e-5
        assert torch.equal(trace.attention > 0, attention > 0)


@families
@pytest.mark.parametrize("cuts", [(1,) * 10, (4, 1, 5), (9, 1), (2, 8)], ids=str)
@torch.no_grad()
def test_caches_and_decodes_as_the_module_does(family, cuts):
    layer, h, positions = seeded(family, 20, torch.float32)
    module, cache = their_module(family, layer), DynamicCache(config=their_config(family))
    held = IndexedCache.empty(family.ours, batch=2)
    for tokens, place in zip(h.split(cuts, 1), positions.split(cuts), strict=True):
        u = run_theirs(module, family.ours, tokens, place, cache)[0]
        trace, held = layer.decode(tokens, held, positions=place)
        assert relative(trace.u, u) < 1e-5
    theirs = cache.layers[0]
    assert relative(held.c_KV, theirs.keys[:, 0]) < 1e-6
    assert held.c_KV.shape[1] == held.k_I.shape[1] == 10
    (index_keys,) = (
        value
        for value in vars(theirs).values()
        if isinstance(value, torch.Tensor) and value.shape[-1] == family.ours.d_index
    )
    assert relative(regrouped(held.k_I, family.ours), index_keys.reshape(2, 10, -1)) < 1e-6


def regrouped(k_I, config):
    """Return a key as their interleaved rotation leaves it: its first part as two halves."""
    if config.index_pairing == "half":
        return k_I
    r = config.d_rope
    return torch.cat((k_I[..., 0:r:2], k_I[..., 1:r:2], k_I[..., r:]), dim=-1)


@torch.no_grad()
def test_a_layer_that_shares_a_choice_equals_the_module():
    """IndexShare of GLM-5.2: the second layer has no indexer and attends where the first does."""
    family = replace(FAMILIES["GLM-5"], theirs={"indexer_types": ["full", "shared"]})
    layer, h, positions = seeded(family, 150, torch.float32)
    first = their_module(family, layer)
    sharing = layer_of(replace(family.ours, index_shared=True), 77, torch.float32)
    second = their_module(family, sharing)
    assert second.indexer is None
    *_, picked = run_theirs(first, family.ours, h, positions)
    u, attention, _ = run_theirs(second, family.ours, h, positions, prev_topk_indices=picked)
    chosen = layer(h, positions=positions).chosen
    for form in (sharing.forward, sharing.forward_absorbed):
        trace = form(h, positions=positions, chosen=chosen)
        assert relative(trace.u, u) < 1e-5
        assert relative(trace.attention, attention) < 1e-5


REAL = {"deepseek-v3.2-exp": "DeepSeek-V3.2", "glm-5": "GLM-5"}


@pytest.mark.parametrize(("preset", "family"), REAL.items())
@torch.no_grad()
def test_two_heads_of_a_published_model_equal_the_module(preset, family):
    """Real widths and the preset's own rotation around position 5,000; a smaller choice."""
    config = replace(PRESETS[preset].config, n_heads=2, index_topk=5)
    family = replace(FAMILIES[family], ours=config)
    layer = layer_of(config, 1, torch.float32)
    h, positions = hidden(1, 12, config.d_model, dtype=torch.float32), torch.arange(5000, 5012)
    trace = layer(h, positions=positions)
    assert has_gap(trace, least=1e-4)
    module = their_module(family, layer)
    u, attention, *_ = run_theirs(module, config, h, positions)
    assert config.scale == pytest.approx(module.scaling, rel=1e-12)
    assert relative(trace.u, u) < 1e-5
    assert relative(trace.attention, attention) < 1e-5
