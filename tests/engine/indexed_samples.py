"""Configurations and layers of MLA with a lightning indexer, for several tests."""

import torch
from hypothesis import strategies as st

from mla_engine import IndexedConfig, IndexedLatentAttention
from tests.engine.samples import latent_configs, randomized

SIZES = {"d_model": 10, "n_heads": 3, "d_head": 4, "d_latent_kv": 5, "d_rope": 4, "d_value": 6}
DSA = IndexedConfig(
    **SIZES, d_latent_q=7, latent_norm=True, bias=True, n_index_heads=2, d_index=6, index_topk=3
)
PLAIN = IndexedConfig(
    d_model=10, n_heads=3, d_head=4, d_latent_kv=5, n_index_heads=1, d_index=4, index_topk=3
)
FORMS = ("forward", "forward_absorbed")


def layer_of(config, seed=2, dtype=torch.float64, heads=None):
    return randomized(IndexedLatentAttention(config, seed=seed, dtype=dtype, heads=heads))


@st.composite
def indexed_configs(draw):
    """Small IndexedConfigs with every option on and off."""
    base = draw(latent_configs())
    return IndexedConfig(
        **vars(base),
        n_index_heads=draw(st.integers(1, 3)),
        d_index=base.d_rope + draw(st.integers(1, 4)),
        index_topk=draw(st.integers(1, 5)),
        index_pairing=draw(st.sampled_from(["half", "interleaved"])),
    )
