"""The 4-bit experts of gpt-oss: two numbers a byte, and a power of two for every 32 of a row.

In the place of a tensor W [e,i,o] stand W_blocks [e,o,i/32,16] and W_scales [e,o,i/32].
"""

from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import Tensor

from kvcount.files.errors import CheckpointError
from mla_engine.checkpoints.safetensors_file import TensorEntry

BLOCKS, SCALES, BYTES = "_blocks", "_scales", "U8"
WIDTH = 32  # numbers with one scale
POSITIVE = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
NUMBERS = torch.tensor((*POSITIVE, *(-number for number in POSITIVE)))  # the low bits come first
BIAS = 127  # of the powers


def packed(config: Mapping[str, Any], entries: Iterable[TensorEntry]) -> set[str]:
    """Return the names of the blocks and scales among these tensors; none of other models.

    Raises:
        CheckpointError: blocks without scales of their shape, or the other way round.
    """
    said = config.get("quantization_config")
    if not isinstance(said, Mapping) or said.get("quant_method") != "mxfp4":
        return set()
    shapes = {entry.name: entry.shape for entry in entries if entry.dtype == BYTES}
    for name, shape in shapes.items():
        whole = name.removesuffix(BLOCKS).removesuffix(SCALES)
        blocks, scales = shapes.get(whole + BLOCKS, ()), shapes.get(whole + SCALES)
        if len(blocks) != 4 or blocks[:3] != scales or blocks[3] != WIDTH // 2:
            raise CheckpointError("mxfp4", name=name, shape=list(shape))
    return set(shapes)


def is_blocks(entry: TensorEntry) -> bool:
    """Return whether a tensor that may be read holds two numbers a byte."""
    return entry.dtype == BYTES and entry.name.endswith(BLOCKS)


def unpack(state: dict[str, Tensor]) -> None:
    """Put float32 tensors [e,i,o] in the place of blocks and scales, one after the other."""
    for name in [name for name in state if name.endswith(BLOCKS)]:
        whole = name.removesuffix(BLOCKS)
        state[whole] = dequantized(state.pop(name), state.pop(whole + SCALES))


def dequantized(blocks: Tensor, scales: Tensor) -> Tensor:
    """Return float32 [e,i,o] of blocks uint8 [e,o,i/32,16] and scales uint8 [e,o,i/32]."""
    experts, rows, groups, _ = blocks.shape
    out = torch.empty(experts, groups * WIDTH, rows)
    for expert in range(experts):
        codes = torch.stack((blocks[expert] & 15, blocks[expert] >> 4), dim=-1).flatten(-2)
        powers = scales[expert].int() - BIAS
        out[expert] = torch.ldexp(NUMBERS[codes.int()], powers[..., None]).flatten(-2).T
    return out
