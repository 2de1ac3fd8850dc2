"""Devices: peak rates and memory, of GPUs by data/devices.toml."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

from kvcount import checks
from kvcount.tables import read_table


class Work(Protocol):
    """The FLOP and bytes of a call, such as `mla_engine.costs.Cost`."""

    total_flops: int
    total_bytes: float
    flops_per_byte: float


@dataclass(frozen=True, kw_only=True)
class Device:
    """Peak rates of one device for numbers of one width.

    Attributes:
        name: as its maker calls it.
        flops_per_second: dense matrix products.
        bytes_per_second: of its main memory.
        source: where the rates are from.
        dtype_bytes: width of the numbers that the rate of products is for.
        memory_bytes: of its main memory as its driver reports it, None where unknown.
        memory_source: where that is from.
        narrow: bits of a number, and FLOP/s of products of such numbers, where it has them.
    """

    name: str
    flops_per_second: float
    bytes_per_second: float
    source: str
    dtype_bytes: float = 2
    memory_bytes: float | None = None
    memory_source: str = ""
    narrow: tuple[tuple[int, float], ...] = ()

    def __post_init__(self) -> None:
        checks.positive("flops_per_second", self.flops_per_second)
        checks.positive("bytes_per_second", self.bytes_per_second)
        checks.positive("dtype_bytes", self.dtype_bytes)

    @property
    def ridge(self) -> float:
        """FLOP per byte from which on the arithmetic, not the memory, is the limit."""
        return self.flops_per_second / self.bytes_per_second

    def fastest(self, bits: float) -> float:
        """Return the FLOP/s of products of numbers no narrower than so many bits, the most."""
        narrow = (rate for width, rate in self.narrow if width >= bits)
        return max([self.flops_per_second, *narrow])

    def attainable(self, flops_per_byte: float) -> float:
        """Return the FLOP/s that a call of this intensity can reach at most."""
        return min(self.flops_per_second, self.bytes_per_second * flops_per_byte)

    def seconds(self, cost: Work) -> float:
        """Return the least time that a call can take."""
        compute = cost.total_flops / self.flops_per_second
        return max(compute, cost.total_bytes / self.bytes_per_second)

    def compute_bound(self, cost: Work) -> bool:
        """Return True if the arithmetic takes at least as long as the memory."""
        return cost.flops_per_byte >= self.ridge


NARROW = {8: "tera_flops_8", 4: "tera_flops_4"}


def _gpus() -> dict[str, Device]:
    return {
        key: Device(
            name=row["name"],
            flops_per_second=row["tera_flops"] * 1e12,
            bytes_per_second=row["giga_bytes"] * 1e9,
            source=row["source"],
            memory_bytes=row["memory_mib"] * 2**20,
            memory_source=row["memory_source"],
            narrow=tuple((bits, row[key] * 1e12) for bits, key in NARROW.items() if key in row),
        )
        for key, row in read_table("kvcount", "data", "devices.toml").items()
    }


GPUS: Mapping[str, Device] = MappingProxyType(_gpus())


def gpu(called: str | Device) -> Device:
    """Return a GPU by its key or its name in any case: h100, H100 SXM, RTX 4090, A100-80GB.

    Raises:
        RefusedError: none of these.
    """
    if isinstance(called, Device):
        return called
    found = {_plain(name): one for key, one in GPUS.items() for name in (key, one.name)}
    wanted = _plain(str(called))
    if wanted not in found:
        checks.choice("gpu", called, GPUS)
    return found[wanted]


def _plain(name: str) -> str:
    """Return letters and digits alone, without what people add or leave out."""
    words = re.findall(r"[a-z0-9]+", name.lower())
    joined = "".join(word for word in words if word not in ("nvidia", "amd", "geforce", "sxm"))
    return joined.removesuffix("gb")
