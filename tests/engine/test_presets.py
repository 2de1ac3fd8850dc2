"""The published models: figures read elsewhere, and the library's own configurations."""

import json
import math
from fractions import Fraction

import pytest
import transformers

from kvcount import MODELS
from mla_engine import GroupedConfig as Grouped
from mla_engine import config as c
from mla_engine import mechanisms
from mla_engine.checkpoints import attention_config
from mla_engine.presets import NOT_MODELLED, PRESETS, Preset

# Key, kind, layers, cached numbers per token and layer, effective softmax scale to eight digits.
PUBLISHED = [
    ("deepseek-v2", "MLA", 60, 576, "0.11472139"),
    ("deepseek-v2-lite", "MLA", 27, 576, "0.11472139"),
    ("deepseek-v3", "MLA", 61, 576, "0.13523378"),
    ("deepseek-v3.1", "MLA", 61, 576, "0.13523378"),
    ("deepseek-v3.2-exp", "DSA", 61, 704, "0.13523378"),
    ("deepseek-v4-flash", "CSA", 43, 160, "0.04419417"),
    ("deepseek-v4-pro", "CSA", 61, 160, "0.04419417"),
    ("kimi-k2", "MLA", 61, 576, "0.13086080"),
    ("kimi-k2-instruct-0905", "MLA", 61, 576, "0.14467963"),
    ("kimi-k3", "MLA", 93, 576, "0.07216878"),
    ("minicpm3-4b", "MLA", 62, 288, "0.10206207"),
    ("glm-4.7-flash", "MLA", 47, 576, "0.06250000"),
    ("glm-5", "DSA", 78, 704, "0.06250000"),
    ("longcat-flash-chat", "MLA", 28, 576, "0.07216878"),
    ("moonlight-16b-a3b", "MLA", 27, 576, "0.07216878"),
    ("a.x-k1", "MLA", 61, 576, "0.07216878"),
    ("mistral-small-4-119b", "MLA", 36, 320, "0.19496949"),
    ("youtu-llm-2b", "MLA", 32, 576, "0.07216878"),
    ("kimi-linear-48b-a3b", "MLA", 27, 576, "0.07216878"),
    ("gpt-2", "MHA", 12, 1536, "0.12500000"),
    ("llama-2-7b", "MHA", 32, 8192, "0.08838835"),
    ("llama-2-70b", "GQA", 80, 2048, "0.08838835"),
    ("llama-3-8b", "GQA", 32, 2048, "0.08838835"),
    ("llama-3-70b", "GQA", 80, 2048, "0.08838835"),
    ("llama-3.1-405b", "GQA", 126, 2048, "0.08838835"),
    ("mistral-7b-v0.1", "GQA", 32, 2048, "0.08838835"),
    ("qwen2.5-7b", "GQA", 28, 1024, "0.08838835"),
    ("qwen2.5-72b", "GQA", 80, 2048, "0.08838835"),
    ("qwen3-8b", "GQA", 36, 2048, "0.08838835"),
    ("qwen3-32b", "GQA", 64, 2048, "0.08838835"),
    ("qwen3-235b-a22b", "GQA", 94, 1024, "0.08838835"),
    ("gemma-2b", "MQA", 18, 512, "0.06250000"),
    ("gemma-2-9b", "GQA", 42, 4096, "0.06250000"),
    ("gemma-2-27b", "GQA", 46, 4096, "0.08333333"),
    ("gemma-3-4b", "GQA", 34, 2048, "0.06250000"),
    ("gemma-3-27b", "GQA", 62, 4096, "0.07715167"),
    ("falcon-7b", "MQA", 32, 128, "0.12500000"),
    ("gpt-oss-20b", "GQA", 24, 1024, "0.12500000"),
    ("gpt-oss-120b", "GQA", 36, 1024, "0.12500000"),
    ("glm-5.3-flash", "Block DSA", 45, 544, "0.06250000"),
]
CONFIGURATIONS = {
    "deepseek-v3.2-exp": "DeepseekV32Config",
    "a.x-k1": "AXK1Config",
    "youtu-llm-2b": "YoutuConfig",
    "mistral-small-4-119b": "Mistral4Config",
    "kimi-linear-48b-a3b": "KimiLinearConfig",
    "glm-4.7-flash": "Glm4MoeLiteConfig",
    "glm-5": "GlmMoeDsaConfig",
    "longcat-flash-chat": "LongcatFlashConfig",
    "minicpm3-4b": "MiniCPM3Config",
}
CONTEXTS = {"a.x-k1": 131_072}  # published with 128K; the library's default is 32,768


