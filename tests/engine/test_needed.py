"""What a run of any mechanism needs is estimated before it is made, and never too low."""

from dataclasses import dataclass, replace

import pytest
import torch

from mla_engine import (
    DeltaCache,
    IndexedCache,
    IndexedConfig,
    IndexedLatentAttention,
    budget,
    estimate,
)
from mla_engine.budget import MemoryBudgetError
from tests.engine import test_estimate
from tests.engine.kinds import KDA, layer_of, ways
from tests.engine.samples import hidden, refused
from tests.engine.test_budget import LiveBytes

DSA = IndexedConfig(
    **vars(test_estimate.MLA), n_index_heads=3, d_index=10, index_topk=100, index_pairing="half"
)
FEW = replace(DSA, index_topk=5)


@dataclass(frozen=True)
class Way(test_estimate.Way):
    """How a sparse layer decodes."""

    def layer(self, device="cpu"):
        return IndexedLatentAttention(self.config, dtype=self.dtype, device=device)


WAYS = {
    "absorbed": Way(DSA, IndexedCache, "absorbed"),
    "absorbed, reserved": Way(DSA, IndexedCache, "absorbed", capacity=40),
    "absorbed, some, many": Way(DSA, IndexedCache, "absorbed", batch=3, new=5, capacity=45),
    "expanded": Way(DSA, IndexedCache, "expanded", batch=2, new=3),
    "half": Way(DSA, IndexedCache, "absorbed", dtype=torch.bfloat16),
}


@pytest.fixture
def needed(monkeypatch):
    """What each call was said to need, without its int64 positions."""
    said = []
    monkeypatch.setattr(budget, "require", lambda needed, *_: said.append(needed))
    return said


@pytest.mark.parametrize("config", [DSA, FEW], ids=["all chosen", "few chosen"])
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_step_is_estimated_as_the_meta_run_of_its_length_does(way, config, needed):
    way = replace(way, config=config)
    layer, h, positions = way.layer(), way.h(), 8 * way.new
    for length in test_estimate.lengths(way):
        layer.decode(h, way.held(length), form=way.form)
        assert needed[-1] - positions == way.measured(length), length
    assert len(set(needed)) > len(test_estimate.lengths(way)) // 2


@ways
def test_no_run_holds_more_than_is_estimated(way, monkeypatch):
    needed = []
    monkeypatch.setattr(budget, "require", lambda most, *_: needed.append(most))
    layer, h = way.layer(torch.float32), hidden(1, 20, 10, dtype=torch.float32)
    cache = way.empty(batch=1, dtype=torch.float32)
    for piece in h.split([9, 1, 1, 1, 1, 1, 6], dim=1):
        needed.clear()
        with LiveBytes() as real:
            _, cache = way.step(layer, piece, cache)
        assert real.peak <= needed[-1]
    needed.clear()
    with LiveBytes() as real:
        way.form.forward(layer, h)
    assert real.peak <= max(needed)


@ways
def test_a_run_beyond_the_budget_is_refused_before_it_begins(way, monkeypatch):
    layer, h = way.layer(), hidden(1, 400, 10)
    monkeypatch.setenv(budget.VARIABLE, "1e-4")
    with pytest.raises(MemoryBudgetError, match=f"{type(layer).__name__} prefill needs"):
        way.form.forward(layer, h)
    with pytest.raises(MemoryBudgetError, match=f"{way.cache.__name__} needs.*batch"):
        way.cache.empty(way.config, batch=10_000, capacity=1000)


def test_no_dense_layer_is_made_of_a_sparse_configuration():
    with refused("config", "must be a LatentConfig"):
        test_estimate.MultiHeadLatentAttention(DSA)


@pytest.mark.parametrize("form", ["recurrent", "chunked"])
@pytest.mark.parametrize("new", [1, 3, 70])
def test_a_step_holds_no_more_than_is_estimated_whatever_it_remembers(form, new, monkeypatch):
    layer = layer_of(KDA, dtype=torch.float32)
    h = hidden(2, new, 10, dtype=torch.float32)
    needed = []
    monkeypatch.setattr(budget, "require", lambda bytes_, *_: needed.append(bytes_))
    cache = DeltaCache.empty(KDA, 2)
    for held in (cache, cache.with_zeros(10**6)):
        needed.clear()
        with LiveBytes() as real:
            layer.decode(h, held, form=form)
        assert real.peak <= needed[-1]
    assert needed[-1] < 3 * real.peak
    tried = estimate._peak.cache_info().misses
    layer.decode(h, cache.with_zeros(7), form=form)
    assert estimate._peak.cache_info().misses == tried, "it is tried once, whatever is remembered"


def test_the_states_of_a_long_text_are_refused_beyond_the_budget(monkeypatch):
    layer = layer_of(KDA)
    trace = layer(hidden(1, 400, 10))
    monkeypatch.setenv(budget.VARIABLE, "1e-4")
    with pytest.raises(MemoryBudgetError):
        layer.states(trace, head=0)
