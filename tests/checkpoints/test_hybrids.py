"""Hybrids of linear and softmax attention: whole small models, layer by layer, and their tables."""

import json

import pytest
import torch
from transformers import (
    AutoModelForCausalLM,
    BailingHybridConfig,
    Glm5NextTextConfig,
    KimiLinearConfig,
)
from transformers.models.glm5_next.modeling_glm5_next import Glm5NextTextModel

from mla_engine import PRESETS, DeltaConfig, LatentConfig, checkpoints
from mla_engine.checkpoints import CheckpointError, attention_config
from tests.checkpoints.models import GLM_5_3, HYBRID, LINEAR, LING, filled, seen_by
from tests.checkpoints.texts import IDS, TEXT, add_tokenizer
from tests.engine.samples import hidden, relative
from tests.engine.test_budget import LiveBytes
from tests.refusals import refusing

FIVE = {"num_hidden_layers": 5, "vocab_size": 64}
KINDS = ["linear_attention"] * 3 + ["full_attention", "linear_attention"]
HYBRIDS = {
    "kimi_linear": KimiLinearConfig(**HYBRID | LINEAR | FIVE | {"layer_types": KINDS}),
    "bailing_hybrid": BailingHybridConfig(**HYBRID | LING | FIVE | {"layer_group_size": 4}),
}
DELTA, MLA = DeltaConfig, LatentConfig


@pytest.fixture(scope="module", params=HYBRIDS)
def saved(request, tmp_path_factory):
    """A whole model, and its folder as transformers saves it."""
    config = HYBRIDS[request.param]
    model = filled(AutoModelForCausalLM.from_config(config, attn_implementation="eager"))
    folder = tmp_path_factory.mktemp(request.param)
    model.save_pretrained(folder, max_shard_size="50KB")
    return model, add_tokenizer(folder)


@torch.no_grad()
def test_every_layer_gives_what_it_gives_in_the_model(saved):
    model, folder = saved
    attentions, kinds = [one.self_attn for one in model.model.layers], []
    seen = seen_by(attentions, lambda: model(torch.tensor([IDS])))
    for layer, (h, u, *_) in enumerate(seen):
        ours = checkpoints.load_attention(folder, layer)
        kinds.append(type(ours.config))
        assert relative(ours(h).u, u) < 1e-5
        read = checkpoints.hidden_states(folder, TEXT, layer).h
        assert relative(read, h) < 1e-5
        assert relative(ours(read).u, u) < 1e-5
    assert kinds == [DELTA, DELTA, DELTA, MLA, DELTA]


def test_says_what_each_layer_is_before_it_reads(saved):
    _, folder = saved
    plans = [checkpoints.describe(folder, layer) for layer in range(5)]
    assert [type(plan.config) for plan in plans] == [DELTA, DELTA, DELTA, MLA, DELTA]
    assert {plan.notes for plan in plans} == {()}
    assert {plan.mechanisms for plan in plans} == {("delta",) * 3 + ("latent", "delta")}
    assert {plan.kinds for plan in plans} == {("KDA",) * 3 + ("MLA", "KDA")}
    for plan in plans:
        wanted = sum(p.numel() for p in checkpoints.load_attention(folder, plan.layer).parameters())
        assert plan.n_bytes == 4 * wanted


def test_some_heads_keep_their_numbers(saved):
    _, folder = saved
    whole, some = (checkpoints.load_attention(folder, 0, heads=heads) for heads in (None, [2, 0]))
    h = hidden(1, 6, 48, dtype=torch.float32)
    assert relative(some(h).u, whole(h, heads=[2, 0]).u) < 1e-6


def test_a_long_text_takes_no_more_than_was_said(saved):
    """Chunks of linear attention in transformers hold a number for each channel and pair."""
    _, folder = saved
    text = " ".join([TEXT] * 40)
    needed = checkpoints.hidden_bytes(folder, text, 3).memory_bytes
    with LiveBytes() as real:
        checkpoints.hidden_states(folder, text, 3)
    assert real.peak < needed < 20 * real.peak


@pytest.fixture(scope="module")
def glm_5_3(tmp_path_factory):
    """A whole small GLM-5.3, and its folder as transformers saves it."""
    torch.manual_seed(3)
    model = filled(Glm5NextTextModel(Glm5NextTextConfig(**GLM_5_3)), "self_attn")
    folder = tmp_path_factory.mktemp("glm5_next")
    model.save_pretrained(folder)
    return model, folder


@torch.no_grad()
def test_every_layer_of_glm_5_3_gives_what_it_gives_in_the_model(glm_5_3):
    """KDA, DSA over pooled keys that chooses, and that takes the choice of the layer before."""
    model, folder = glm_5_3
    tokens = torch.randint(64, (2, 21), generator=torch.manual_seed(5))
    found = seen_by([layer.self_attn for layer in model.layers], lambda: model(tokens))
    chosen, shared = None, []
    for number, (h, u, *_) in enumerate(found):
        ours = checkpoints.load_attention(folder, number)
        shared.append(getattr(ours.config, "index_shared", None))
        trace = ours(h, chosen=chosen) if shared[-1] else ours(h)
        chosen = getattr(trace, "chosen", None)
        assert relative(trace.u, u) < 1e-5
        if not shared[-1]:
            live = checkpoints.trace_module(model, number, h)
            assert relative(live.u, u) < 1e-5
        assert chosen is None or not chosen[:, -1].all(), "something is left out"
    assert shared == [None, None, False, True, False]


