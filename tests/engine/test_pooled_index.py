"""DSA over pooled index keys: of any model's sizes, and as a cache grows."""

from dataclasses import replace

import pytest
import torch

from mla_engine import (
    PRESETS,
    IndexedConfig,
    PooledIndexCache,
    costs,
    mechanisms,
)
from tests.engine.kinds import GLM, layer_of
from tests.engine.samples import hidden

pytestmark = pytest.mark.usefixtures("unmeasured")


@pytest.mark.parametrize("key", PRESETS)
def test_of_any_models_sizes_it_is_the_indexer_of_dsa_over_blocks_without_rotation(key):
    config = PRESETS[key].config
    sizes = mechanisms.sizes_of(config)
    dsa, made = (mechanisms.variants()[code].config(sizes, config) for code in ("dsa", "block_dsa"))
    assert type(dsa) is IndexedConfig
    of_index = ("n_index_heads", "d_index", "index_topk")
    assert [getattr(made, name) for name in of_index] == [getattr(dsa, name) for name in of_index]
    assert (made.d_rope, made.rotation, made.latent_norm) == (0, None, dsa.latent_norm)
    assert made.pooling == (4 if config.d_model >= 1024 else 2)
    assert (made.d_latent_kv, made.d_latent_q) == (dsa.d_latent_kv, dsa.d_latent_q)


def test_a_choice_of_keys_becomes_one_of_whole_blocks():
    base = IndexedConfig(
        d_model=16, n_heads=2, d_head=4, d_latent_kv=6, n_index_heads=1, d_index=4, index_topk=7
    )
    sizes, make = mechanisms.sizes_of(base), mechanisms.variants()["block_dsa"].config
    assert (make(sizes, base).index_topk, make(sizes, base).chosen_blocks) == (6, 3)
    assert make(sizes, replace(base, index_topk=1)).index_topk == 2


def test_gpus_that_split_heads_each_keep_what_waits_for_a_blocks_key():
    serving = costs.Serving(config=GLM, caches=5, total_parameters=0, gpu_bytes=1e9, ranks=3)
    assert serving.sequence_bytes == 5 * costs.fixed_bytes(GLM, 2) > 0


def test_what_a_cache_holds_as_it_grows():
    """Latents, keys of full blocks, and what waits, token by token."""
    layer, h, cache = layer_of(GLM), hidden(2, 7, 10), PooledIndexCache.empty(GLM, 2, torch.float64)
    rows = []
    for piece in h.split(1, dim=1):
        _, cache = layer.decode(piece, cache)
        names = ("c_KV", "k_E", "k_I", "z_IE")
        rows.append(tuple(cache.buffers[name].shape[1] for name in names))
    waiting = [1, 2, 0, 1, 2, 0, 1]
    assert rows == [(n + 1, (n + 1) // 3, w, w) for n, w in enumerate(waiting)]
    assert cache.nbytes == cache.reserved_nbytes == 2 * 8 * (7 * 5 + 2 * 6 + 2 * 6)
    assert cache.k_R is None
