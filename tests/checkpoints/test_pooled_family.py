"""DeepSeek-V4 from a checkpoint: each layer as what it is, against the running model."""

import json
from collections import Counter

import pytest
import torch
from transformers import CONFIG_MAPPING

import kvcount
from kvcount.tests.published import V4_FLASH
from mla_engine import PooledCache, RopeConfig, YarnConfig, costs, mechanisms
from mla_engine.checkpoints import (
    CheckpointError,
    attention_config,
    describe,
    hidden_bytes,
    hidden_states,
    load_attention,
    open_checkpoint,
    trace_module,
)
from tests.checkpoints.pooled_model import (
    CSA,
    HCA,
    TYPES,
    WINDOW,
    as_published,
    attended,
    built,
    own_config,
    saved,
    stored_as_published,
)
from tests.checkpoints.texts import TEXT, add_tokenizer
from tests.engine.samples import relative
from tests.refusals import refusing

FORMS = pytest.mark.parametrize("published", [False, True], ids=["own form", "published"])
COMPRESS = RopeConfig(
    theta=160000.0,
    scaling=YarnConfig(factor=16.0, original_max_position=64, attention_factor=1.0),
)


@pytest.fixture(scope="module")
def run():
    return attended(torch.randint(64, (2, 90), generator=torch.manual_seed(5)))


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    root = tmp_path_factory.mktemp("v4")
    return {published: saved(root / str(published), published) for published in (False, True)}


@FORMS
@torch.no_grad()
def test_every_attention_equals_the_models(published, folders, run):
    """On what entered it as the model ran, whatever the residual streams are."""
    checkpoint = open_checkpoint(folders[published])
    for layer, (h, u) in enumerate(run):
        ours = load_attention(checkpoint, layer)
        assert relative(ours(h).u, u) < 1e-5
        first, cache = ours.decode(h[:, :37], ours.empty_cache(PooledCache, 2))
        second, _ = ours.decode(h[:, 37:], cache)
        assert relative(torch.cat((first.u, second.u), dim=1), u) < 1e-5


@FORMS
def test_each_layer_is_what_it_is(published):
    config = as_published(own_config()) if published else own_config()
    for layer, kind in enumerate(TYPES):
        found = attention_config(config, layer)
        assert found.rope == (RopeConfig() if kind == WINDOW else COMPRESS)
        assert found.pooling == {WINDOW: 0, CSA: 4, HCA: 10}[kind]
        assert (found.overlap, found.index_topk) == ((True, 3) if kind == CSA else (False, None))
        assert (found.window, found.d_rope, found.group_size) == (6, 8, 2)
    with refusing("layer_range", layer=5):
        attention_config(config, 5)


@torch.no_grad()
def test_a_live_model_is_traced_as_it_runs(run):
    tokens = torch.randint(64, (2, 90), generator=torch.manual_seed(5))
    for layer, (_, u) in enumerate(run):
        trace = trace_module(built(), layer, tokens)
        assert relative(trace.u, u) < 1e-5
        assert trace.sink_mass.min() > 0


def test_some_heads_are_those_of_the_whole(folders, run):
    whole, some = (load_attention(folders[False], 2, heads=heads) for heads in (None, [5, 0]))
    h = run[2][0]
    assert relative(some(h).u, whole(h, heads=[5, 0]).u) < 1e-6