def test_says_of_glm_5_3_what_each_layer_is(glm_5_3):
    _, folder = glm_5_3
    plan, linear = checkpoints.describe(folder, 2), checkpoints.describe(folder, 0)
    assert plan.mechanisms == ("delta",) * 2 + ("pooled_index",) * 3
    assert (plan.config.pooling, plan.config.norm_eps, plan.config.d_rope) == (2, 1e-3, 0)
    assert {name.rpartition("indexer.")[2] for name in plan.tensors} >= {
        "index_kpool_compress_gate", "index_kpool_compress_ape", "wq_b.weight",
    }  # fmt: skip
    assert linear.config.decay_floor == -5.0
    whole, some = (checkpoints.load_attention(folder, 2, heads=heads) for heads in (None, [2, 0]))
    h = hidden(1, 9, 48, dtype=torch.float32)
    assert relative(some(h).u, whole(h, heads=[2, 0]).u) < 1e-6
    add_tokenizer(folder)
    with refusing("streams"):
        checkpoints.hidden_states(folder, TEXT, 2)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"index_kpool_always_select_tail": False}, "index_kpool_always_select_tail = False"),
        ({"index_kpool": 4}, r"index_topk \(6\) must be a multiple of pooling \(4\)"),
        ({"index_kpool": 0}, r"pooling \(0\)"),
        ({"index_kpool": None}, "config.json has no index_kpool"),
        ({"qk_rope_head_dim": 8}, "qk_rope_head_dim = 8"),
        ({"indexer_types": ["full"]}, "indexer_types"),
    ],
)
def test_refuses_pooling_that_the_engine_does_not_model(changes, said):
    config = json.loads(Glm5NextTextConfig(**GLM_5_3).to_json_string())
    with pytest.raises(CheckpointError, match=said):
        attention_config(config | changes, 3)


PUBLISHED = {
    "model_type": "kimi_linear", "hidden_size": 2304, "num_attention_heads": 32,
    "num_hidden_layers": 27, "kv_lora_rank": 512, "q_lora_rank": None, "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64, "v_head_dim": 128, "rms_norm_eps": 1e-05, "mla_use_nope": True,
    "rope_theta": 10000.0, "rope_scaling": None, "hidden_act": "silu",
    "linear_attn_config": {
        "full_attn_layers": [4, 8, 12, 16, 20, 24, 27], "head_dim": 128, "num_heads": 32,
        "kda_layers": [n for n in range(1, 27) if n % 4], "short_conv_kernel_size": 4,
    },
}  # fmt: skip


def test_the_published_table_of_kimi_linear_counts_from_1():
    found = [attention_config(PUBLISHED, layer) for layer in range(27)]
    latent = [layer + 1 for layer, config in enumerate(found) if isinstance(config, MLA)]
    assert latent == [4, 8, 12, 16, 20, 24, 27]
    assert found[3] == PRESETS["kimi-linear-48b-a3b"].config
    theirs = KimiLinearConfig(**PUBLISHED)
    assert [kind == "full_attention" for kind in theirs.layer_types] == [
        isinstance(config, MLA) for config in found
    ]
    assert found[0] == DeltaConfig(d_model=2304, n_heads=32, d_head=128, d_decay=128, d_gate=128)


def test_the_groups_of_ling_end_with_their_softmax_layer():
    config = json.loads(BailingHybridConfig().to_json_string())
    theirs = config.pop("layer_types")
    found = [attention_config(config, layer) for layer in range(42)]
    assert [isinstance(one, DELTA) for one in found] == [k == "linear_attention" for k in theirs]
    assert (found[0].d_decay, found[0].decay_floor, found[5].output_gate) == (None, -5.0, "head")
    without = attention_config(config | {"kda_safe_gate": False}, 0)
    assert without.decay_floor is None


REFUSED = {
    "no kinds": ({"linear_attn_config": {}}, 0, "no linear_attn_config.full_attn_layers"),
    "another kind": ({"layer_types": ["conv"] * 27}, 1, "a layer of the kind 'conv'"),
    "too few kinds": ({"layer_types": []}, 1, "layer_types has 0 entries for 27"),
    "odd kinds": ({"layer_types": [[]] * 27}, 1, r"entry of layer_types \(\[\]\)"),
    "another activation": ({"hidden_act": "gelu"}, 0, "hidden_act = 'gelu'"),
    "rotated": ({"mla_use_nope": False}, 3, "mla_use_nope = False"),
}


@pytest.mark.parametrize(("changes", "layer", "said"), REFUSED.values(), ids=REFUSED)
def test_refuses_what_the_engine_does_not_model(changes, layer, said):
    with pytest.raises(CheckpointError, match=said):
        attention_config(PUBLISHED | changes, layer)


def test_names_what_a_table_lacks():
    table = {"linear_attn_config": {"full_attn_layers": [4], "num_heads": 32}}
    with pytest.raises(CheckpointError, match=r"no linear_attn_config.head_dim and no linear_head"):
        attention_config(PUBLISHED | table, 0)
    ling = json.loads(BailingHybridConfig().to_json_string())
    del ling["kda_safe_gate"]
    with pytest.raises(CheckpointError, match=r"config.json has no kda_safe_gate"):
        attention_config(ling, 0)
