"""DeepSeek's 8-bit weights: e4m3 numbers, and a factor for every block of 128 x 128.

A matrix W [o,i] has beside it W_scale_inv [ceil(o/128), ceil(i/128)], and the weight is their
product; blocks at the edge are cut off, 576 rows are 4.5 of them. DeepSeek-V4 has its factors
under another name, and stores powers of two.
"""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from mla_engine.checkpoints.errors import CheckpointError

BLOCK = 128
SUFFIX = "_scale_inv"  # added to the name of the weight
OF_V4 = ".scale"  # in the place of .weight
IN_FULL = "re:.*self_attn.*"  # among what Kimi-K2-Thinking, K2.5 and K3 leave as it is
POWERS = "F8_E8M0"  # how V4 stores its factors


def check_quantization(config: Mapping[str, Any], attention: bool = False) -> None:
    """Raise CheckpointError unless weights are stored in full or in blocks of 8 bits.

    With `attention` only those of attentions: some models store their experts in a code.
    """
    inner = config.get("text_config")
    for part in (config, inner if isinstance(inner, dict) else {}):
        found = part.get("quantization_config")
        if found is None:
            continue
        said = found if isinstance(found, dict) else {}
        left = said.get("ignore")
        if attention and isinstance(left, list) and IN_FULL in left:
            continue
        method, form = said.get("quant_method"), said.get("fmt") or "e4m3"
        if (method, form, said.get("weight_block_size")) != ("fp8", "e4m3", [BLOCK, BLOCK]):
            raise CheckpointError("quantization", found=found, block=BLOCK)


def scale_name(weight: str, has: Callable[[str], bool]) -> str:
    """Return the name of a weight's factors, in a file that has some tensors."""
    other = weight.removesuffix(".weight") + OF_V4
    return other if has(other) else weight + SUFFIX


def scale_shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of the factors of a matrix [o,i]."""
    return tuple(-(-size // BLOCK) for size in shape)


def dequantized(weight: Tensor, scale: Tensor, dtype: torch.dtype) -> Tensor:
    """Return the weight [o,i] in `dtype`, each product made in float32.

    Args:
        weight: torch.float8_e4m3fn [o,i].
        scale: [ceil(o/128), ceil(i/128)].
        dtype: of the result.
    """
    out = torch.empty(weight.shape, dtype=dtype)
    columns = scale.float().repeat_interleave(BLOCK, dim=1)[:, : weight.shape[1]]
    for row, start in enumerate(range(0, len(weight), BLOCK)):  # a row of blocks at a time
        part = slice(start, start + BLOCK)
        out[part] = weight[part].float() * columns[row]
    return out
