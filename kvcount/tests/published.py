"""Keys of published config.json files, as their repositories have them."""

LATENT = {"kv_lora_rank": 512, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "v_head_dim": 128}
V3 = LATENT | {
    "model_type": "deepseek_v3", "num_hidden_layers": 61, "num_attention_heads": 128,
    "num_key_value_heads": 128, "num_nextn_predict_layers": 1, "max_position_embeddings": 163_840,
}  # fmt: skip
INDEX = {"index_head_dim": 128, "index_n_heads": 64, "index_topk": 2048}
V3_2 = V3 | INDEX | {"model_type": "deepseek_v32"}
GLM_5_2 = LATENT | INDEX | {
    "model_type": "glm_moe_dsa", "num_hidden_layers": 78, "index_topk_pattern": None,
    "indexer_types": ["full"] * 2 + (["full"] + ["shared"] * 3) * 19,
    "num_attention_heads": 64, "index_topk_freq": 4, "index_skip_topk_offset": 3,
}  # fmt: skip
KIMI_K3 = {
    "model_type": "kimi_k3",
    "text_config": LATENT | {
        "model_type": "kimi_linear", "num_hidden_layers": 93, "num_attention_heads": 96,
        "linear_attn_config": {
            "full_attn_layers": [*range(4, 93, 4), 93], "head_dim": 128, "num_heads": 96,
            "short_conv_kernel_size": 4,
        },
    },
}  # fmt: skip
KIMI_LINEAR = LATENT | {
    "model_type": "kimi_linear", "num_hidden_layers": 27, "num_attention_heads": 32,
    "linear_attn_config": {
        "full_attn_layers": [4, 8, 12, 16, 20, 24, 27], "head_dim": 128, "num_heads": 32,
        "short_conv_kernel_size": 4,
    },
}  # fmt: skip
V4_FLASH = {
    "model_type": "deepseek_v4", "num_hidden_layers": 43, "num_nextn_predict_layers": 1,
    "head_dim": 512, "qk_rope_head_dim": 64, "sliding_window": 128, "index_head_dim": 128,
    "index_topk": 512, "num_key_value_heads": 1, "num_attention_heads": 64,
    "compress_ratios": [0, 0, *[4, 128] * 20, 4, 0],
}  # fmt: skip
LLAMA_3_70B = {
    "model_type": "llama", "num_hidden_layers": 80, "num_attention_heads": 64,
    "num_key_value_heads": 8, "hidden_size": 8192,
}  # fmt: skip


def listed(n_experts: int = 384) -> dict[str, list[str]]:
    """The names that a quantised model of so many experts a layer lists one by one, 3 MB of 384."""
    names = ("gate_proj", "up_proj", "down_proj")
    return {
        "quant_method": "compressed-tensors",
        "ignore": [
            f"model.layers.{layer}.mlp.experts.{expert}.{name}"
            for layer in range(1, 61)
            for expert in range(n_experts)
            for name in names
        ],
    }
