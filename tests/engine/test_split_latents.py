"""Latents that GPUs share out: against torch's own attention, and the caches' own bytes."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from mla_engine import PRESETS, LatentConfig, MultiHeadLatentAttention
from mla_engine.studies.split_latents import cached_on_each_gpu, group_config, split
from tests.engine.samples import hidden, randomized, refused, relative

MLA = LatentConfig(
    d_model=40,
    n_heads=6,
    d_head=4,
    d_value=5,
    d_latent_kv=12,
    d_rope=4,
    d_latent_q=20,
    latent_norm=True,
)
SETUPS = (
    MLA,
    replace(MLA, d_rope=0, d_latent_q=None),
    replace(MLA, bias=True, kv_latent_scale=1.4),
)
H = hidden(2, 30, MLA.d_model)


def built(config):
    return randomized(MultiHeadLatentAttention(config, seed=2, dtype=torch.float64))


@pytest.mark.parametrize("config", SETUPS)
def test_one_latent_is_the_layer_itself(config):
    layer = built(config)
    assert relative(split(layer, H, 1).u(H), layer(H).u) < 1e-12


@pytest.mark.parametrize("config", SETUPS)
def test_heads_that_read_their_part_alone_lose_nothing(config):
    layer = built(config)
    for group in range(3):  # each pair of heads reads four numbers of the latent
        others = [place for place in range(12) if place // 4 != group]
        for weight in (layer.W_UK, layer.W_UV):
            weight[2 * group : 2 * group + 2, :, others] = 0
    assert split(layer, H, 3).error(H) < 1e-12
    assert split(layer, H, 6).error(H) > 0.01


@pytest.mark.parametrize("latents", [2, 3])
def test_each_group_attends_as_torch_does_to_numpys_components(latents):
    layer = built(MLA)
    exact, wanted, n = layer(H), 0, MLA.n_heads // latents
    c_KV = exact.c_KV.reshape(-1, 12).numpy()
    for first in range(0, MLA.n_heads, n):
        ups = np.concatenate(
            [w[first : first + n].reshape(-1, 12).numpy() for w in (layer.W_UK, layer.W_UV)]
        )
        kept = np.linalg.svd(c_KV @ ups.T, full_matrices=False)[2][: 12 // latents]
        made = torch.tensor(c_KV @ ups.T @ kept.T @ kept).unflatten(0, H.shape[:2])
        keys, values = (part.unflatten(-1, (n, -1)) for part in made.split((n * 4, n * 5), dim=-1))
        for head in range(n):
            q = torch.cat((exact.q_C[:, :, first + head], exact.q_R[:, :, first + head]), -1)
            k = torch.cat((keys[:, :, head], exact.k_R), -1)
            o = scaled_dot_product_attention(q, k, values[:, :, head], is_causal=True)
            wanted = wanted + o @ layer.W_O[:, first + head].T
    assert relative(split(layer, H, latents).u(H), wanted) < 1e-10


def test_what_a_gpu_keeps_is_what_its_cache_holds():
    found = split(built(MLA), H, 3)
    caches = found.latents(H)
    one = sum(part.element_size() * part[0, 0].numel() for part in caches[0].parts)
    assert one == 8 * cached_on_each_gpu(MLA, 3, gpus=3) == 8 * (4 + 4)
    assert all(cache.length == 30 and cache.k_R.equal(caches[0].k_R) for cache in caches)


@pytest.mark.parametrize(
    ("latents", "gpus", "numbers"),
    [(1, 1, 576), (1, 8, 576), (2, 1, 576), (2, 2, 320), (2, 8, 320), (4, 8, 192), (8, 3, 256)],
)
def test_v3_on_several_gpus(latents, gpus, numbers):
    config = PRESETS["deepseek-v3"].config
    assert cached_on_each_gpu(config, latents, gpus) == numbers
    assert group_config(config, latents).n_heads * latents == config.n_heads


def test_what_cannot_be_shared_out_is_refused():
    with refused("n_heads (6)", "4"):
        group_config(MLA, 4)
    with refused("gpus (0)"):
        cached_on_each_gpu(MLA, 2, 0)
    with refused("all 6 heads", "2 are built"):
        split(MultiHeadLatentAttention(MLA, heads=[0, 1]), H, 2)
    with refused("d_latent_kv (60)", "n_heads (d_head + d_value) = 54", "54 or less"):
        split(MultiHeadLatentAttention(replace(MLA, d_latent_kv=60)), H.float(), 2)
    split(built(replace(MLA, d_latent_kv=54)), H, 2)
