"""Weights in 8 bits with a factor for each block, against the product made number by number."""

import pytest
import torch

from mla_engine.checkpoints import CheckpointError, describe, load_attention
from mla_engine.checkpoints.fp8 import dequantized
from tests.checkpoints.models import own_config, rewritten
from tests.engine.samples import relative

BLOCKS = {"quant_method": "fp8", "fmt": "e4m3", "weight_block_size": [128, 128]}
BLOCKS |= {"activation_scheme": "dynamic"}
SIZES = {"hidden_size": 200, "kv_lora_rank": 512, "qk_rope_head_dim": 64, "q_lora_rank": 136}
ATTENTION = "model.layers.0.self_attn."
KV_A = f"{ATTENTION}kv_a_proj_with_mqa.weight"
SHAPES = {
    "q_a_proj.weight": (136, 200),
    "q_b_proj.weight": (4 * 76, 136),
    "kv_a_proj_with_mqa.weight": (576, 200),
    "kv_b_proj.weight": (4 * 22, 512),
    "o_proj.weight": (200, 40),
    "q_a_layernorm.weight": (136,),
    "kv_a_layernorm.weight": (512,),
}


def weights():
    """Matrices in 8 bits with their factors, norms in bfloat16."""
    draw, made = torch.Generator().manual_seed(9), {}
    for name, shape in SHAPES.items():
        numbers = torch.randn(shape, generator=draw)
        if len(shape) == 1:
            made[ATTENTION + name] = numbers.bfloat16()
            continue
        made[ATTENTION + name] = (numbers * 100).to(torch.float8_e4m3fn)
        blocks = [(size + 127) // 128 for size in shape]
        factors = torch.rand(blocks, generator=draw) + 0.01
        made[f"{ATTENTION}{name}_scale_inv"] = factors
    return made


def checkpoint(folder, change=dict, blocks=BLOCKS):
    entries = {"rope_parameters": {"rope_type": "default"}, "attention_bias": False}
    entries |= SIZES | {"quantization_config": blocks}
    return rewritten(folder, "deepseek_v3", lambda _: change(weights()), **entries)


def product(name):
    """The weight [o,i] in float64, number by number."""
    stored, factors = weights()[name].float(), weights()[f"{name}_scale_inv"]
    rows, columns = stored.shape
    numbers = [
        [float(stored[i, j]) * float(factors[i // 128, j // 128]) for j in range(columns)]
        for i in range(rows)
    ]
    return torch.tensor(numbers, dtype=torch.float64)


def test_multiplies_each_block_by_its_factor(tmp_path):
    """576 rows are 4.5 blocks, 200 columns 1.5625."""
    layer = load_attention(checkpoint(tmp_path), 0)
    wanted = product(KV_A)
    assert weights()[f"{KV_A}_scale_inv"].shape == (5, 2)
    assert relative(layer.W_DKV, wanted[:512]) < 1e-7
    assert relative(layer.W_KR, wanted[512:]) < 1e-7
    wanted = product(f"{ATTENTION}o_proj.weight").reshape(200, 4, 10)
    assert relative(layer.W_O, wanted) < 1e-7
    assert torch.equal(layer.c_KV_norm, weights()[f"{ATTENTION}kv_a_layernorm.weight"].float())


def test_rounds_once_to_the_dtype_of_the_layer(tmp_path):
    layer = load_attention(checkpoint(tmp_path), 0, heads=[2], dtype=torch.bfloat16)
    exact = dequantized(weights()[KV_A], weights()[f"{KV_A}_scale_inv"], torch.float32)
    assert torch.equal(layer.W_DKV, exact[:512].bfloat16())


def test_counts_the_factors_among_what_is_read(tmp_path):
    plan = describe(checkpoint(tmp_path), 0)
    assert plan.n_bytes == sum(tensor.nbytes for tensor in weights().values())
    assert plan.dtypes == ("F8_E4M3", "BF16", "F32")
    assert plan.notes == ("dequantised from fp8",)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"weight_block_size": [64, 64]}, r"'weight_block_size': \[64, 64\]"),
        ({"weight_block_size": None}, "only fp8"),
        ({"quant_method": "awq"}, "'awq'"),
        ({"fmt": "e5m2"}, "'e5m2'"),
    ],
)
def test_refuses_another_quantization(changes, message, tmp_path):
    folder = checkpoint(tmp_path, blocks=BLOCKS | changes)
    with pytest.raises(CheckpointError, match=f"quantization_config .*{message}"):
        describe(folder, 0)


def test_refuses_the_quantization_of_a_model_of_images(tmp_path):
    inner = own_config("deepseek_v3")
    entries = {"model_type": "other", "text_config": inner, "quantization_config": {"bits": 4}}
    norm = f"{ATTENTION}kv_a_layernorm.weight"
    folder = rewritten(
        tmp_path, "deepseek_v3", lambda own: own | {norm: own[norm].int()}, **entries
    )
    with pytest.raises(CheckpointError, match=r"quantization_config \{'bits': 4\}"):
        describe(folder, 0)


def test_refuses_missing_broken_and_misshapen_factors(tmp_path):
    name = f"{KV_A}_scale_inv"
    missing = checkpoint(tmp_path / "a", lambda ts: {k: v for k, v in ts.items() if k != name})
    with pytest.raises(CheckpointError, match=f"has no tensor {name}"):
        describe(missing, 0)
    floored = checkpoint(tmp_path / "b", lambda ts: ts | {name: ts[name][:4]})
    with pytest.raises(CheckpointError, match=r"\[4, 2\], and \[576, 200\] .* needs \[5, 2\]"):
        describe(floored, 0)
    broken = checkpoint(tmp_path / "c", lambda ts: ts | {name: ts[name] * torch.nan})
    with pytest.raises(CheckpointError, match=f"{KV_A} has 115,200 values that are NaN"):
        load_attention(broken, 0)
    eight = checkpoint(tmp_path / "d", lambda ts: ts | {name: ts[name].to(torch.float8_e4m3fn)})
    with pytest.raises(CheckpointError, match=f"{name} is F8_E4M3"):
        describe(eight, 0)


def test_refuses_a_norm_in_8_bits_and_factors_of_what_is_in_full(tmp_path):
    norm = f"{ATTENTION}kv_a_layernorm.weight"
    eight = checkpoint(tmp_path / "a", lambda ts: ts | {norm: ts[norm].to(torch.float8_e4m3fn)})
    with pytest.raises(CheckpointError, match=f"{norm} is stored as F8_E4M3"):
        describe(eight, 0)
    full = checkpoint(tmp_path / "b", lambda ts: ts | {KV_A: ts[KV_A].bfloat16()})
    with pytest.raises(CheckpointError, match=r"has kv_a_proj_with_mqa\.weight_scale_inv, which"):
        describe(full, 0)
