"""The remembered estimate is that of a run on the meta device, and such runs are few."""

from dataclasses import dataclass, replace

import pytest
import torch

from mla_engine import (
    GroupedConfig,
    IndexedCache,
    IndexedConfig,
    KVCache,
    LatentCache,
    LatentConfig,
    MultiHeadLatentAttention,
    RopeConfig,
    budget,
    estimate,
    mechanisms,
)
from mla_engine.budget import MemoryBudgetError
from tests.engine.test_budget import LiveBytes
from tests.sampling import some

MLA = LatentConfig(
    d_model=24, n_heads=4, d_head=6, d_latent_kv=8, d_rope=4, d_latent_q=10, latent_norm=True,
    bias=True, kv_latent_scale=2.0,
)  # fmt: skip
PLAIN = LatentConfig(d_model=24, n_heads=4, d_head=6, d_latent_kv=8)
GQA = GroupedConfig(
    d_model=24, n_heads=4, n_kv_heads=2, d_head=6, rope=RopeConfig(), qk_norm=True, bias=True
)
CAPPED = replace(GQA, logit_softcap=5.0, sliding_window=9, qk_norm=False, d_value=9)
DSA = IndexedConfig(**vars(MLA), n_index_heads=3, d_index=10, index_topk=100)
FEW = replace(DSA, index_topk=5)
WIDE = replace(MLA, d_model=512, d_latent_kv=96, d_head=40)  # the weights' side is the larger


@dataclass(frozen=True)
class Way:
    """A way to decode a layer."""

    config: object
    cache: type
    form: str
    batch: int = 1
    new: int = 1
    capacity: int | None = None
    dtype: torch.dtype = torch.float32

    def layer(self, device="cpu"):
        return mechanisms.of(self.config).layer(self.config, dtype=self.dtype, device=device)

    def h(self, device="cpu"):
        return torch.zeros(self.batch, self.new, self.config.d_model, dtype=self.dtype).to(device)

    def held(self, length, device="cpu", branched=False):
        place = {"batch": self.batch, "dtype": self.dtype, "device": device}
        cache = self.cache.empty(self.config, capacity=self.capacity, **place)
        cache = cache.with_zeros(length) if length else cache
        if branched:
            cache.with_zeros(1)  # the rows behind are taken
        return cache

    def measured(self, length, branched=False):
        """The peak of the step, without its int64 positions, by layer and cache on meta."""
        layer, h = self.layer("meta"), self.h("meta")
        cache = self.held(length, "meta", branched)
        return budget.peak_bytes(lambda: layer.decode(h, cache, form=self.form)) - 8 * self.new


WAYS = {
    "absorbed": Way(MLA, LatentCache, "absorbed"),
    "absorbed, reserved": Way(MLA, LatentCache, "absorbed", capacity=40),
    "absorbed, some, many": Way(MLA, LatentCache, "absorbed", batch=3, new=5, capacity=45),
    "absorbed, plain": Way(PLAIN, LatentCache, "absorbed", batch=2),
    "absorbed, half": Way(MLA, LatentCache, "absorbed", dtype=torch.bfloat16),
    "absorbed, wide": Way(WIDE, LatentCache, "absorbed", capacity=40),
    "absorbed, wide, growing": Way(WIDE, LatentCache, "absorbed", batch=2),
    "expanded": Way(MLA, LatentCache, "expanded", capacity=40),
    "expanded, growing": Way(WIDE, LatentCache, "expanded", batch=2, new=3),
    "in full": Way(MLA, KVCache, "expanded"),
    "in full, reserved": Way(MLA, KVCache, "expanded", batch=2, capacity=40),
    "grouped": Way(GQA, KVCache, "expanded", batch=2),
    "grouped, reserved": Way(GQA, KVCache, "expanded", capacity=40, new=2),
    "capped": Way(CAPPED, KVCache, "expanded", batch=2, dtype=torch.float16),
    "capped, reserved": Way(CAPPED, KVCache, "expanded", capacity=40),
    "all chosen": Way(DSA, IndexedCache, "absorbed"),
    "few chosen, reserved": Way(FEW, IndexedCache, "absorbed", capacity=40),
    "few chosen, some, many": Way(FEW, IndexedCache, "absorbed", batch=3, new=5, capacity=45),
    "few chosen, expanded": Way(FEW, IndexedCache, "expanded", batch=2, new=3),
    "all chosen, half": Way(DSA, IndexedCache, "absorbed", dtype=torch.bfloat16),
}
ways = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)


def lengths(way):
    """Tokens held before a step that ends at 40 at most: the ends, and some between."""
    every = range(41 - way.new)
    return [*every[:4], *some(every[4:-2], 4), *every[-2:]]


