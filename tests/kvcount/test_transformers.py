"""Counted bytes against those of the cache objects that transformers makes."""

import pytest
import torch

from kvcount import Layer, Storage, read, storage
from tests.kvcount.tiny import TINY, config_of, made, real_cache, real_model, tensors

FLOAT32 = storage("fp32,conv=fp32,buffer=fp32,state=fp32")
LENGTH = 14
POOLED_ANEW = ("glm5_next_text", "qwen4_exp_text")  # index keys, at every step of transformers
AS_READ = ("zaya.layers.", "qwen4_exp_text.layers.1.conv_states.1")  # not a token too many
UNPOOLED, INDEXED = ("index", "buffer"), ("indexed", "blocks")


def real_bytes(model_type: str, length: int, dtype: torch.dtype = torch.float32) -> int:
    """Bytes of all numbers in a cache that are read again.

    V4's one vector is key and value, which are held once, and of most convolutions' tokens the
    first has been read for the last time.
    """
    found = dict(tensors(real_cache(model_type, length, dtype)))
    for path in [path for path in found if path.endswith(".values")]:
        if torch.equal(found[path], found[path.replace(".values", ".keys")]):
            del found[path]
    for path in [path for path in found if ".conv_states." in path]:
        if not f"{model_type}{path}".startswith(AS_READ):
            found[path] = found[path][..., 1:]
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


@pytest.mark.parametrize("model_type", ["kimi_linear", "qwen3_next", "mamba2", "lfm2"])
@torch.no_grad()
def test_the_first_token_that_a_convolution_has_kept_is_not_read(model_type: str):
    model, steps = real_model(model_type), []
    for broken in (False, True):
        kept = made(model, LENGTH)
        for path, tensor in tensors(kept):
            if broken and ".conv_states." in path:
                tensor[..., 0] = torch.nan
        name = "cache_params" if model_type == "mamba2" else "past_key_values"
        steps.append(model(torch.tensor([[7]]), **{name: kept}, use_cache=True)[0])
    assert torch.equal(*steps)
