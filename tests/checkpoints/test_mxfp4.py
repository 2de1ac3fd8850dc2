"""The 4-bit experts of gpt-oss before a deeper attention, by transformers' own unpacking."""

import json
from math import prod

import pytest
import torch
from safetensors.torch import save_file
from transformers import GptOssConfig, GptOssForCausalLM
from transformers.integrations.mxfp4 import convert_moe_packed_tensors

from mla_engine.checkpoints import hidden_bytes, hidden_states, load_attention
from tests.checkpoints.texts import TEXT, add_tokenizer, inputs_of
from tests.engine.samples import refused, relative
from tests.refusals import refusing

SIZES = {"hidden_size": 64, "intermediate_size": 32, "num_hidden_layers": 2, "vocab_size": 64}
SIZES |= {"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8, "pad_token_id": 0}
SIZES |= {"num_local_experts": 3, "num_experts_per_tok": 2, "sliding_window": 3}
MXFP4 = {"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn"]}
EXPERTS = {"gate_up_proj": (3, 64, 2), "down_proj": (3, 64, 1)}  # [e,o,i/32]


@pytest.fixture(scope="module")
def packed():
    """A model whose experts are what transformers unpacks, and its tensors with them packed."""
    draw = torch.Generator().manual_seed(6)
    model = GptOssForCausalLM._from_config(GptOssConfig(**SIZES), attn_implementation="eager")
    for parameter in model.eval().requires_grad_(False).parameters():
        parameter.normal_(0.1, 0.4, generator=draw)
    tensors = {}
    for layer in (0, 1):
        for name, shape in EXPERTS.items():
            blocks = torch.randint(256, (*shape, 16), generator=draw, dtype=torch.uint8)
            scales = torch.randint(122, 127, shape, generator=draw, dtype=torch.uint8)
            whole = f"model.layers.{layer}.mlp.experts.{name}"
            tensors |= {f"{whole}_blocks": blocks, f"{whole}_scales": scales}
            unpacked = convert_moe_packed_tensors(blocks, scales, dtype=torch.float32)
            model.get_parameter(whole).copy_(unpacked)
    rest = {n: x for n, x in model.state_dict().items() if n.rpartition(".")[2] not in EXPERTS}
    return model, rest | tensors


def saved(folder, packed, change=dict):
    folder.mkdir(exist_ok=True)
    model, tensors = packed
    save_file(change(tensors), folder / "model.safetensors")
    config = json.loads(model.config.to_json_string()) | {"quantization_config": MXFP4}
    (folder / "config.json").write_text(json.dumps(config))
    return add_tokenizer(folder)


def test_what_enters_a_deeper_attention_is_the_models(packed, tmp_path):
    model, _ = packed
    folder = saved(tmp_path, packed)
    attentions = [layer.self_attn for layer in model.model.layers]
    for layer, wanted in enumerate(inputs_of(model, attentions)):
        assert relative(hidden_states(folder, TEXT, layer).h, wanted) < 1e-6
        assert load_attention(folder, layer).sink is not None


def test_the_layers_before_are_counted_as_they_are_unpacked(packed, tmp_path, monkeypatch):
    folder = saved(tmp_path, packed)
    packed[0].save_pretrained(tmp_path / "full")
    full = hidden_bytes(add_tokenizer(tmp_path / "full"), TEXT, 1)
    needed = hidden_bytes(folder, TEXT, 1)
    in_float32 = 4 * sum(32 * prod(shape) for shape in EXPERTS.values())
    assert needed.read_bytes == full.read_bytes - in_float32 + in_float32 * 17 // 128
    more = needed.memory_bytes - needed.read_bytes - (full.memory_bytes - full.read_bytes)
    assert more >= 2 * in_float32  # unpacked beside the model, and on the way there once more
    monkeypatch.setenv("MLA_MEMORY_BUDGET_GIB", str(0.9 * needed.memory_bytes / 2**30))
    with refusing("input_of_layer", layer=1):
        hidden_states(folder, TEXT, 1)


LACKING = {
    "no scales": lambda own: {
        n: x for n, x in own.items() if "0.mlp.experts.down_proj_sc" not in n
    },
    "no blocks": lambda own: {
        n: x for n, x in own.items() if "0.mlp.experts.down_proj_bl" not in n
    },
    "other groups": lambda own: {
        n: x[..., :8].contiguous() if n.endswith("blocks") else x for n, x in own.items()
    },
}


@pytest.mark.parametrize("change", LACKING.values(), ids=LACKING)
def test_names_blocks_and_scales_that_do_not_fit(change, packed, tmp_path):
    folder = saved(tmp_path, packed, change)
    hidden_states(folder, TEXT, 0)
    with refused("experts in mxfp4", "scales [e, o, i/32]"):
        hidden_states(folder, TEXT, 1)
