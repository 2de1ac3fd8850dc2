"""Keys that change the cache: counted, or refused by name."""

import re

import pytest
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from kvcount import UncountedError, read
from kvcount.reading.model_types import MODEL_TYPES, TEXT
from kvcount.tests.published import LLAMA_3_70B
from kvcount.tests.test_published import per_token

OF_CLASSES = sorted(set(MODEL_TYPES) & set(CONFIG_MAPPING))
MISSING = {  # what the classes leave to the file
    "num_key_value_heads": 8, "head_dim": 128, "global_head_dim": 256, "swa_kv_lora_rank": 512,
    "swa_qk_rope_head_dim": 64, "attn_layer_indices": [0], "full_attn_idxs": [0],
}  # fmt: skip
MPT = {"model_type": "mpt", "n_layers": 32, "n_heads": 24, "d_model": 3072}
# Weights of deepseek-ai/DeepSeek-OCR: k_proj and v_proj of 12 layers are 1280 x 1280.
DEEPSEEK_OCR = {
    "model_type": "deepseek_vl_v2",
    "language_config": {
        "hidden_size": 1280, "kv_lora_rank": None, "num_attention_heads": 10, "v_head_dim": 0,
        "num_hidden_layers": 12, "num_key_value_heads": 10, "q_lora_rank": None, "use_mla": False,
        "qk_nope_head_dim": 0, "qk_rope_head_dim": 0,
    },
}  # fmt: skip
HUNYUAN_LARGE = {
    "model_type": "hunyuan", "num_hidden_layers": 64, "num_attention_heads": 80,
    "num_key_value_heads": 8, "hidden_size": 6400, "use_cla": True, "cla_share_factor": 2,
}  # fmt: skip


@pytest.mark.parametrize("model_type", OF_CLASSES)
def test_no_key_of_a_configuration_class_is_unknown(model_type: str):
    config, missing, found = CONFIG_MAPPING[model_type]().to_dict(), dict(MISSING), None
    while found is None:
        try:
            found = read(config)
        except UncountedError as refused:
            if refused.code != "no_key":
                raise
            key, inner = refused.values["key"], config
            while name := next((name for name in TEXT if inner.get(name)), None):
                inner = inner[name]
            inner[key] = missing.pop(key)


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        # llm-foundry@main, llmfoundry/models/layers/attention.py: kv_n_heads x head_dim each
        (MPT | {"attn_config": {"attn_type": "grouped_query_attention", "kv_n_heads": 8}}, 131_072),
        (MPT | {"attn_config": {"attn_type": "multiquery_attention"}}, 131_072 // 8),
        (MPT | {"attn_config": {"attn_type": "multihead_attention"}}, 131_072 * 3),
        (MPT, 131_072 * 3),
        (DEEPSEEK_OCR, 2 * 1280 * 12 * 2),
        # Hunyuan-Large, arXiv 2411.02265, table 2: GQA and CLA keep 2 n_g d_h l bytes in bf16
        (HUNYUAN_LARGE, 2 * 8 * 80 * 64),
        (HUNYUAN_LARGE | {"use_cla": False}, 4 * 8 * 80 * 64),
    ],
)
def test_keys_that_change_the_cache_are_followed(config: dict, expected: int):
    assert per_token(read(config)) == expected


@pytest.mark.parametrize(
    "key",
    [
        {"hybrid_override_pattern": "M" * 80},  # which tells of experts in Nemotron-H
        {"use_cla": True},
        {"use_mla": True},
        {"sliding_window": 9},
        {"num_kv_shared_layers": 4},
        {"kv_lora_rank": 512},
        {"multi_query_group_num": 2},
        {"attention_chunk_size": 9},
        {"attn_config": {"kv_n_heads": 2}},
        {"cross_layer_attention_sharing": False},
        {"compress_ratios": [4, 128]},
        {"mamba_d_state": 16},
        {"yoco": True},
        {"index_topk": 2048},
        {"indexer_types": ["full", "shared"]},
        {"index_topk_freq": 4},
        {"index_n_heads": 64},
    ],
)
def test_an_unknown_key_is_no_number(key: dict, cache):
    ((name, value),) = key.items()
    full = f"{name}.kv_n_heads" if isinstance(value, dict) else name
    assert f"not counted: what {full} would do to the cache" in cache(LLAMA_3_70B | key).refusal


@pytest.mark.parametrize(
    "key",
    [
        {"sliding_window": None},
        {"sliding_window": 9, "use_sliding_window": False, "max_window_layers": 4},
        {"use_cla": False, "cla_share_factor": 2},
        {"attention_bias": True, "attention_dropout": 0.1, "use_cache": False},
        {"quantization_config": {"kv_cache_scheme": None}, "rope_scaling": {"attention_factor": 1}},
    ],
)
def test_a_key_that_says_nothing_of_the_cache_is_passed_over(key: dict):
    assert read(LLAMA_3_70B | key).layers == read(LLAMA_3_70B).layers


@pytest.mark.parametrize(
    ("key", "like"),
    [
        ({"multi_query_group_num": 2}, "no mechanism that is known"),
        ({"attn_config": {"kv_n_heads": 8}}, "no mechanism that is known"),
        ({"mamba_ngroups": 2}, "(Mamba)"),
        ({"attention_bias": False}, "(MHA)"),
    ],
)
def test_an_unknown_type_resembles_mha_where_no_key_says_otherwise(key: dict, like: str):
    config = {"model_type": "new", "num_attention_heads": 32, "hidden_size": 4096}
    with pytest.raises(UncountedError, match=re.escape(like)):
        read(config | key)


def test_a_state_is_stored_in_another_type_than_is_counted():
    hybrid = CONFIG_MAPPING["nemotron_h"]().to_dict()
    with pytest.raises(UncountedError, match="mamba_ssm_cache_dtype"):
        read(hybrid | {"mamba_ssm_cache_dtype": "bfloat16"})
