"""Small float64 layers to check statements on, and plain attention to compare them with."""

import math
from dataclasses import replace

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from mla_engine import mechanisms
from mla_engine.config import RopeConfig
from mla_engine.grouped import GroupedConfig, GroupedQueryAttention
from mla_engine.latent import LatentConfig, MultiHeadLatentAttention
from mla_engine.presets import PRESETS
from mla_engine.rope import rotate, rotation

TOLERANCE = 1e-12  # float64, relative to the largest value
MHA = GroupedConfig(d_model=24, n_heads=6, n_kv_heads=6, d_head=4)
GQA = replace(MHA, n_kv_heads=3)
MLA = LatentConfig(d_model=24, n_heads=3, d_head=6, d_latent_kv=8, d_rope=4, d_latent_q=10)
NO_ROPE = replace(MLA, d_rope=0)
NORMED = replace(MLA, latent_norm=True)
PLAIN_QUERY = replace(MLA, d_latent_q=None)
PLAIN_QUERY_NO_ROPE = replace(PLAIN_QUERY, d_rope=0)
# A published model's widths of heads and latents, with few heads and a small d_model.
NARROW_V3 = replace(PRESETS["deepseek-v3"].config, n_heads=2, d_model=32)


def layer(
    config: GroupedConfig | LatentConfig, device: str = "cpu"
) -> GroupedQueryAttention | MultiHeadLatentAttention:
    """Return the layer in float64; on "meta" as large as a model has it, all shapes and no data."""
    return mechanisms.of(config).layer(config, dtype=torch.float64, device=device)


def hidden(config: GroupedConfig | LatentConfig, tokens: int = 6, seed: int = 1) -> Tensor:
    """Return normal hidden states [1,t,d], float64."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(1, tokens, config.d_model, generator=generator, dtype=torch.float64)


def deviation(got: Tensor, wanted: Tensor) -> float:
    """Return the largest difference over the largest wanted value; infinite for another shape."""
    if got.shape != wanted.shape:
        return math.inf
    return float((got - wanted).abs().max() / wanted.abs().max())


def same(got: Tensor, wanted: Tensor) -> bool:
    """Return True if two float64 tensors are equal but for rounding."""
    return deviation(got, wanted) <= TOLERANCE


def plain_attention(q: Tensor, k: Tensor, v: Tensor, scale: float) -> Tensor:
    """Return torch's own causal attention of [b,t,h,.] tensors; neighbours share a key head."""
    heads_first = (x.transpose(1, 2) for x in (q, k, v))
    o = scaled_dot_product_attention(*heads_first, is_causal=True, scale=scale, enable_gqa=True)
    return o.transpose(1, 2)


def summed_attention(q: Tensor, k: Tensor, v: Tensor, scale: float) -> Tensor:
    """Return sum_j exp(q k_j) v_j / sum_j exp(q k_j), term by term, of [b,t,h,.] tensors."""
    o = torch.zeros(*q.shape[:-1], v.shape[-1], dtype=q.dtype)
    for t in range(q.shape[1]):
        for head in range(q.shape[2]):
            weights = (k[0, : t + 1, head] @ q[0, t, head] * scale).exp()
            o[0, t, head] = weights @ v[0, : t + 1, head] / weights.sum()
    return o


def every_head(shared: Tensor, n_heads: int) -> Tensor:
    """Return one vector a token [b,s,r] for every head [b,s,h,r]."""
    return shared.unsqueeze(2).expand(-1, -1, n_heads, -1)


def turn(rope: RopeConfig, width: int, position: int) -> Tensor:
    """Return the matrix R of a rotation, for row vectors x R [r,r]."""
    cos, sin = rotation(rope, width, torch.tensor([position]))
    return rotate(torch.eye(width, dtype=torch.float64), cos, sin, rope.pairing)