LATENT = ("MLA", "DSA", "Block DSA")


def cached_numbers(preset: Preset) -> int:
    config = preset.config
    if preset.kind == "CSA":
        return (config.d_head + config.d_index) // config.pooling
    if preset.kind in LATENT:
        of_index = (config.d_index or 0) // (config.pooling or 1)
        return config.d_latent_kv + config.d_rope + of_index
    return config.n_kv_heads * (config.d_head + config.d_value)


def test_every_published_row_is_there_and_no_other():
    assert list(PRESETS) == [row[0] for row in PUBLISHED]


@pytest.mark.parametrize(("key", "kind", "n_layers", "elements", "scale"), PUBLISHED)
def test_published_figures(key: str, kind: str, n_layers: int, elements: int, scale: str):
    preset = PRESETS[key]
    assert (preset.key, preset.kind, preset.n_layers) == (key, kind, n_layers)
    assert cached_numbers(preset) == elements
    assert f"{preset.config.scale:.8f}" == scale
    assert preset.source
    assert set(preset.notes_in) in (set(), {"en", "zh"})
    assert set(preset.not_modelled) <= set(NOT_MODELLED)


def test_longcat_scales_are_the_roots_of_the_width_ratios():
    config = PRESETS["longcat-flash-chat"].config
    assert config.q_latent_scale**2 == Fraction(config.d_model, config.d_latent_q)
    assert config.kv_latent_scale == math.sqrt(Fraction(config.d_model, config.d_latent_kv))


