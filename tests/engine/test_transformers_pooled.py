"""CSA, HCA and windows against DeepseekV4Attention of transformers, with our weights.

Their index scores are float32, and no order is promised among equal ones: every run here is
checked to leave a gap between the last entry that is chosen and the first that is not.
"""

import pytest
import torch
from transformers import DynamicCache
from transformers.models.deepseek_v4 import modeling_deepseek_v4 as deepseek

from mla_engine import PooledCache, PooledConfig, RopeConfig, YarnConfig
from mla_engine.pooled.cache import held_rows
from tests.engine.families import gap, loaded, phases
from tests.engine.kinds import layer_of
from tests.engine.samples import hidden, relative

pytestmark = pytest.mark.usefixtures("unmeasured")
SIZES = {"d_model": 48, "n_heads": 4, "d_head": 24, "d_latent_q": 20, "d_latent_o": 6}
SIZES |= {"n_output_groups": 2, "window": 16, "d_rope": 8}
YARN = YarnConfig(factor=16.0, original_max_position=64, attention_factor=1.0)
COMPRESS = RopeConfig(theta=160000.0, scaling=YARN)
CSA = PooledConfig(
    **SIZES, pooling=4, overlap=True, index_topk=6, n_index_heads=16, d_index=12, rope=COMPRESS
)
HCA = PooledConfig(**SIZES, pooling=32, rope=COMPRESS)
SWA = PooledConfig(**SIZES)
KINDS = {"CSA": CSA, "HCA": HCA, "window": SWA}
kinds = pytest.mark.parametrize("config", KINDS.values(), ids=KINDS)
TYPES = ["compressed_sparse_attention", "heavily_compressed_attention", "sliding_attention"]
LAYER = {"CSA": 0, "HCA": 1, "window": 2}


def their_config():
    yarn = {"rope_type": "yarn", "factor": 16.0, "original_max_position_embeddings": 64}
    config = deepseek.DeepseekV4Config(
        hidden_size=48,
        num_hidden_layers=3,
        num_attention_heads=4,
        head_dim=24,
        q_lora_rank=20,
        o_lora_rank=6,
        o_groups=2,
        sliding_window=16,
        layer_types=TYPES,
        compress_rates={TYPES[0]: 4, TYPES[1]: 32},
        index_n_heads=16,
        index_head_dim=12,
        index_topk=6,
        max_position_embeddings=1024,
        partial_rotary_factor=8 / 24,
        rope_parameters=yarn,
    )
    config._attn_implementation = "eager"
    return config


def kind(config):
    return next(name for name, one in KINDS.items() if one.pooling == config.pooling)


def state_of(layer):
    """Our weights under their names."""
    state = {
        "q_a_proj.weight": layer.W_DQ,
        "q_a_norm.weight": layer.c_Q_norm,
        "q_b_proj.weight": layer.W_UQ.flatten(0, 1),
        "kv_proj.weight": layer.W_T,
        "kv_norm.weight": layer.kv_T_norm,
        "o_a_proj.weight": torch.cat(
            [torch.cat(list(group), dim=1) for group in layer.W_DO.split(2)]
        ),
        "o_b_proj.weight": layer.W_UO.flatten(1),
        "sinks": layer.sink,
    }
    if layer.config.pooling:
        state |= pool_state("compressor.", layer.W_E, layer.W_Z, layer.b_Z, layer.kv_E_norm)
    if layer.config.chooses:
        path = "compressor.indexer."
        state |= pool_state(path, layer.W_IE, layer.W_IZ, layer.b_IZ, layer.k_E_norm)
        state |= {
            f"{path}q_b_proj.weight": layer.W_IQ.flatten(0, 1),
            f"{path}scorer.weights_proj.weight": layer.W_IW,
        }
    return state


def pool_state(path, W_E, W_Z, b_Z, norm):
    return {
        f"{path}kv_proj.weight": W_E.flatten(0, 1),
        f"{path}gate_proj.weight": W_Z.flatten(0, 1),
        f"{path}position_bias": b_Z.transpose(0, 1).flatten(1),
        f"{path}kv_norm.weight": norm,
    }


def their_module(layer):
    module = deepseek.DeepseekV4Attention(their_config(), LAYER[kind(layer.config)])
    return loaded(module, state_of(layer))


