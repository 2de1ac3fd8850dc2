"""Devices: peak rates and memory, as their makers print them. Needs no torch."""

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from mla_engine import checks

if TYPE_CHECKING:
    from mla_engine.costs.calls import Cost


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
        """Return the FLOP/s that a call of this intensity can reach at most."""
        return min(self.flops_per_second, self.bytes_per_second * flops_per_byte)

    def seconds(self, cost: "Cost") -> float:
        """Return the least time that a call can take."""
        compute = cost.total_flops / self.flops_per_second
        return max(compute, cost.total_bytes / self.bytes_per_second)

    def compute_bound(self, cost: "Cost") -> bool:
        """Return True if the arithmetic takes at least as long as the memory."""
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
        "h800": _gpu(
            "H800 SXM",
            989.5,
            3350,
            80,
            "as the H100, its chip with less NVLink and float64 (aiwiki.ai, H800);"
            " no data sheet was read",
        ),
        "h20": _gpu(
            "H20",
            148,
            4000,
            96,
            "willitrunai.com, a third party: no data sheet was read",
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
