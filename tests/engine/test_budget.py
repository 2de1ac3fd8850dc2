"""The memory estimate lies between what a run really holds at its peak and 20 % above it."""

import re
from dataclasses import dataclass, field, replace

import pytest
import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from mla_engine import (
    GroupedConfig,
    GroupedQueryAttention,
    KVCache,
    LatentCache,
    LatentConfig,
    MultiHeadLatentAttention,
    RopeConfig,
)
from mla_engine.budget import MemoryBudgetError
from tests.engine.samples import YARN

MIB, GIB = 2**20, 2**30


class LiveBytes(TorchDispatchMode):
    """The run's operations, and bytes of the storages that they made and that are still held."""

    def __init__(self):
        super().__init__()
        self.alive, self.peak, self.operations = {}, 0, 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        self.operations += 1
        given = {s._cdata for s in self._storages((args, kwargs))}
        out = func(*args, **kwargs)
        self.alive = {k: held for k, held in self.alive.items() if not held[0].expired()}
        for storage in self._storages(out):
            if storage._cdata not in given:
                self.alive[storage._cdata] = StorageWeakRef(storage), storage.nbytes()
        self.peak = max(self.peak, sum(size for _, size in self.alive.values()))
        return out

    @staticmethod
    def _storages(values):
        tensors = [v for v in tree_leaves(values) if isinstance(v, torch.Tensor)]
        return [t.untyped_storage() for t in tensors if not t.is_meta]


MLA = LatentConfig(
    d_model=512,
    n_heads=8,
    d_head=64,
    d_latent_kv=256,
    d_rope=32,
    d_latent_q=384,
    latent_norm=True,
    bias=True,
    q_latent_scale=2.0,
    kv_latent_scale=2.0,
    rope=RopeConfig(scaling=YARN),
)
PLAIN_MLA = LatentConfig(d_model=512, n_heads=8, d_head=64, d_latent_kv=256)
WIDE_MLA = LatentConfig(d_model=2048, n_heads=8, d_head=128, d_latent_kv=512, d_rope=64)
GQA = GroupedConfig(
    d_model=512,
    n_heads=8,
    n_kv_heads=2,
    d_head=64,
    bias=True,
    qk_norm=True,
    rope=RopeConfig(pairing="half"),
)
CAPPED = replace(GQA, logit_softcap=5.0, sliding_window=64, qk_norm=False, d_value=96)
WIDE_GQA = GroupedConfig(d_model=2048, n_heads=16, n_kv_heads=4, d_head=128)


@dataclass(frozen=True)
class Run:
    """A call, and how much it is called on."""

    method: str
    config: object
    tokens: int = 0
    batch: int = 1
    dtype: torch.dtype = torch.float32
    cached: int = 0
    cache: type = None
    capacity: int | None = None
    branch: bool = False
    arguments: dict = field(default_factory=dict)

    def prepare(self):
        """The call, with the layer, its input and the cache already there."""
        latent = isinstance(self.config, LatentConfig)
        kind = MultiHeadLatentAttention if latent else GroupedQueryAttention
        if self.method == "construct":
            return lambda: kind(self.config, dtype=self.dtype, **self.arguments)
        layer = kind(self.config, dtype=self.dtype)
        if self.method == "absorbed_matrices":
            return layer.absorbed_matrices
        h = torch.ones(self.batch, self.tokens, self.config.d_model, dtype=self.dtype)
        arguments = dict(self.arguments)
        if arguments.get("latents"):
            arguments["latents"] = layer.compress(h)
        if self.method != "decode":
            return lambda: getattr(layer, self.method)(h, **arguments)
        reserve = {"batch": self.batch, "dtype": self.dtype, "capacity": self.capacity}
        return self._decoding(layer, h, self.cache.empty(self.config, **reserve))

    def _decoding(self, layer, h, cache):
        past = torch.ones(self.batch, 50, self.config.d_model, dtype=self.dtype)
        while cache.length < self.cached:
            cache = layer.decode(past, cache)[1]
        if self.branch:
            layer.decode(h, cache)  # the reserved rows are taken now
        return lambda: layer.decode(h, cache, **self.arguments)


