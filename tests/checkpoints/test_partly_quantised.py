"""Models quantised in part, in the words of their publishers: what is stored in full is read."""

import pytest
import torch

from mla_engine.checkpoints import hidden_states, load_attention
from tests.checkpoints.models import rewritten
from tests.checkpoints.texts import TEXT, add_tokenizer, fed
from tests.engine.samples import refused, relative

ATTENTION, EXPERTS = "layers.0.self_attn.", "layers.1.mlp."
GROUP = {"weights": {"num_bits": 4, "type": "int", "group_size": 32}}
LISTS = {
    "names": {"ignore": ["model.layers.0.self_attn.q_proj", "model.layers.0.self_attn.k_proj"]},
    "Kimi-K2": {"ignore": ["lm_head", "re:.*self_attn.*", "re:.*shared_experts.*"]},
    "targets": {"config_groups": {"group_0": GROUP | {"targets": ["re:.*mlp.experts.*"]}}},
    "ModelOpt": {"quant_method": "modelopt", "exclude_modules": ["lm_head", "*self_attn*"]},
    "AWQ": {"quant_method": "awq", "bits": 4, "modules_to_not_convert": ["self_attn", "mlp.gate"]},
    "gpt-oss": {"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn"]},
}


def packed(tensors, part):
    """Put four of 32 bits in the place of each matrix whose name has `part`, and its scales."""
    found = {}
    for name, tensor in tensors.items():
        if part in name and tensor.ndim > 1:
            found |= {f"{name}_packed": torch.zeros(4, dtype=torch.int32)}
            found |= {f"{name}_scale": torch.ones(4)}
        else:
            found[name] = tensor
    return found


def folder(tmp_path, part, quantised, name="deepseek_v3"):
    method = {"quant_method": "compressed-tensors"} | quantised
    entries = {"quantization_config": method}
    return add_tokenizer(rewritten(tmp_path, name, lambda own: packed(own, part), **entries))


@pytest.mark.parametrize("quantised", LISTS.values(), ids=LISTS)
def test_reads_an_attention_that_is_stored_in_full(quantised, tmp_path):
    own = rewritten(tmp_path / "own", "deepseek_v3")
    layer, whole = load_attention(folder(tmp_path, EXPERTS, quantised), 0), load_attention(own, 0)
    assert all(map(torch.equal, layer.parameters(), whole.parameters()))


def test_runs_what_is_in_full_before_an_attention_and_nothing_wider(tmp_path):
    """The first layer's text needs rows of the embedding, the second's the first layer."""
    first, second = fed("deepseek_v3")[0], fed("deepseek_v3")[1]
    late = folder(tmp_path / "late", EXPERTS, LISTS["AWQ"])
    assert relative(hidden_states(late, TEXT, 0).h, first) < 1e-6
    assert relative(hidden_states(late, TEXT, 1).h, second) < 1e-6
    early = folder(tmp_path / "early", "layers.0.", LISTS["AWQ"])
    assert relative(hidden_states(early, TEXT, 0).h, first) < 1e-6
    with refused("quantization_config", "awq", "original weights"):
        hidden_states(early, TEXT, 1)


@pytest.mark.parametrize("name", ["llama", "deepseek_v3"])
def test_refuses_an_attention_that_is_packed(name, tmp_path):
    with refused("quantization_config", "original weights"):
        load_attention(folder(tmp_path, ATTENTION, LISTS["Kimi-K2"], name), 0)


def test_refuses_what_is_rounded_at_work(tmp_path):
    with refused("quantization_config", "bitnet"):
        load_attention(folder(tmp_path, "no such", {"quant_method": "bitnet"}, "llama"), 0)


def test_passes_over_the_scales_of_a_cache(tmp_path):
    scales = {f"model.{ATTENTION}k_proj.k_scale": torch.ones(1)}
    scales |= {f"model.{ATTENTION}v_scale": torch.ones(())}
    layer = load_attention(rewritten(tmp_path / "a", "llama", lambda own: own | scales), 0)
    whole = load_attention(rewritten(tmp_path / "own", "llama"), 0)
    assert all(map(torch.equal, layer.parameters(), whole.parameters()))
