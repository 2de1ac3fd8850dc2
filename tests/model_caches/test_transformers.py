"""Counted bytes against those of the cache objects that transformers makes."""

import pytest
import torch

from mla_engine.model_caches import Layer, Storage, read, storage
from tests.model_caches.tiny import TINY, config_of, real_cache, tensors

FLOAT32 = storage("fp32,conv=fp32,buffer=fp32,state=fp32")
LENGTH = 14
POOLED_ANEW = ("glm5_next_text", "qwen4_exp_text")  # index keys, at every step of transformers
UNPOOLED, INDEXED = ("index", "buffer"), ("indexed", "blocks")


def real_bytes(model_type: str, length: int, dtype: torch.dtype = torch.float32) -> int:
    """Bytes of all numbers in a cache; V4's one vector is key and value, which are held once."""
    found = dict(tensors(real_cache(model_type, length, dtype)))
    for path in [path for path in found if path.endswith(".values")]:
        if torch.equal(found[path], found[path.replace(".values", ".keys")]):
            del found[path]
    return sum(
        tensor.nbytes
        for path, tensor in found.items()
        if tensor.is_floating_point()
        and not (model_type in POOLED_ANEW and path.endswith("indexer_keys"))
    )


def counted_bytes(model_type: str, length: int, types: Storage) -> int:
    """The same by rows and types; a window of transformers leaves the next token's place free."""
    model = read(config_of(model_type))
    return sum(layer_bytes(layer, length, types) for layer in model.layers)


def layer_bytes(layer: Layer, length: int, types: Storage) -> int:
    pooled = any(part.name == "index" and part.length > 1 for part in layer.parts)
    return sum(
        (part.rows(length) - (part.growth == "window" and length >= part.length))
        * types.row_bytes(layer.kind, part)
        for part in layer.parts
        if part.stored and not (pooled and layer.kind in INDEXED and part.name in UNPOOLED)
    )


@pytest.mark.parametrize("model_type", TINY)
def test_a_cache_has_the_bytes_that_are_counted(model_type: str):
    assert counted_bytes(model_type, LENGTH, FLOAT32) == real_bytes(model_type, LENGTH)


@pytest.mark.parametrize("length", [1, 3, 4, 8, 9, 127, 128, 131])
def test_pooled_entries_and_what_waits_for_them_at_every_turn(length: int):
    found = real_bytes("deepseek_v4", length)
    assert counted_bytes("deepseek_v4", length, FLOAT32) == found


@pytest.mark.parametrize("model_type", ["llama", "deepseek_v3", "kimi_linear", "qwen3_next"])
def test_in_bf16_states_are_float32_and_the_rest_is_not(model_type: str):
    counted = counted_bytes(model_type, LENGTH, storage("bf16"))
    assert counted == real_bytes(model_type, LENGTH, torch.bfloat16)
