"""How long calls take on this device, and how fast its products and its memory are at best.

A public call estimates its memory before it runs, some milliseconds whatever its size. Here it is
made once, with its checks and its estimate, and then its formulas alone are timed.
"""

import time
from collections.abc import Callable, Iterable

import torch
from torch import Tensor

from mla_engine import budget
from mla_engine.cache import KVCache, LatentCache
from mla_engine.config import GroupedConfig, LatentConfig
from mla_engine.costs.roofline import Device
from mla_engine.costs.sizes import heads_held
from mla_engine.grouped import GroupedQueryAttention
from mla_engine.layer import CONSTRUCTION_TIP, position_numbers
from mla_engine.mla import MultiHeadLatentAttention

Layer = GroupedQueryAttention | MultiHeadLatentAttention
Cache = KVCache | LatentCache
ENOUGH_SECONDS = 0.08
MOST_RUNS = 40
SIDE = {"cpu": 512, "cuda": 4096}  # of the square product that gives the peak
COPIED_BYTES = {"cpu": 2**25, "cuda": 2**28}  # beyond what caches on the chip hold


def layer_of_zeros(
    config: GroupedConfig | LatentConfig,
    heads: Iterable[int] | None = None,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str = "cpu",
) -> Layer:
    """A layer whose weights are all zero, made at once: a time does not depend on them.

    Raises:
        ValueError, MemoryBudgetError: as the layer itself.
    """
    latent = isinstance(config, LatentConfig)
    kind = MultiHeadLatentAttention if latent else GroupedQueryAttention
    layer = kind(config, heads=heads, dtype=dtype, device="meta")
    needed = sum(weight.nbytes for weight in layer.parameters())
    budget.require(needed, f"{kind.__name__} of {len(layer.heads)} heads", CONSTRUCTION_TIP)
    layer.to_empty(device=device)
    layer.device = torch.device(device)
    for weight in layer.parameters():
        weight.zero_()
    return layer


def cache_of_zeros(layer: Layer, context: int, room: int, kind: str, batch: int = 1) -> Cache:
    """A cache that holds `context` tokens and has room for `room` more; `kind` "latent" or "kv".

    Raises:
        ValueError, MemoryBudgetError: as the cache itself.
    """
    c, place = layer.config, {"dtype": layer.dtype, "device": layer.device}
    place |= {"batch": batch, "capacity": context + room}
    if kind == "latent":
        cache = LatentCache.empty(c, **place)
    else:
        cache = KVCache.empty(c, **place, n_kv_heads=heads_held(c, layer.heads)[1])
    for buffer in cache.buffers.values():
        buffer.zero_()
    cache.storage.written = context
    return type(cache)(c, context, True, cache.storage)


def step(layer: Layer, h_next: Tensor, cache: Cache, form: str | None = None) -> Callable:
    """The formulas of `layer.decode(h_next, cache, form)`, checked once, to be called repeatedly.

    Each call writes the new tokens over those of the call before and returns (trace, cache).

    Raises:
        ValueError, MemoryBudgetError: as `decode`.
    """
    latent = isinstance(layer, MultiHeadLatentAttention)
    layer.decode(h_next, cache, **({"form": form} if latent else {}))
    positions = position_numbers(None, h_next, start=cache.length)

    def run() -> tuple:
        cache.storage.written = cache.length  # or else the whole cache would be copied
        if not latent:
            return layer._decode(h_next, cache, positions)
        if isinstance(cache, KVCache):
            return layer._decode_in_full(h_next, cache, positions)
        return layer._decode_latent(form or "absorbed", h_next, cache, positions)

    return run


def prefill(layer: Layer, h: Tensor, form: str = "expanded") -> Callable:
    """The formulas of a forward call on h, checked once, to be called repeatedly.

    Raises:
        ValueError, MemoryBudgetError: as `forward`.
    """
    (layer.forward_absorbed if form == "absorbed" else layer)(h)
    positions, everything = position_numbers(None, h), slice(None)
    if isinstance(layer, GroupedQueryAttention):
        return lambda: layer._prefill(h, positions, everything, everything)
    return lambda: layer._prefill(form, h, positions, everything, everything, None)


def seconds(run: Callable, device: torch.device | str) -> float:
    """The least time of `run` after a first run that is not counted; other work only adds to it.

    Args:
        run: what is timed, again and again for ENOUGH_SECONDS.
        device: where it runs; a GPU is waited for.
    """
    _timed(run, device)
    taken = [_timed(run, device)]
    while sum(taken) < ENOUGH_SECONDS and len(taken) < MOST_RUNS:
        taken.append(_timed(run, device))
    return min(taken)


def _timed(run: Callable, device: torch.device | str) -> float:
    wait = torch.cuda.synchronize if torch.device(device).type == "cuda" else (lambda: None)
    wait()
    start = time.perf_counter()
    run()
    wait()
    return time.perf_counter() - start


def product_rate(device: torch.device | str, dtype: torch.dtype = torch.float32) -> float:
    """FLOP/s of a square product, as a peak that can be had here."""
    side = SIDE[torch.device(device).type]
    left = torch.zeros(side, side, dtype=dtype, device=device)
    out = torch.empty_like(left)
    return 2 * side**3 / seconds(lambda: torch.mm(left, left, out=out), device)


def copy_rate(device: torch.device | str) -> float:
    """Bytes read and written a second by a copy within the main memory."""
    source = torch.zeros(COPIED_BYTES[torch.device(device).type], dtype=torch.uint8, device=device)
    copied = torch.empty_like(source)
    return 2 * source.nbytes / seconds(lambda: copied.copy_(source), device)


def measured_device(
    name: str, flops_per_second: float, bytes_per_second: float, dtype: torch.dtype
) -> Device:
    """This machine as a device, with the rates that were measured."""
    return Device(
        name=name,
        flops_per_second=flops_per_second,
        bytes_per_second=bytes_per_second,
        source=f"measured: {dtype} square product, copy within memory",
        dtype_bytes=dtype.itemsize,
    )
