"""The engine's cache of what a transformers model at work has cached for one attention.

A model keeps the same numbers in other shapes: heads before tokens, a latent as the one head of
keys and the rotary key as its values, a rotary key in halves where the engine has neighbours, the
last tokens of a convolution one too many, index keys not pooled yet. Read against transformers
5.24's cache_utils and modules.
"""

from collections.abc import Callable, Mapping
from copy import copy
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor

from kvcount.files.errors import CheckpointError
from kvcount.refusals import Phrase
from mla_engine import budget, mechanisms
from mla_engine.cache import Cache
from mla_engine.layer import AttentionLayer
from mla_engine.pooled.cache import INDEX_WAITING, WAITING
from mla_engine.pooled.pooling import in_blocks

KINDS = (
    "DynamicLayer",
    "DynamicSlidingWindowLayer",
    "DynamicIndexedLayer",
    "LinearAttentionLayer",
    "DeepseekV4HCACache",
    "DeepseekV4CSACache",
)


def is_cache(given: object) -> bool:
    """Tell whether it is a cache of transformers, which has layers and takes what is new."""
    return isinstance(getattr(given, "layers", None), list) and hasattr(given, "update")


def check_layers(given: object, name: str) -> None:
    """Raise CheckpointError unless an input of this name is a cache with layers."""
    if not is_cache(given):
        raise CheckpointError("no_cache", name=name, kind=type(given).__name__)


def check_cache(given: object, name: str) -> None:
    """Raise CheckpointError unless it is a cache with layers, all of a kind that is read here."""
    check_layers(given, name)
    for layer in given.layers:
        _check_layer(layer)


def _check_layer(layer: object) -> None:
    if (kind := type(layer).__name__) not in KINDS:
        raise CheckpointError("cache_layer", kind=kind)


def copied(cache: Any, layers: int) -> Any:
    """Return the cache with copies of its first layers, which a run then may change.

    Raises:
        MemoryBudgetError: the copies are beyond the memory budget.
    """
    parts = [part for layer in cache.layers[:layers] for part in _tensors(vars(layer))]
    needed = sum(part.nbytes for part in parts)
    budget.require(needed, Phrase("copy", path="past_key_values"), Phrase("fewer_tokens"))
    whole = copy(cache)
    whole.layers = [_copy(layer) for layer in cache.layers[:layers]] + cache.layers[layers:]
    return whole


def _tensors(found: Mapping[Any, Any]) -> list[Tensor]:
    tables = [value for value in found.values() if isinstance(value, dict)]
    own = [value for value in found.values() if isinstance(value, Tensor)]
    return own + [tensor for table in tables for tensor in _tensors(table)]


def _copy(layer: Any) -> Any:
    made = copy(layer)
    vars(made).update({name: _cloned(value) for name, value in vars(layer).items()})
    return made


def _cloned(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _cloned(part) for name, part in value.items()}
    return value.detach().clone() if isinstance(value, Tensor) else value


def held(ours: AttentionLayer, row: Mapping[str, Any], layer: Any) -> Cache | None:
    """Return what a layer of a model's cache holds, as the engine keeps it; None if it is empty.

    Args:
        ours: the engine's layer on the attention's weights.
        row: of the attention's family.
        layer: of the model's cache, before the model appends what is new.

    Raises:
        CheckpointError: a cache of a kind that is not read here, such as one of fixed size or
            quantised; one that padded sequences have filled.
    """
    _check_layer(layer)
    linear = hasattr(layer, "has_previous_state")
    if not (layer.has_previous_state[0] if linear else layer.get_seq_length()):
        return None
    return READERS[mechanisms.of(ours.config).key](ours, row, layer)


def _empty(ours: AttentionLayer, like: Tensor) -> Cache:
    return ours.empty_cache(mechanisms.of(ours.config).caches[0], batch=len(like))


def _grouped(ours: AttentionLayer, _row: Mapping[str, Any], layer: Any) -> Cache:
    config = ours.config
    k, v = (_placed(x, ours).transpose(1, 2) for x in (layer.keys, layer.values))
    if k.shape[2] > config.n_kv_heads:  # Falcon keeps them once for each query head
        k, v = (x[:, :, :: config.group_size] for x in (k, v))
    return _empty(ours, k).append(k, v)


def _latent(ours: AttentionLayer, row: Mapping[str, Any], layer: Any) -> Cache:
    c_KV, k_R = _latents(ours, row, layer)
    return _empty(ours, c_KV).append(c_KV, k_R)


