"""A tiny config.json of many a model_type, with sizes that are told apart, and its real cache."""

from collections.abc import Iterator
from typing import Any

import torch
from transformers import AutoConfig, AutoModel

PLAIN = {
    "vocab_size": 32, "hidden_size": 24, "intermediate_size": 16, "num_hidden_layers": 3,
    "num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 8, "pad_token_id": 0,
    "max_position_embeddings": 512, "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip
MOE = {
    "num_experts": 4, "num_local_experts": 4, "n_routed_experts": 4, "num_experts_per_tok": 2,
    "moe_intermediate_size": 8, "n_shared_experts": 1, "n_group": 1, "topk_group": 1,
    "first_k_dense_replace": 1, "shared_expert_intermediate_size": 8,
}  # fmt: skip
EVERY_HEAD = {key: value for key, value in PLAIN.items() if key != "num_key_value_heads"}
WINDOW = PLAIN | {"sliding_window": 9}
LATENT = {key: value for key, value in (PLAIN | MOE).items() if key != "head_dim"} | {
    "num_key_value_heads": 6, "kv_lora_rank": 10, "q_lora_rank": 12, "qk_nope_head_dim": 6,
    "qk_rope_head_dim": 4, "v_head_dim": 5,
}  # fmt: skip
INDEXED = LATENT | {"index_head_dim": 14, "index_n_heads": 2, "index_topk": 8}
DELTA = PLAIN | MOE | {
    "num_hidden_layers": 4, "linear_conv_kernel_dim": 4, "linear_key_head_dim": 6,
    "linear_value_head_dim": 5, "linear_num_key_heads": 2, "linear_num_value_heads": 4,
}  # fmt: skip
KDA = {
    "full_attn_layers": [3], "kda_layers": [1, 2], "head_dim": 6, "num_heads": 3,
    "short_conv_kernel_size": 4,
}  # fmt: skip
MAMBA = PLAIN | {
    "mamba_d_state": 5, "mamba_d_conv": 4, "mamba_expand": 2, "mamba_n_heads": 4,
    "mamba_n_groups": 2, "mamba_chunk_size": 8,
}  # fmt: skip
INKLING = PLAIN | MOE | {
    "sliding_window_size": 9, "swa_num_attention_heads": 6, "swa_num_key_value_heads": 3,
    "swa_head_dim": 8, "sconv_kernel_size": 4, "d_rel": 4, "rel_extent": 16,
}  # fmt: skip
SECTIONS = {
    "rope_type": "default", "rope_theta": 1e4, "mrope_section": [1, 1, 2],
    "partial_rotary_factor": 1.0,
}  # fmt: skip
EVEN = {key: value for key, value in PLAIN.items() if key != "head_dim"} | {"hidden_size": 48}
LOCAL = ["sliding_attention", "sliding_attention", "full_attention"]
TINY: dict[str, dict[str, Any]] = {
    "llama": PLAIN,
    "qwen3_moe": PLAIN | MOE,
    "gpt2": {"vocab_size": 32, "n_embd": 24, "n_layer": 3, "n_head": 6, "n_positions": 512},
    "gpt_neox": EVERY_HEAD,
    "falcon": {k: v for k, v in EVERY_HEAD.items() if k != "head_dim"} | {"multi_query": True},
    "gpt_bigcode": {
        "vocab_size": 32, "n_embd": 24, "n_layer": 3, "n_head": 6, "n_positions": 512,
        "multi_query": True,
    },
    "stablelm": EVEN,
    "glm4v_text": EVEN | {"rope_parameters": SECTIONS},
    "glm4v_moe_text": PLAIN | MOE | {"rope_parameters": SECTIONS},
    "dbrx": {
        "vocab_size": 32, "d_model": 24, "n_layers": 3, "n_heads": 6, "max_seq_len": 512,
        "attn_config": {"kv_n_heads": 2, "clip_qkv": 8, "rope_theta": 1e4},
        "ffn_config": {"ffn_hidden_size": 16, "moe_num_experts": 4, "moe_top_k": 2},
    },
    "mistral": WINDOW,
    "mixtral": PLAIN | MOE | {"sliding_window": None},
    "qwen2": WINDOW | {"use_sliding_window": True, "max_window_layers": 1},
    "gemma2": WINDOW,
    "gemma3_text": WINDOW | {"sliding_window_pattern": 2},
    "gemma3n_text": WINDOW | {
        "num_hidden_layers": 5, "num_kv_shared_layers": 2, "hidden_size_per_layer_input": 4,
        "vocab_size_per_layer_input": 32, "laurel_rank": 4, "layer_types": [*LOCAL, *LOCAL[1:]],
        "activation_sparsity_pattern": [0.0] * 5,
    },
    "gemma4_text": WINDOW | {
        "global_head_dim": 12, "num_global_key_value_heads": 1, "hidden_size_per_layer_input": 4,
        "vocab_size_per_layer_input": 32, "attention_k_eq_v": True, "layer_types": LOCAL,
    },
    "gpt_oss": WINDOW | MOE,
    "exaone4": WINDOW | {"sliding_window_pattern": 2},
    "exaone_moe": WINDOW | MOE | {"sliding_window_pattern": 3, "num_shared_experts": 1},
    "muse_spark_text": WINDOW | MOE | {"moe_hidden_size": 12, "layer_types": LOCAL},
    "granite_swa": WINDOW | {"layer_types": LOCAL},
    "granitemoe_swa": WINDOW | MOE | {"layer_types": LOCAL},
    "cohere2": WINDOW | {"sliding_window_pattern": 3},
    "llama4_text": PLAIN | MOE | {
        "intermediate_size_mlp": 16, "attention_chunk_size": 9, "num_hidden_layers": 4},
    "deepseek_v2": LATENT,
    "deepseek_v3": LATENT,
    "minicpm3": LATENT,
    "dots3_note_text": INDEXED | {
        "num_hidden_layers": 4, "sliding_window_size": 9, "swa_num_attention_heads": 4,
        "swa_num_key_value_heads": 4, "swa_q_lora_rank": 12, "swa_kv_lora_rank": 14,
        "swa_head_dim": 8, "swa_qk_nope_head_dim": 6, "swa_qk_rope_head_dim": 2,
        "swa_v_head_dim": 5, "moe_shared_expert_intermediate_size": 8,
        "layer_types": ["full_attention"] * 2 + ["sliding_attention"] * 2,
    },
    "glm4_moe_lite": LATENT,
    "deepseek_v32": INDEXED,
    "glm_moe_dsa": INDEXED | {"num_hidden_layers": 5, "index_topk_pattern": "FSSFS"},
    "hy_v4": INDEXED | {"num_hidden_layers": 6, "hc_mult": 2},
    "mistral_large4_text": INDEXED | {
        "num_hidden_layers": 6, "kv_source_layers": [0, 1, 1, 3, 3, 3], "index_topk_freq": 2,
        "q_lora_rank": None,
    },
    "glm5_next_text": INDEXED | {
        "num_hidden_layers": 4, "qk_rope_head_dim": 0, "linear_attn_config": KDA,
        "layer_types": ["linear_attention"] * 2 + ["indexed_attention"] * 2,
        "indexer_types": ["shared", "shared", "full", "shared"], "index_kpool": 4,
    },
    "deepseek_v4": PLAIN | MOE | {
        "num_hidden_layers": 4, "num_key_value_heads": 1, "head_dim": 16, "q_lora_rank": 12,
        "qk_rope_head_dim": 4, "sliding_window": 9, "compress_ratios": [0, 4, 128, 4],
        "index_head_dim": 6, "index_n_heads": 2, "index_topk": 3, "o_groups": 2, "o_lora_rank": 8,
        "hc_mult": 2, "num_hash_layers": 1,
    },
    "kimi_linear": LATENT | {"q_lora_rank": None, "linear_attn_config": KDA},
    "bailing_hybrid": LATENT | {
        "head_dim": 7, "layer_group_size": 3, "short_conv_kernel_size": 4},
    "qwen3_next": DELTA | {"full_attention_interval": 4},
    "qwen3_5_text": DELTA,
    "qwen4_exp_text": DELTA | {
        "indexer_n_heads": 2, "indexer_kv_heads": 1, "indexer_head_dim": 10, "indexer_budget": 8,
        "indexer_compress_ratio": 4, "ple_layer_ids": [2], "ple_embed_dim": 24, "ngram_size": 3,
        "ple_conv_kernel_size": 4, "heads_per_ngram": 2, "ngram_vocab_size_base": 50,
        "make_ngram_vocab_size_divisible_by": 8, "split_ngram_parts": 1, "hc_count": 2,
        "hc_lowrank": 4,
    },
    "minimax": PLAIN | MOE | {
        "layer_types": ["linear_attention", "linear_attention", "full_attention"], "block_size": 8},
    "minimax_m2": PLAIN | MOE,
    "minimax_m3_vl_text": PLAIN | MOE | {
        "index_n_heads": 2, "index_head_dim": 8, "index_block_size": 4, "index_topk_blocks": 2,
        "layer_types": ["full_attention", "minimax_m3_sparse", "minimax_m3_sparse"],
        "shared_intermediate_size": 8, "dense_intermediate_size": 8,
    },
    "nemotron_h": PLAIN | MOE | {
        "hybrid_override_pattern": "M*E-M", "num_hidden_layers": 5, "mamba_num_heads": 4,
        "mamba_head_dim": 6, "n_groups": 2, "ssm_state_size": 5, "conv_kernel": 4, "expand": 1,
        "moe_shared_expert_intermediate_size": 8, "chunk_size": 8,
    },
    "jamba": PLAIN | MOE | {
        "mamba_d_state": 5, "mamba_d_conv": 4, "mamba_expand": 2, "attn_layer_period": 3,
        "attn_layer_offset": 1, "use_mamba_kernels": False,
    },
    "falcon_h1": MAMBA | {"mamba_d_ssm": 24, "mamba_d_head": 6},
    "zamba2": PLAIN | {
        "mamba_d_state": 5, "mamba_d_conv": 4, "mamba_expand": 2, "n_mamba_heads": 4,
        "mamba_ngroups": 2, "mamba_headdim": 12, "chunk_size": 8, "num_key_value_heads": 6,
        "attention_head_dim": 8, "layers_block_type": ["mamba", "hybrid", "mamba"],
        "head_dim": None,
    },
    "bamba": MAMBA | {"attn_layer_indices": [1], "mamba_d_head": 12},
    "lfm2": PLAIN | {
        "conv_L_cache": 3, "layer_types": ["conv", "full_attention", "conv"],
        "block_auto_adjust_ff_dim": False,
    },
    "lfm3": WINDOW | {
        "conv_L_cache": 5, "layer_types": ["conv", "full_attention", "sliding_attention"]},
    "inkling_text": INKLING | {"local_layer_ids": [0, 2]},
    "inkling2_text": INKLING | {
        "layer_types": ["hybrid_sliding", "hybrid", "hybrid_sliding"], "unpadded_vocab_size": 32},
    "zaya": PLAIN | {
        "num_experts": 4, "num_experts_per_tok": 1, "moe_intermediate_size": 8,
        "router_hidden_size": 8, "cca_time0": 2, "cca_time1": 3, "layer_types": ["hybrid"] * 3,
    },
    "falcon_mamba": {
        "vocab_size": 32, "hidden_size": 24, "state_size": 5, "num_hidden_layers": 2, "expand": 16,
        "intermediate_size": 48, "conv_kernel": 4, "use_mambapy": False,
    },
    "mamba2": {
        "vocab_size": 32, "hidden_size": 24, "state_size": 5, "num_hidden_layers": 2, "expand": 2,
        "conv_kernel": 4, "num_heads": 4, "head_dim": 12, "n_groups": 2, "chunk_size": 8,
    },
    "lara_mini": DELTA | WINDOW | {
        "num_hidden_layers": 5,
        "layer_types": [
            "linear_attention", "sliding_attention", "linear_attention", "full_attention",
            "sliding_attention",
        ],
    },
    "hy_v4_vl_text": INDEXED | {
        "num_hidden_layers": 6, "hc_mult": 2, "qk_rope_head_dim": 6,
        "rope_parameters": {
            "rope_type": "default", "rope_theta": 1e4, "mrope_section": [1, 1, 1],
        },
    },
    "inkling2_loop_text": INKLING | {
        "num_hidden_layers": 6, "layer_types": (["hybrid_sliding"] * 2 + ["hybrid"]) * 2,
        "unpadded_vocab_size": 32, "n_layers_per_attn_res_block": 2, "loop_gate_rank": 4,
        "loop_layer_index_start": 2, "loop_layer_index_end": 4, "loop_num_passes": 3,
        "conv_kernel_size": 4,
    },
    "sarvam_mla": LATENT,
    "sarvam_moe": PLAIN | MOE,
    "axk2": INDEXED,
    "apertus1p5_text": PLAIN,
    "dory": PLAIN | MOE | {
        "num_hidden_layers": 5, "n_input_layers": 1, "n_recurrent_layers": 2,
        "n_recurrent_loops": 3, "n_output_layers": 2, "layer_types": ["full_attention"] * 5,
        "recurrent_kv_cache_mode": "per_loop",
    },
}  # fmt: skip


def config_of(model_type: str) -> dict[str, Any]:
    """The config.json of a tiny model."""
    return {"model_type": model_type} | TINY[model_type]


def real_cache(model_type: str, length: int, dtype: torch.dtype = torch.float32) -> Any:
    """Return what transformers keeps of so many tokens."""
    return made(real_model(model_type, dtype), length)


def real_model(model_type: str, dtype: torch.dtype = torch.float32) -> torch.nn.Module:
    config = AutoConfig.for_model(model_type, **TINY[model_type])
    torch.manual_seed(0)
    return AutoModel.from_config(config, dtype=dtype).eval()


def made(model: torch.nn.Module, length: int) -> Any:
    """Return the cache that a model makes of so many tokens."""
    with torch.no_grad():
        out = model(torch.arange(length)[None] % 29 + 3, use_cache=True)
    return getattr(out, "past_key_values", None) or out.cache_params


def tensors(found: object, path: str = "") -> Iterator[tuple[str, torch.Tensor]]:
    """Every tensor that a cache holds, with its place."""
    if isinstance(found, torch.Tensor):
        yield path, found
    elif isinstance(found, dict):
        for key, value in found.items():
            yield from tensors(value, f"{path}.{key}")
    elif isinstance(found, list | tuple):
        for number, value in enumerate(found):
            yield from tensors(value, f"{path}.{number}")
    elif type(found).__module__.startswith("transformers"):
        yield from tensors(vars(found), path)
