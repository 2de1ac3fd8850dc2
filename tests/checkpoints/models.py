"""A small random model of every family, as transformers builds and saves it."""

import json
from dataclasses import dataclass, field
from functools import cache

import torch
from safetensors.torch import save_file
from transformers import CONFIG_MAPPING, AutoModelForCausalLM, Mistral4ForCausalLM

from mla_engine import LinearScaling, Llama3Scaling, LongRopeScaling, RopeConfig, YarnConfig
from tests.checkpoints.larger_models import larger
from tests.checkpoints.published import as_published

SMALL = {"hidden_size": 48, "num_hidden_layers": 2, "vocab_size": 64, "intermediate_size": 32}
SMALL |= {"max_position_embeddings": 512, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
LATENT = SMALL | {"num_attention_heads": 4, "num_key_value_heads": 4, "kv_lora_rank": 16}
LATENT |= {"q_lora_rank": 24, "qk_nope_head_dim": 12, "qk_rope_head_dim": 8, "v_head_dim": 10}
EXPERTS = {"n_routed_experts": 2, "n_shared_experts": 1, "num_experts_per_tok": 1}
EXPERTS |= {"moe_intermediate_size": 8, "n_group": 1, "topk_group": 1}
INDEXER = {"index_n_heads": 16, "index_head_dim": 12, "index_topk": 4}
GROUPED = SMALL | {"num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 8}
FALCON = {k: v for k, v in SMALL.items() if k != "intermediate_size"} | {"num_attention_heads": 6}
GPT2 = {"n_embd": 48, "n_head": 6, "n_layer": 2, "vocab_size": 64, "n_positions": 512}

SHORT, LONG = [1.0, 1.1, 1.2, 1.3], [1.0, 2.0, 4.0, 9.0]
CONTEXT = "original_max_position_embeddings"


@dataclass(frozen=True)
class Model:
    """A model of transformers, and the rotation that it should be found to have.

    `rope_parameters` and `settings` are transformers' words, `rope` is ours, written by hand;
    `published` names entries of config.json that published files leave out.
    """

    model_type: str
    settings: dict
    rope: RopeConfig | None = field(default_factory=RopeConfig)
    rope_parameters: dict = field(default_factory=lambda: {"rope_type": "default"})
    rotated: int = 8
    path: str = "model.layers.{0}.self_attn"
    layers: tuple = (1,)
    windows: tuple = (None, None, None)
    published: tuple = ()
    renamed: str | None = None  # the model_type to write into config.json
    inside: str | None = None  # the model_type of the larger model that it is a part of
    rope_in_window: RopeConfig | None = None  # where layers with a window have one of their own

    def rope_of(self, layer):
        return (self.windows[layer] and self.rope_in_window) or self.rope

    @property
    def all_settings(self):
        if self.rope is None:
            return self.settings
        if self.rope_in_window:
            return self.settings | {"rope_parameters": self.rope_parameters}
        parameters = {"rope_theta": self.rope.theta} | self.rope_parameters
        return self.settings | {"rope_parameters": parameters}

    def attention(self, model, layer):
        """The attention module, whose number counts attentions."""
        return model.get_submodule(self.path.format(layer, *divmod(layer, 2)))


def yarn(factor, original, mscale, **more):
    """YaRN with both magnitudes equal, in our words and in transformers'."""
    magnitudes = {"mscale": mscale, "mscale_all_dim": mscale}
    ours = YarnConfig(factor=factor, original_max_position=original, **magnitudes, **more)
    theirs = {"rope_type": "yarn", "factor": factor, CONTEXT: original}
    return ours, theirs | magnitudes | {"beta_fast": 32, "beta_slow": 1} | more


V2, V2_WORDS = yarn(40.0, 64, 0.707)
V3, V3_WORDS = yarn(40.0, 64, 1.0)
KIMI, KIMI_WORDS = yarn(32.0, 64, 1.0, beta_fast=1, beta_slow=1)
SMALL4, SMALL4_WORDS = yarn(128.0, 256, 1.0)
QWEN = YarnConfig(factor=4.0, original_max_position=64, attention_factor=1 + 0.1386294361119891)
LLAMA3 = Llama3Scaling(factor=8.0, original_max_position=64)
LLAMA3_WORDS = {"rope_type": "llama3", "factor": 8.0, CONTEXT: 64}
LLAMA3_WORDS |= {"low_freq_factor": 1.0, "high_freq_factor": 4.0}
MINICPM3 = LongRopeScaling(
    short_factor=tuple(SHORT), long_factor=tuple(LONG), original_max_position=64, factor=512 / 64
)
MINICPM3_WORDS = {"rope_type": "longrope", CONTEXT: 64, "short_factor": SHORT, "long_factor": LONG}
HALF = RopeConfig(pairing="half")
INTERLEAVE = ("rope_interleave",)
LONGCAT = {k: v for k, v in LATENT.items() if k not in ("num_hidden_layers", "intermediate_size")}
LONGCAT |= {"num_layers": 2, "n_routed_experts": 2, "moe_topk": 2, "zero_expert_num": 1}
LONGCAT |= {"ffn_hidden_size": 32, "expert_ffn_hidden_size": 8, "head_dim": 8}
QWEN2 = {k: v for k, v in GROUPED.items() if k != "head_dim"}
QWEN2 |= {"use_sliding_window": True, "sliding_window": 3, "max_window_layers": 1}
GEMMA = {"query_pre_attn_scalar": 10, "attn_logit_softcapping": 1.5, "sliding_window": 3}
HEADS = {"published": ("head_dim",)}
LINEAR = {"linear_num_heads": 3, "linear_head_dim": 12, "num_experts": 2}
LINEAR |= {"layer_types": ["linear_attention", "full_attention"]}
LING = {"head_dim": 12, "layer_group_size": 2, "num_experts": 2}
HYBRID = {
    k: v for k, v in (LATENT | EXPERTS).items() if k not in ("n_routed_experts", "q_lora_rank")
}
GLM_5_3 = SMALL | {k: v for k, v in LATENT.items() if "rope" not in k} | INDEXER
GLM_5_3 |= {"linear_head_dim": 12, "linear_num_heads": 3, "n_routed_experts": 2}
GLM_5_3 |= {"num_experts_per_tok": 1, "moe_intermediate_size": 8, "rms_norm_eps": 1e-3}
GLM_5_3 |= {
    "num_hidden_layers": 5,
    "layer_types": ["linear_attention"] * 2 + ["indexed_attention"] * 3,
}
GLM_5_3 |= {"indexer_types": ["full"] * 3 + ["shared", "full"], "index_kpool": 2, "index_topk": 6}
GEMMA3 = {"query_pre_attn_scalar": 10, "sliding_window": 3, "sliding_window_pattern": 2}
OF_GEMMA3 = {
    "rope": RopeConfig(theta=1e6, pairing="half", scaling=LinearScaling(factor=8.0)),
    "rope_parameters": {
        "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
        "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6},
    },
    "rope_in_window": HALF,
    "layers": (0, 1),
    "windows": (3, None),
}
GPT_OSS = {"num_local_experts": 2, "num_experts_per_tok": 1, "sliding_window": 3}
OSS = YarnConfig(
    factor=32.0, original_max_position=64, truncate=False, attention_factor=1.3465735902799727
)
LAYER_TYPES, INSIDE = ("layer_types",), "model.language_model.layers.{0}.self_attn"
H_SELF = "transformer.h.{0}.self_attention"

MODELS = {
    "deepseek_v2": Model(
        "deepseek_v2", LATENT | EXPERTS, RopeConfig(scaling=V2), V2_WORDS, layers=(0, 1)
    ),
    "deepseek_v2, lite": Model(
        "deepseek_v2", LATENT | EXPERTS | {"q_lora_rank": None}, RopeConfig(scaling=V2), V2_WORDS
    ),
    "deepseek_v3": Model(
        "deepseek_v3",
        LATENT | EXPERTS | {"attention_bias": True},
        RopeConfig(scaling=V3),
        V3_WORDS,
        published=INTERLEAVE,
    ),
    "deepseek_v3 in halves": Model(
        "deepseek_v3", LATENT | EXPERTS | {"rope_interleave": False}, HALF
    ),
    "kimi_k2": Model(
        "deepseek_v3",
        LATENT | EXPERTS,
        RopeConfig(theta=50000.0, scaling=KIMI),
        KIMI_WORDS,
        published=INTERLEAVE,
        renamed="kimi_k2",
    ),
    "deepseek_v32": Model(
        "deepseek_v32",
        LATENT | EXPERTS | INDEXER,
        RopeConfig(scaling=V3),
        V3_WORDS,
        layers=(0, 1),
    ),
    "glm_moe_dsa": Model(
        "glm_moe_dsa",
        LATENT | EXPERTS | INDEXER | {"attention_bias": True},
        RopeConfig(theta=1e6),
        layers=(0, 1),
    ),
    "glm_moe_dsa, shared": Model(
        "glm_moe_dsa",
        LATENT | EXPERTS | INDEXER | {"indexer_types": ["full", "shared"]},
        RopeConfig(theta=8e6),
        layers=(0,),
    ),
    "kimi_linear": Model(
        "kimi_linear", HYBRID | LINEAR, None, {}, layers=(0, 1), published=("layer_types",)
    ),
    "kimi_linear, latent queries": Model(
        "kimi_linear",
        HYBRID | LINEAR | {"q_lora_rank": 24, "rms_norm_eps": 1e-3},
        None,
        {},
    ),
    "bailing_hybrid": Model(
        "bailing_hybrid",
        HYBRID | LING,
        RopeConfig(theta=6e6),
        layers=(0, 1),
        published=("layer_types",),
    ),
    "minicpm3": Model(
        "minicpm3",
        LATENT | {"v_head_dim": 12},
        RopeConfig(pairing="half", scaling=MINICPM3),
        MINICPM3_WORDS,
        published=("v_head_dim", "rope_theta"),
    ),
    "glm4_moe_lite": Model(
        "glm4_moe_lite", LATENT | EXPERTS, RopeConfig(theta=1e6), published=INTERLEAVE
    ),
    "longcat_flash": Model(
        "longcat_flash",
        LONGCAT,
        RopeConfig(theta=1e7),
        path="model.layers.{1}.self_attn.{2}",
        layers=(0, 1, 2, 3),
        windows=(None,) * 4,
        published=("rope_theta",),
    ),
    "mistral4": Model(
        "mistral4",
        LATENT | EXPERTS,
        RopeConfig(scaling=SMALL4),
        SMALL4_WORDS | {"llama_4_scaling_beta": 0.1},
        published=INTERLEAVE,
    ),
    "youtu": Model("youtu", LATENT, RopeConfig(theta=1.6e6), published=INTERLEAVE),
    "axk1": Model("axk1", LATENT | EXPERTS, published=INTERLEAVE),
    "axk1 in capitals": Model("axk1", LATENT | EXPERTS, renamed="AXK1"),
    "llama": Model("llama", GROUPED, HALF, **HEADS),
    "llama, biases, linear": Model(
        "llama",
        GROUPED | {"num_key_value_heads": 6, "attention_bias": True},
        RopeConfig(pairing="half", scaling=LinearScaling(factor=8.0)),
        {"rope_type": "linear", "factor": 8.0},
        published=("head_dim", "num_key_value_heads"),
    ),
    "llama 3.1": Model(
        "llama",
        GROUPED | {"head_dim": 10},
        RopeConfig(theta=500000.0, pairing="half", scaling=LLAMA3),
        LLAMA3_WORDS,
        rotated=10,
    ),
    "mistral": Model("mistral", GROUPED | {"sliding_window": 3}, HALF, windows=(3, 3), **HEADS),
    "qwen2": Model(
        "qwen2",
        QWEN2,
        RopeConfig(theta=1e6, pairing="half", scaling=QWEN),
        {"rope_type": "yarn", "factor": 4.0, CONTEXT: 64},
        layers=(0, 1),
        windows=(None, 3),
        published=("layer_types",),
    ),
    "qwen3": Model(
        "qwen3",
        GROUPED | {"rms_norm_eps": 1e-3, "attention_bias": True},
        HALF,
        published=("layer_types",),
    ),
    "gemma2": Model(
        "gemma2",
        GROUPED | GEMMA,
        HALF,
        layers=(0, 1),
        windows=(3, None),
        published=("layer_types",),
    ),
    "gemma3_text": Model("gemma3_text", GROUPED | GEMMA3, **OF_GEMMA3, published=LAYER_TYPES),
    "gemma3": Model("gemma3_text", GROUPED | GEMMA3, **OF_GEMMA3, path=INSIDE, inside="gemma3"),
    "gpt_oss": Model(
        "gpt_oss",
        GROUPED | GPT_OSS,
        RopeConfig(theta=150000.0, pairing="half", scaling=OSS),
        {"rope_type": "yarn", "factor": 32.0, CONTEXT: 64, "truncate": False},
        layers=(0, 1),
        windows=(3, None),
        published=LAYER_TYPES,
    ),
    "glm4v_moe": Model(
        "glm4v_moe_text",
        GROUPED | EXPERTS | {"head_dim": 12, "first_k_dense_replace": 1},
        HALF,
        {"rope_type": "default", "partial_rotary_factor": 0.5, "mrope_section": [1, 1, 1]},
        rotated=6,
        path=INSIDE,
        inside="glm4v_moe",
    ),
    "qwen3_omni_moe": Model(
        "qwen3_omni_moe_text",
        GROUPED | {"num_experts": 2, "num_experts_per_tok": 1, "moe_intermediate_size": 8},
        RopeConfig(theta=1e6, pairing="half"),
        {"rope_type": "default", "mrope_section": [2, 1, 1], "interleaved": True},
        path=INSIDE,
        inside="qwen3_omni_moe_thinker",
    ),
    "gpt2": Model("gpt2", GPT2, None, {}, path="transformer.h.{0}.attn"),
    "falcon, one KV head": Model("falcon", FALCON, HALF, path=H_SELF),
    "falcon, new decoder": Model(
        "falcon", FALCON | {"new_decoder_architecture": True, "num_kv_heads": 2}, HALF, path=H_SELF
    ),
    "falcon, all KV heads": Model(
        "falcon", FALCON | {"multi_query": False, "bias": True}, HALF, path=H_SELF
    ),
}


@cache
def built(name):
    """The model with eager attention; norms and biases are random too."""
    model = MODELS[name]
    if model.inside:
        return filled(larger(model.inside, model.all_settings | {"model_type": model.model_type}))
    config = CONFIG_MAPPING[model.model_type](**model.all_settings)
    auto = AutoModelForCausalLM.from_config  # which does not know Mistral 4
    make = Mistral4ForCausalLM._from_config if model.model_type == "mistral4" else auto
    return filled(make(config, attn_implementation="eager"))


def filled(model, part=""):
    """The model with random parameters where their names have a part; norms are around 1."""
    draw = torch.Generator().manual_seed(7)
    for key, parameter in model.eval().requires_grad_(False).named_parameters():
        if part in key:
            shift = 1.0 if "norm" in key or "ln_" in key else 0.0
            parameter.normal_(shift, 0.3, generator=draw)
    return model


def rewrite_config(folder, change=dict, **entries):
    """The folder, with config.json after `change` and with other entries."""
    file = folder / "config.json"
    file.write_text(json.dumps(change(json.loads(file.read_text())) | entries))
    return folder


def seen_by(modules, run):
    """Record what each of the modules is given and gives, in their order, while `run` runs."""
    found = {}

    def keep(module, args, named, result):
        given = args[0] if args else named["hidden_states"]
        found[module] = given, *(result if isinstance(result, tuple) else (result, None))

    hooks = [module.register_forward_hook(keep, with_kwargs=True) for module in modules]
    with torch.no_grad():
        run()
    for hook in hooks:
        hook.remove()
    return [found[module] for module in modules]


@cache
def saved(name, folder, published):
    """The model's folder, sharded, with config.json as transformers writes it or as published."""
    folder = folder / f"{name}{published}"
    built(name).save_pretrained(folder, max_shard_size="30KB")
    if MODELS[name].renamed:
        rewrite_config(folder, model_type=MODELS[name].renamed)
    if published:
        rewrite_config(folder, lambda config: as_published(config, MODELS[name].published))
    return folder


def rewritten(folder, name, change=dict, **entries):
    """One file with the model's tensors after `change`, and config.json with other entries."""
    folder.mkdir(parents=True, exist_ok=True)
    tensors = {key: value.contiguous() for key, value in change(own_tensors(name)).items()}
    save_file(tensors, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(own_config(name) | entries))
    return folder


def own_tensors(name):
    """The model's tensors by their names in a file."""
    tied = set(built(name)._tied_weights_keys or ())
    return {k: v for k, v in built(name).state_dict().items() if k not in tied}


def own_config(name):
    """config.json as transformers writes it."""
    return json.loads(built(name).config.to_json_string())
