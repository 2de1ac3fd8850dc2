"""Configurations and layers of attention over a window and pooled entries, for several tests."""

import torch
from hypothesis import strategies as st

from mla_engine import PooledAttention, PooledConfig, RopeConfig, YarnConfig
from tests.engine.samples import randomized

SIZES = {"d_model": 10, "n_heads": 4, "d_head": 6, "d_latent_q": 7, "d_latent_o": 3}
SIZES |= {"n_output_groups": 2, "window": 4, "d_rope": 4}
INDEXER = {"n_index_heads": 2, "d_index": 5, "index_topk": 2}
CSA = PooledConfig(**SIZES, pooling=3, overlap=True, **INDEXER)
HCA = PooledConfig(**SIZES, pooling=5)
SWA = PooledConfig(**SIZES)
KINDS = {"CSA": CSA, "HCA": HCA, "window": SWA}


def layer_of(config, seed=2, dtype=torch.float64, heads=None):
    return randomized(PooledAttention(config, seed=seed, dtype=dtype, heads=heads))


YARN = YarnConfig(factor=16.0, original_max_position=16, attention_factor=1.0)


@st.composite
def pooled_configs(draw):
    """Small PooledConfigs with every option on and off."""
    groups, pooling = draw(st.integers(1, 2)), draw(st.integers(0, 4))
    d_rope, small = draw(st.sampled_from([0, 2, 4])), st.integers(1, 4)
    rope = RopeConfig(
        theta=draw(st.sampled_from([100.0, 10000.0])),
        pairing=draw(st.sampled_from(["interleaved", "half"])),
        scaling=draw(st.sampled_from([None, YARN])),
    )
    indexer = {"n_index_heads": draw(small), "d_index": d_rope + draw(small)}
    indexer |= {"index_topk": draw(small)}
    return PooledConfig(
        d_model=draw(st.integers(2, 6)),
        n_heads=groups * draw(st.integers(1, 2)),
        d_head=d_rope + draw(small),
        d_latent_q=draw(small),
        d_latent_o=draw(small),
        n_output_groups=groups,
        window=draw(small),
        d_rope=d_rope,
        pooling=pooling,
        overlap=bool(pooling) and draw(st.booleans()),
        norm_eps=draw(st.sampled_from([1e-6, 1e-2])),
        rope=draw(st.sampled_from([None, rope])),
        softmax_scale=draw(st.none() | st.floats(0.1, 1)),
        **(indexer if pooling and draw(st.booleans()) else {}),
    )