def run_theirs(module, config, h, held=0, cache=None):
    """Their (u, attention); new tokens stand behind those that the cache has seen."""
    new, positions = h.shape[1], torch.arange(held, held + h.shape[1])
    keys = new + (min(held, config.window - 1) if cache is not None else 0)
    distance = torch.arange(keys - new, keys)[:, None] - torch.arange(keys)
    seen = (distance >= 0) & (distance < config.window)
    mask = torch.zeros(new, keys).masked_fill(~seen, -torch.inf)
    phase = phases(config.rope, 8, positions)
    turn = phase.cos().float(), phase.sin().float()
    return module(
        hidden_states=h,
        position_embeddings={"main": turn, "compress": turn},
        position_ids=positions[None].expand(len(h), -1),
        attention_mask=mask[None, None].expand(len(h), -1, -1, -1),
        past_key_values=cache,
    )


def assert_gap(trace, least=1e-5):
    """No index score that was not chosen comes near one that was."""
    if trace.index_E is None or not trace.index_E.shape[-1]:
        return
    t, entries = trace.index_E.shape[1:]
    full = (torch.arange(t) + 1) // (trace.gates.shape[2] // 2)
    seen = torch.arange(entries) < full[:, None]
    assert gap(trace.index_E, trace.chosen_E, seen) > least


@kinds
@pytest.mark.parametrize("tokens", [1, 3, 4, 31, 33, 150])
@torch.no_grad()
def test_a_whole_text_equals_the_module(config, tokens):
    layer = layer_of(config, dtype=torch.float32)
    h = hidden(2, tokens, 48, dtype=torch.float32)
    u, attention = run_theirs(their_module(layer), config, h)
    trace = layer(h)
    assert_gap(trace)
    assert relative(trace.u, u) < 1e-5
    every = [trace.attention] + ([trace.attention_E] if config.pooling else [])
    assert relative(torch.cat(every, dim=-1), attention) < 1e-5


@kinds
@torch.no_grad()
def test_steps_and_their_cache_equal_the_modules(config):
    """One token, some and many; the cache's tensors are theirs, and so are its bytes."""
    layer = layer_of(config, dtype=torch.float32)
    module, h = their_module(layer), hidden(2, 90, 48, dtype=torch.float32)
    cache, theirs = PooledCache.empty(config, 2), DynamicCache(config=their_config())
    for piece in h.split([1, 1, 1, 1, 5, 30, 1, 24, 26], dim=1):
        u, _ = run_theirs(module, config, piece, cache.length, theirs)
        trace, cache = layer.decode(piece, cache)
        assert relative(trace.u, u) < 1e-5
        own = tensors_of(theirs.layers[LAYER[kind(config)]])
        assert set(own) == set(held_rows(config, cache.length))
        for name, tensor in own.items():
            held = cache.buffers[name].flatten(2)
            if name == "kv_T":  # ours has a place for each token of the window, theirs one less
                more = max(0, held.shape[1] - config.window + 1)
                held = held[:, more:]
            assert held.shape == tensor.shape, name
            if tensor.numel():
                assert relative(held, tensor) < 1e-5, name
        place = more * own["kv_T"][:, :1].nbytes
        assert cache.nbytes == sum(tensor.nbytes for tensor in own.values()) + place


def tensors_of(layer):
    """Return what their cache keeps, by our names; values are equal to keys, and counted once.

    Where tokens are pooled they are one tensor; a layer of only a window keeps them twice.
    """
    assert torch.equal(layer.values, layer.keys)
    found = {"kv_T": layer.keys[:, 0]}
    for of, name, entry in (("", "compressor", "kv_E"), ("I", "indexer", "k_E")):
        if name not in getattr(layer, "compressed_kv", {}):
            continue
        found[entry] = layer.compressed_kv[name]
        found[f"c_{of}E"], found[f"z_{of}E"] = layer.buffer_kv[name], layer.buffer_gate[name]
        ahead = f"_{of}_ahead" if of else "_ahead"
        blank = layer.compressed_kv[name][:, :0]
        overlap = getattr(layer, "overlap_kv", {}), getattr(layer, "overlap_gate", {})
        for letter, held in zip("cz", overlap, strict=True):
            there = held.get(name)
            found[letter + ahead] = blank if there is None else there
    return found