def _indexed(ours: AttentionLayer, row: Mapping[str, Any], layer: Any) -> Cache:
    c_KV, k_R = _latents(ours, row, layer)
    if ours.config.index_shared:
        return _empty(ours, c_KV).append(c_KV, k_R)
    k_I, config = _placed(layer.indexer_keys, ours), ours.config
    if config.rotation is not None and config.index_pairing == "interleaved":
        rotated, rest = k_I.tensor_split([config.d_rope], dim=-1)
        k_I = torch.cat((_neighbours(rotated), rest), dim=-1)
    return _empty(ours, c_KV).append(c_KV, k_R, k_I)


def _pooled_index(ours: AttentionLayer, row: Mapping[str, Any], layer: Any) -> Cache:
    c_KV, k_R = _latents(ours, row, layer)
    empty, kept = _empty(ours, c_KV), {"c_KV": c_KV, "k_R": k_R}
    if not ours.config.index_shared:
        *parts, valid = _placed(layer.indexer_keys, ours).split(
            (ours.config.d_index, ours.config.d_index, 1), dim=-1
        )
        if not valid.all():
            raise CheckpointError("padded")
        k_I, z_IE = (part.unsqueeze(2) for part in parts)  # of one series
        _, k_E, waiting = in_blocks(k_I, z_IE, ours.b_IZ, empty.waiting)
        kept |= {"k_E": k_E, "k_I": waiting.c, "z_IE": waiting.z}
    return empty.longer(c_KV.shape[1], **kept)


def _pooled(ours: AttentionLayer, _row: Mapping[str, Any], layer: Any) -> Cache:
    config, kv_T = ours.config, _placed(layer.keys, ours).squeeze(1)
    parts = {"kv_T": kv_T}
    if config.pooling:
        parts |= _entries(ours, layer, "compressor", ("kv_E", *WAITING))
    if config.chooses:
        parts |= _entries(ours, layer, "indexer", ("k_E", *INDEX_WAITING))
    return _empty(ours, kv_T).longer(layer.get_seq_length(), **parts)


def _entries(
    ours: AttentionLayer, layer: Any, of: str, names: tuple[str, ...]
) -> dict[str, Tensor]:
    """Return entries [b,i,x] and what waits: c and z [b,n,a,x], what the last block gives on."""
    entries = _placed(layer.compressed_kv[of], ours)
    series, width = ours.config.n_series, entries.shape[-1]
    waiting = [
        _placed(buffer[of], ours).unflatten(-1, (series, width))
        for buffer in (layer.buffer_kv, layer.buffer_gate)
    ]
    ahead = [entries[:, :0]] * 2
    if series > 1 and layer.overlap_kv[of] is not None:
        ahead = [_placed(part[of], ours) for part in (layer.overlap_kv, layer.overlap_gate)]
    return dict(zip(names, (entries, *waiting, *ahead), strict=True))


def _delta(ours: AttentionLayer, _row: Mapping[str, Any], layer: Any) -> Cache:
    config = ours.config
    tail = _placed(layer.conv_states[0], ours).mT
    tail = tail[:, tail.shape[1] - config.conv_width + 1 :].clone()  # the model overwrites it
    width, d_value = config.n_heads * config.d_head, config.n_heads * config.d_value
    parts = tail.split((width, width, d_value), dim=-1)
    state = _placed(layer.recurrent_states[0], ours).clone()
    empty = _empty(ours, state)
    tails = [part.unflatten(-1, (config.n_heads, -1)) for part in parts]
    return empty.after(0, type(empty.tails)(*tails), state)


def _latents(ours: AttentionLayer, row: Mapping[str, Any], layer: Any) -> tuple[Tensor, Tensor]:
    """Return c_KV [b,s,c], and k_R [b,s,r] in the order of the engine."""
    c_KV, k_R = (_placed(x, ours).squeeze(1) for x in (layer.keys, layer.values))
    rotation = ours.config.rotation
    halved = rotation is not None and rotation.pairing == "interleaved" and not row.get("in_place")
    return c_KV, _neighbours(k_R) if halved else k_R


def _neighbours(x: Tensor) -> Tensor:
    """Return x[0], x[r/2], x[1], ... of the last axis: pairs in halves as neighbours."""
    return x.unflatten(-1, (2, -1)).mT.flatten(-2)


def _placed(x: Tensor, ours: AttentionLayer) -> Tensor:
    return x.detach().to(ours.device)


READERS: Mapping[str, Callable[[AttentionLayer, Mapping[str, Any], Any], Cache]] = MappingProxyType(
    {
        "grouped": _grouped,
        "latent": _latent,
        "indexed": _indexed,
        "pooled_index": _pooled_index,
        "pooled": _pooled,
        "delta": _delta,
    }
)
