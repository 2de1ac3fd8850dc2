"""The weights that teaching changed, in 8 bits: `checkpoints.real_mla` makes a folder of them."""

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor

from mla_engine.grouped import GroupedQueryAttention
from mla_engine.language_model import LanguageModel
from mla_engine.latent import MultiHeadLatentAttention
from training.heal.convert import Converted

LARGEST = 127  # of int8


def pack(
    original: LanguageModel, taught: LanguageModel, converted: Converted, told: str, file: Path
) -> None:
    """Write the differences file.

    Args:
        original: the model of GQA.
        taught: the model of MLA, made by `teach.student`.
        converted: what it was made of.
        told: how it was taught, for the folder's README.
        file: is replaced.
    """
    tensors = {}
    for layer, (theirs, ours) in enumerate(zip(original.blocks, taught.blocks, strict=True)):
        found = _of_layer(theirs.attention, ours.attention)
        found["mix"] = torch.view_as_real(converted.mix[layer]).float().contiguous()
        tensors |= {f"{layer}.{name}": tensor for name, tensor in found.items()}
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_suffix(".part")
    save_file(tensors, part, {"about": json.dumps(_about(original, taught, converted, told))})
    part.replace(file)


def rounded(name: str, matrix: Tensor) -> dict[str, Tensor]:
    """Return a matrix in int8, each row with its scale."""
    scale = matrix.abs().amax(1).clamp(min=1e-12) / LARGEST
    return {
        name: (matrix / scale[:, None]).round().to(torch.int8).contiguous(),
        f"{name}.scale": scale.float().contiguous(),
    }


@torch.no_grad()
def _of_layer(theirs: GroupedQueryAttention, ours: MultiHeadLatentAttention) -> dict[str, Tensor]:
    group = theirs.config.n_heads // theirs.config.n_kv_heads
    kv_b = torch.cat((ours.W_UK[::group], ours.W_UV[::group]), 1).flatten(0, 1)
    size = kv_b.square().mean(0).sqrt()  # a number of the latent may have any
    kv_a = torch.cat((ours.W_DKV * size[:, None], ours.W_KR))
    change = (ours.W_O - theirs.W_O).flatten(1)
    return rounded("kv_a", kv_a) | rounded("kv_b", kv_b / size) | rounded("O", change)


def _about(
    original: LanguageModel, taught: LanguageModel, converted: Converted, told: str
) -> dict[str, Any]:
    c = taught.config.attention
    rope = {
        "rope_type": "longrope",
        "short_factor": c.rope.scaling.short_factor,
        "long_factor": c.rope.scaling.long_factor,
        "attention_factor": 1.0,
        "factor": 1.0,
        "original_max_position_embeddings": c.rope.scaling.original_max_position,
    }
    config = {
        "model_type": "mla_explorer",
        "architectures": None,
        "num_key_value_heads": c.n_heads,
        "q_lora_rank": None,
        "kv_lora_rank": c.d_latent_kv,
        "qk_nope_head_dim": c.d_head,
        "qk_rope_head_dim": c.d_rope,
        "v_head_dim": c.d_value,
        "rope_parameters": None,
        "rope_scaling": rope,
        "rope_theta": c.rope.theta,
        "softmax_scale": c.scale,
    }
    before = original.config.attention
    cached = {
        "cached": c.d_latent_kv + c.d_rope,
        "before": before.n_kv_heads * (before.d_head + before.d_value),
    }
    return {
        "layers": len(taught.blocks),
        "heads": c.n_heads,
        "pairs": converted.pairs,
        "config": config,
        "told": told,
        "numbers": cached,
    }
