"""Configurations and layers of MLA with an indexer over pooled keys, for several tests."""

from dataclasses import replace

import torch
from hypothesis import strategies as st

from mla_engine import PooledIndexAttention, PooledIndexConfig
from tests.engine.samples import latent_configs, randomized

GLM = PooledIndexConfig(
    d_model=10, n_heads=3, d_head=4, d_latent_kv=5, d_value=6, d_latent_q=7, latent_norm=True,
    bias=True, n_index_heads=2, d_index=6, index_topk=6, pooling=3,
)  # fmt: skip
PLAIN = PooledIndexConfig(
    d_model=10, n_heads=3, d_head=4, d_latent_kv=5, d_rope=2, rope=None, n_index_heads=1,
    d_index=4, index_topk=4, pooling=2,
)  # fmt: skip


def layer_of(config, seed=2, dtype=torch.float64, heads=None):
    return randomized(PooledIndexAttention(config, seed=seed, dtype=dtype, heads=heads))


@st.composite
def pooled_index_configs(draw):
    """Small configurations with every option on and off."""
    base, pooling = replace(draw(latent_configs()), rope=None), draw(st.integers(1, 4))
    return PooledIndexConfig(
        **vars(base),
        n_index_heads=draw(st.integers(1, 3)),
        d_index=draw(st.integers(3, 5)),  # normed, fewer are the same but for their signs: ties
        index_topk=pooling * draw(st.integers(1, 3)),
        pooling=pooling,
    )
