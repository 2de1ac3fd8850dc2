"""The multiplications of layers over a latent, counted by hand, and their sizes for it."""

from dataclasses import replace

import torch

from mla_engine import IndexedConfig, LatentConfig, PooledIndexConfig

BATCH = 2
MLA = LatentConfig(  # sizes without a common factor, so that no wrong product can hide
    d_model=31, n_heads=6, d_head=5, d_latent_kv=7, d_rope=2, d_value=3, d_latent_q=11,
    latent_norm=True, bias=True,
)  # fmt: skip
OF_INDEX = {"n_index_heads": 13, "d_index": 17, "index_topk": 8}
PLAIN = {"d_latent_q": None, "latent_norm": False, "bias": False}
DSA = IndexedConfig(**vars(MLA), **OF_INDEX)
GLM = PooledIndexConfig(**vars(MLA) | {"d_rope": 0, "rope": None}, **OF_INDEX, pooling=4)
OF_DSA = {
    "DSA": DSA,
    "DSA, plain": replace(DSA, **PLAIN, d_rope=0),
    "DSA, shared": replace(DSA, index_shared=True),
}
OF_GLM = {
    "GLM": GLM,
    "GLM, plain": replace(GLM, **PLAIN, d_rope=2, rope=None),
    "GLM, shared": replace(GLM, index_shared=True),
}


def flops(c, form, heads, queries, made, keys, *, over=None, expanded):
    """2 x multiply-adds of h heads and t queries, each over `over` of the keys, all by default.

    Latents and index keys are made of `made` tokens, keys and values of heads of `expanded`.
    """
    h, t, over = heads, queries, keys if over is None else over
    k, r, v, latent, d = c.d_head, c.d_rope, c.d_value, c.d_latent_kv, c.d_model
    source = c.d_latent_q or d
    total = made * d * (latent + r) + t * d * (c.d_latent_q or 0) + t * h * source * (k + r)
    if form == "expanded":
        total += expanded * h * latent * (k + v) + h * t * over * (k + r + v)
    else:
        total += t * h * k * latent + h * t * over * (latent + r + latent) + t * h * latent * v
    if c.chooses_keys and not c.index_shared:
        j, x, pooled = c.n_index_heads, c.d_index, c.has_blocks
        entries = keys // c.pooling if pooled else keys
        total += t * j * x * source + t * j * d + (2 if pooled else 1) * made * x * d
        total += j * t * entries * x + t * entries * j
    return 2 * BATCH * (total + t * h * v * d)


def choice_for(config, queries, keys):
    """Return what is handed to a layer that shares a choice: here every key."""
    every = {"chosen": torch.ones(BATCH, queries, keys, dtype=torch.bool)}
    return every if config.chooses_keys and config.index_shared else {}
