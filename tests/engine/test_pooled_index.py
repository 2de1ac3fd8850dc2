"""DSA over pooled index keys, of any model's sizes."""

from dataclasses import replace

import pytest

from mla_engine import (
    PRESETS,
    IndexedConfig,
    costs,
    mechanisms,
)
from tests.engine.kinds import GLM

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
    model, tokens = costs.model(((GLM, 5),)), 40 * GLM.pooling + GLM.pooling - 1
    serving = costs.Serving(model=model, total_parameters=0, gpu_bytes=1e9, ranks=3)
    fixed = serving.held_bytes(tokens) - serving.token_bytes * tokens
    assert fixed == 5 * costs.fixed_bytes(GLM, 2) > 0