def test_weights_in_8_bits_as_its_repositories_name_them(tmp_path):
    """Each number of a matrix with its block's factor, a power of two; one has two blocks."""
    written = stored_as_published(saved(tmp_path, published=True))
    path = "model.layers.2.attn."
    stored, factors = (written[f"{path}wq_b.{of}"].float() for of in ("weight", "scale"))
    assert factors.shape == (2, 1)
    wanted = torch.stack([row * factors[i // 128, 0] for i, row in enumerate(stored)])
    layer = load_attention(tmp_path, 2)
    assert torch.equal(layer.W_UQ.flatten(0, 1), wanted)
    assert torch.equal(layer.kv_T_norm, written[f"{path}kv_norm.weight"])
    plan = describe(tmp_path, 2)
    assert plan.notes == ("dequantised from fp8",)
    assert plan.dtypes == ("F8_E4M3", "F32", "F8_E8M0")
    assert plan.n_bytes == sum(t.nbytes for name, t in written.items() if name.startswith(path))


def test_without_a_list_layers_are_as_transformers_has_them():
    config = own_config() | {"layer_types": None}
    found = [attention_config(config, layer).pooling for layer in range(5)]
    assert found == [10, 10, 10, 4, 10]


def test_what_enters_an_attention_is_not_computed(folders):
    folder = add_tokenizer(folders[True])
    for call in (hidden_states, hidden_bytes):
        for layer in (0, 2):
            with refusing("streams"):
                call(folder, TEXT, layer)


def test_of_deepseek_v4_flash_both_counts_of_its_cache_agree():
    """By layers of the engine, and from config.json only.

    A token adds 21 x (512 + 128) / 4 + 20 x 512 / 128 numbers.
    """
    config = json.loads(CONFIG_MAPPING["deepseek_v4"]().to_json_string())
    config |= {"layer_types": None} | V4_FLASH
    layers = [attention_config(config, layer) for layer in range(43)]
    kinds = Counter(mechanisms.of(layer).kind(layer) for layer in layers)
    assert kinds == {"SWA": 2, "CSA": 21, "HCA": 20}
    assert sum(costs.cache_elements(layer) for layer in layers) == 3_440
    by_config = kvcount.read(config).layers
    for context in (0, 1, 5, 127, 128, 131, 4095, 2**20 - 1):
        for layer, parts in zip(layers, by_config, strict=True):
            counted = kvcount.held_bytes(parts, kvcount.storage("bf16"), context)
            assert costs.held_bytes(layer, context, 2) == counted


WRONG = {
    "an unknown kind": (
        {"layer_types": [*TYPES[:2], "chunked_attention", HCA, CSA]},
        "kind 'chunk'",
    ),
    "too few kinds": ({"layer_types": TYPES[:2]}, "layer_types has 2 entries for 5"),
    "no list": ({"layer_types": "CSA"}, "layer_types has 3 entries for 5"),
    "an unknown ratio": (
        {"layer_types": None, "compress_ratios": [0, 0, 16, 4, 4]},
        "entry of compress_ratios .*'16'.* must be one of '0', '4', '128'",
    ),
    "a ratio of an odd kind": (
        {"layer_types": None, "compress_ratios": [[]] * 5},
        "compress_ratios",
    ),
    "biases": ({"attention_bias": True}, "attention_bias = True"),
    "several KV heads": ({"num_key_value_heads": 2}, "num_key_value_heads = 2"),
    "no groups": ({"o_groups": None}, "config.json has no o_groups"),
    "groups that do not divide": ({"o_groups": 4}, "multiple of n_output_groups"),
    "no index heads": ({"index_n_heads": None}, "config.json has no index_n_heads"),
    "no whole rate": ({"compress_rates": {CSA: 2.5}}, "whole number"),
    "a rate of nothing": ({"compress_rates": {CSA: 0}}, "at least 2"),
    "another rotated part": ({"qk_rope_head_dim": 10}, "partial_rotary_factor = 0.333"),
    "an unknown rotation": (
        {"rope_parameters": {"rope_type": "dynamic", "factor": 2.0}},
        "'dynamic'",
    ),
    "a table of no kind": ({"rope_parameters": "yarn"}, "no table"),
    "a rotation of no kind": ({"rope_parameters": {"main": 1, "compress": 1}}, "no table"),
}


@pytest.mark.parametrize(("changes", "message"), WRONG.values(), ids=WRONG)
def test_refuses_what_it_does_not_know(changes, message):
    with pytest.raises(CheckpointError, match=message):
        attention_config(own_config() | changes, 2)
