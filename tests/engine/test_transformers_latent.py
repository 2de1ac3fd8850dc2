"""MLA against the attention modules of transformers, with the same weights, in float32."""

import math
from dataclasses import fields, replace

import pytest
import torch
from transformers import DynamicCache

from mla_engine import PRESETS, MultiHeadLatentAttention
from mla_engine.rope import rotation
from tests.engine.families import FAMILIES, run_theirs, their_config, their_module
from tests.engine.samples import hidden, randomized, relative

pytestmark = pytest.mark.usefixtures("unmeasured")
families = pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
REGROUPED = [0, 2, 4, 6, 1, 3, 5, 7]  # halves made of interleaved pairs


def layers(family, **changes):
    mla = randomized(MultiHeadLatentAttention(family.latent, seed=6))
    return mla, their_module(family, mla, **changes)


@families
@pytest.mark.parametrize("start", [0, 3, 150], ids=["start", "offset", "beyond 64"])
@torch.no_grad()
def test_equals_the_module(family, start):
    mla, module = layers(family)
    h, positions = hidden(2, 9, 48, dtype=torch.float32), torch.arange(start, start + 9)
    u, attention = run_theirs(family, module, h, positions)
    for trace in (mla(h, positions=positions), mla.forward_absorbed(h, positions=positions)):
        assert relative(trace.u, u) < 1e-5
        assert relative(trace.attention, attention) < 1e-5


REAL = {
    "deepseek-v2-lite": "DeepSeek-V2",
    "deepseek-v3": "DeepSeek-V3",
    "minicpm3-4b": "MiniCPM3",
    "glm-4.7-flash": "GLM-4.7-Flash",
    "longcat-flash-chat": "LongCat-Flash",
    "mistral-small-4-119b": "Mistral-Small-4",
    "youtu-llm-2b": "Youtu",
}


@pytest.mark.parametrize(("preset", "family"), REAL.items())
@torch.no_grad()
def test_two_heads_of_a_published_model_equal_the_module(preset, family):
    """Real widths and the preset's own rotation, around position 5,000."""
    config = replace(PRESETS[preset].config, n_heads=2)
    sizes = {f.name: getattr(config, f.name) for f in fields(config) if f.name != "rope"}
    family = replace(FAMILIES[family], rope=config.rope, ours=sizes, theirs={})
    mla, module = layers(family)
    h, positions = hidden(1, 8, config.d_model, dtype=torch.float32), torch.arange(5000, 5008)
    u, attention = run_theirs(family, module, h, positions)
    trace = mla(h, positions=positions)
    assert mla.config.scale == pytest.approx(module.scaling, rel=1e-12)
    assert relative(trace.u, u) < 1e-5
    assert relative(trace.attention, attention) < 1e-5


@families
@torch.no_grad()
def test_caches_what_the_module_caches(family):
    """The latent after norm and scale, and the rotated key, which their V3 family regroups."""
    mla, module = layers(family)
    h, positions = hidden(2, 9, 48, dtype=torch.float32), torch.arange(20, 29)
    cache = DynamicCache()
    run_theirs(family, module, h, positions, cache)
    c_KV, k_R = cache.layers[0].keys[:, 0], cache.layers[0].values[:, 0]
    latents = mla.compress(h, positions=positions)
    regroups = (
        family.rope.pairing == "interleaved" and family.module is not FAMILIES["DeepSeek-V2"].module
    )
    assert relative(latents.c_KV, c_KV) < 1e-6
    assert relative(latents.k_R[..., REGROUPED] if regroups else latents.k_R, k_R) < 1e-6
    assert (relative(latents.k_R, k_R) > 0.1) == regroups


@families
def test_equals_the_family_s_own_rotary_embedding(family):
    """Float32 angles below 256 are off by at most 256 x 2^-23."""
    rotary = family.rotary(their_config(family))
    positions = torch.cat((torch.arange(64), torch.arange(64, 256, 7)))
    for some in (positions[positions < 64], positions):  # LongRoPE changes its factors at 64
        theirs = rotary(torch.zeros(1), some[None])
        cos, sin = rotation(family.rope, family.latent.d_rope, some)
        if isinstance(theirs, torch.Tensor):
            cos_sin = theirs.real[0], theirs.imag[0]
        else:
            cos_sin = [x[0, :, : family.latent.d_rope // 2] for x in theirs]
        for got, wanted in zip((cos, sin), cos_sin, strict=True):
            torch.testing.assert_close(got.float(), wanted, rtol=0, atol=256 * 2**-23)


@families
@torch.no_grad()
def test_the_modules_ignore_rms_norm_eps(family):
    """Their latent norms keep 1e-6 whatever the configuration says, as our default does."""
    mla, module = layers(family, rms_norm_eps=0.1)
    h, positions = hidden(1, 5, 48, dtype=torch.float32), torch.arange(5)
    u, _ = run_theirs(family, module, h, positions)
    assert relative(mla(h).u, u) < 1e-5
    other = MultiHeadLatentAttention(replace(family.latent, norm_eps=0.1), seed=6)
    assert relative(randomized(other)(h).u, u) > 1e-3


@torch.no_grad()
def test_mistral_raises_its_scale_with_the_position_which_the_engine_leaves_out():
    """Between one and two original contexts every logit is multiplied by 1 + 0.1 ln 2."""
    family = FAMILIES["Mistral-Small-4"]
    mla, module = layers(family)
    h, positions = hidden(2, 9, 48, dtype=torch.float32), torch.arange(600, 609)
    u, attention = run_theirs(family, module, h, positions)
    assert relative(mla(h, positions=positions).attention, attention) > 1e-3
    raised = family.latent.scale * (1 + 0.1 * math.log(2))
    other = randomized(
        MultiHeadLatentAttention(replace(family.latent, softmax_scale=raised), seed=6)
    )
    trace = other(h, positions=positions)
    assert relative(trace.u, u) < 1e-5
    assert relative(trace.attention, attention) < 1e-5
