"""Count what the layers before an attention take, in headers, before a weight is read.

transformers builds what config.json says, so its numbers are held against the tensors that are
there: nothing is made that no tensor would fill.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from math import prod
from typing import Any

import torch
from torch import nn

from kvcount.files.errors import CheckpointError
from mla_engine.checkpoints import fp8, mxfp4
from mla_engine.checkpoints.load import QUANTIZED
from mla_engine.checkpoints.safetensors_file import TensorEntry

FLOAT32_BYTES, INT64_BYTES = 4, 8
# what a matrix makes of a token is held so often at once: gate and up, their product, copies
COPIES = 8
# linear attention takes the tokens of a chunk in pairs, a few numbers a channel for each
CHUNK, PAIRS = 64, 4
SPARE = 2**22  # numbers that may be asked for in vain: then their tensors' names are told
MOST_BUFFERS = 2**26  # numbers that are made of config.json only: masks and frequencies
COUNTS = ("expert", "layer", "topk", "top_k")  # in keys whose numbers are counted up to
LOOSE_COUNTS = 1024  # that no tensor need have


def weight_bytes(entries: Iterable[TensorEntry], blocks: str) -> int:
    """Count all that is read, all of it in float32, and the largest layer once more.

    transformers puts a layer's experts together in new tensors; `blocks` stands before a layer's
    number.
    """
    elements: Counter[str] = Counter()
    read = 0
    for entry in entries:
        coded = entry.dtype == QUANTIZED or mxfp4.is_blocks(entry)
        times = 2 if coded else 1  # dequantised before it is loaded
        elements[entry.name.partition(blocks)[2].partition(".")[0]] += times * _held(entry)
        read += entry.n_bytes
    return read + FLOAT32_BYTES * (elements.total() + max(elements.values(), default=0))


def run_bytes(entries: Iterable[TensorEntry], config: Mapping[str, Any], n_tokens: int) -> int:
    """Count what the widest matrices make of the tokens, of experts for all of a token."""
    widest, of_expert, channels = 0, 0, 0
    for entry in entries:
        if "conv1d" in entry.name:
            channels = max(channels, entry.shape[0])
        width = max(entry.shape[-2:]) if len(entry.shape) > 1 else 0
        if mxfp4.is_blocks(entry):
            width = max(entry.shape[1], entry.shape[2] * mxfp4.WIDTH)
        if ".experts." in entry.name:
            of_expert = max(of_expert, width)
        else:
            widest = max(widest, width)
    n_chosen = max(_numbers(config, "per_tok", "topk", "top_k"), default=1)
    n_experts = max(_numbers(config, "experts"), default=0)
    chosen = INT64_BYTES * 2 * n_chosen * (n_experts + 1)
    wide = FLOAT32_BYTES * COPIES * (widest + n_chosen * of_expert + n_experts)
    paired = FLOAT32_BYTES * PAIRS * CHUNK * channels * (n_tokens + CHUNK)
    return n_tokens * (wide + (chosen if of_expert else 0)) + paired


def check_counts(config: Mapping[str, Any], entries: Iterable[TensorEntry]) -> None:
    """Raise CheckpointError for a number of parts that no tensor is long enough for."""
    most = max((max(entry.shape, default=0) for entry in entries), default=0)
    for key, value in config.items():
        for number in _numbers({key: value}, *COUNTS):
            if number > max(most, LOOSE_COUNTS):
                raise CheckpointError("count_beyond", key=key, value=number, longest=most)


def check_build(
    kind: type[nn.Module], config: Any, entries: Collection[TensorEntry], n_tables: int
) -> None:
    """Raise CheckpointError if the model would hold more numbers than its tensors bring.

    It is built without data for that; `n_tables` counts those that do not come from the file.
    """
    with torch.device("meta"):
        model = kind(config)
    asked = sum(parameter.numel() for parameter in model.parameters())
    buffers = sum(buffer.numel() for buffer in model.buffers())
    held = n_tables + sum(_held(e) for e in entries if not e.name.endswith(fp8.SUFFIX))
    if asked > held + SPARE or buffers > MOST_BUFFERS:
        raise CheckpointError("asks_more", asked=asked + buffers, held=held)


def _held(entry: TensorEntry) -> int:
    """Return how many numbers a tensor stands for: two a byte in blocks of 4 bits."""
    return prod(entry.shape) * (2 if mxfp4.is_blocks(entry) else 1)


def _numbers(config: Mapping[str, Any], *parts: str) -> Iterator[int]:
    """Yield whole numbers whose key has one of these parts; sizes of a part are no counts."""
    for key, value in config.items():
        if type(value) is int and "size" not in key and any(part in key for part in parts):
            yield value
