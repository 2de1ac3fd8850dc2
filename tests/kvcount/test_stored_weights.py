"""Weights in files: against models that transformers saves, and its own count of them."""

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM, MixtralConfig
from transformers.modeling_utils import PreTrainedModel
from transformers.utils.logging import disable_progress_bar, enable_progress_bar

from kvcount.files.safetensors_header import INDEX, SINGLE
from kvcount.sources import find
from tests.checkpoints import gguf_model
from tests.checkpoints.gguf_model import gguf

SIZES = {
    "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "num_local_experts": 8, "vocab_size": 320,
}  # fmt: skip


def saved(folder: Path, dtype: torch.dtype, **options: str) -> PreTrainedModel:
    config = MixtralConfig(**SIZES)
    model = AutoModelForCausalLM.from_config(config, dtype=dtype)
    disable_progress_bar()  # which the command's errors would stand behind
    model.save_pretrained(folder, **options)
    enable_progress_bar()
    return model


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
@pytest.mark.parametrize("options", [{}, {"max_shard_size": "200KB"}])
def test_a_folder_s_weights_are_its_own(plan, tmp_path, dtype, options):
    model = saved(tmp_path, dtype, **options)
    found = find(str(tmp_path), weighed=True)
    assert (tmp_path / (INDEX if options else SINGLE)).exists()
    experts = [n for name, n in sized(model) if ".experts." in name]
    assert (found.parameters, found.routed) == (model.num_parameters(), sum(experts))
    assert found.stored.n_bytes == model.num_parameters() * dtype.itemsize
    asked = ("--json", "--context", "100", "--active", "50000")
    told = plan(str(tmp_path), *asked).found
    assert told["weight_bytes_each"] == found.stored.n_bytes
    assert not told["parameters_rounded"]
    given = plan(str(tmp_path), *asked, "--weights", "fp8").found
    assert given["weight_bytes_each"] == model.num_parameters()


def sized(model: PreTrainedModel) -> list[tuple[str, int]]:
    return [(name, weight.numel()) for name, weight in model.named_parameters()]


def test_an_index_alone_says_the_bytes(tmp_path):
    model = saved(tmp_path, torch.bfloat16, max_shard_size="200KB")
    for file in tmp_path.glob("*.safetensors"):
        file.unlink()
    found = find(str(tmp_path), weighed=True)
    assert (found.parameters, found.stored.bits) == (model.num_parameters(), 16)


def test_scales_have_bytes_and_are_no_parameters(plan, tmp_path):
    model = saved(tmp_path, torch.bfloat16)
    narrow = {name: w.data.to(torch.float8_e4m3fn) for name, w in model.named_parameters()}
    narrow |= {f"{name}_scale_inv": torch.ones(3) for name in list(narrow)}
    save_file(narrow, tmp_path / SINGLE)
    found, n = find(str(tmp_path), weighed=True), model.num_parameters()
    assert (found.parameters, found.stored.bits) == (n, 8)
    assert found.stored.n_bytes == n + 12 * len(sized(model))
    packed = {"a.qweight": torch.ones(9, dtype=torch.int32)}
    save_file(packed, tmp_path / SINGLE)
    assert find(str(tmp_path), weighed=True).parameters is None
    assert "--parameters" in plan(str(tmp_path)).refusal
    asked = ("--parameters", "1e6", "--active", "1e5", "--json")
    assert plan(str(tmp_path), *asked).found["weight_bytes_each"] == 36


@pytest.mark.parametrize("kind", ["Q4_1", "Q4_K", "Q8_0"])
def test_a_gguf_file_s_weights_are_rounded_in_blocks(plan, tmp_path, kind):
    """Tensors as gguf's own reader has them: blocks of their numbers, factors among them."""
    path = gguf_model.write(tmp_path / "small.gguf", kinds=[kind])
    tensors = gguf.GGUFReader(path).tensors
    found = find(str(path), weighed=True)
    assert found.parameters == sum(int(one.n_elements) for one in tensors)
    assert found.stored.n_bytes == sum(int(one.n_bytes) for one in tensors)
    numbers, n_bytes = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[kind]]
    assert found.stored.bits == 8 * n_bytes // numbers
    told = plan(str(tmp_path), "--json", "--context", "100").found
    assert told["weight_bytes_each"] == found.stored.n_bytes


@pytest.mark.parametrize("inside", [False, True])
def test_two_numbers_of_an_expert_in_a_byte_are_two(tmp_path, inside):
    """Weights as transformers' finegrained_fp8.py has them for expert_dtype "fp4"."""
    model = saved(tmp_path, torch.bfloat16)
    path, said = tmp_path / "config.json", {"expert_dtype": "fp4"}
    config = json.loads(path.read_text()) | ({"quantization_config": said} if inside else said)
    path.write_text(json.dumps(config))
    stored = {
        name: w.data[..., ::2].to(torch.int8).contiguous() if ".experts." in name else w.data
        for name, w in model.named_parameters()
    }
    save_file(stored, tmp_path / SINGLE)
    found = find(str(tmp_path), weighed=True)
    experts = sum(n for name, n in sized(model) if ".experts." in name)
    assert (found.parameters, found.routed) == (model.num_parameters(), experts)
    assert found.stored.bits == 4
    assert found.stored.n_bytes == experts // 2 + 2 * (model.num_parameters() - experts)


@pytest.mark.parametrize(
    "damage", [b"", b"\xff" * 8, b"\x02" + bytes(7) + b"[]", b"\x09" + bytes(7)]
)
def test_a_damaged_file_is_named(plan, tmp_path, damage):
    saved(tmp_path, torch.bfloat16)
    (tmp_path / SINGLE).write_bytes(damage)
    assert SINGLE in plan(str(tmp_path)).refusal
    header = json.dumps({"a": {"dtype": "BF16"}}).encode()
    (tmp_path / SINGLE).write_bytes(len(header).to_bytes(8, "little") + header)
    assert "tensor 'a'" in plan(str(tmp_path)).refusal
    (tmp_path / SINGLE).write_bytes(b"version https://git-lfs.github.com/spec/v1\n")
    assert "Git LFS" in plan(str(tmp_path)).refusal
