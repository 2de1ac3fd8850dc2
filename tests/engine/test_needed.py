"""A run of any mechanism is estimated before it is made, and never too low."""

import pytest
import torch

from mla_engine import (
    DeltaCache,
    budget,
    estimate,
)
from mla_engine.budget import MemoryBudgetError
from tests.engine.kinds import KDA, layer_of, ways
from tests.engine.samples import hidden
from tests.engine.test_budget import LiveBytes


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
