"""Every family: loaded from a sharded checkpoint against the module of transformers; its table."""

import pytest
import torch
from transformers import CONFIG_MAPPING
from transformers.models.deepseek_v3 import modeling_deepseek_v3 as deepseek_v3
from transformers.models.llama import modeling_llama as llama

from mla_engine import PRESETS, DeltaConfig, LatentConfig
from mla_engine.checkpoints import (
    CheckpointError,
    attention_config,
    load_attention,
    open_checkpoint,
)
from mla_engine.rope import rotation
from tests.checkpoints.models import CONTEXT, LATENT, MODELS, own_config, saved
from tests.checkpoints.published import as_published
from tests.checkpoints.running import run
from tests.engine.samples import hidden, relative
from tests.refusals import refusing

FORMS = pytest.mark.parametrize("published", [False, True], ids=["own form", "published"])


@pytest.mark.parametrize("name", MODELS)
@FORMS
@torch.no_grad()
def test_equals_the_module(name, published, models_folder):
    """At positions from 0, 3 and 150 on; 150 is beyond the contexts of YaRN and LongRoPE here."""
    checkpoint = open_checkpoint(saved(name, models_folder, published))
    for layer in MODELS[name].layers:
        ours = load_attention(checkpoint, layer)
        linear = isinstance(ours.config, DeltaConfig)
        assert ours.config.rope == (None if linear else MODELS[name].rope_of(layer))
        names = {LatentConfig: "forward_absorbed", DeltaConfig: "forward_recurrent"}
        other = [name for kind, name in names.items() if isinstance(ours.config, kind)]
        forms = [ours, *(getattr(ours, name) for name in other)]
        for start in (0, 3, 150):
            h, positions = hidden(2, 9, 48, dtype=torch.float32), torch.arange(start, start + 9)
            u, attention = run(name, layer, h, positions)
            for form in forms:
                trace = form(h, positions=positions)
                assert relative(trace.u, u) < 1e-5
                assert linear or relative(trace.attention, attention) < 1e-5


@FORMS
@torch.no_grad()
def test_a_layer_that_shares_a_choice_equals_the_module(published, models_folder):
    """IndexShare: it has no indexer, and attends where the layer before it does."""
    name = "glm_moe_dsa, shared"
    checkpoint = open_checkpoint(saved(name, models_folder, published))
    full, sharing = (load_attention(checkpoint, layer) for layer in (0, 1))
    assert (full.config.index_shared, sharing.config.index_shared) == (False, True)
    assert sharing.W_IQ is None
    h, positions = hidden(2, 9, 48, dtype=torch.float32), torch.arange(150, 159)
    chosen = full(h, positions=positions).chosen
    assert not chosen[:, -1].all()
    picked = chosen.float().topk(4, dim=-1).indices.to(torch.int32)
    u, attention = run(name, 1, h, positions, prev_topk_indices=picked)
    for form in (sharing.forward, sharing.forward_absorbed):
        trace = form(h, positions=positions, chosen=chosen)
        assert relative(trace.u, u) < 1e-5
        assert relative(trace.attention, attention) < 1e-5


def test_layers_that_share_a_choice_are_those_that_are_marked():
    config = own_config("glm_moe_dsa, shared")
    assert [attention_config(config, i).index_shared for i in (0, 1)] == [False, True]
    other = config | {"indexer_types": ["full", "full"]}
    assert not attention_config(other, 1).index_shared
    for types in (["full"], ["full", "skipped"], 2):
        with pytest.raises(CheckpointError, match=r"indexer_types"):
            attention_config(config | {"indexer_types": types}, 1)


