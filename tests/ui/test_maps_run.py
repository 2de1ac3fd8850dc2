"""One run of some heads: the engine's own attention, and as many heads as take a moment."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from mla_engine import PRESETS, GroupedQueryAttention, LatentConfig, MultiHeadLatentAttention
from mla_engine.studies.words import hidden_states
from ui.parts.maps.run import block_of_heads, run

WORDS = ("the", "cat", "sees", "the", "dog")
SMALL = LatentConfig(
    d_model=64, n_heads=4, d_head=16, d_latent_kv=32, d_latent_q=48, d_rope=8, latent_norm=True
)
GEMMA = replace(PRESETS["gemma-2-9b"].config, d_model=32, d_head=8, d_value=8, sliding_window=3)
QWEN = replace(PRESETS["qwen3-8b"].config, d_model=32, n_heads=4, n_kv_heads=2, d_head=8, d_value=8)
LAYERS = {
    "expanded": (SMALL, "expanded"),
    "absorbed": (SMALL, "absorbed"),
    "no rotary part": (replace(SMALL, d_rope=0), "expanded"),
    "soft cap and window": (replace(GEMMA, softmax_scale=4.0), "grouped"),
    "QK norm": (QWEN, "grouped"),
}


@pytest.mark.parametrize("name", LAYERS)
def test_mask_on_and_temperature_1_is_the_engines_attention_bit_for_bit(name):
    config, form = LAYERS[name]
    found = run(config, form, WORDS, 1, tuple(range(config.n_heads)))
    h = torch.tensor(hidden_states(WORDS, 1, config.d_model))[None]
    kind = GroupedQueryAttention if form == "grouped" else MultiHeadLatentAttention
    layer = kind(config, seed=1)
    trace = layer.forward_absorbed(h) if form == "absorbed" else layer(h)
    expected = trace.attention[0].numpy()
    assert np.array_equal(found.attention(causal=True, temperature=1.0), expected)
    for step in trace.steps:
        assert np.array_equal(found.tensors[step], getattr(trace, step).numpy()), step


def test_as_many_heads_are_run_as_take_a_moment():
    v3 = PRESETS["deepseek-v3"].config
    assert block_of_heads(PRESETS["deepseek-v2-lite"].config, 256, 9, 0) == tuple(range(16))
    assert block_of_heads(v3, 64, 77, 1) == (77,)
    few = block_of_heads(v3, 64, 77, 0)
    assert 77 in few
    assert len(few) < 16
    many = block_of_heads(v3, 64, 77, 128)
    assert len(few) < len(many) < 128, "what is asked for is bounded by memory"


def test_a_run_of_some_heads_is_the_same_as_of_all():
    whole = run(SMALL, "expanded", WORDS, 0, (0, 1, 2, 3))
    part = run(SMALL, "expanded", WORDS, 0, (2,))
    assert np.array_equal(whole.matrix("W_UK", 2), part.matrix("W_UK", 2))
    assert part.attention(True, 1.0)[0] == pytest.approx(whole.attention(True, 1.0)[2], abs=1e-6)