SOME = {"heads": [5, 1, 2], "queries": slice(100, 400)}
EXPANDED = {"form": "expanded"}
RUNS = {  # each method, dtype, cache and option once
    "construct MLA, bfloat16": Run("construct", WIDE_MLA, dtype=torch.bfloat16),
    "construct some heads": Run(
        "construct", replace(WIDE_MLA, n_heads=128), arguments={"heads": [77, 3, 4, 9]}
    ),
    "construct GQA": Run("construct", WIDE_GQA),
    "forward, short and wide": Run("forward", MLA, 64, batch=16),
    "forward, float16": Run("forward", PLAIN_MLA, 700, dtype=torch.float16),
    "forward, float64": Run("forward", PLAIN_MLA, 400, dtype=torch.float64),
    "forward, latents": Run("forward", MLA, 512, arguments={"latents": True}),
    "absorbed, bfloat16": Run("forward_absorbed", MLA, 512, 2, torch.bfloat16),
    "absorbed, some": Run("forward_absorbed", MLA, 1200, arguments=SOME),
    "compress": Run("compress", MLA, 4000, 3),
    "merged": Run("absorbed_matrices", WIDE_MLA),
    "decode many, keys": Run("decode", MLA, 512, cache=KVCache),
    "decode one": Run("decode", MLA, 1, 84, cached=200, cache=LatentCache),
    "decode, reserved, second branch": Run(
        "decode", PLAIN_MLA, 40, 56, cached=200, cache=LatentCache, capacity=250, branch=True
    ),
    "decode one, expanded": Run(
        "decode", MLA, 1, 42, cached=200, cache=LatentCache, arguments=EXPANDED
    ),
    "grouped, soft cap and window": Run("forward", CAPPED, 700),
    "grouped, decode one": Run("decode", CAPPED, 1, 24, cached=300, cache=KVCache),
    "grouped, reserved": Run("decode", GQA, 100, 8, cached=500, cache=KVCache, capacity=700),
}
runs = pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)


def set_budget(monkeypatch, bytes_):
    monkeypatch.setenv("MLA_MEMORY_BUDGET_GIB", repr(bytes_ / GIB))


def measured(call):
    """The peak of a call, its result held until the end."""
    with LiveBytes() as live:
        kept = call()
    del kept
    return live.peak


@runs
def test_the_estimate_lies_between_the_peak_and_a_fifth_more(run, monkeypatch):
    peak = measured(run.prepare())
    assert peak >= 16 * MIB
    call = run.prepare()
    set_budget(monkeypatch, peak - 1)
    with pytest.raises(MemoryBudgetError) as refusal, LiveBytes() as live:
        call()
    assert live.peak < MIB  # refused before anything of size was made
    needed, limit = map(float, re.findall(r"([\d.e-]+) GiB", str(refusal.value)))
    assert limit == pytest.approx(peak / GIB, rel=0.01)
    assert 0.99 * peak / GIB < needed < 1.21 * peak / GIB
    assert "MLA_MEMORY_BUDGET_GIB" in str(refusal.value)
    set_budget(monkeypatch, 1.2 * peak)
    call()


@pytest.mark.parametrize("cache", [LatentCache, KVCache])
def test_a_reserved_cache_counts_in_full(cache, monkeypatch):
    call = lambda: cache.empty(MLA, batch=2, capacity=20_000)  # noqa: E731
    peak = measured(call)
    assert peak == call().reserved_nbytes > 16 * MIB
    set_budget(monkeypatch, peak)
    call()
    set_budget(monkeypatch, peak - MIB)
    with pytest.raises(MemoryBudgetError, match=r"capacity \(20000\).*batch \(2\)"):
        call()


def test_what_is_far_too_large_is_refused_at_once():
    """128 heads of DeepSeek-V3 and a text of a million tokens, under the default budget."""
    big = LatentConfig(
        d_model=7168, n_heads=128, d_head=128, d_latent_kv=512, d_rope=64, d_latent_q=1536
    )
    layer = MultiHeadLatentAttention(big, heads=[77], dtype=torch.bfloat16)
    with LiveBytes() as live:
        with pytest.raises(MemoryBudgetError, match=r"GiB.*heads"):
            MultiHeadLatentAttention(big, dtype=torch.float64)
        with pytest.raises(MemoryBudgetError, match=r"GiB.*heads"):
            layer(torch.ones(1, 1, 7168, dtype=torch.bfloat16).expand(1, 30_000, 7168))
        with pytest.raises(MemoryBudgetError, match="GiB"):
            LatentCache.empty(big, batch=64, capacity=1_000_000)
    assert live.peak < MIB


@pytest.mark.parametrize("value", ["", "one", "0", "-1", "nan", "inf"])
def test_a_budget_that_is_no_number_is_named(value, monkeypatch):
    monkeypatch.setenv("MLA_MEMORY_BUDGET_GIB", value)
    with pytest.raises(ValueError, match=f"MLA_MEMORY_BUDGET_GIB.*{re.escape(repr(value))}"):
        MultiHeadLatentAttention(replace(PLAIN_MLA, d_model=8))
