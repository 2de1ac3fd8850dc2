"""Times of calls on this device, and the best rates of its products and its memory.

What is timed is the public call. The first one of a shape also estimates its memory, some
milliseconds whatever its size; it is made here, and later ones remember.
"""

import time
from collections.abc import Callable, Iterable
from functools import partial

import torch
from torch import Tensor

from kvcount.devices import Device
from kvcount.refusals import Phrase
from mla_engine import budget, mechanisms
from mla_engine.cache import Cache
from mla_engine.config import AttentionConfig
from mla_engine.kernels import Keys, absorbed_attention, cut_of, why_not
from mla_engine.layer import CONSTRUCTION_TIP, AttentionLayer
from mla_engine.trace import Trace

ENOUGH_SECONDS = 0.08
MOST_RUNS = 40
SIDE = {"cpu": 512, "cuda": 4096}  # of the square product that gives the peak
COPIED_BYTES = {"cpu": 2**25, "cuda": 2**28}  # beyond what caches on the chip hold


def layer_of_zeros(
    config: AttentionConfig,
    heads: Iterable[int] | None = None,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str = "cpu",
) -> AttentionLayer:
    """Return a layer whose weights are all zero, made at once: a time does not depend on them.

    Raises:
        ValueError, MemoryBudgetError: as the layer itself.
    """
    kind = mechanisms.of(config).layer
    layer = kind(config, heads=heads, dtype=dtype, device="meta")
    needed = sum(weight.nbytes for weight in layer.parameters())
    what = Phrase("heads_of_layer", layer=kind.__name__, built=len(layer.heads))
    budget.require(needed, what, CONSTRUCTION_TIP)
    layer.to_empty(device=device)
    for weight in layer.parameters():
        weight.zero_()
    return layer


def cache_of_zeros(layer: AttentionLayer, context: int, room: int, kind: str) -> Cache:
    """Return a cache of this kind that holds `context` tokens and has room for `room` more.

    Raises:
        ValueError, MemoryBudgetError: as the cache itself.
    """
    of = mechanisms.of(layer.config).cache(kind)
    return layer.empty_cache(of, capacity=context + room).with_zeros(context)


def step(layer: AttentionLayer, h_next: Tensor, cache: Cache, form: str | None = None) -> Callable:
    """Return `layer.decode(h_next, cache, form=form)`, called once, to be called repeatedly.

    Each call writes the new tokens over those of the call before and returns (trace, cache).

    Raises:
        ValueError, MemoryBudgetError: as `decode`.
    """

    def run() -> tuple[Trace, Cache]:  # without going back the whole cache would be copied
        return layer.decode(h_next, cache.rewind(cache.length), form=form)

    layer.decode(h_next, cache, form=form)
    return run


def kernel_step(
    config: AttentionConfig,
    heads: int,
    context: int,
    queries: int,
    dtype: torch.dtype = torch.bfloat16,
    device: torch.device | str = "cuda",
) -> Callable | None:
    """Return the kernel's attention of the last `queries` of `context` tokens, as a call.

    Latents and queries [1,t,h,c] are zeros, and no weight takes part. None where the kernel cannot
    run, or the configuration keeps no latents.
    """
    c, r = config.d_latent_kv or 0, config.d_rope or 0
    zeros = partial(torch.zeros, dtype=dtype, device=device)
    q_C, q_R = zeros(1, queries, heads, c), zeros(1, queries, heads, r) if r else None
    keys = Keys(zeros(1, context, c), zeros(1, context, r) if r else None)
    if why_not(q_C, q_R, keys):
        return None
    cut = cut_of(q_C, keys, [context])
    return partial(absorbed_attention, q_C, q_R, keys, config.scale, cut)


def prefill(layer: AttentionLayer, h: Tensor, form: str = "expanded") -> Callable:
    """Return the forward call of this form on h, called once, to be called repeatedly.

    Raises:
        ValueError, MemoryBudgetError: as `forward`.
    """
    run = partial(mechanisms.of(layer.config).form(form).forward, layer, h)
    run()
    return run


def seconds(run: Callable, device: torch.device | str) -> float:
    """Measure the least time of `run` after a first run that is not counted.

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
    """Measure the FLOP/s of a square product, as a peak that can be had here."""
    side = SIDE[torch.device(device).type]
    left = torch.zeros(side, side, dtype=dtype, device=device)
    out = torch.empty_like(left)
    return 2 * side**3 / seconds(lambda: torch.mm(left, left, out=out), device)


def copy_rate(device: torch.device | str) -> float:
    """Measure the bytes read and written a second by a copy within the main memory."""
    source = torch.zeros(COPIED_BYTES[torch.device(device).type], dtype=torch.uint8, device=device)
    copied = torch.empty_like(source)
    return 2 * source.nbytes / seconds(lambda: copied.copy_(source), device)


def measured_device(
    name: str, flops_per_second: float, bytes_per_second: float, dtype: torch.dtype
) -> Device:
    """Return this machine as a device, with the rates that were measured."""
    return Device(
        name=name,
        flops_per_second=flops_per_second,
        bytes_per_second=bytes_per_second,
        source=f"measured: {dtype} square product, copy within memory",
        dtype_bytes=dtype.itemsize,
    )