@pytest.mark.parametrize("key", CONFIGURATIONS)
def test_sizes_are_those_of_the_library(key: str):
    preset, other = PRESETS[key], getattr(transformers, CONFIGURATIONS[key])()
    config = preset.config
    layers = getattr(other, "num_layers", other.num_hidden_layers)
    heads = other.num_attention_heads
    assert (config.d_model, config.n_heads) == (other.hidden_size, heads)
    assert (config.d_head, config.d_rope) == (other.qk_nope_head_dim, other.qk_rope_head_dim)
    assert config.d_value == (other.v_head_dim or other.hidden_size // heads)
    assert (config.d_latent_kv, config.d_latent_q) == (other.kv_lora_rank, other.q_lora_rank)
    context = CONTEXTS.get(key, other.max_position_embeddings)
    assert (preset.max_context, preset.rms_norm_eps) == (context, other.rms_norm_eps)
    assert preset.n_layers == layers
    assert config.bias is other.attention_bias
    if preset.kind == "DSA":
        of_index = (other.index_n_heads, other.index_head_dim, other.index_topk)
        assert (config.n_index_heads, config.d_index, config.index_topk) == of_index
    assert config.latent_norm
    assert config.norm_eps == 1e-6


def test_glm_5_3_flash_is_what_the_library_makes_of_its_keys_but_for_the_pooling():
    """Its blocks are of 4 tokens, and of 16 by the library's default: the row says so."""
    preset = PRESETS["glm-5.3-flash"]
    for pooling, same in ((4, True), (16, False)):
        other = transformers.Glm5NextTextConfig(index_kpool=pooling)
        table = json.loads(other.to_json_string())
        configs = [attention_config(table, layer) for layer in range(preset.n_layers)]
        assert configs.count(preset.config) == preset.n_caches * same
    assert other.index_kpool == transformers.Glm5NextTextConfig().index_kpool
    assert "16 by transformers' default" in preset.notes
    assert preset.max_context == other.max_position_embeddings
    assert preset.rms_norm_eps == other.rms_norm_eps == preset.config.norm_eps


@pytest.mark.parametrize("key", ["a.x-k1", "mistral-small-4-119b"])
def test_rotation_is_that_of_the_library(key: str):
    rope, other = PRESETS[key].config.rope, getattr(transformers, CONFIGURATIONS[key])()
    assert rope.pairing == ("interleaved" if other.rope_interleave else "half")
    assert rope.theta == other.rope_parameters["rope_theta"]
    published = other.rope_parameters if rope.scaling else {}
    ours = vars(rope.scaling) if rope.scaling else {}
    same = published.keys() & ours.keys()
    assert {name: ours[name] for name in same} == {name: published[name] for name in same}
    assert ("original_max_position" in ours) == bool(published)


@pytest.mark.parametrize("key", PRESETS)
def test_pairing(key: str):
    rope = PRESETS[key].config.rope
    if key in ("kimi-k3", "kimi-linear-48b-a3b", "gpt-2", "glm-5.3-flash"):
        assert rope is None
    else:
        half = PRESETS[key].kind not in (*LATENT, "CSA") or key == "minicpm3-4b"
        assert rope.pairing == ("half" if half else "interleaved")


@pytest.mark.parametrize(
    ("key", "theta", "scaling"),
    [
        ("deepseek-v2", 1e4, (c.YarnConfig, 40, 4096)),
        ("deepseek-v3", 1e4, (c.YarnConfig, 40, 4096)),
        ("kimi-k2", 5e4, (c.YarnConfig, 32, 4096)),
        ("gpt-oss-20b", 1.5e5, (c.YarnConfig, 32, 4096)),
        ("gpt-oss-120b", 1.5e5, (c.YarnConfig, 32, 4096)),
        ("llama-3.1-405b", 5e5, (c.Llama3Scaling, 8, 8192)),
        ("gemma-3-4b", 1e6, (c.LinearScaling, 8, None)),
        ("minicpm3-4b", 1e4, (c.LongRopeScaling, 1, 32768)),
        ("longcat-flash-chat", 1e7, None),
        ("glm-5", 1e6, None),
        ("moonlight-16b-a3b", 5e4, None),
        ("qwen3-235b-a22b", 1e6, None),
        ("youtu-llm-2b", 1.6e6, None),
    ],
)
def test_rotation(key: str, theta: float, scaling: tuple | None):
    rope = PRESETS[key].config.rope
    assert rope.theta == theta
    if scaling is None:
        assert rope.scaling is None
        return
    kind, factor, original = scaling
    assert type(rope.scaling) is kind
    assert rope.scaling.factor == factor
    assert (rope.scaling.original_max_position or None) == original


def test_details_of_rotations():
    gpt_oss = PRESETS["gpt-oss-20b"].config.rope.scaling
    assert not gpt_oss.truncate
    assert gpt_oss.rotation_magnitude == pytest.approx(0.1 * math.log(32) + 1)
    deepseek = PRESETS["deepseek-v2"].config.rope.scaling
    assert (deepseek.beta_fast, deepseek.beta_slow) == (32, 1)
    assert deepseek.rotation_magnitude == 1
    kimi = PRESETS["kimi-k2"].config.rope.scaling
    assert (kimi.beta_fast, kimi.beta_slow) == (1, 1)
    llama = PRESETS["llama-3.1-405b"].config.rope.scaling
    assert (llama.low_freq_factor, llama.high_freq_factor) == (1, 4)
    minicpm = PRESETS["minicpm3-4b"].config.rope.scaling
    factors = minicpm.long_factor
    assert minicpm.short_factor == factors
    mirrored = zip(factors, reversed(factors), strict=True)
    assert [low + high for low, high in mirrored] == pytest.approx([18.0] * 16)
    assert sorted(factors) == list(factors)
    assert minicpm.rotation_magnitude == 1


def test_details_of_grouped_layers():
    def having(name: str) -> dict[str, object]:
        grouped = {key: p.config for key, p in PRESETS.items() if isinstance(p.config, Grouped)}
        return {key: getattr(config, name) for key, config in grouped.items()}

    biased = {"gpt-2", "qwen2.5-7b", "qwen2.5-72b", "gpt-oss-20b", "gpt-oss-120b"}
    assert {key for key, bias in having("bias").items() if bias} == biased
    normed = {"qwen3-8b", "qwen3-32b", "qwen3-235b-a22b", "gemma-3-4b", "gemma-3-27b"}
    assert {key for key, norm in having("qk_norm").items() if norm} == normed
    caps = {key: cap for key, cap in having("logit_softcap").items() if cap}
    assert caps == {"gemma-2-9b": 50, "gemma-2-27b": 50}
    windows = {key: width for key, width in having("sliding_window").items() if width}
    gemma = {"gemma-2-9b": 4096, "gemma-2-27b": 4096}
    gpt_oss = {"gpt-oss-20b": 128, "gpt-oss-120b": 128}
    assert windows == {"mistral-7b-v0.1": 4096} | gemma | gpt_oss


def test_what_is_not_modelled_is_named():
    gaps = {key: preset.not_modelled for key, preset in PRESETS.items() if preset.not_modelled}
    assert gaps["gpt-oss-20b"] == ("attention sinks",)
    assert gaps["gpt-2"] == ("learned positions",)
    assert gaps["mistral-small-4-119b"] == ("query scale by position",)
    told = {gap for row in gaps.values() for gap in row}
    assert told == set(NOT_MODELLED) - {"alternating local and global layers"}  # of old links
    assert all(PRESETS[key].notes for key in gaps)


OF_KINDS = {  # as compress_ratios and linear_attn_config list them
    "deepseek-v4-flash": {"CSA": 21, "HCA": 20, "SWA": 2},
    "deepseek-v4-pro": {"CSA": 30, "HCA": 31},
    "kimi-k3": {"MLA": 24, "KDA": 69},
    "kimi-linear-48b-a3b": {"MLA": 7, "KDA": 20},
    "glm-5.3-flash": {"Block DSA": 11, "KDA": 34},
}


OF_WINDOWS = {  # as layer_types list them, or every so many layers do
    "gemma-2-9b": {"GQA": 21, "GQA, window": 21},
    "gemma-2-27b": {"GQA": 23, "GQA, window": 23},
    "gemma-3-4b": {"GQA": 5, "GQA, window": 29},
    "gemma-3-27b": {"GQA": 10, "GQA, window": 52},
    "gpt-oss-20b": {"GQA": 12, "GQA, window": 12},
    "gpt-oss-120b": {"GQA": 18, "GQA, window": 18},
}


def windowed(config) -> str:
    return ", window" if vars(config).get("sliding_window") else ""


def test_kinds_of_layers_beside_the_first():
    mixed = {key: one for key, one in PRESETS.items() if one.beside}
    found = {
        key: {mechanisms.of(config).kind(config) + windowed(config): n for config, n in one.kinds}
        for key, one in mixed.items()
    }
    assert found == OF_KINDS | OF_WINDOWS
    for one in mixed.values():
        assert one.n_attentions == one.n_layers
        assert one.beside_of(one.kind) is None
    assert PRESETS["deepseek-v4-flash"].beside_of("HCA").pooling == 128


@pytest.mark.parametrize("key", OF_KINDS)
def test_every_layer_is_what_its_config_says(key: str):
    """The row's kinds are those that the loader of checkpoints makes of the published keys."""
    config = {"q_lora_rank": None} | MODELS[key].row["config"]  # TOML has no null
    layers = [attention_config(config, n) for n in range(PRESETS[key].n_layers)]
    kinds = {layer: layers.count(layer) for layer in layers}
    assert kinds == dict(PRESETS[key].kinds)