@pytest.fixture
def runs(monkeypatch):
    """Count how often a call was run on the meta device, from nothing remembered."""
    estimate._peak.cache_clear()
    estimate._moments.cache_clear()
    counted, run = [], budget.course
    monkeypatch.setattr(budget, "course", lambda call: counted.append(1) or run(call))
    return counted


@pytest.fixture
def needed(monkeypatch):
    """Return what each call was said to need, without its int64 positions."""
    said = []
    monkeypatch.setattr(budget, "require", lambda needed, *_: said.append(needed))
    return said


@ways
def test_a_step_is_estimated_as_the_meta_run_of_its_length_does(way, needed):
    layer, h, positions = way.layer(), way.h(), 8 * way.new
    for length in lengths(way):
        for branched in (False, True) if way.capacity and length + way.new < 40 else (False,):
            cache = way.held(length, branched=branched)
            layer.decode(h, cache, form=way.form)
            assert needed[-1] - positions == way.measured(length, branched), (length, branched)
    assert len(set(needed)) > len(lengths(way)) // 2


@ways
def test_a_hundred_steps_need_two_runs_and_those_of_the_shortest(way, runs):
    way = replace(way, capacity=way.capacity and 10_000)
    layer, h, cache = way.layer(), way.h(), way.held(0)
    runs.clear()  # of the construction
    for _ in range(100):
        _, cache = layer.decode(h, cache, form=way.form)
    assert len(runs) <= 4  # nothing held, one token held, and the two lengths that tell the rest
    for _ in range(5):
        layer.decode(h, way.held(4000), form=way.form)
    assert len(runs) <= 4


H = torch.zeros(2, 9, 24)
OTHERS = {
    "another layer": MultiHeadLatentAttention(replace(MLA, d_value=7)),
    "a layer of fewer heads": MultiHeadLatentAttention(MLA, heads=[1]),
    "a layer of another type": MultiHeadLatentAttention(MLA).double(),
}
CALLS = {
    "another number of tokens": lambda mla: mla(H[:, :8]),
    "another batch": lambda mla: mla(H[:1]),
    "other strides": lambda mla: mla(H.transpose(0, 1).contiguous().transpose(0, 1)),
    "another form": lambda mla: mla.forward_absorbed(H),
    "fewer heads": lambda mla: mla(H, heads=[2]),
    "heads that are no run": lambda mla: mla(H, heads=[0, 2]),
    "fewer rows": lambda mla: mla(H, queries=slice(0, 4)),
    "positions of each sequence": lambda mla: mla(H, positions=torch.zeros(2, 9).long()),
    "the latents given": lambda mla: mla(H, latents=LatentCache.empty(MLA, 2).with_zeros(9)),
    "only the latents": lambda mla: mla.compress(H),
} | {name: lambda _, other=other: other(H.to(other.dtype)) for name, other in OTHERS.items()}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_call_is_run_on_meta_once_and_again_where_it_differs(call, runs):
    mla = MultiHeadLatentAttention(MLA)
    runs.clear()  # of the construction
    for _ in range(3):
        mla(H)
    assert len(runs) == 1
    for _ in range(3):
        call(mla)
    assert len(runs) == 2


@ways
def test_what_is_remembered_is_refused_as_before(way, monkeypatch):
    layer, h, peak = way.layer(), way.h(), way.measured(30) + 8 * way.new
    remembered, beyond, within = (way.held(30) for _ in range(3))
    layer.decode(h, remembered, form=way.form)
    monkeypatch.setenv(budget.VARIABLE, repr((peak - 1) / budget.GIB))
    with pytest.raises(MemoryBudgetError) as refusal:
        layer.decode(h, beyond, form=way.form)
    assert (refusal.value.needed_bytes, refusal.value.limit_bytes) == (peak, peak - 1)
    monkeypatch.setenv(budget.VARIABLE, repr((peak + 0.5) / budget.GIB))
    layer.decode(h, within, form=way.form)


def test_a_step_beyond_the_reserve_is_refused_before_anything_is_made():
    way = replace(WAYS["absorbed, reserved"], new=2)
    layer, full = way.layer(), way.held(39)
    h = way.h()
    layer.decode(h, way.held(20))
    with pytest.raises(ValueError, match=r"capacity \(40\).* 39 .* 2 new"), LiveBytes() as made:
        layer.decode(h, full)
    assert made.peak <= 2 * 8 * way.new  # only its positions, for itself and for the meta run


def test_few_shapes_are_remembered():
    for function in (estimate._peak, estimate._moments, estimate._without_data):
        assert 0 < function.cache_info().maxsize <= 1024


@pytest.mark.parametrize("config", [MLA, GQA], ids=["MLA", "GQA"])
def test_a_layer_without_data_costs_no_more_with_more_heads(config):
    made = []
    for heads in (4, 16):
        with LiveBytes() as live:
            mechanisms.of(config).layer(replace(config, n_heads=heads), device="meta")
        made.append(live.operations)
    assert made[0] == made[1]
