"""Files of publishers' own code against classes of transformers that have the same layers."""

import pytest
import torch
from transformers import AutoModel, BloomConfig, GlmConfig, LlamaConfig, PhiConfig
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from mla_engine.model_caches import read
from tests.model_caches.test_published import per_token
from tests.model_caches.tiny import tensors

# As THUDM/chatglm3-6b has it; the layers of THUDM/glm-4-9b-chat are those of its -hf twin.
CHATGLM = {
    "model_type": "chatglm", "num_layers": 28, "num_attention_heads": 32, "hidden_size": 4096,
    "kv_channels": 128, "multi_query_attention": True, "multi_query_group_num": 2,
    "attention_softmax_in_fp32": True, "add_qkv_bias": True, "apply_query_key_layer_scaling": True,
}  # fmt: skip
QWEN_7B = {  # QWenConfig's own defaults
    "model_type": "qwen", "num_hidden_layers": 32, "num_attention_heads": 32, "hidden_size": 4096,
    "kv_channels": 128, "use_cache_quantization": False, "use_cache_kernel": False,
    "attn_dropout_prob": 0.0, "scale_attn_weights": True, "use_logn_attn": True,
    "use_flash_attn": "auto",
}  # fmt: skip
PHI_2 = {
    "model_type": "phi-msft", "n_layer": 32, "n_head": 32, "n_head_kv": None, "n_embd": 2560,
    "attn_pdrop": 0.0, "flash_attn": False,
}  # fmt: skip
BLOOM_7B1 = {"model_type": "bloom", "n_layer": 30, "num_attention_heads": 32, "n_embed": 4096}
EVERY_HEAD = {"num_hidden_layers": 2, "num_attention_heads": 32, "hidden_size": 4096}
SHARED = EVERY_HEAD | {"num_key_value_heads": 8}
CASES = {
    "chatglm3-6b": (CHATGLM, GlmConfig(num_hidden_layers=28, num_key_value_heads=2)),
    "glm-4-9b-chat": (CHATGLM | {"num_layers": 40}, GlmConfig(num_key_value_heads=2)),
    "qwen-7b": (QWEN_7B, LlamaConfig()),
    "phi-2": (PHI_2, PhiConfig(hidden_size=2560, num_hidden_layers=32, num_attention_heads=32)),
    "bloom-7b1": (BLOOM_7B1, BloomConfig(hidden_size=4096, n_layer=30, n_head=32)),
    "internlm": (EVERY_HEAD | {"model_type": "internlm"}, LlamaConfig(**EVERY_HEAD)),
    **{
        name: (SHARED | {"model_type": name}, LlamaConfig(**SHARED))
        for name in ("deepseek", "minicpm", "orion", "phi3_v")
    },
}


# llava-hf/llava-1.5-7b-hf, llava-v1.6-mistral-7b-hf and Qwen/Qwen2-Audio-7B say little more.
LITTLE = {
    "llava": {"model_type": "llama", "max_position_embeddings": 4096, "vocab_size": 32_064},
    "llava_next": {"model_type": "mistral", "sliding_window": None, "vocab_size": 32_064},
    "qwen2_audio": {"model_type": "qwen2", "intermediate_size": 11_008, "vocab_size": 156_032},
    "llava_onevision": {"model_type": "qwen2", "num_key_value_heads": 4},
    "pixtral": {"model_type": "mistral", "max_position_embeddings": 8192},
    "got_ocr2": {"model_type": "qwen2", "sliding_window": 9, "max_window_layers": 20},
    "internvl": SHARED | {
        "model_type": "qwen3", "head_dim": 128, "sliding_window": 9, "max_window_layers": 1,
    },
}  # fmt: skip


@pytest.mark.parametrize("model_type", LITTLE)
def test_keys_that_are_left_out_inside_are_those_of_the_class(model_type: str):
    inner = LITTLE[model_type]
    theirs = CONFIG_MAPPING[inner["model_type"]](**inner).to_dict()
    counted = read({"model_type": model_type, "text_config": inner})
    assert counted.layers == read(theirs).layers
    assert counted.layers[0].parts


@pytest.mark.parametrize(("config", "theirs"), CASES.values(), ids=CASES)
def test_it_keeps_what_the_same_layers_keep(config: dict, theirs: object):
    with torch.device("meta"):
        model = AutoModel.from_config(theirs, dtype=torch.bfloat16)
        kept = model(torch.zeros(1, 3, dtype=torch.long), use_cache=True).past_key_values
    found = sum(tensor.nbytes for _, tensor in tensors(kept) if tensor.is_floating_point())
    assert per_token(read(config)) == found / 3
