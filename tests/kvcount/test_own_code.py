"""Files of publishers' own code against classes of transformers that have the same layers."""

import pytest
import torch
from transformers import (
    AutoModel,
    BloomConfig,
    FalconMambaConfig,
    GlmConfig,
    LlamaConfig,
    MistralConfig,
    MllamaTextConfig,
    MllamaTextModel,
    PhiConfig,
)
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from kvcount import held_bytes, read, storage
from kvcount.tests.test_published import per_token
from tests.kvcount.tiny import tensors

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


# pfnet/plamo-2-1b, as serving engines' tests have its config.json.
PLAMO_2_1B = {
    "model_type": "plamo2", "hidden_size": 2048, "hidden_size_per_head": 128, "mamba_step": 2,
    "num_hidden_layers": 16, "num_attention_heads": 16, "num_key_value_heads": 1,
    "attention_window_size": 2048, "full_attention_idx": [], "mamba_d_state": 64,
    "mamba_d_conv": 4, "mamba_num_heads": 32, "mamba_enabled": True, "mamba_chunk_size": 256,
    "max_position_embeddings": 10_485_760,
}  # fmt: skip
MAMBA = FalconMambaConfig(
    vocab_size=32, num_hidden_layers=1, hidden_size=2048, intermediate_size=32 * 128, state_size=64
)
WINDOW = MistralConfig(
    vocab_size=32, num_hidden_layers=1, hidden_size=2048, num_attention_heads=16, head_dim=128,
    num_key_value_heads=1, sliding_window=2048,
)  # fmt: skip


def kept_bytes(theirs: object, length: int) -> int:
    """The cache of a model without weights after so many tokens in bf16, its states in float32."""
    with torch.device("meta"):
        out = AutoModel.from_config(theirs, dtype=torch.bfloat16)(
            torch.zeros(1, length, dtype=torch.long), use_cache=True
        )
    kept = getattr(out, "past_key_values", None) or out.cache_params
    found = [one for path, one in tensors(kept) if one.is_floating_point()]
    return sum(one.nbytes for one in found)


def test_plamo_2_has_mamba_and_windows_by_turns():
    """Layers 1, 3, 5 ... attend: vLLM's `is_mamba`; those listed to all tokens."""
    layers, bf16 = read(PLAMO_2_1B).layers, storage("bf16")
    assert [layer.kind for layer in layers] == ["mamba", "window"] * 8
    few = PLAMO_2_1B | {"num_hidden_layers": 3, "mamba_step": 8}
    assert [layer.kind for layer in read(few).layers] == ["mamba", "mamba", "window"]
    assert {one.kind for one in read(few | {"mamba_enabled": False}).layers} == {"window"}
    assert read(PLAMO_2_1B | {"full_attention_idx": [3]}).layers[3].kind == "mqa"
    # a window of transformers leaves the next token's place free, a convolution has one too many
    assert held_bytes(layers[1], bf16, 2047) == kept_bytes(WINDOW, 4096)
    of_one = {part.name: bf16.row_bytes("mamba", part) for part in layers[0].parts}
    assert of_one["state"] + of_one["conv"] * 4 / 3 == kept_bytes(MAMBA, 5)


def test_rwkv_5_keeps_a_state_and_the_token_before():
    """The tensors that Rwkv5Model.forward makes: BlinkDL/RWKV-LM's state, as transformers code."""
    config = {
        "model_type": "rwkv5", "hidden_size": 2048, "num_hidden_layers": 24, "head_size": 64,
        "attention_hidden_size": 2048, "num_attention_heads": 64, "head_size_divisor": 8,
    }  # fmt: skip
    with torch.device("meta"):
        state = torch.zeros(1, 2048 // 64, 64, 64, 24, dtype=torch.float32)
        before = [torch.zeros(1, 2048, 24, dtype=torch.bfloat16) for _ in range(2)]
    model = read(config)
    kept = sum(held_bytes(layer, storage("bf16"), 5) for layer in model.layers)
    assert kept == sum(one.nbytes for one in (state, *before))
    assert (per_token(model), model.as_mha) == (0, 0)


def test_llama_3_2_vision_keeps_images_apart():
    sizes = {"num_hidden_layers": 5, "cross_attention_layers": [1, 3], "vocab_size": 32}
    theirs = MllamaTextConfig(**sizes, pad_token_id=0)
    tokens, image = torch.zeros(1, 7, dtype=torch.long), torch.zeros(1, 11, 4096)
    with torch.device("meta"):
        model = MllamaTextModel._from_config(theirs, dtype=torch.bfloat16)
    image = image.to("meta", torch.bfloat16)
    for seen, of_image in ((None, 0), (image, 2 * 2 * 8 * 128 * 2 * 11)):
        out = model(tokens.to("meta"), cross_attention_states=seen, use_cache=True)
        found = [one for _, one in tensors(out.past_key_values) if one.is_floating_point()]
        total = sum(one.nbytes for one in found)
        assert total - of_image == 7 * per_token(read({"text_config": theirs.to_dict()}))
