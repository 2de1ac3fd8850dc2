"""The cost of float32, bfloat16 and float16 against float64, and the published softmax scales."""

from dataclasses import replace

import pytest
import torch

from mla_engine import (
    GroupedConfig,
    GroupedQueryAttention,
    KVCache,
    LatentCache,
    LatentConfig,
    MultiHeadLatentAttention,
    RopeConfig,
)
from tests.engine.samples import YARN, hidden, relative

MLA = LatentConfig(
    d_model=512,
    n_heads=8,
    d_head=64,
    d_latent_kv=128,
    d_rope=32,
    d_value=64,
    d_latent_q=192,
    latent_norm=True,
    rope=RopeConfig(scaling=YARN),
)
GQA = GroupedConfig(
    d_model=512, n_heads=8, n_kv_heads=2, d_head=64, qk_norm=True, rope=RopeConfig(pairing="half")
)
TOKENS = 48
RUNS = {
    "expanded": (MLA, lambda mla, h: mla(h).u),
    "absorbed": (MLA, lambda mla, h: mla.forward_absorbed(h).u),
    "decode, absorbed": (MLA, lambda mla, h: stepwise(mla, h, LatentCache)),
    "decode, expanded": (MLA, lambda mla, h: stepwise(mla, h, KVCache)),
    "grouped": (GQA, lambda gqa, h: gqa(h).u),
}
runs = pytest.mark.parametrize(("config", "run"), RUNS.values(), ids=RUNS)


def stepwise(layer, h, cache_type):
    """u of a prefill of half the text and three steps."""
    cache = cache_type.empty(layer.config, batch=h.shape[0], dtype=h.dtype)
    parts = []
    for rows in (slice(0, 24), slice(24, 25), slice(25, 40), slice(40, TOKENS)):
        trace, cache = layer.decode(h[:, rows], cache)
        parts.append(trace.u)
    return torch.cat(parts, dim=1)


def pair(config, dtype, seed=0):
    """A layer in `dtype` and one in float64 that holds the very same weights; inputs likewise."""
    kind = MultiHeadLatentAttention if isinstance(config, LatentConfig) else GroupedQueryAttention
    layer, exact = kind(config, seed=seed, dtype=dtype), kind(config, dtype=torch.float64)
    for ours, theirs in zip(layer.parameters(), exact.parameters(), strict=True):
        theirs.copy_(ours)
    h = hidden(1, TOKENS, config.d_model, seed=100 + seed, dtype=dtype)
    return layer, h, exact, h.double()


def error(config, run, dtype, seed=0):
    """Root mean square of the error over that of the output, against float64."""
    layer, h, exact, h_exact = pair(config, dtype, seed)
    u = run(layer, h)
    assert u.dtype == dtype
    return relative(u, run(exact, h_exact))


@runs
def test_float32_is_within_1e_5(config, run):
    assert error(config, run, torch.float32) < 1e-5


@pytest.mark.parametrize(("dtype", "limit"), [(torch.bfloat16, 2e-2), (torch.float16, 2.5e-3)])
@runs
def test_halves_stay_small(config, run, dtype, limit):
    assert 1e-5 < error(config, run, dtype) < limit


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("form", ["forward", "forward_absorbed"])
def test_every_field_keeps_the_dtype_of_the_layer(dtype, form):
    layer = MultiHeadLatentAttention(replace(MLA, d_model=16, d_latent_q=8), dtype=dtype)
    trace = getattr(layer, form)(hidden(1, 4, 16, dtype=dtype))
    assert {getattr(trace, name).dtype for name in (*trace.steps, "scores")} == {dtype}
    assert trace.mask.dtype == torch.bool


def test_norm_rotation_and_softmax_do_not_run_in_bfloat16():
    """In bfloat16 each of them equals the float32 result, rounded once."""
    layer = MultiHeadLatentAttention(replace(MLA, d_latent_q=None), dtype=torch.bfloat16)
    trace = layer(hidden(1, TOKENS, 512, dtype=torch.bfloat16), positions=torch.arange(900, 948))
    pre = trace.c_KV_pre.float()
    normed = pre * (pre.square().mean(-1, keepdim=True) + 1e-6).rsqrt()
    assert torch.equal(trace.c_KV, normed.bfloat16())
    softmax = trace.scores.float().softmax(-1)
    torch.testing.assert_close(trace.attention, softmax.bfloat16(), rtol=0, atol=0)
    lengths = [x.double().unflatten(-1, (-1, 2)).norm(dim=-1) for x in (trace.k_R_pre, trace.k_R)]
    stretch = MLA.rope.scaling.rotation_magnitude
    torch.testing.assert_close(lengths[1], lengths[0] * stretch, rtol=2**-8, atol=1e-6)
