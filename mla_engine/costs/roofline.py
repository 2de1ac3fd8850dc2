"""Rooflines: how long a call takes at least on a device, and where its bound changes.

A call that does W FLOPs and moves Q bytes takes at least max(W / peak FLOP/s, Q / peak byte/s)
(Williams, Waterman, Patterson, "Roofline", 2009). Rates are data-sheet peaks, dense, which no
kernel reaches: the times are lower bounds. Crossing points are found by trying whole numbers.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from types import MappingProxyType

from mla_engine import checks, mechanisms
from mla_engine.config import AttentionConfig
from mla_engine.costs.calls import Cost, decode
from mla_engine.refusals import RefusedError

MOST_QUERIES = 2**20
MOST_BATCH = 2**20


@dataclass(frozen=True, kw_only=True)
class Device:
    """Peak rates of one device for numbers of one width.

    Attributes:
        name: as its maker calls it.
        flops_per_second: dense matrix products.
        bytes_per_second: of its main memory.
        source: where the rates are from.
        dtype_bytes: width of the numbers that the rate of products is for.
        memory_bytes: of its main memory, None where unknown; a data sheet's GB taken as 1e9.
    """

    name: str
    flops_per_second: float
    bytes_per_second: float
    source: str
    dtype_bytes: float = 2
    memory_bytes: float | None = None

    def __post_init__(self) -> None:
        checks.positive("flops_per_second", self.flops_per_second)
        checks.positive("bytes_per_second", self.bytes_per_second)
        checks.positive("dtype_bytes", self.dtype_bytes)

    @property
    def ridge(self) -> float:
        """FLOP per byte from which on the arithmetic, not the memory, is the limit."""
        return self.flops_per_second / self.bytes_per_second

    def attainable(self, flops_per_byte: float) -> float:
        """FLOP/s that a call of this intensity can reach at most."""
        return min(self.flops_per_second, self.bytes_per_second * flops_per_byte)

    def seconds(self, cost: Cost) -> float:
        """The least time that a call can take."""
        compute = cost.total_flops / self.flops_per_second
        return max(compute, cost.total_bytes / self.bytes_per_second)

    def compute_bound(self, cost: Cost) -> bool:
        """Whether the arithmetic takes at least as long as the memory."""
        return cost.flops_per_byte >= self.ridge


def _gpu(name: str, tera_flops: float, giga_bytes: float, memory: float, source: str) -> Device:
    rates = {"flops_per_second": tera_flops * 1e12, "bytes_per_second": giga_bytes * 1e9}
    return Device(name=name, **rates, source=source, memory_bytes=memory * 1e9)


# 16-bit tensor cores, dense: half of what the sheets print for 2:4 sparse matrices.
GPUS: MappingProxyType[str, Device] = MappingProxyType(
    {
        "t4": _gpu("T4", 65, 320, 16, "NVIDIA T4 product brief: float16, it has no bfloat16"),
        "l4": _gpu("L4", 121, 300, 24, "NVIDIA L4 data sheet: 242 sparse, halved"),
        "a10g": _gpu("A10G", 70, 600, 24, "NVIDIA A10G data sheet for AWS G5: 140 sparse, halved"),
        "a100-40": _gpu("A100 40 GB", 312, 1555, 40, "NVIDIA A100 data sheet, 40 GB: dense"),
        "a100-80": _gpu(
            "A100 80 GB SXM", 312, 2039, 80, "NVIDIA A100 data sheet, 80 GB SXM: dense"
        ),
        "h100": _gpu(
            "H100 SXM", 989.5, 3350, 80, "NVIDIA H100 data sheet, SXM: 1,979 sparse, halved"
        ),
        "h200": _gpu(
            "H200 SXM", 989.5, 4800, 141, "NVIDIA H200 data sheet, SXM: 1,979 sparse, halved"
        ),
        "b200": _gpu(
            "B200", 2250, 8000, 180, "NVIDIA DGX B200 data sheet, an eighth: 4,500 sparse, halved"
        ),
        "mi300x": _gpu("MI300X", 1307.4, 5300, 192, "AMD Instinct MI300X data sheet: dense"),
        "rtx-4090": _gpu(
            "RTX 4090", 165.2, 1008, 24, "NVIDIA Ada whitepaper, appendix A: float32 sums, dense"
        ),
    }
)


def first_whole(holds: Callable[[int], bool], most: int) -> int | None:
    """The least whole number from 1 to `most` for which `holds`, None if there is none.

    `holds` must go on holding once it does.
    """
    low, high = 0, 1
    while not holds(high):
        if high >= most:
            return None
        low, high = high, min(2 * high, most)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def expanding_wins(
    config: AttentionConfig, context: int, device: Device | None = None, *, batch: int = 1
) -> int | None:
    """Query tokens from which on expanding a latent cache beats absorbing.

    Args:
        config: the layer.
        context: tokens that the cache holds before the queries come.
        device: compares the least times on it; without one, FLOPs are compared.
        batch: sequences at once.

    Returns:
        The number of query tokens, None if absorbing stays ahead up to MOST_QUERIES.
    """
    _check_absorbs(config)
    width = device.dtype_bytes if device else 2

    def work(form: str, queries: int) -> float:
        cost = decode(config, context, form, new_tokens=queries, batch=batch, dtype_bytes=width)
        return device.seconds(cost) if device else cost.total_flops

    return first_whole(lambda n: work("expanded", n) < work("absorbed", n), MOST_QUERIES)


def _check_absorbs(config: AttentionConfig) -> None:
    """Raise ValueError unless the layer can be computed in the absorbed form, too."""
    able = [one for one in mechanisms.all() if "absorbed" in one.decoded_by.values()]
    if mechanisms.of(config) not in able:
        wanted = mechanisms.types_in_words(able.__contains__)
        raise RefusedError("kind", name="config", value=config, wanted=wanted)


def attention_intensity(config: AttentionConfig, context: int, rows: int, device: Device) -> float:
    """FLOP per byte of absorbed attention alone, without projections and weights.

    Args:
        config: the layer; its own number of heads does not count.
        context: tokens in the cache, at least 1.
        rows: heads x query tokens, all of which read the same latents.
        device: gives the width of the numbers.
    """
    checks.whole("context", context)
    lone = replace(config, n_heads=rows)
    cost = decode(lone, context, "absorbed", dtype_bytes=device.dtype_bytes)
    return cost.attention_flops / (cost.cache_read_bytes + cost.cache_written_bytes)


def attention_turns(config: AttentionConfig, context: int, device: Device) -> int | None:
    """Heads x query tokens from which on absorbed attention alone is compute-bound."""
    return first_whole(
        lambda rows: attention_intensity(config, context, rows, device) >= device.ridge,
        MOST_QUERIES,
    )


def step_turns(cost_of: Callable[[int], Cost], device: Device) -> int | None:
    """Sequences at once from which on a whole step, weights included, is compute-bound.

    Args:
        cost_of: batch -> cost of the step.
        device: its ridge.

    Returns:
        The batch, None if more sequences never bring it there.
    """
    return first_whole(lambda batch: device.compute_bound(cost_of(batch)), MOST_BATCH)
