"""The costs of DSA over pooled index keys: by hand, by torch, by a step that gathers."""

import json

import pytest
import torch
from torch import einsum
from transformers import Glm5NextTextConfig

import kvcount
from mla_engine import PooledIndexCache, PooledIndexConfig, costs, mechanisms
from mla_engine.checkpoints import attention_config
from tests.engine.by_hand import BATCH, GLM, OF_GLM, flops
from tests.engine.kinds import layer_of
from tests.engine.samples import counted, hidden

SHARED = OF_GLM["GLM, shared"]
configs = pytest.mark.parametrize("config", OF_GLM.values(), ids=OF_GLM)
pytestmark = pytest.mark.usefixtures("unmeasured")


@pytest.mark.parametrize("context", [2, 10, 11, 12, 13, 14, 41])
def test_a_step_that_gathers_its_choice_gives_the_same_and_costs_what_is_counted(context):
    layer = layer_of(GLM)
    empty = PooledIndexCache.empty(GLM, BATCH, torch.float64)
    _, held = layer.decode(hidden(BATCH, context, 31, 1), empty)
    trace, _ = layer.decode(hidden(BATCH, 1, 31, 2), held)

    def attention():
        latents = trace.c_KV[trace.chosen[:, 0]].unflatten(0, (BATCH, -1))
        logits = einsum("bthc,bsc->bhts", trace.q_C_absorbed, latents) * GLM.scale
        return einsum("bhts,bsc->bthc", logits.softmax(-1), latents)

    torch.testing.assert_close(attention(), trace.o_latent, rtol=1e-12, atol=1e-12)
    cost = costs.decode(GLM, context, batch=BATCH)
    assert counted(attention) == sum(cost.step_flops[n] for n in ("scores_C", "o_latent"))
    over = int(trace.chosen[0, 0].sum())
    assert cost.total_flops == flops(GLM, "absorbed", 6, 1, 1, context + 1, over=over, expanded=0)


def test_what_a_step_reads():
    """Two blocks of latents, its own block's, every index key; where it fills one what waited."""
    for context, own, waited in ((16, 0, 0), (17, 1, 0), (18, 2, 0), (19, 0, 2 * 3 * 17)):
        numbers = (8 + own) * 7 + 4 * 17 + waited
        assert costs.decode(GLM, context, batch=BATCH).cache_read_bytes == BATCH * 2 * numbers
    assert costs.decode(GLM, 9).cache_read_bytes == 2 * (9 * 7 + 2 * 17)
    assert costs.decode(SHARED, 17).cache_read_bytes == 2 * 9 * 7
    assert costs.decode(GLM, 0).cache_read_bytes == 0
    expanded = costs.decode(GLM, 18, "expanded", batch=BATCH).up_projected_bytes
    assert expanded == 2 * BATCH * 2 * (8 + 3) * 6 * (5 + 3)


@configs
def test_what_is_stored_is_what_real_caches_hold_and_what_changes_in_them(config):
    """Byte by byte, and the bound of what is held is never too low, and reached."""
    layer = layer_of(config, dtype=torch.bfloat16)
    cache = PooledIndexCache.empty(config, dtype=torch.bfloat16)
    for context, piece in enumerate(hidden(1, 15, 31, 1, torch.bfloat16).split(1, dim=1)):
        assert cache.nbytes == costs.held_bytes(config, context, 2)
        given = {} if not config.index_shared else {
            "chosen": torch.ones(1, 1, context + 1, dtype=torch.bool)
        }  # fmt: skip
        _, longer = layer.decode(piece, cache, **given)
        grown = [longer.buffers[n].nbytes - cache.buffers[n].nbytes for n in cache.buffers]
        written = sum(max(0, more) for more in grown)
        assert costs.decode(config, context).cache_written_bytes == written, context
        cache = longer
    fixed, growing = (f(config, 2) for f in (costs.fixed_bytes, costs.cache_bytes_per_token))
    bound = [fixed + growing * tokens - costs.held_bytes(config, tokens, 2) for tokens in range(99)]
    assert min(bound) == pytest.approx(0, abs=1e-9)


def test_handing_in_the_keys_leaves_out_what_makes_them():
    made, given = (costs.prefill(GLM, 20, latents=latents) for latents in (False, True))
    assert set(made.step_flops) - set(given.step_flops) == {"c_KV_pre", "k_I_pre", "z_IE"}
    parameters = 7 * 31 + 2 * 17 * 31 + 4 * 17 + 7 + 7 + 17 + 17  # with biases and norms
    assert made.weight_bytes - given.weight_bytes == 2 * parameters
    assert given.cache_read_bytes == 2 * (20 * 7 + 5 * 17)


@pytest.mark.parametrize("pooling", [4, 16])
def test_of_glm_5_3_flash_both_counts_of_its_cache_agree(pooling):
    """By layers of the engine, and from config.json only: 11 x (512 + 128 / pooling) a token."""
    config = json.loads(Glm5NextTextConfig(index_kpool=pooling).to_json_string())
    layers = [attention_config(config, layer) for layer in range(45)]
    sparse = [c for c in layers if mechanisms.of(c).key == "pooled_index"]
    assert [type(c) is PooledIndexConfig for c in layers] == [n % 4 == 3 for n in range(45)]
    assert sum(costs.cache_elements(c) for c in sparse) == 11 * (512 + 128 / pooling)
    by_config = kvcount.read(config).layers
    for context in (0, 1, 5, 15, 16, 17, 4095, 2**20 - 1):
        for layer, parts in zip(layers, by_config, strict=True):
            if layer in sparse:
                counted = kvcount.held_bytes(parts, kvcount.storage("bf16"), context)
                assert costs.held_bytes(layer, context, 2) == counted
    right, not_pooled, no_index, *_ = costs.formulas(sparse[0])
    assert right.off(sparse[0]) == 1
    assert (not_pooled.numbers(sparse[0]), no_index.numbers(sparse[0])) == (640, 512)