V3 = {"model_type": "deepseek_v3", "hidden_size": 7168, "num_attention_heads": 128}
V3 |= {"num_hidden_layers": 61, "q_lora_rank": 1536, "kv_lora_rank": 512, "v_head_dim": 128}
V3 |= {"qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "rope_theta": 10000}
YARN = {"type": "yarn", "factor": 40, "beta_fast": 32, "beta_slow": 1, "mscale": 1.0}
YARN |= {"mscale_all_dim": 1.0, CONTEXT: 4096}
LITE = {"model_type": "deepseek_v2", "hidden_size": 2048, "num_attention_heads": 16}
LITE |= {"num_hidden_layers": 27, "q_lora_rank": None}
K2 = {"model_type": "kimi_k2", "num_attention_heads": 64, "rope_theta": 50000.0}
LONGCAT = {"model_type": "longcat_flash", "hidden_size": 6144, "num_attention_heads": 64}
LONGCAT |= {
    "num_layers": 28,
    "num_hidden_layers": None,
    "mla_scale_q_lora": True,
    "mla_scale_kv_lora": True,
}
LONGCAT |= {"attention_method": "MLA", "rope_theta": 10000000.0}
LLAMA = {"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32}
LLAMA |= {"num_attention_heads": 32, "num_key_value_heads": 8, "rope_theta": 500000.0}
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, CONTEXT: 8192}
LLAMA3 |= {"low_freq_factor": 1.0, "high_freq_factor": 4.0}
V32 = {"model_type": "deepseek_v32", "index_n_heads": 64, "index_head_dim": 128}
V32 |= {"index_topk": 2048}
GLM = {"model_type": "glm_moe_dsa", "hidden_size": 6144, "num_attention_heads": 64}
GLM |= {"num_hidden_layers": 78, "q_lora_rank": 2048, "qk_nope_head_dim": 192, "v_head_dim": 256}
GLM |= {"index_n_heads": 32, "index_head_dim": 128, "index_topk": 2048, "rope_theta": 1000000}
GLM |= {"indexer_rope_interleave": True}
GEMMA = {"model_type": "gemma2", "hidden_size": 4608, "num_attention_heads": 32, "head_dim": 128}
GEMMA |= {"num_hidden_layers": 46, "num_key_value_heads": 16, "query_pre_attn_scalar": 144}
GEMMA |= {"attn_logit_softcapping": 50.0, "sliding_window": 4096}
FALCON = {"model_type": "falcon", "hidden_size": 4544, "num_attention_heads": 71, "bias": False}
FALCON |= {"num_hidden_layers": 32, "multi_query": True, "new_decoder_architecture": False}
PUBLISHED = {
    "deepseek-v3": V3 | {"rope_scaling": YARN},
    "deepseek-v2-lite": V3
    | LITE
    | {"rope_scaling": YARN | {"mscale": 0.707, "mscale_all_dim": 0.707}},
    "kimi-k2": V3 | K2 | {"rope_scaling": YARN | {"factor": 32.0, "beta_fast": 1.0}},
    "deepseek-v3.2-exp": V3 | V32 | {"rope_scaling": YARN},
    "glm-5": V3 | GLM,
    "longcat-flash-chat": V3 | LONGCAT,
    "llama-3-8b": LLAMA,
    "gemma-2-27b": GEMMA,
    "falcon-7b": FALCON,
    "gpt-2": {"model_type": "gpt2", "n_embd": 768, "n_head": 12, "n_layer": 12},
}


@pytest.mark.parametrize("key", PUBLISHED)
def test_the_presets_come_out_of_what_their_models_publish(key):
    """Two tables written apart, by hand and by the form of the files."""
    assert attention_config(PUBLISHED[key], 0) == PRESETS[key].config


def test_counts_attentions_not_layers():
    assert attention_config(PUBLISHED["longcat-flash-chat"], 55)
    with pytest.raises(CheckpointError, match=r"layer \(56\) must be .* 0 to 55: .* 56 attentions"):
        attention_config(PUBLISHED["longcat-flash-chat"], 56)
    for layer in (-1, 61, True, "3", None):
        with refusing("layer_range"):
            attention_config(PUBLISHED["deepseek-v3"], layer)


MAGNITUDES = [{}, {"mscale": 0.7}, {"mscale_all_dim": 0.7}, {"mscale": 0.7, "mscale_all_dim": 0.9}]
MAGNITUDES += [{"attention_factor": 1.3}, {"beta_fast": None, "beta_slow": None}]
MAGNITUDES += [{"truncate": False}, {"mscale": 0.0, "mscale_all_dim": 0.0}]


@pytest.mark.parametrize("magnitudes", MAGNITUDES, ids=str)
@pytest.mark.parametrize("family", ["deepseek_v3", "llama"])
def test_stretches_as_the_module_does(family, magnitudes):
    """Its own cosines and its own scale, whichever of YaRN's magnitudes are given."""
    table = {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 8.0, CONTEXT: 64} | magnitudes
    settings = LATENT if family == "deepseek_v3" else MODELS["llama"].settings
    theirs = CONFIG_MAPPING[family](**settings, rope_parameters=table)
    module, rotary = {
        "deepseek_v3": (deepseek_v3.DeepseekV3Attention, deepseek_v3.DeepseekV3RotaryEmbedding),
        "llama": (llama.LlamaAttention, llama.LlamaRotaryEmbedding),
    }[family]
    ours = attention_config(theirs.to_dict(), 1)
    assert ours.scale == pytest.approx(module(theirs, 1).scaling, rel=1e-12)
    positions = torch.arange(200)
    wanted = rotary(theirs)(torch.zeros(1), positions[None])
    for got, want in zip(rotation(ours.rope, 8, positions), wanted, strict=True):
        torch.testing.assert_close(got.float(), want[0, :, :4], rtol=0, atol=200 * 2**-22)


def test_takes_the_longest_context_where_the_original_one_is_not_said():
    table = {key: value for key, value in LLAMA3.items() if key != CONTEXT}
    config = LLAMA | {"rope_scaling": table, "max_position_embeddings": 4096}
    assert attention_config(config, 0).rope.scaling.original_max_position == 4096
    assert attention_config(config | {CONTEXT: 2048}, 0).rope.scaling.original_max_position == 2048


def test_windows_slide_where_the_family_has_them():
    config = own_config("gemma2")
    assert [attention_config(config, i).sliding_window for i in (0, 1)] == [3, None]
    swapped = config | {"layer_types": ["full_attention", "sliding_attention"]}
    assert [attention_config(swapped, i).sliding_window for i in (0, 1)] == [None, 3]
    qwen = as_published(own_config("qwen2"), ["layer_types"])
    assert [attention_config(qwen, i).sliding_window for i in (0, 1)] == [None, 3]
    still = attention_config(qwen | {"use_sliding_window": False}, 1)
    assert still.sliding_window is None


def test_takes_a_word_that_says_what_is_so_anyway():
    """SmolLM's config.json has such a word; its pairs are halves."""
    assert attention_config(LLAMA | {"rope_interleaved": False}, 0) == attention_config(LLAMA, 0)
    with pytest.raises(CheckpointError, match="rope_interleaved = False"):
        attention_config(PUBLISHED["deepseek-v3"] | {"rope_interleaved": False}, 0)


ALIKE = {"type": "linear", "factor": 2.0}
REFUSED = {
    "unknown family": ({"model_type": "bloom"}, r"'bloom' .* families known are .*deepseek_v2, "),
    "no family": ({"model_type": None}, "model_type None"),
    "family of an odd kind": ({"model_type": ["llama"]}, r"model_type \['llama'\]"),
    "unknown rotation": ({"rope_scaling": {"type": "dynamic", "factor": 2.0}}, "'dynamic'"),
    "unknown key": ({"rope_scaling": ALIKE | {"finetuned": True}}, "has finetuned = True"),
    "key of another rotation": ({"rope_scaling": ALIKE | {"beta_fast": 32}}, "has beta_fast = 32"),
    "unknown key beside": ({"rope_local_base_freq": 1e4}, "has rope_local_base_freq = 10000.0"),
    "nested": ({"rope_parameters": {"full_attention": ALIKE}}, "has full_attention = "),
    "no table": ({"rope_scaling": "linear"}, "rope_scaling = 'linear', which is no table"),
    "null factor": ({"rope_scaling": ALIKE | {"factor": None}}, "'linear' needs factor"),
    "no factor": ({"rope_scaling": {"type": "linear"}}, "'linear' needs factor"),
    "no original": ({"rope_scaling": {"type": "yarn", "factor": 2.0}}, f"needs {CONTEXT}"),
    "two bases": (
        {"rope_theta": 1e4, "rope_parameters": {"rope_theta": 5e5}},
        "both rope_theta = 500000.0 and 10000.0",
    ),
    "two types": ({"rope_scaling": ALIKE | {"rope_type": "yarn"}}, "both rope_type = 'yarn' and"),
    "two tables": (
        {"rope_scaling": ALIKE, "rope_parameters": ALIKE | {"factor": 3.0}},
        r"both factor = 2.0 and 3.0",
    ),
    "a part rotated": ({"partial_rotary_factor": 0.5}, "partial_rotary_factor = 0.5 rotates"),
    "bad factor": ({"rope_scaling": ALIKE | {"factor": "2"}}, r"factor \('2'\) must be a number"),
    "ALiBi": ({"alibi": True}, "alibi = True, which the engine does not model"),
    "chunks": ({"dual_chunk_attention_config": {"chunk_size": 8}}, "dual_chunk_attention_config"),
    "pairs of neighbours": ({"rope_interleaved": True}, "rope_interleaved = True"),
    "both directions": ({"use_bidirectional_attention": True}, "use_bidirectional_attention"),
    "no width": ({"hidden_size": None}, "config.json has no hidden_size"),
    "heads that do not divide": ({"num_attention_heads": 7}, "4096.* is not a multiple of"),
    "KV heads that do not divide": ({"num_key_value_heads": 7}, "must be a multiple of n_kv_heads"),
    "width of words": ({"hidden_size": "4096"}, r"hidden_size \('4096'\) must be a number"),
    "layers of words": ({"num_hidden_layers": "32"}, r"num_hidden_layers \('32'\)"),
}


@pytest.mark.parametrize(("changes", "message"), REFUSED.values(), ids=REFUSED)
def test_refuses_what_it_does_not_know(changes, message):
    with pytest.raises(CheckpointError, match=message):
        attention_config(LLAMA | {"rope_theta": None} | changes, 0)


REFUSED_IN = {
    "deepseek_v2 in halves": ("deepseek_v2", {"rope_interleave": False}),
    "minicpm3 interleaved": ("minicpm3", {"rope_interleave": True}),
    "sparse attention": ("deepseek_v3", {"index_topk": 2048}),
    "index keys in neighbouring pairs": ("deepseek_v32", {"indexer_rope_interleave": True}),
    "index keys in halves": ("glm_moe_dsa", {"indexer_rope_interleave": False}),
    "unscaled latents": ("longcat_flash", {"mla_scale_kv_lora": False}),
    "another attention": ("longcat_flash", {"attention_method": "LSA"}),
    "scale by layer": ("gpt2", {"scale_attn_by_inverse_layer_idx": True}),
    "no scale": ("gpt2", {"scale_attn_weights": False}),
    "rotation in gpt2": ("gpt2", {"rope_theta": 1e4}),
    "layers unalike": ("mistral", {"layer_types": ["full_attention"] * 2}),
    "unknown layer type": ("gemma2", {"layer_types": ["full_attention", "chunked_attention"]}),
    "too few layer types": ("gemma2", {"layer_types": ["full_attention"]}),
    "no latent width": ("youtu", {"kv_lora_rank": None}),
    "raised scale elsewhere": (
        "deepseek_v3",
        {"rope_parameters": {"rope_type": "default", "llama_4_scaling_beta": 0.1}},
    ),
}


@pytest.mark.parametrize(("name", "changes"), REFUSED_IN.values(), ids=REFUSED_IN)
def test_refuses_what_a_family_does_not_have(name, changes):
    config = own_config(name)
    attention_config(config, 1)
    key = next(iter(changes))
    words = "llama_4_scaling_beta" if key == "rope_parameters" else key
    with pytest.raises(CheckpointError, match=words):
        attention_config(config | changes, 1)
