"""DeepSeek's 8-bit weights: e4m3 numbers, and a factor for every block of 128 x 128.

A matrix W [o,i] has beside it W_scale_inv [ceil(o/128), ceil(i/128)], and the weight is their
product; blocks at the edge are cut off, 576 rows are 4.5 of them. DeepSeek-V4 has its factors
under another name, and stores powers of two.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch import Tensor

from kvcount.files.errors import CheckpointError
from kvcount.reading.model_types import text_of
from mla_engine.checkpoints.safetensors_file import FULL, TensorEntry

BLOCK = 128
SUFFIX = "_scale_inv"  # added to the name of the weight
OF_V4 = ".scale"  # in the place of .weight
AT_WORK = ("bitnet",)  # rounds when it runs what is stored in full
POWERS = "F8_E8M0"  # how V4 stores its factors


def check_stored(config: Mapping[str, Any], entries: Iterable[TensorEntry]) -> None:
    """Raise CheckpointError where these tensors are quantised otherwise than in blocks of 8 bits.

    What else of the model is quantised, and in which words config.json says so, does not matter.
    """
    in_full = all(entry.dtype in FULL for entry in entries)
    for part in (config, text_of(config)):
        found = part.get("quantization_config", part.get("quantization"))
        said = found if isinstance(found, dict) else {}
        method, form = said.get("quant_method"), said.get("fmt") or "e4m3"
        in_blocks = (method, form, said.get("weight_block_size")) == ("fp8", "e4m3", [BLOCK, BLOCK])
        if not in_full and method is None and {"group_size", "bits"} <= said.keys():
            raise CheckpointError("mlx", bits=said["bits"], group=said["group_size"])
        if found is not None and not in_blocks and (not in_full or method in AT_WORK):
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
